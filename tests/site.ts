// The usual start of a test of the whole service: one Git repository at a
// GitHub double, and the service in front of it.

import type { GithubDouble } from "./github/github_double.ts";
import type { GitFiles, GitRepository } from "./github/git_repository.ts";
import { GitHttpBridge } from "./github/git_http_bridge.ts";
import { serveRepository } from "./github/served_repository.ts";
import {
  type ServiceOptions,
  startService,
  type TestService,
} from "./service.ts";
import { TestClock } from "./test_clock.ts";

/** A service whose GitHub serves `octo/site`. */
export interface Site extends AsyncDisposable {
  readonly service: TestService;
  readonly gh: GithubDouble;
  readonly repository: GitRepository;
  /**
   * Commits to `main`, and lets a minute pass, after which the service shows
   * it.
   */
  push(files: GitFiles): Promise<void>;
}

type SiteOptions = Omit<ServiceOptions, "github" | "clock"> & {
  readonly branch?: string;
};

/** Makes `octo/site` of these files. The double knows the tokens of `env`, and has the service's clock and
 * quota enough without a token. */
export function startSite(
  files: GitFiles,
  options: SiteOptions = {},
): Promise<Site> {
  return start(files, options, () => null);
}

/**
 * The same with Git's own protocol beside the API, which a service without a
 * token uses.
 */
export function startGitSite(
  files: GitFiles,
  options: SiteOptions = {},
): Promise<Site & { readonly bridge: GitHttpBridge }> {
  return start(files, options, (gh) => new GitHttpBridge(gh));
}

async function start<B extends GitHttpBridge | null>(
  files: GitFiles,
  { branch = "main", env, ...options }: SiteOptions,
  openBridge: (gh: GithubDouble) => B,
): Promise<Site & { readonly bridge: B }> {
  await using parts = new AsyncDisposableStack();
  const clock = new TestClock(Date.now() + 60_000);
  const { gh, repository } = parts.use(
    await serveRepository(files, { now: clock.now, branch }),
  );
  Object.assign(gh.quota(null), { limit: 100_000, remaining: 100_000 });
  const bridge = parts.use(openBridge(gh));
  const gitEnv = bridge === null ? {} : { GITHUB_GIT_URL: bridge.url };
  const all = { ...options, env: { ...gitEnv, ...env }, github: gh, clock };
  const service = parts.use(await startService(all));
  for (const token of env?.GITHUB_TOKEN?.split(",") ?? []) gh.addToken(token);
  const opened = parts.move();
  return {
    service,
    gh,
    repository,
    bridge,
    async push(files) {
      await repository.commit(files);
      clock.advance(60_000);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
