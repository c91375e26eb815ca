// Which local repositories can be asked for, so that whoever starts a preview sees at once what it took for a repository.
// What requests find is not decided here.

import { listParameters } from "./api/parameters.ts";
import { findLocalDir } from "./local_dir.ts";
import { isAllowed } from "./repository/allowed_repos.ts";
import { LOCAL_OWNER } from "./repository/folder_repository.ts";
import { isServedName } from "./repository/folder_scan.ts";
import { type Config, SettingsError } from "./settings.ts";

/**
 * The names of the local repositories that a service serves, sorted; none where it serves no local folder.
 * @throws {SettingsError} where the folder cannot be listed.
 */
export async function localRepositories(
  { localReposDir, allowedRepos }: Config,
): Promise<string[]> {
  const dir = await findLocalDir(localReposDir);
  if (dir === null) return [];
  const entries = await Array.fromAsync(Deno.readDir(dir)).catch(() => {
    throw new SettingsError(`Cannot start with "LOCAL_REPOS_DIR": "${dir}" cannot be listed`);
  });
  return entries.filter((entry) => entry.isDirectory).map(({ name }) => name).filter((name) =>
    isAskableName(name) &&
    isAllowed(allowedRepos, { owner: LOCAL_OWNER, repo: name })
  ).sort();
}

/** Whether a folder of this name can be asked for as a repository, wherever it is. */
export function isAskableName(name: string): boolean {
  return isServedName(name) && listParameters.shape.repo.safeParse(name).success;
}
