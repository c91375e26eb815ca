// A GitHub App in the place of tokens: which token a request has, and when
// GitHub is asked for one.

import { assert, assertEquals } from "@std/assert";
import { makeGitRepository } from "../../github/git_repository.ts";
import { GithubDouble } from "../../github/github_double.ts";
import { itemPath, listPath, startService } from "../../service.ts";
import { TestClock } from "../../test_clock.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Two private repositories of two owners that have installed the App, and a
 * public one of a third that has not.
 */
async function start({ tokenLifeMs = HOUR_MS } = {}) {
  await using parts = new AsyncDisposableStack();
  const clock = new TestClock(Date.now() + MINUTE_MS);
  const repository = parts.use(
    await makeGitRepository({ "posts/a.md": "A\n" }),
  );
  const gh = parts.use(new GithubDouble(clock.now));
  for (const owner of ["octo", "acme"]) {
    gh.add(`${owner}/site`, repository, { visibility: "private" });
    gh.app.install(owner);
  }
  gh.add("other/site", repository);
  gh.app.tokenLifeMs = tokenLifeMs;
  const env = {
    GITHUB_APP_ID: gh.app.id,
    GITHUB_APP_PRIVATE_KEY: gh.app.privateKey.replaceAll("\n", "\\n"),
    ALLOWED_REPOS: "octo/*,acme/*,other/*",
  };
  const service = parts.use(await startService({ github: gh, clock, env }));
  const opened = parts.move();
  let count = 0;
  return {
    clock,
    gh,
    service,
    /** The status of a request that no cache can answer. */
    async request(owner: string): Promise<number> {
      const branch = `b${count++}`;
      await repository.branch(branch);
      const response = await service.get(listPath({ owner, branch }));
      await response.body?.cancel();
      return response.status;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

Deno.test("AppTokens requests no token twice at once", async () => {
  await using app = await start({ tokenLifeMs: MINUTE_MS });
  const { clock, gh, request, service } = app;
  const underWay = new Set<string>();
  gh.intercept = async (_request, { kind, path }, real) => {
    if (kind !== "app-token") return null;
    assert(!underWay.has(path), `${path} twice at once`);
    underWay.add(path);
    const answer = await real();
    underWay.delete(path);
    return answer;
  };
  for (let step = 0; step < 50; step++) {
    const owners = ["octo", "acme", "OCTO", "acme"];
    const statuses = await Promise.all(owners.map(request));
    assertEquals(statuses, [200, 200, 200, 200]);
    clock.advance(12_000);
  }
  assert(gh.requests.every(({ status }) => status !== 401));
  const { length } = gh.app.given;
  assert(length >= 20 && length <= 26, `${length} tokens`);
  assertEquals(gh.counts().installation, 2);
  assert(!/ghs_|PRIVATE/.test(service.logText));
});

Deno.test("AppTokens replaces a token before its end or if refused", async () => {
  await using app = await start();
  const { clock, gh, request } = app;
  const at = async (ms: number) => {
    clock.advance(ms);
    assertEquals(await request("octo"), 200);
    return gh.app.given.length;
  };
  assertEquals(await at(0), 1);
  // GitHub states whole seconds.
  assertEquals(await at(HOUR_MS * 0.9 - 1_000), 1);
  assertEquals(await at(1_000), 2);
  gh.app.endTokens();
  assertEquals(await at(0), 3);
  // One that is never accepted is not asked for without end.
  gh.intercept = (_request, { kind, token }) =>
    kind === "commit" && token !== null
      ? new Response("{}", { status: 401 })
      : null;
  await request("octo");
  await request("octo");
  assertEquals(gh.app.given.length, 4);
  gh.intercept = null;
  assertEquals(await at(10 * MINUTE_MS), 5);
});

Deno.test("AppTokens uses no token for an owner without the App", async () => {
  await using app = await start();
  const { clock, gh, request } = app;
  assertEquals([await request("other"), await request("other")], [200, 200]);
  assertEquals([gh.counts().installation, gh.app.given], [1, []]);
  assert(gh.requests.every(({ token }) => token === null));
  gh.app.install("other");
  clock.advance(10 * MINUTE_MS);
  assertEquals(await request("other"), 200);
  assertEquals(gh.app.given, ["other"]);
  gh.app.uninstall("other");
  assertEquals(await request("other"), 200);
  assertEquals(gh.requests.at(-1)!.token, null);
});

Deno.test("AppTokens keeps a token while GitHub gives no other", async () => {
  await using app = await start();
  const { clock, gh, request, service } = app;
  assertEquals(await request("octo"), 200);
  gh.fault = { kind: "status", status: 502, only: ["app-token"] };
  clock.advance(HOUR_MS - 1_000);
  assertEquals([await request("octo"), await request("octo")], [200, 200]);
  assertEquals(service.logLines("no installation token").length, 1);
  clock.advance(31_000);
  // A 404 without a token says nothing about a private repository.
  assertEquals(await request("octo"), 502);
  gh.fault = null;
  clock.advance(31_000);
  assertEquals(await request("octo"), 200);
});

Deno.test("AppTokens keeps the limits of a token for the next one", async () => {
  await using app = await start({ tokenLifeMs: MINUTE_MS });
  const { clock, gh, request } = app;
  gh.intercept = (_request, { token }) =>
    token === null
      ? null
      : new Response("{}", { status: 429, headers: { "retry-after": "600" } });
  assertEquals(await request("octo"), 503);
  gh.intercept = null;
  clock.advance(59_000);
  assertEquals([await request("octo"), gh.app.given.length], [503, 2]);
});

Deno.test("branches of App owners are checked ahead of need", async () => {
  await using app = await start();
  const { clock, gh, service } = app;
  for (let time = 0; time < 2; time++) {
    for (const owner of ["octo", "other"]) await service.list({ owner });
    clock.advance(25_000);
  }
  gh.resetCounts();
  await service.services.everySecond();
  assertEquals(gh.requests.map(({ path }) => path), [
    "/repos/octo/site/commits/heads%2Fmain",
  ]);
});

Deno.test("AppTokens chooses by the requested owner after a rename", async () => {
  await using app = await start();
  const { gh, service } = app;
  gh.rename("octo/site", "octo/renamed");
  const path = itemPath({ owner: "octo", path: "posts/a.md" });
  assertEquals((await service.get(path)).status, 200);
  assertEquals(gh.app.given, ["octo"]);
});
