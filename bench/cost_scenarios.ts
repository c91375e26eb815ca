// The requests to the service while its requests to GitHub are counted. Each scenario has a service, a double and a
// clock of its own, so nothing is cached from another one.

import { assertEquals } from "@std/assert";
import { generateFiles } from "../tests/github/generated_files.ts";
import type { GithubDouble } from "../tests/github/github_double.ts";
import { listPath, type Parameters } from "../tests/service.ts";
import type { GitHttpBridge } from "../tests/github/git_http_bridge.ts";
import { type Site, startGitSite, startSite } from "../tests/site.ts";

/** The access: no token, a token for named repositories, or one for all public ones. */
export type Access = "none" | "named" | "public";

/** One row of the table. */
export interface CostScenario {
  readonly title: string;
  /** Each gives a row of its own. */
  readonly accesses: readonly Access[];
  /** Whether only the bench prints the row, and the documents leave it out. */
  readonly isDetail?: boolean;
  /** Runs first and is not counted. */
  readonly before?: (site: Site) => Promise<unknown>;
  readonly work: (site: Site) => Promise<unknown>;
}

const TOKEN = "t1";
/** A collection at each depth; the names of the others derive from the last one. */
const COLLECTIONS = { 1: "posts", 2: "content/posts", 4: "sites/en/content/posts" } as const;
const ITEMS = 100;
const HOUR_S = 3600;

/** 3 collections of 100 posts of 2 kB, and 2,000 other files, as in a site with its pictures. */
function* files(): Generator<readonly [path: string, content: string]> {
  for (const prefix of Object.values(COLLECTIONS)) {
    yield* generateFiles({ prefix, folders: 0, filesPerFolder: ITEMS, bytes: 2_000 });
  }
  yield* generateFiles({
    prefix: "assets",
    folders: 20,
    filesPerFolder: 100,
    bytes: 500,
    identical: true,
  });
}

/** Opens the double and the service; the double has GitHub's quotas, and Git's protocol for a service without a token. */
export async function openSite(access: Access): Promise<Site & { bridge?: GitHttpBridge }> {
  const site = access === "none"
    ? await startGitSite(files(), { env: { LOG_LEVEL: "silent" } })
    : await startSite(files(), {
      env: {
        LOG_LEVEL: "silent",
        GITHUB_TOKEN: TOKEN,
        ...access === "named" ? { ALLOWED_REPOS: "octo/site" } : {},
      },
    });
  site.gh.addToken(TOKEN);
  site.gh.setQuota(null, { limit: 60, remaining: 60 });
  return site;
}

/** The token that requests carry, as the double accepts it. */
export function tokenOf(access: Access): string | null {
  return access === "none" ? null : TOKEN;
}

async function request({ service }: Site, parameters: Parameters): Promise<void> {
  const response = await service.get(listPath({ collection: COLLECTIONS[1], ...parameters }));
  await response.body?.cancel();
  assertEquals(response.status, 200);
}

function list(parameters: Parameters = {}): (site: Site) => Promise<void> {
  return (site) => request(site, parameters);
}

/** The same requests again, after so many seconds and other preparation. */
function again(
  parameters: Parameters = {},
  { seconds = 0, change }: { seconds?: number; change?: Record<string, string> } = {},
): Pick<CostScenario, "before" | "work"> {
  return {
    async before(site) {
      await request(site, parameters);
      if (change !== undefined) await site.repository.commit(change);
      site.service.clock.advance(seconds * 1000);
    },
    work: list(parameters),
  };
}

async function spendHour(site: Site): Promise<void> {
  await spendHourOn(site, ["main"], { commits: false });
}

/** One request a second to each branch and, on request, one commit to each. */
async function spendHourOn(
  { service, repository }: Site,
  branches: readonly string[],
  { commits }: { commits: boolean },
): Promise<void> {
  for (let second = 0; second < HOUR_S; second++) {
    for (const [index, branch] of branches.entries()) {
      if (commits && second === HOUR_S / 2 + index) {
        await repository.commit({ [first]: `${branch}, changed\n` }, { branch });
      }
      const response = await service.send(listPath({ collection: COLLECTIONS[1], branch }));
      await response.body?.cancel();
      const { status, headers } = response;
      const isOlder = headers.get("cache-status")?.includes("stale-if-error");
      assertEquals([status, isOlder], [200, false]);
    }
    service.clock.advance(1000);
    await service.services.refreshDue();
  }
}

