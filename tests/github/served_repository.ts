// The usual start of a test: one Git repository, served by one double, both removed at the end.

import { GithubDouble } from "./github_double.ts";
import { type GitFiles, type GitRepository, makeGitRepository } from "./git_repository.ts";
import type { Visibility } from "./github_registry.ts";

/** A double that serves one repository. */
export interface ServedRepository extends AsyncDisposable {
  gh: GithubDouble;
  repository: GitRepository;
  /** The API's address of the repository. */
  url: string;
}

/**
 * Makes a repository of these files and serves it as `name`, `octo/site` if none is given.
 * `await using` closes both, and throws on requests that the double did not expect.
 */
export async function serveRepository(
  files: GitFiles,
  options: {
    name?: string;
    branch?: string;
    visibility?: Visibility;
    now?: () => number;
    assert?: boolean;
  } = {},
): Promise<ServedRepository> {
  const { name = "octo/site", branch = "main", visibility = "public", now, assert } = options;
  const repository = await makeGitRepository(files, { branch });
  const gh = await GithubDouble.start(now ? { now } : {});
  gh.add(name, repository, { visibility, defaultBranch: branch });
  return {
    gh,
    repository,
    url: `${gh.apiUrl}/repos/${name}`,
    async [Symbol.asyncDispose]() {
      try {
        await gh.close({ assert: assert ?? true });
      } finally {
        await repository[Symbol.asyncDispose]();
      }
    },
  };
}
