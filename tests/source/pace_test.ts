// GitHub's secondary limits are not met: 900 requests a minute and 100 at once
// for a token. The double ends with an error where one is.

import { assert, assertEquals } from "@std/assert";
import { GitHubClient } from "../../lib/source/github/client.ts";
import { tokenList, TokenPool } from "../../lib/source/github/tokens.ts";
import { serveRepository } from "../github/served_repository.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { TestClock, turns } from "../test_clock.ts";
import { silentLog, uncharged } from "./open_github.ts";

/** Lets everything happen that takes no time of the clock. */
async function settle(requests: readonly unknown[]): Promise<void> {
  for (let before = -1; before !== requests.length;) {
    before = requests.length;
    await turns(10);
  }
}

/** The most requests in any minute. */
function busiestMinute(timesMs: readonly number[]): number {
  let [from, most] = [0, 0];
  for (const [index, atMs] of timesMs.entries()) {
    while (timesMs[from]! <= atMs - 60_000) from++;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

Deno.test("a list of 1,500 folders stays under 900 a minute", async () => {
  const files = Array.from(
    { length: 1_500 },
    (_, n) => [`posts/d${n}/a.md`, `${n}`] as const,
  );
  await using site = await startSite(files, { env: { GITHUB_TOKEN: "t1" } });
  const { gh, service: { clock }, service } = site;
  gh.addToken("t1");
  gh.truncateAt = 2_000;
  const timesMs: number[] = [];
  gh.intercept = () => {
    timesMs.push(clock.now());
    return null;
  };
  let status = 503;
  for (let second = 0; status !== 200; second++) {
    assert(second < 300, "the list takes five minutes");
    // The job reads on while its clients come back.
    if (status === 503) {
      status = 0;
      void service.get(listPath()).then((response) => status = response.status);
    }
    await settle(timesMs);
    clock.advance(1_000);
  }
  assertEquals((await service.list()).pagination.totalItems, 1_500);
  assert(timesMs.length > 1_500, `${timesMs.length} requests`);
  const most = busiestMinute(timesMs);
  assert(most < 900 && most > 700, `${most} requests in a minute`);
});

/**
 * Requests of each lane by a client with its share of one token, each of
 * another client of the service.
 */
function openLanes(clock: TestClock, url: string, isolates: number) {
  const options = { clock, log: silentLog, isolates: () => isolates };
  const tokens = new TokenPool(tokenList(["t1"]), options);
  const api = { timeoutMs: 10_000, userAgent: "test" };
  const client = new GitHubClient({ ...options, ...api, tokens });
  let count = 0;
  const send = (kind: "tree" | "repo", url: string) => {
    const context = { ...uncharged, client: `${count++ % 100}` };
    return client.request({
      kind,
      url,
      owner: "octo",
      context,
      maxBytes: 1 << 20,
    });
  };
  return {
    read: () => send("tree", `${url}/git/trees/main`),
    check: () => send("repo", url),
  };
}

Deno.test("isolates share a token's 100 requests at once", async () => {
  const clock = new TestClock();
  await using served = await serveRepository({ "a.md": "" }, {
    now: clock.now,
  });
  const { gh, url } = served;
  gh.addToken("t1");
  for (const isolates of [1, 2, 16, 32]) {
    const held = Promise.withResolvers<null>();
    gh.intercept = () => held.promise;
    gh.log.reset();
    const answers = Array.from({ length: isolates }, () => {
      const { read, check } = openLanes(clock, url, isolates);
      return Array.from({ length: 100 }, () => [read(), check()]);
    }).flat(2);
    const settled = Promise.allSettled(answers);
    await settle(gh.requests);
    const { maxConcurrent } = gh.log;
    held.resolve(null);
    clock.advance(3_600_000);
    await settle(gh.requests);
    clock.advance(3_600_000);
    await settled;
    assert(
      maxConcurrent >= 90 && maxConcurrent <= 100,
      `${maxConcurrent} at once`,
    );
  }
});