const BUSY = Array.from({ length: 10 }, (_, index) => `busy-${index}`);

async function makeBusyBranches({ repository }: Site): Promise<void> {
  for (const branch of BUSY) {
    await repository.branch(branch);
    await repository.commit({ [first]: `${branch}\n` }, { branch });
  }
}

/** A proxy that fetches the tree of the whole repository every minute and uses no validators. */
async function spendHourAsProxy({ gh, service }: Site, token: string | null): Promise<void> {
  for (let minute = 0; minute < HOUR_S / 60; minute++) {
    await fetchTree(gh, token);
    service.clock.advance(60_000);
  }
}

async function fetchTree({ apiUrl }: GithubDouble, token: string | null): Promise<void> {
  const response = await fetch(`${apiUrl}/repos/octo/site/git/trees/main?recursive=1`, {
    headers: {
      "user-agent": "plain-proxy",
      ...token === null ? {} : { authorization: `Bearer ${token}` },
    },
  });
  await response.bytes();
  assertEquals(response.status, 200);
}

const BOTH: readonly Access[] = ["none", "named"];
const ONE: readonly Access[] = ["named"];
const first = `${COLLECTIONS[1]}/post-00000.md`;

/** In the order of the table. */
export const COST_SCENARIOS: readonly CostScenario[] = [
  ...([1, 2, 4] as const).map((depth) => ({
    title: `a list, cold, at depth ${depth}`,
    accesses: ONE,
    work: list({ collection: COLLECTIONS[depth] }),
  })),
  { title: "the same again", accesses: ONE, ...again() },
  { title: "after 61 s, unchanged", accesses: BOTH, ...again({}, { seconds: 61 }) },
  {
    title: "after a commit elsewhere",
    accesses: ONE,
    ...again({}, { seconds: 61, change: { "other.md": "changed\n" } }),
  },
  {
    title: "after a commit in the collection",
    accesses: ONE,
    ...again({}, { seconds: 61, change: { [first]: "changed\n" } }),
  },
  ...([50, 100] as const).flatMap((limit): CostScenario[] => {
    const parameters = { includeContent: true, limit };
    const isDetail = limit === 100;
    return [
      {
        title: `a list with the contents of ${limit}, cold`,
        isDetail,
        accesses: BOTH,
        work: list(parameters),
      },
      {
        title: `the contents of ${limit}, again after 61 s`,
        isDetail,
        accesses: BOTH,
        ...again(parameters, { seconds: 61 }),
      },
      {
        title: `the contents of ${limit}, after a commit to one`,
        isDetail,
        accesses: BOTH,
        ...again(parameters, { seconds: 61, change: { [first]: "changed\n" } }),
      },
    ];
  }),
  {
    title: "200 identical requests at once, cold",
    accesses: ONE,
    work: (site) => Promise.all(Array.from({ length: 200 }, () => request(site, {}))),
  },
  {
    title: "an hour of one request a second",
    accesses: ["none", "named", "public"],
    work: spendHour,
  },
  {
    title: "the same hour, with one commit",
    accesses: BOTH,
    work: (site) => spendHourOn(site, ["main"], { commits: true }),
  },
  {
    title: "the same hour on ten branches, with one commit to each",
    accesses: ["none"],
    before: makeBusyBranches,
    work: (site) => spendHourOn(site, BUSY, { commits: true }),
  },
  {
    title: "an hour of one request a second, by a plain proxy",
    accesses: ["none"],
    work: (site) => spendHourAsProxy(site, null),
  },
  {
    title: "an hour of one request a second, by a plain proxy",
    accesses: ONE,
    work: (site) => spendHourAsProxy(site, TOKEN),
  },
];
