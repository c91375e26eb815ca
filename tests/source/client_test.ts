import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Clock } from "../../lib/clock.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { LineLog } from "../../lib/log.ts";
import type { GitHubAnswer, GitHubRequest } from "../../lib/source/github_client.ts";
import type { Fault } from "../github/github_faults.ts";
import { serveRepository } from "../github/served_repository.ts";
import { timeOutHangs } from "../github/time_out_hangs.ts";
import { TestClock } from "../test_clock.ts";
import { openClient } from "./github_source.ts";

const maxBytes = 1 << 20;

async function open(
  options: { tokens?: readonly string[]; concurrency?: number; timeoutMs?: number } = {},
) {
  const clock = new TestClock();
  const served = await serveRepository({ "a.md": "A\n" }, { now: clock.now });
  const { gh } = served;
  for (const token of options.tokens ?? []) gh.addToken(token);
  const pausesMs: number[] = [];
  const alarmsMs: number[] = [];
  let logged = "";
  const log = new LineLog((bytes) => void (logged += new TextDecoder().decode(bytes)), {
    level: "debug",
  });
  const counted: Clock = {
    now: clock.now,
    sleep: (ms, signal) => {
      pausesMs.push(ms);
      return clock.sleep(ms, signal);
    },
    alarm: (ms, ring) => {
      alarmsMs.push(ms);
      return clock.alarm(ms, ring);
    },
  };
  const { client, tokens } = openClient({ ...options, clock: counted, log });
  const commit: GitHubRequest = {
    kind: "commit",
    url: `${served.url}/commits/heads%2Fmain`,
    accept: "application/vnd.github.sha",
    maxBytes,
  };
  const graphql: GitHubRequest = {
    kind: "graphql",
    url: gh.graphqlUrl,
    json: JSON.stringify({ query: `{repository(owner:"octo",name:"site"){name}}` }),
    maxBytes,
  };
  return {
    clock,
    gh,
    client,
    tokens,
    pausesMs,
    alarmsMs,
    commit,
    graphql,
    tree: {
      ...commit,
      kind: "tree",
      url: `${served.url}/git/trees/main`,
      accept: "application/json",
    } as GitHubRequest,
    raw: {
      kind: "raw",
      url: `${gh.rawUrl}/octo/site/${await served.repository.head()}/a.md`,
      maxBytes,
    } as GitHubRequest,
    logged() {
      log.flush();
      return logged;
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

async function failure(asked: Promise<unknown>): Promise<CollectionsError> {
  return await assertRejects(() => asked, CollectionsError);
}

/** What a request was asked with, told by the double's log. */
function tokensUsed({ gh }: Awaited<ReturnType<typeof open>>): (number | null)[] {
  return gh.requests.map(({ token }) => token);
}

Deno.test("GitHubClient asks once more after a 5xx or a broken connection, a moment later", async () => {
  for (const fault of [{ kind: "status", status: 502 }, { kind: "reset" }] as Fault[]) {
    await using opened = await open();
    const { gh, client, commit, pausesMs } = opened;
    gh.faultWhen(() => gh.requests.length === 1 ? fault : null);
    assertEquals((await client.ask(commit)).status, 200);
    assertEquals([gh.requests.length, pausesMs.length], [2, 1]);

    gh.faultWhen(() => fault);
    assertEquals((await failure(client.ask(commit))).code, "source-failed");
    assertEquals(gh.requests.length, 4);
    for (let times = 0; times < 20; times++) await failure(client.ask(commit));
    assert(pausesMs.every((ms) => ms >= 50 && ms <= 250), `${pausesMs}`);
    assert(new Set(pausesMs).size > 10, "the pauses differ");
  }
});

Deno.test("GitHubClient does not ask again what was refused, late, garbled or a GraphQL batch", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, client, commit, graphql } = opened;
  timeOutHangs(clock, gh);
  const cases: [Fault, GitHubRequest, string][] = [
    [{ kind: "hang" }, commit, "source-timeout"],
    [{ kind: "stall" }, commit, "source-timeout"],
    [{ kind: "status", status: 502 }, graphql, "source-failed"],
    [{ kind: "reset" }, graphql, "source-failed"],
    [{ kind: "status", status: 400 }, commit, "source-failed"],
  ];
  for (const [fault, request, code] of cases) {
    gh.fault = fault;
    gh.resetCounts();
    assertEquals((await failure(client.ask(request))).code, code);
    assertEquals([fault, gh.requests.length], [fault, 1]);
  }
});

Deno.test("GitHubClient gives each request its time, and no alarm is left of one that is over", async () => {
  await using opened = await open({ timeoutMs: 1_234 });
  const { alarmsMs, clock, gh, client, commit } = opened;
  timeOutHangs(clock, gh);
  await client.ask(commit);
  assertEquals([alarmsMs, clock.alarms], [[1_234], 0]);

  gh.fault = { kind: "hang" };
  const error = await failure(client.ask(commit));
  assertEquals(error.message, 'Cannot read "commit": no answer in 1234 ms');
  assertEquals([alarmsMs, clock.alarms], [[1_234, 1_234], 0]);
});

Deno.test("GitHubClient does not ask again at once where a 5xx says when to come back", async () => {
  await using opened = await open();
  const { gh, client, commit } = opened;
  gh.fault = { kind: "status", status: 503, headers: { "retry-after": "120" } };
  const error = await failure(client.ask(commit));
  assertEquals([error.code, error.restMs, gh.requests.length], ["source-failed", 120_000, 1]);
  gh.fault = { kind: "status", status: 503, headers: { "retry-after": "soon" } };
  assertEquals((await failure(client.ask(commit))).restMs, 0);
  assertEquals(gh.requests.length, 3);
});

Deno.test("GitHubClient takes a connection that is refused for an unreachable source", async () => {
  await using opened = await open();
  await opened.gh.down();
  const error = await failure(opened.client.ask(opened.commit));
  assertEquals([error.code, error.unreachable], ["source-failed", true]);
});

Deno.test("GitHubClient tells both kinds of rate limit by header or message, and waits as told", async () => {
  const inHours = (hours: number) => Date.UTC(2026, 0, 1) + hours * 3_600_000;
  const cases: [Fault, waitSeconds: number][] = [
    [{ kind: "quota403", resetAtMs: inHours(1) }, 3600],
    [{ kind: "quota429", resetAtMs: inHours(0.5) }, 1800],
    [{ kind: "quota403", resetAtMs: inHours(100) }, 24 * 3600],
    // What says when to come back goes before the quota's time, which may be of another limit.
    [{
      kind: "status",
      status: 403,
      headers: {
        "retry-after": "30",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": `${inHours(1) / 1000}`,
      },
    }, 30],
    [{ kind: "secondary403" }, 60],
    [{ kind: "secondary429", retryAfterSeconds: 17 }, 17],
    [{ kind: "secondary403", retryAfterSeconds: null }, 60],
    [{ kind: "secondary429", retryAfterSeconds: null }, 60],
    [{ kind: "secondary403", retryAfterSeconds: 0 }, 1],
    [{ kind: "status", status: 429, message: "Whoa there!" }, 60],
    [{ kind: "status", status: 403, message: "You triggered an abuse detection mechanism." }, 60],
    [{
      kind: "status",
      status: 403,
      headers: { "retry-after": new Date(inHours(0) + 90_000).toUTCString() },
    }, 90],
  ];
  for (const [fault, waitSeconds] of cases) {
    await using opened = await open();
    const { clock, gh, client, commit, tree } = opened;
    gh.fault = fault;
    const error = await failure(client.ask(commit));
    assertEquals([fault, error.code, error.facts.retryAfterSeconds], [
      fault,
      "source-rate-limited",
      waitSeconds,
    ]);
    gh.fault = null;
    // Whatever is asked, of whatever repository: nobody is asked until then.
    clock.advance(waitSeconds * 1000 - 1);
    await failure(client.ask(tree));
    assertEquals(gh.requests.length, 1);
    clock.advance(1);
    assertEquals((await client.ask(tree)).status, 200);
  }
});

Deno.test("GitHubClient takes a 403 that is no limit for an answer, and stops nothing", async () => {
  await using opened = await open();
  const { gh, client, commit } = opened;
  gh.fault = { kind: "forbidden" };
  assertEquals((await client.ask(commit)).status, 403);
  gh.fault = null;
  assertEquals((await client.ask(commit)).status, 200);
});

Deno.test("GitHubClient goes on with another token after a limit, and stops one quota where it is spent", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { gh, client, commit, graphql } = opened;
  gh.faultWhen(({ token }) => token === 0 ? { kind: "secondary429" } : null);
  assertEquals((await client.ask(commit)).status, 200);
  assertEquals((await client.ask(graphql)).status, 200);
  assertEquals(tokensUsed(opened), [0, 1, 1]);

  await using other = await open({ tokens: ["t1"] });
  other.gh.setQuota("t1", { remaining: 1 });
  assertEquals((await other.client.ask(other.commit)).status, 200);
  // The answer said that nothing is left, so nothing more is sent.
  assertEquals((await failure(other.client.ask(other.tree))).code, "source-rate-limited");
  assertEquals((await other.client.ask(other.graphql)).status, 200);
  assertEquals(other.gh.counts(), { commit: 1, graphql: 1 });
});

