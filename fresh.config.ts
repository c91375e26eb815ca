// The settings of this process, from the environment, and the configuration of the Fresh app. Nothing else reads
// Deno.env.
//
// Fresh 2 knows no file of this name: it takes its configuration from `new App(…)`, and main.ts passes appConfig there.
// Fresh 1's fresh.config.ts held plugins and build options for its own start(), and none of those is here.

import type { FreshConfig } from "fresh";
import { type Config, parseSettings } from "./lib/settings.ts";

/**
 * The settings, read once. Variables that Deno may not read are unset.
 * @throws {SettingsError} with one line that names the variable.
 */
export function readSettings(): Config {
  return parseSettings((name) => Deno.env.get(name));
}

/** The settings of a preview: those in `fixed` are not read from the environment. @throws {SettingsError} likewise. */
export function readPreviewSettings(fixed: Readonly<Record<string, string>>): Config {
  return parseSettings((name) => fixed[name] ?? Deno.env.get(name), { isPreview: true });
}

/**
 * The service has no islands and skips Fresh's build. `development` is what Fresh wants for that: with `production` an
 * unbuilt app refuses to start on Deno Deploy, and beyond that the mode concerns rendered pages only.
 */
export const appConfig: FreshConfig = { mode: "development" };
