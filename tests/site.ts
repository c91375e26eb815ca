// The usual start of a test of the whole service: one Git repository at a GitHub double, and the service in front of it.

import type { GithubDouble } from "./github/github_double.ts";
import type { GitFiles, GitRepository } from "./github/git_repository.ts";
import { serveRepository } from "./github/served_repository.ts";
import { type ServiceOptions, startService, type TestService } from "./service.ts";
import { TestClock } from "./test_clock.ts";

/** A service whose GitHub serves `octo/site`. */
export interface Site extends AsyncDisposable {
  readonly service: TestService;
  readonly gh: GithubDouble;
  readonly repository: GitRepository;
}

/** Makes `octo/site` of these files. The double has the service's clock, and quota enough without a token. */
export async function startSite(
  files: GitFiles,
  options: Omit<ServiceOptions, "github" | "clock"> & { branch?: string } = {},
): Promise<Site> {
  const clock = new TestClock(Date.now() + 60_000);
  const { branch = "main", ...rest } = options;
  const served = await serveRepository(files, { now: clock.now, branch });
  const { gh, repository } = served;
  gh.setQuota(null, { limit: 100_000, remaining: 100_000 });
  const service = await startService({ ...rest, github: gh, clock });
  return {
    service,
    gh,
    repository,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}
