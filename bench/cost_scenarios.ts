// The requests to the service while its requests to GitHub are counted. Each
// scenario has a service, a double and a clock of its own, so nothing is cached
// from another one.

import { assertEquals } from "@std/assert";
import { generateFiles } from "../tests/github/generated_files.ts";
import type { GitHttpBridge } from "../tests/github/git_http_bridge.ts";
import { changesPath, listPath, type Parameters } from "../tests/service.ts";
import { type Site, startGitSite, startSite } from "../tests/site.ts";

/**
 * The access: no token, a token for named repositories, or one for all public
 * ones.
 */
export type Access = "none" | "named" | "public";

type Work = (site: Site) => Promise<unknown>;

/** The token of requests, but for those with access `none`. */
export const TOKEN = "t1";
const COLLECTIONS = ["posts", "content/posts", "sites/en/content/posts"];
const FIRST = "posts/post-00000.md";
const BUSY = Array.from({ length: 10 }, (_, index) => `busy-${index}`);
const HOUR_S = 3600;

/**
 * 3 collections of 100 posts of 2 kB, and 2,000 other files, as in a site with
 * its pictures.
 */
function* files(): Generator<readonly [path: string, content: string]> {
  for (const prefix of COLLECTIONS) {
    yield* generateFiles({
      prefix,
      folders: 0,
      filesPerFolder: 100,
      bytes: 2_000,
    });
  }
  const pictures = { prefix: "assets", bytes: 500, identical: true };
  yield* generateFiles({ ...pictures, folders: 20, filesPerFolder: 100 });
}

/**
 * Opens the double and the service; the double has GitHub's quotas, and Git's
 * protocol for a service without a token.
 */
export async function openSite(
  access: Access,
): Promise<Site & { bridge?: GitHttpBridge }> {
  const named = access === "named" ? { ALLOWED_REPOS: "octo/site" } : {};
  const env = {
    LOG_LEVEL: "silent",
    GITHUB_TOKEN: access === "none" ? "" : TOKEN,
    ...named,
  };
  const site = await (access === "none" ? startGitSite : startSite)(files(), {
    env,
  });
  site.gh.addToken(TOKEN);
  Object.assign(site.gh.quota(null), { limit: 60, remaining: 60 });
  return site;
}

/** Sends a list request, which no failure of the source may change. */
function list(parameters: Parameters = {}): Work {
  return (site) => send(site, listPath(parameters));
}

async function send({ service }: Site, path: string): Promise<void> {
  const response = await service.send(path);
  await response.body?.cancel();
  const isOlder = response.headers.get("cache-status")?.includes(
    "stale-if-error",
  );
  assertEquals([response.status, isOlder], [200, false]);
}

const sinceOf = new WeakMap<Site, string>();
const CHANGE = { [FIRST]: "changed\n" };

/** Asks what changed since a list. A commit to one file lies between them. */
const CHANGES: Work = (site) =>
  send(site, changesPath({ since: sinceOf.get(site)! }));

/** A list, whose commit is compared with. */
const LISTED: Work = async (site) => {
  sinceOf.set(site, await site.repository.head());
  await list()(site);
};

const LISTED_AND_CHANGED: Work = async (site) => {
  await LISTED(site);
  await site.repository.commit(CHANGE);
  site.service.clock.advance(61_000);
};

/** An hour of `watch()`, which polls once a minute, with one commit. */
const WATCH: Work = async (site) => {
  let since = sinceOf.get(site)!;
  for (let minute = 0; minute < HOUR_S / 60; minute++) {
    if (minute === 30) await site.repository.commit(CHANGE);
    await send(site, changesPath({ since }));
    if (minute === 30) since = await site.repository.head();
    for (let second = 0; second < 60; second++) {
      site.service.clock.advance(1000);
      await site.service.services.everySecond();
    }
  }
};

/** The same request, a minute after the first and a change. */
function earlier(
  parameters: Parameters = {},
  change?: Record<string, string>,
): Work {
  return async (site) => {
    await list(parameters)(site);
    if (change !== undefined) await site.repository.commit(change);
    site.service.clock.advance(61_000);
  };
}

/**
 * An hour of one request a second to each branch, with one commit to each where
 * there are `commits`.
 */
function hour(branches: readonly string[], { commits = false } = {}): Work {
  return async (site) => {
    for (let second = 0; second < HOUR_S; second++) {
      for (const [index, branch] of branches.entries()) {
        if (commits && second === HOUR_S / 2 + index) {
          await site.repository.commit({ [FIRST]: `${branch}, changed\n` }, {
            branch,
          });
        }
        await list({ branch })(site);
      }
      site.service.clock.advance(1000);
      await site.service.services.everySecond();
    }
  };
}

