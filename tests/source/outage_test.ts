// GitHub fails in every way of the double: known data is served and marked, unknown data has its error code, and GitHub
// gets few requests meanwhile.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Fault } from "../github/github_faults.ts";
import type { LoggedRequest } from "../github/github_log.ts";
import { makeGitRepository } from "../github/git_repository.ts";
import { timeOutHangs } from "../github/github_faults.ts";
import { itemPath, listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ENV = { LOG_LEVEL: "silent" };

interface Outage {
  readonly name: string;
  /** Null where the double stops listening. */
  readonly fault: Fault | null;
  readonly status: number;
  readonly code: string;
}

const OUTAGES: readonly Outage[] = [
  { name: "refusing", fault: null, status: 502, code: "source-failed" },
  { name: "hanging", fault: { kind: "hang" }, status: 504, code: "source-timeout" },
  { name: "resetting", fault: { kind: "reset" }, status: 502, code: "source-failed" },
  { name: "500", fault: { kind: "status", status: 500 }, status: 502, code: "source-failed" },
  { name: "403 quota", fault: { kind: "quota403" }, status: 503, code: "source-rate-limited" },
  {
    name: "429 secondary",
    fault: { kind: "secondary429" },
    status: 503,
    code: "source-rate-limited",
  },
  { name: "garbage JSON", fault: { kind: "garbage" }, status: 502, code: "source-failed" },
  { name: "HTML", fault: { kind: "html" }, status: 502, code: "source-failed" },
];

async function strike({ gh, service }: Site, { fault }: Outage): Promise<void> {
  timeOutHangs(service.clock, gh);
  if (fault === null) await gh.down();
  else gh.fault = fault;
  gh.resetCounts();
}

const collections = Array.from({ length: 10 }, (_, index) => `c${index}`);
const files = Object.fromEntries(
  collections.flatMap((name) =>
    ["a", "b"].map((file) => [`${name}/${file}.md`, `${name} ${file}`])
  ),
);

/** The path of a list of one of the collections; half of them with their contents. */
function pathOf(index: number): string {
  const place = index % collections.length;
  return listPath({ collection: collections[place]!, includeContent: place % 2 === 0 });
}

for (const token of [null, "t1"]) {
  for (const outage of OUTAGES) {
    const who = token === null ? "without a token" : "with a token";
    Deno.test(`${outage.name}, ${who}: 100 requests for 10 known collections`, async () => {
      const env = { ...ENV, ...token === null ? {} : { GITHUB_TOKEN: token } };
      await using site = await startSite(files, { env });
      const { gh, repository, service } = site;
      if (token !== null) gh.addToken(token);
      const known = await Promise.all(
        collections.map(async (_, index) => await (await service.get(pathOf(index))).text()),
      );
      service.clock.advance(MINUTE_MS);
      await repository.commit({ "c0/a.md": "not to be seen\n" });
      await strike(site, outage);
      const check = async (index: number) => {
        const response = await service.get(pathOf(index));
        assertEquals(response.status, 200);
        assertMatch(
          response.headers.get("cache-status")!,
          /^collections; hit; ttl=-?\d+; detail=stale-if-error$/,
        );
        assertEquals(await response.text(), known[index % known.length]);
      };
      await Promise.all(Array.from({ length: 50 }, (_, index) => check(index)));
      for (let index = 0; index < 50; index++) {
        await check(index);
        service.clock.advance(100);
        await service.services.refreshDue();
      }
      assert(gh.requests.length > 0 || outage.fault === null);
      assert(gh.requests.length < 20, `${gh.requests.length} requests upstream`);
    });
  }
}

for (const outage of OUTAGES) {
  Deno.test(`${outage.name}: nothing known is ${outage.status} ${outage.code}, and then at once`, async () => {
    await using site = await startSite(files, { env: ENV });
    const { gh, service } = site;
    await strike(site, outage);
    for (const path of [listPath({ collection: "c0" }), itemPath({ path: "c0/a.md" })]) {
      const response = await service.get(path);
      assertEquals([response.status, (await response.json()).code], [outage.status, outage.code]);
      const retryAfter = response.headers.get("retry-after");
      assertEquals(retryAfter !== null, outage.status === 503);
    }
    // The outage is known by then: the second request sent none.
    assert(gh.requests.length <= 2, `${gh.requests.length} requests upstream`);
  });

  Deno.test(`${outage.name}: an older answer is served for under 24 h, and ends with the outage`, async () => {
    await using site = await startSite(files, { env: ENV });
    const { gh, repository, service } = site;
    const path = pathOf(0);
    const known = await (await service.get(path)).text();
    await repository.commit({ "c0/a.md": "changed\n" });
    await strike(site, outage);
    service.clock.advance(24 * HOUR_MS - 1);
    const late = await service.get(path);
    assertEquals([late.headers.get("age"), await late.text()], ["86399", known]);
    service.clock.advance(1);
    assertEquals((await service.get(path)).status, outage.status);
    gh.fault = null;
    gh.up();
    service.clock.advance(HOUR_MS + 1000);
    const after = await service.get(path);
    assertEquals(after.headers.get("cache-status"), "collections; fwd=stale; stored");
    assert((await after.text()).includes("changed"));
  });
}

Deno.test("a branch that moved to what cannot be read is the failure until it can be read", async () => {
  await using site = await startSite(files, { env: ENV });
  const { gh, repository, service } = site;
  await service.get(pathOf(0));
  await repository.commit({ "c0/a.md": "changed\n" });
  gh.fault = { kind: "status", status: 500, only: ["tree"] };
  service.clock.advance(MINUTE_MS);
  for (let times = 0; times < 3; times++) {
    assertEquals((await service.problem(pathOf(0))).code, "source-failed");
  }
  gh.fault = null;
  service.clock.advance(10_000);
  const after = await (await service.get(pathOf(0))).json();
  assertEquals(after.repository.commit, await repository.head());
  assertEquals(after.items[0].content, "changed\n");
});

Deno.test("a file that cannot be read is an error on its item, and on no other; the page is not cached", async () => {
  for (const token of [null, "t1"]) {
    const env = { ...ENV, ...token === null ? {} : { GITHUB_TOKEN: token } };
    await using site = await startSite(
      { "posts/a.md": "A\n", "posts/bad.md": "bad\n", "posts/c.md": "C\n" },
      { env },
    );
    const { gh, repository, service } = site;
    timeOutHangs(service.clock, gh);
    if (token !== null) gh.addToken(token);
    const bad = await repository.resolve("main:posts/bad.md");
    const isBad = ({ kind, path }: LoggedRequest) =>
      kind === "graphql" || path.endsWith("bad.md") || path.endsWith(bad!);
    for (
      const fault of [{ kind: "wrong-bytes" }, { kind: "status", status: 500 }, { kind: "hang" }, {
        kind: "status",
        status: 404,
      }] as const
    ) {
      gh.faultWhen((request) => isBad(request) ? fault : null);
      const path = listPath({ includeContent: true });
      const response = await service.get(path);
      assertEquals(response.headers.get("cache-status"), "collections; fwd=miss");
      const { items } = await response.json();
      const shown = items.map((item: { content?: string; error?: { code: string } }) =>
        item.content ?? item.error?.code
      );
      const code = fault.kind === "hang" ? "source-timeout" : "source-failed";
      assertEquals([fault, shown], [fault, ["A\n", code, "C\n"]]);
      service.clock.advance(MINUTE_MS);
    }
    gh.faultWhen(null);
    const { items } = await service.list({ includeContent: true });
    assertEquals(items.map(({ content }) => content), ["A\n", "bad\n", "C\n"]);
  }
});

Deno.test("a repository that fails does not stop the others", async () => {
  await using site = await startSite(files, { env: ENV });
  const { gh, repository, service } = site;
  timeOutHangs(service.clock, gh);
  gh.add("octo/other", repository);
  gh.add("three/third", repository);
  gh.faultWhen(({ path }) => path.includes("/site/") ? { kind: "hang" } : null);
  const status = async (parameters: Record<string, string>) =>
    (await service.get(listPath({ collection: "c0", ...parameters }))).status;
  for (let times = 0; times < 20; times++) {
    assertEquals(await status({ branch: `branch-${times}` }), 504);
    service.clock.advance(100);
  }
  assertEquals(await status({ repo: "other" }), 200);
  assertEquals(await status({ owner: "three", repo: "third" }), 200);
});

Deno.test("a source that no owner's repositories can be had from gets no more requests", async () => {
  await using site = await startSite(files, { env: ENV });
  const { gh, service } = site;
  timeOutHangs(service.clock, gh);
  const ask = async (owner: string) =>
    (await service.problem(listPath({ owner, repo: "any" }))).code;
  gh.fault = { kind: "hang" };
  for (const owner of ["a", "b", "c", "d"]) assertEquals(await ask(owner), "source-timeout");
  assertEquals(gh.requests.length, 4);
  assertEquals(await ask("e"), "source-timeout");
  assertEquals(await ask("f"), "source-timeout");
  assertEquals(gh.requests.length, 5);
  gh.fault = null;
  service.clock.advance(5_000);
  assertEquals(await ask("f"), "repository-not-found");
  assertEquals(await ask("g"), "repository-not-found");
});

Deno.test("a rate limit stops every repository at once, for as long as it says", async () => {
  await using git = await makeGitRepository(files);
  for (const kind of ["secondary403", "secondary429", "quota403", "quota429"] as const) {
    await using site = await startSite(files, { env: ENV });
    const { gh, service } = site;
    gh.add("other/place", git);
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

Deno.test("spent tokens are 503 with the time of the first that comes back", async () => {
  await using site = await startSite(files, { env: { ...ENV, GITHUB_TOKEN: "t1,t2,t3" } });
  const { gh, service } = site;
  const now = service.clock.now();
  for (const [token, minutes] of [["t1", 50], ["t2", 20], ["t3", 30]] as const) {
    gh.addToken(token);
    const resetAtMs = Math.ceil(now / 1000) * 1000 + minutes * MINUTE_MS;
    gh.setQuota(token, { remaining: 0, resetAtMs });
  }
  const response = await service.get(listPath({ collection: "c0" }));
  assertEquals([response.status, (await response.json()).code], [503, "source-rate-limited"]);
  const seconds = Number(response.headers.get("retry-after"));
  assert(seconds >= 1200 && seconds <= 1201, `${seconds}`);
  service.clock.advance(seconds * 1000);
  assertEquals((await service.get(listPath({ collection: "c0" }))).status, 200);
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
