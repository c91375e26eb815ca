// The folder of local repositories from the settings or `deno task preview`. It
// is checked when the service starts. A wrong setting must stop the start and
// not a request.

import { basename, dirname, join, resolve } from "@std/path";
import { listParameters } from "./api/parameters.ts";
import { type Config, SettingsError } from "./settings.ts";
import { isServedName } from "./source/local/folder_scan.ts";
import { LOCAL_OWNER } from "./source/local/local_source.ts";
import { isAllowed } from "./source/source.ts";

const DEFAULT_LOCAL_DIR = "./examples";
/** The other examples are programs. They are served but not offered. */
const DEFAULT_REPOSITORY = "blog";

/**
 * Returns the folder of local repositories or null.
 * @throws {SettingsError} if a folder that a setting names cannot be read.
 */
export async function findLocalDir(
  setting: string | null | undefined,
): Promise<string | null> {
  if (setting === null) return null;
  const path = setting ?? DEFAULT_LOCAL_DIR;
  try {
    if ((await Deno.stat(path)).isDirectory) return path;
  } catch (error) {
    const isPermitted = !(error instanceof Deno.errors.NotCapable);
    if (!isPermitted) {
      throw unusable(`reading it is not permitted, add --allow-read=${path}`);
    }
  }
  if (setting === undefined) return null;
  throw unusable(`there is no folder "${path}"`);
}

/**
 * Returns the sorted names of the local repositories that are served. The
 * result is empty if no local folder is served.
 * @throws {SettingsError} if the folder cannot be listed.
 */
export async function localRepositoryNames(
  { localReposDir, allowedRepos }: Pick<
    Config,
    "localReposDir" | "allowedRepos"
  >,
): Promise<string[]> {
  const dir = await findLocalDir(localReposDir);
  if (dir === null) return [];
  const entries = await Array.fromAsync(Deno.readDir(dir)).catch(() => {
    throw unusable(`"${dir}" cannot be listed`);
  });
  const isServed = (repo: string) =>
    isRepositoryName(repo) &&
    (localReposDir !== undefined || repo === DEFAULT_REPOSITORY) &&
    isAllowed(allowedRepos, { owner: LOCAL_OWNER, repo });
  return entries.filter((entry) => entry.isDirectory && isServed(entry.name))
    .map(({ name }) => name).sort();
}

/**
 * Returns the settings that serve a folder of repositories or one repository. A
 * Git checkout is one. So is a folder with files unless it contains checkouts.
 * Nothing else is served and only this machine can connect.
 * @throws {SettingsError} if `args` are not one folder or if the name of a
 * checkout cannot name a repository.
 */
export async function previewSettings(
  args: readonly string[],
): Promise<Record<string, string>> {
  const [dir, ...more] = args;
  if (dir === undefined || more.length > 0) {
    throw new SettingsError(
      'Cannot start a preview: name one folder, as in "deno task ' +
        'preview ../my-repos"',
    );
  }
  // There is only one author on this machine. Building a whole site with HTML
  // must not reach a limit.
  const settings = {
    HOST: "127.0.0.1",
    KV_PATH: ":memory:",
    MISSES_PER_MINUTE: "0",
  };
  const path = resolve(dir);
  const isCheckout = (...names: string[]) =>
    Deno.lstat(join(path, ...names, ".git")).then(() => true, () => false);
  const entries = await Array.fromAsync(Deno.readDir(path)).catch(() => []);
  const inside = await Promise.all(entries.map(({ name }) => isCheckout(name)));
  const hasFiles = entries.some(({ isFile, name }) =>
    isFile && !/^\./.test(name)
  );
  if (!await isCheckout() && (!hasFiles || inside.includes(true))) {
    return { ...settings, LOCAL_REPOS_DIR: path, ALLOWED_REPOS: "local/*" };
  }
  // Resolves links because a link is not a repository.
  const checkout = await Deno.realPath(path);
  const name = basename(checkout);
  if (!isRepositoryName(name)) {
    throw new SettingsError(
      `Cannot preview "${name}": a repository's name has letters, ` +
        `digits, ".", "_" and "-", ` +
        'does not begin with "." or end with ".git", and has at most ' +
        "100 characters; rename the folder",
    );
  }
  return {
    ...settings,
    LOCAL_REPOS_DIR: dirname(checkout),
    ALLOWED_REPOS: `local/${name}`,
  };
}

/** Whether a request can name a folder as a repository. */
function isRepositoryName(name: string): boolean {
  return isServedName(name) &&
    listParameters.shape.repo.safeParse(name).success;
}

function unusable(state: string): SettingsError {
  return new SettingsError(`Cannot start with "LOCAL_REPOS_DIR": ${state}`);
}