async function makeBusyBranches({ repository }: Site): Promise<void> {
  for (const branch of BUSY) {
    await repository.branch(branch);
    await repository.commit({ [FIRST]: `${branch}\n` }, { branch });
  }
}

/**
 * A proxy that fetches the tree of the whole repository every minute and uses
 * no validators.
 */
function hourAsProxy(headers: Record<string, string>): Work {
  return async ({ gh, service }) => {
    for (let minute = 0; minute < HOUR_S / 60; minute++) {
      const url = `${gh.apiUrl}/repos/octo/site/git/trees/main?recursive=1`;
      await (await fetch(url, { headers })).bytes();
      service.clock.advance(60_000);
    }
  };
}

/**
 * One title of the table, with a row for each access. `before` runs first and
 * is not counted.
 */
function row(
  accesses: Access[],
  title: string,
  work: Work,
  before: Work = async () => {},
) {
  return { title, accesses, work, before };
}

const TOGETHER: Work = (site) =>
  Promise.all(Array.from({ length: 200 }, () => list()(site)));
const CONTENTS = { includeContent: true, limit: 50 };
const HISTORY = { includeHistory: true, limit: 50 };
const BY_DATE = { sort: "-lastChanged.date", limit: 50 };
const FEED_LINKS = { linkTemplate: "https://example.com/{slug}" };
const FEED = { format: "atom", limit: 50, ...FEED_LINKS };
const SITEMAP = { format: "sitemap", ...FEED_LINKS };
const ONE_OF_50 = "the contents of 50, after a commit to one";
const TEN = "the same hour on ten branches, with one commit to each";
const PROXY = "an hour of one request a second, by a plain proxy";

/** In the order of the table. */
export const COST_SCENARIOS = [
  row(["named"], "a list, cold, at depth 1", list()),
  row(
    ["named"],
    "a list, cold, at depth 2",
    list({ collection: COLLECTIONS[1]! }),
  ),
  row(
    ["named"],
    "a list, cold, at depth 4",
    list({ collection: COLLECTIONS[2]! }),
  ),
  row(["named"], "the same again", list(), list()),
  row(["none", "named"], "after 61 s, unchanged", list(), earlier()),
  row(
    ["named"],
    "after a commit elsewhere",
    list(),
    earlier({}, { "other.md": "changed\n" }),
  ),
  row(
    ["named"],
    "after a commit in the collection",
    list(),
    earlier({}, CHANGE),
  ),
  row(
    ["none", "named"],
    "a list with the contents of 50, cold",
    list(CONTENTS),
  ),
  row(
    ["none", "named"],
    "the contents of 50, again after 61 s",
    list(CONTENTS),
    earlier(CONTENTS),
  ),
  row(["none", "named"], ONE_OF_50, list(CONTENTS), earlier(CONTENTS, CHANGE)),
  row(["named"], "a list with the history of 50, cold", list(HISTORY)),
  row(
    ["named"],
    "the history of 50, after a commit to one",
    list(HISTORY),
    earlier(HISTORY, CHANGE),
  ),
  row(["named"], "a list of 100 by lastChanged.date, cold", list(BY_DATE)),
  row(
    ["named"],
    "by lastChanged.date, after a commit to one",
    list(BY_DATE),
    earlier(BY_DATE, CHANGE),
  ),
  row(
    ["none", "named"],
    "a feed of 50 entries without dates, cold",
    list(FEED),
  ),
  row(["none", "named"], "a sitemap of 100 items, cold", list(SITEMAP)),
  row(
    ["none", "named"],
    "what changed, after a commit to one",
    CHANGES,
    LISTED_AND_CHANGED,
  ),
  row(["none", "named"], "an hour of watch(), with one commit", WATCH, LISTED),
  row(["named"], "200 identical requests at once, cold", TOGETHER),
  row(
    ["none", "named", "public"],
    "an hour of one request a second",
    hour(["main"]),
  ),
  row(
    ["none", "named"],
    "the same hour, with one commit",
    hour(["main"], { commits: true }),
  ),
  row(["none"], TEN, hour(BUSY, { commits: true }), makeBusyBranches),
  row(["none"], PROXY, hourAsProxy({})),
  row(["named"], PROXY, hourAsProxy({ authorization: `Bearer ${TOKEN}` })),
];
