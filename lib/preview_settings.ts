// What `deno task preview DIR` starts the service with: the repositories of a local folder, as they are on disk.
// Nothing but that folder is served, and nobody but this machine is answered.

import { basename, dirname, join, resolve } from "@std/path";
import { SettingsError } from "./settings.ts";

/**
 * The settings that show a folder of repositories, or one Git checkout, which is then the only repository.
 * @throws {SettingsError} where `args` are not one folder.
 */
export async function previewSettings(args: readonly string[]): Promise<Record<string, string>> {
  const [dir, ...more] = args;
  if (dir === undefined || more.length > 0) {
    throw new SettingsError(
      'Cannot start a preview: name one folder, as in "deno task preview ../my-repos"',
    );
  }
  const path = resolve(dir);
  const isCheckout = await Deno.lstat(join(path, ".git")).then(() => true, () => false);
  const served = isCheckout
    ? { LOCAL_REPOS_DIR: dirname(path), ALLOWED_REPOS: `local/${basename(path)}` }
    : { LOCAL_REPOS_DIR: path, ALLOWED_REPOS: "local/*" };
  return { HOST: "127.0.0.1", KV_PATH: ":memory:", ...served };
}
