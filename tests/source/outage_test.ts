// GitHub fails in every way of the double: known data is served and marked, unknown data has its error code, and GitHub
// gets few requests meanwhile.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import { itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ENV = { LOG_LEVEL: "silent" };

/** What fails, and what is said where nothing is known; null where the double stops listening. */
const OUTAGES: readonly [name: string, fault: Fault | null, status: number, code: string][] = [
  ["refusing", null, 502, "source-failed"],
  ["hanging", { kind: "hang" }, 504, "source-timeout"],
  ["resetting", { kind: "reset" }, 502, "source-failed"],
  ["500", { kind: "status", status: 500 }, 502, "source-failed"],
  ["403 quota", { kind: "quota403" }, 503, "source-rate-limited"],
  ["429 secondary", { kind: "secondary429" }, 503, "source-rate-limited"],
  ["garbage JSON", { kind: "garbage" }, 502, "source-failed"],
  ["HTML", { kind: "html" }, 502, "source-failed"],
];

const collections = Array.from({ length: 10 }, (_, index) => `c${index}`);
const files = Object.fromEntries(
  collections.flatMap((name) =>
    ["a", "b"].map((file) => [`${name}/${file}.md`, `${name} ${file}`])
  ),
);

/** The path of a list of one of the collections; half of them with their contents. */
function pathOf(index: number): string {
  return listPath({ collection: collections[index]!, includeContent: index % 2 === 0 });
}

for (const token of [null, "t1"]) {
  for (const [name, fault, status, code] of OUTAGES) {
    const who = token === null ? "without a token" : "with a token";
    Deno.test(`${name}, ${who}: known lists are served for under 24 h, with few requests upstream`, async () => {
      const env = { ...ENV, ...token === null ? {} : { GITHUB_TOKEN: token } };
      await using site = await startSite(files, { env });
      const { gh, repository, service } = site;
      const { clock } = service;
      if (token !== null) gh.addToken(token);
      const paths = collections.map((_, index) => pathOf(index));
      const texts = () => Promise.all(paths.map(async (path) => (await service.get(path)).text()));
      const known = await texts();
      await repository.commit({ "c0/a.md": "changed\n" });
      timeOutHangs(clock, gh);
      if (fault === null) await gh.down();
      else gh.fault = fault;
      gh.resetCounts();
      clock.advance(MINUTE_MS);
      for (let round = 0; round < 5; round++) {
        assertEquals(await texts(), known);
        const { headers } = await service.get(paths[round]!);
        const status = headers.get("cache-status")!;
        assertMatch(status, /^collections; hit; ttl=-?\d+; detail=stale-if-error$/);
        clock.advance(1_000);
        await service.services.refreshDue();
      }
      assert(gh.requests.length > 0 || fault === null);
      assert(gh.requests.length < 20, `${gh.requests.length} requests upstream`);

      const unknown = await service.get(itemPath({ repo: "unknown", path: "a.md" }));
      assertEquals([unknown.status, (await unknown.json()).code], [status, code]);
      assertEquals(unknown.headers.has("retry-after"), status === 503);

      clock.advance(24 * HOUR_MS - 1 - MINUTE_MS - 5_000);
      const late = await service.get(paths[0]!);
      assertEquals([late.headers.get("age"), await late.text()], ["86399", known[0]]);
      clock.advance(1);
      assertEquals((await service.get(paths[0]!)).status, status);
      gh.fault = null;
      gh.up();
      clock.advance(HOUR_MS + 1000);
      const after = await service.get(paths[0]!);
      assertEquals(after.headers.get("cache-status"), "collections; fwd=stale; stored");
      assert((await after.text()).includes("changed"));
    });
  }
}

Deno.test("a rate limit stops every repository at once, for as long as it says", async () => {
  for (const kind of ["secondary403", "secondary429", "quota403", "quota429"] as const) {
    await using site = await startSite(files, { env: ENV });
    const { gh, service } = site;
    gh.add("other/place", site.repository);
    const resetAtMs = Math.ceil(service.clock.now() / 1000) * 1000 + 60_000;
    gh.fault = kind.startsWith("quota") ? { kind, resetAtMs } : { kind } as Fault;
    const path = listPath({ owner: "other", repo: "place", collection: "c0" });
    assertEquals((await service.get(listPath({ collection: "c0" }))).status, 503);
    gh.fault = null;
    const { code, retryAfterSeconds } = await service.problem(path);
    assertEquals(code, "source-rate-limited");
    assert(retryAfterSeconds! >= 60 && retryAfterSeconds! <= 61, `${retryAfterSeconds}`);
    assertEquals(gh.requests.length, 1);
    service.clock.advance(retryAfterSeconds! * 1000);
    assertEquals((await service.get(path)).status, 200);
  }
});

Deno.test("refused tokens are passed over, and the log names their places alone", async () => {
  await using site = await startSite(files, {
    env: { GITHUB_TOKEN: "hidden-one,hidden-two,hidden-three" },
  });
  const { gh, service } = site;
  gh.addToken("hidden-two");
  await service.list({ collection: "c0" });
  gh.revokeToken("hidden-two");
  service.clock.advance(MINUTE_MS);
  await service.list({ collection: "c1" });
  const refused = service.logLines("token refused");
  assertEquals(refused.map(({ token }) => token).sort(), [1, 2, 3]);
  assertEquals(service.logLines("all tokens refused, continuing without a token").length, 1);
  assert(!service.logText.includes("hidden"));
  gh.resetCounts();
  service.clock.advance(50_000);
  await service.list({ collection: "c1" });
  await service.services.refreshDue();
  assertEquals(gh.counts(), {}, "without a token left, nothing is checked ahead");
});
