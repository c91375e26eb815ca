// The settings of this process, from the environment, and the configuration of the Fresh app. Nothing else reads
// Deno.env.
//
// Fresh 2 does not load a file of this name: its configuration goes to `new App(…)`, and main.ts passes appConfig there.
// Fresh 1's fresh.config.ts had plugins and build options for its own start(); this file has neither.

import type { FreshConfig } from "fresh";
import { type Config, parseSettings } from "./lib/settings.ts";

/**
 * The settings, read once; those in `fixed`, of a preview, are not read from the environment. Variables that Deno may not
 * read are unset. @throws {SettingsError} with one line that names the variable.
 */
export function readSettings(fixed?: Readonly<Record<string, string>>): Config {
  const isPreview = fixed !== undefined;
  return parseSettings((name) => fixed?.[name] ?? Deno.env.get(name), { isPreview });
}

/**
 * The service has no islands and skips Fresh's build, which requires `development`: with `production` an unbuilt app
 * refuses to start on Deno Deploy. Otherwise the mode concerns rendered pages only.
 */
export const appConfig: FreshConfig = { mode: "development" };
