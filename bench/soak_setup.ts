// What the soak stands on: repositories that move, many names for one that does not, and a source that has them all.

import { startDouble } from "../tests/github/start_double.ts";
import { settingsFor, TOKEN } from "./repositories.ts";
import type { Choices, NamedRepository } from "./soak_requests.ts";
import { SoakSource, SOURCE_TIMEOUT_MS } from "./soak_source.ts";
import { TrueRepository } from "./soak_truth.ts";

const HOT = 3;
const COLD = 300;
const BRANCHES = Array.from({ length: 10 }, (_, index) => `topic/b${index}`);
/** Small, so that the caches are full when they are first measured and what grows after that is a leak. */
export const CACHE_MEMORY_MB = 16;

/** Makes the repositories and starts the source that has them; `env` are the settings of a service that asks it. */
export async function prepareSoak(
  cleanup: AsyncDisposableStack,
): Promise<{ choices: Choices; source: SoakSource; env: Record<string, string> }> {
  const hot: NamedRepository[] = [];
  for (let index = 0; index < HOT; index++) {
    const repository = cleanup.use(await TrueRepository.make());
    hot.push({ owner: `hot${index}`, repo: "site", repository });
  }
  const still = cleanup.use(await TrueRepository.make());
  await still.addBranches(BRANCHES);
  const cold = Array.from(
    { length: COLD },
    (_, index) => ({ owner: `cold${index}`, repo: "site", repository: still }),
  );
  const double = cleanup.use(
    await startDouble({
      repositories: Object.fromEntries([...hot, ...cold].map(
        ({ owner, repo, repository }) => [`${owner}/${repo}`, { dir: repository.dir }],
      )),
      tokens: { [TOKEN]: { sees: "all" } },
    }),
  );
  const plenty = { limit: 10_000_000, remaining: 10_000_000 };
  await double.call("setQuota", TOKEN, plenty);
  await double.call("setQuota", TOKEN, { ...plenty, resource: "graphql" });
  return {
    choices: { hot, cold, branches: BRANCHES },
    source: new SoakSource(double),
    env: {
      ...settingsFor(double),
      SOURCE_TIMEOUT_MS: `${SOURCE_TIMEOUT_MS}`,
      CACHE_MEMORY_MB: `${CACHE_MEMORY_MB}`,
      LOG_LEVEL: "error",
    },
  };
}