Deno.test("GitHubClient sends nothing more of what waited when a limit was met", async () => {
  await using opened = await open({ concurrency: 1 });
  const { gh, client, commit } = opened;
  gh.fault = { kind: "secondary429" };
  const errors = await Promise.all(Array.from({ length: 5 }, () => failure(client.ask(commit))));
  assertEquals(new Set(errors.map(({ code }) => code)), new Set(["source-rate-limited"]));
  assertEquals(gh.requests.length, 1);
});

Deno.test("GitHubClient sets a refused token aside, at last goes on without, and tells no token", async () => {
  await using opened = await open({ tokens: ["hidden-1", "hidden-2"] });
  const { gh, client, commit, logged } = opened;
  gh.revokeToken("hidden-1");
  assertEquals((await client.ask(commit)).status, 200);
  gh.revokeToken("hidden-2");
  assertEquals((await client.ask(commit)).status, 200);
  assertEquals((await client.ask(commit)).status, 200);
  const statuses = gh.requests.map(({ status, token }) => [status, token]);
  assertEquals(statuses, [[401, null], [200, 1], [401, null], [200, null], [200, null]]);
  assertEquals(logged().match(/"event":"[^"]+"(?:,"token":\d)?/g), [
    `"event":"token refused","token":1`,
    `"event":"token refused","token":2`,
    `"event":"all tokens refused, going on without a token"`,
  ]);
  assert(!logged().includes("hidden"));
});

