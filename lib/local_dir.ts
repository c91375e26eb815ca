// Finds the folder of local repositories when the service starts, so that a wrong setting stops the start and not a
// request.

import { SettingsError } from "./settings.ts";

const DEFAULT_LOCAL_DIR = "./examples";

/** The folder of local repositories, or null. @throws {SettingsError} where a named one cannot be read. */
export async function findLocalDir(setting: string | null | undefined): Promise<string | null> {
  if (setting === null) return null;
  const path = setting ?? DEFAULT_LOCAL_DIR;
  try {
    if ((await Deno.stat(path)).isDirectory) return path;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) {
      throw new SettingsError(
        `Cannot start with "LOCAL_REPOS_DIR": reading it is not permitted, add --allow-read=${path}`,
      );
    }
  }
  if (setting === undefined) return null;
  throw new SettingsError(`Cannot start with "LOCAL_REPOS_DIR": there is no folder "${path}"`);
}
