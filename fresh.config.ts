// The settings of this process and the configuration of the Fresh app. No other
// module reads Deno.env.
//
// Fresh 2 does not load a file with this name. main.ts passes `appConfig` to
// `new App(…)`. Fresh 1's fresh.config.ts had plugins and build options for
// start(). This file has neither.

import type { FreshConfig } from "fresh";
import { type Config, parseSettings } from "./lib/settings.ts";

/**
 * Returns the settings. Values in `fixed` come from a preview and override the
 * environment. Variables that Deno may not read are unset.
 * @throws {SettingsError} with one line that names the variable.
 */
export function readSettings(fixed?: Readonly<Record<string, string>>): Config {
  const isPreview = fixed !== undefined;
  return parseSettings((name) => fixed?.[name] ?? Deno.env.get(name), {
    isPreview,
  });
}

/**
 * The service has no islands and skips Fresh's build. An unbuilt app needs
 * `development` because it refuses to start on Deno Deploy with `production`.
 * Apart from that the mode affects only rendered pages.
 */
export const appConfig: FreshConfig = { mode: "development" };
