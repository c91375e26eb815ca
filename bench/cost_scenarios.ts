// The requests to the service while its requests to GitHub are counted. Each scenario has a service, a double and a
// clock of its own, so nothing is cached from another one.

import { assertEquals } from "@std/assert";
import { generateFiles } from "../tests/github/generated_files.ts";
import type { GitHttpBridge } from "../tests/github/git_http_bridge.ts";
import { listPath, type Parameters } from "../tests/service.ts";
import { type Site, startGitSite, startSite } from "../tests/site.ts";

/** The access: no token, a token for named repositories, or one for all public ones. */
export type Access = "none" | "named" | "public";

type Work = (site: Site) => Promise<unknown>;

const TOKEN = "t1";
/** A collection at each depth; the names of the others derive from the last one. */
const COLLECTIONS = { 1: "posts", 2: "content/posts", 4: "sites/en/content/posts" } as const;
const FIRST = `${COLLECTIONS[1]}/post-00000.md`;
const BUSY = Array.from({ length: 10 }, (_, index) => `busy-${index}`);
const HOUR_S = 3600;

/** 3 collections of 100 posts of 2 kB, and 2,000 other files, as in a site with its pictures. */
function* files(): Generator<readonly [path: string, content: string]> {
  for (const prefix of Object.values(COLLECTIONS)) {
    yield* generateFiles({ prefix, folders: 0, filesPerFolder: 100, bytes: 2_000 });
  }
  const pictures = { prefix: "assets", bytes: 500, identical: true };
  yield* generateFiles({ ...pictures, folders: 20, filesPerFolder: 100 });
}

/** Opens the double and the service; the double has GitHub's quotas, and Git's protocol for a service without a token. */
export async function openSite(access: Access): Promise<Site & { bridge?: GitHttpBridge }> {
  const env = { LOG_LEVEL: "silent", ...access === "named" ? { ALLOWED_REPOS: "octo/site" } : {} };
  const site = access === "none"
    ? await startGitSite(files(), { env })
    : await startSite(files(), { env: { ...env, GITHUB_TOKEN: TOKEN } });
  site.gh.addToken(TOKEN);
  site.gh.setQuota(null, { limit: 60, remaining: 60 });
  return site;
}

/** The token that requests carry, as the double accepts it. */
export function tokenOf(access: Access): string | null {
  return access === "none" ? null : TOKEN;
}

/** Sends a list request, which no failure of the source may change. */
async function request({ service }: Site, parameters: Parameters): Promise<void> {
  const response = await service.send(listPath({ collection: COLLECTIONS[1], ...parameters }));
  await response.body?.cancel();
  const isOlder = response.headers.get("cache-status")?.includes("stale-if-error");
  assertEquals([response.status, isOlder], [200, false]);
}

function list(parameters: Parameters = {}): Work {
  return (site) => request(site, parameters);
}

/** The same request, a minute after the first and a change. */
function earlier(parameters: Parameters = {}, change: Record<string, string> = {}): Work {
  return async (site) => {
    await request(site, parameters);
    if (Object.keys(change).length > 0) await site.repository.commit(change);
    site.service.clock.advance(61_000);
  };
}

/** An hour of one request a second to each branch, with one commit to each where there are `commits`. */
function hour(branches: readonly string[], { commits = false } = {}): Work {
  return async (site) => {
    for (let second = 0; second < HOUR_S; second++) {
      for (const [index, branch] of branches.entries()) {
        if (commits && second === HOUR_S / 2 + index) {
          await site.repository.commit({ [FIRST]: `${branch}, changed\n` }, { branch });
        }
        await request(site, { branch });
      }
      site.service.clock.advance(1000);
      await site.service.services.refreshDue();
    }
  };
}

async function makeBusyBranches({ repository }: Site): Promise<void> {
  for (const branch of BUSY) {
    await repository.branch(branch);
    await repository.commit({ [FIRST]: `${branch}\n` }, { branch });
  }
}

/** A proxy that fetches the tree of the whole repository every minute and uses no validators. */
function hourAsProxy(authorization: Record<string, string>): Work {
  const headers = { "user-agent": "plain-proxy", ...authorization };
  return async ({ gh, service }) => {
    for (let minute = 0; minute < HOUR_S / 60; minute++) {
      const url = `${gh.apiUrl}/repos/octo/site/git/trees/main?recursive=1`;
      const response = await fetch(url, { headers });
      await response.bytes();
      assertEquals(response.status, 200);
      service.clock.advance(60_000);
    }
  };
}

/** One title of the table, with a row for each access. `before` runs first and is not counted. */
function row(accesses: Access[], title: string, work: Work, before: Work = async () => {}) {
  return { title, accesses, work, before };
}

const TOGETHER: Work = (site) => Promise.all(Array.from({ length: 200 }, () => list()(site)));
const CONTENTS = { includeContent: true, limit: 50 };
const CHANGE = { [FIRST]: "changed\n" };
const ONE_OF_50 = "the contents of 50, after a commit to one";
const TEN = "the same hour on ten branches, with one commit to each";
const PROXY = "an hour of one request a second, by a plain proxy";

/** In the order of the table. */
export const COST_SCENARIOS = [
  row(["named"], "a list, cold, at depth 1", list()),
  row(["named"], "a list, cold, at depth 2", list({ collection: COLLECTIONS[2] })),
  row(["named"], "a list, cold, at depth 4", list({ collection: COLLECTIONS[4] })),
  row(["named"], "the same again", list(), list()),
  row(["none", "named"], "after 61 s, unchanged", list(), earlier()),
  row(["named"], "after a commit elsewhere", list(), earlier({}, { "other.md": "changed\n" })),
  row(["named"], "after a commit in the collection", list(), earlier({}, CHANGE)),
  row(["none", "named"], "a list with the contents of 50, cold", list(CONTENTS)),
  row(["none", "named"], "the contents of 50, again after 61 s", list(CONTENTS), earlier(CONTENTS)),
  row(["none", "named"], ONE_OF_50, list(CONTENTS), earlier(CONTENTS, CHANGE)),
  row(["named"], "200 identical requests at once, cold", TOGETHER),
  row(["none", "named", "public"], "an hour of one request a second", hour(["main"])),
  row(["none", "named"], "the same hour, with one commit", hour(["main"], { commits: true })),
  row(["none"], TEN, hour(BUSY, { commits: true }), makeBusyBranches),
  row(["none"], PROXY, hourAsProxy({})),
  row(["named"], PROXY, hourAsProxy({ authorization: `Bearer ${TOKEN}` })),
];