Deno.test("GitHubClient asks no GraphQL once the last token is refused", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { gh, client, graphql } = opened;
  gh.revokeToken("t1");
  assertEquals((await failure(client.ask(graphql))).code, "source-failed");
  assertEquals((await failure(client.ask(graphql))).code, "source-failed");
  assertEquals(gh.requests.map(({ status }) => status), [401]);
});

function validatorOf(answer: GitHubAnswer) {
  return { etag: answer.headers.get("etag")!, fingerprint: answer.token.fingerprint };
}

Deno.test("GitHubClient sends a validator with the token alone that it came from", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { gh, client, commit } = opened;
  const known = validatorOf(await client.ask(commit));
  assertEquals((await client.ask({ ...commit, known })).status, 304);
  assertEquals([gh.quotaSpent("t1"), gh.quotaSpent("t2")], [1, 0]);

  // Told that this token's quota is spent, the client goes on with the other, whose ETags differ.
  gh.faultWhen(({ token }) => token === 0 ? { kind: "quota403" } : null);
  assertEquals((await client.ask({ ...commit, known })).status, 200);
  assertEquals((await client.ask({ ...commit, known })).status, 200);
  const asked = gh.requests.slice(-3).map(({ token, conditional }) => [token, conditional]);
  assertEquals(asked, [[0, true], [1, false], [1, false]]);
});

Deno.test("GitHubClient takes a 304 that it did not ask for as a failure", async () => {
  await using opened = await open();
  opened.gh.intercept = () => new Response(null, { status: 304 });
  assertEquals((await failure(opened.client.ask(opened.commit))).code, "source-failed");
});

Deno.test("GitHubClient reads no more of a body than allowed", async () => {
  await using opened = await open();
  const { client, commit } = opened;
  assertEquals((await client.ask({ ...commit, maxBytes: 40 })).bytes.length, 40);
  assertEquals((await failure(client.ask({ ...commit, maxBytes: 39 }))).code, "source-failed");
});

Deno.test("GitHubClient keeps the raw host's limit apart from the API's", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, client, commit, raw } = opened;
  gh.fault = { kind: "status", status: 429, only: ["raw"] };
  assertEquals((await failure(client.ask(raw))).facts.retryAfterSeconds, 60);
  assertEquals((await failure(client.ask(raw))).code, "source-rate-limited");
  assertEquals((await client.ask(commit)).status, 200);
  assertEquals(gh.counts(), { raw: 1, commit: 1 });
  gh.fault = null;
  clock.advance(60_000);
  assertEquals((await client.ask(raw)).status, 200);
});

Deno.test("GitHubClient ends with its caller", async () => {
  await using opened = await open();
  const { gh, client, commit } = opened;
  gh.fault = { kind: "hang" };
  const left = new AbortController();
  const asked = client.ask({ ...commit, signal: left.signal });
  await gh.log.until(() => gh.pauses.waiting === 1);
  left.abort(new Error("left"));
  await assertRejects(() => asked, Error, "left");
  await gh.log.until(() => gh.log.inFlight === 0);
  assertEquals(gh.requests.map(({ aborted }) => aborted), [true]);
});
