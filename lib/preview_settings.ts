// What `deno task preview DIR` starts the service with: the repositories of a local folder, as they are on disk.
// Nothing but that folder is served, and nobody but this machine is answered.

import { basename, dirname, join, resolve } from "@std/path";
import { isAskableName } from "./local_repositories.ts";
import { SettingsError } from "./settings.ts";

/**
 * The settings that show a folder of repositories, or one Git checkout, which is then the only repository.
 * @throws {SettingsError} where `args` are not one folder, or a checkout's name is one that nobody can ask for.
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
    ? servedCheckout(await Deno.realPath(path))
    : { LOCAL_REPOS_DIR: path, ALLOWED_REPOS: "local/*" };
  return { HOST: "127.0.0.1", KV_PATH: ":memory:", ...served };
}

/** `path` has no links, since a link is no repository. */
function servedCheckout(path: string): Record<string, string> {
  const name = basename(path);
  if (!isAskableName(name)) {
    throw new SettingsError(
      `Cannot preview "${name}": a repository's name has letters, digits, ".", "_" and "-", ` +
        'does not begin with "." or end with ".git", and has at most 100 characters; rename the folder',
    );
  }
  return { LOCAL_REPOS_DIR: dirname(path), ALLOWED_REPOS: `local/${name}` };
}
