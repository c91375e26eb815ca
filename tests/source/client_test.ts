import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Clock } from "../../lib/clock.ts";
import { CollectionsError } from "../../lib/errors.ts";
import type { GitHubAnswer, GitHubRequest } from "../../lib/source/github/client.ts";
import type { Fault } from "../github/github_faults.ts";
import { serveRepository } from "../github/served_repository.ts";
import { timeOutHangs } from "../github/github_faults.ts";
import { TestClock } from "../test_clock.ts";
import { openClient, uncharged } from "./open_github.ts";

const common = { context: uncharged, maxBytes: 1 << 20 };

async function open(options: { tokens?: readonly string[]; timeoutMs?: number } = {}) {
  const clock = new TestClock();
  const served = await serveRepository({ "a.md": "A\n" }, { now: clock.now });
  const { gh } = served;
  for (const token of options.tokens ?? []) gh.addToken(token);
  const pausesMs: number[] = [];
  const counted: Clock = {
    now: clock.now,
    monotonicMs: clock.monotonicMs,
    setTimer: (ms, callback) => clock.setTimer(ms, callback),
    sleep: (ms, signal) => {
      pausesMs.push(ms);
      return clock.sleep(ms, signal);
    },
  };
  const { client, tokens } = openClient({ ...options, clock: counted });
  const commit: GitHubRequest = {
    ...common,
    kind: "commit",
    url: `${served.url}/commits/heads%2Fmain`,
    accept: "application/vnd.github.sha",
  };
  return {
    clock,
    gh,
    client,
    tokens,
    pausesMs,
    commit,
    graphql: {
      ...common,
      kind: "graphql",
      url: gh.graphqlUrl,
      body: JSON.stringify({
        query:
          `query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { ` +
          `f0: object(oid: "${"0".repeat(40)}") { ... on Blob { text isBinary isTruncated } } }}`,
        variables: { owner: "octo", name: "site" },
      }),
    } as GitHubRequest,
    tree: {
      ...common,
      kind: "tree",
      url: `${served.url}/git/trees/main`,
      accept: "application/json",
    } as GitHubRequest,
    raw: {
      ...common,
      kind: "raw",
      url: `${gh.rawUrl}/octo/site/${await served.repository.head()}/a.md`,
    } as GitHubRequest,
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

async function failure(requested: Promise<unknown>): Promise<CollectionsError> {
  return await assertRejects(() => requested, CollectionsError);
}

/** The details of a request, from the double's log. */
function tokensUsed({ gh }: Awaited<ReturnType<typeof open>>): (number | null)[] {
  return gh.requests.map(({ token }) => token);
}

Deno.test("GitHubClient repeats a request once after a 5xx or a broken connection, a moment later", async () => {
  for (const fault of [{ kind: "status", status: 502 }, { kind: "reset" }] as Fault[]) {
    await using opened = await open();
    const { gh, client, commit, pausesMs } = opened;
    gh.faultWhen(() => gh.requests.length === 1 ? fault : null);
    assertEquals((await client.request(commit)).status, 200);
    assertEquals([gh.requests.length, pausesMs.length], [2, 1]);

    gh.faultWhen(() => fault);
    assertEquals((await failure(client.request(commit))).code, "source-failed");
    assertEquals(gh.requests.length, 4);
    for (let times = 0; times < 20; times++) await failure(client.request(commit));
    assert(pausesMs.every((ms) => ms >= 50 && ms <= 250), `${pausesMs}`);
    assert(new Set(pausesMs).size > 10, "the pauses differ");
  }
});

Deno.test("GitHubClient does not repeat what was refused, late or a GraphQL batch", async () => {
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
    assertEquals((await failure(client.request(request))).code, code);
    assertEquals([fault, gh.requests.length], [fault, 1]);
  }
});

Deno.test("GitHubClient gives each request its time, and leaves no timer", async () => {
  await using opened = await open({ timeoutMs: 1_234 });
  const { clock, gh, client, commit } = opened;
  await client.request(commit);
  assertEquals(clock.timerCount, 0);

  gh.fault = { kind: "hang" };
  const failed = failure(client.request(commit));
  await gh.log.until(() => gh.pauses.waiting === 1);
  clock.advance(1_233);
  assertEquals(clock.timerCount, 1);
  clock.advance(1);
  assertEquals((await failed).message, 'Cannot read "commit": no answer in 1234 ms');
  assertEquals(clock.timerCount, 0);
});

Deno.test("GitHubClient does not repeat a request where a 5xx says when to come back", async () => {
  await using opened = await open();
  const { gh, client, commit } = opened;
  gh.fault = { kind: "status", status: 503, headers: { "retry-after": "120" } };
  const error = await failure(client.request(commit));
  assertEquals([error.code, error.restMs, gh.requests.length], ["source-failed", 120_000, 1]);
  gh.fault = { kind: "status", status: 503, headers: { "retry-after": "soon" } };
  assertEquals((await failure(client.request(commit))).restMs, 0);
  assertEquals(gh.requests.length, 3);
});

Deno.test("GitHubClient takes a connection that is refused for an unreachable source", async () => {
  await using opened = await open();
  await opened.gh.down();
  const error = await failure(opened.client.request(opened.commit));
  assertEquals([error.code, error.unreachable], ["source-failed", true]);
});

Deno.test("GitHubClient detects both kinds of rate limit by header or message, and waits as stated", async () => {
  const inHours = (hours: number) => Date.UTC(2026, 0, 1) + hours * 3_600_000;
  const cases: [Fault, waitSeconds: number][] = [
    [{ kind: "quota403", resetAtMs: inHours(1) }, 3600],
    [{ kind: "quota429", resetAtMs: inHours(0.5) }, 1800],
    // GitHub's windows last an hour: no wait is longer, whatever a header says.
    [{ kind: "quota403", resetAtMs: inHours(100) }, 3600],
    [{ kind: "secondary429", retryAfterSeconds: 86_400 }, 3600],
    // A stated time to retry goes before the quota's time, which may be of another limit.
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
    const error = await failure(client.request(commit));
    assertEquals([fault, error.code, error.facts.retryAfterSeconds], [
      fault,
      "source-rate-limited",
      waitSeconds,
    ]);
    gh.fault = null;
    // Until then no request is sent, of any kind and for any repository.
    clock.advance(waitSeconds * 1000 - 1);
    await failure(client.request(tree));
    assertEquals(gh.requests.length, 1);
    clock.advance(1);
    assertEquals((await client.request(tree)).status, 200);
  }
});

Deno.test("GitHubClient takes a 403 that is no limit for an answer, and stops nothing", async () => {
  await using opened = await open();
  const { gh, client, commit } = opened;
  gh.fault = { kind: "forbidden" };
  assertEquals((await client.request(commit)).status, 403);
  gh.fault = null;
  assertEquals((await client.request(commit)).status, 200);
});

Deno.test("GitHubClient goes on with another token after a limit, and stops one quota where it is spent", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { gh, client, commit, graphql } = opened;
  gh.faultWhen(({ token }) => token === 0 ? { kind: "secondary429" } : null);
  assertEquals((await client.request(commit)).status, 200);
  assertEquals((await client.request(graphql)).status, 200);
  assertEquals(tokensUsed(opened), [0, 1, 1]);

  await using other = await open({ tokens: ["t1"] });
  other.gh.setQuota("t1", { remaining: 1 });
  assertEquals((await other.client.request(other.commit)).status, 200);
  // The answer stated that nothing is left, so nothing more is sent.
  assertEquals((await failure(other.client.request(other.tree))).code, "source-rate-limited");
  assertEquals((await other.client.request(other.graphql)).status, 200);
  assertEquals(other.gh.counts(), { commit: 1, graphql: 1 });
});

Deno.test("GitHubClient sends nothing more of what waited when a limit was met", async () => {
  await using opened = await open();
  const { gh, client, tree } = opened;
  const held = Promise.withResolvers<void>();
  gh.intercept = async () => {
    await held.promise;
    return new Response("{}", { status: 429 });
  };
  const errors = Promise.all(Array.from({ length: 40 }, () => failure(client.request(tree))));
  await gh.log.until(() => gh.log.inFlight === 32);
  held.resolve();
  const codes = new Set((await errors).map(({ code }) => code));
  assertEquals([codes, gh.requests.length], [new Set(["source-rate-limited"]), 32]);
});

Deno.test("GitHubClient sends checks of refs past bulk reads that hang", async () => {
  await using opened = await open();
  const { clock, gh, client, commit, tree } = opened;
  gh.faultWhen(({ kind }) => kind === "tree" ? { kind: "hang" } : null);
  const codes = Promise.all(
    Array.from({ length: 40 }, async () => (await failure(client.request(tree))).code),
  );
  await gh.log.until(() => gh.pauses.waiting === 32);
  assertEquals((await client.request(commit)).status, 200);
  clock.advance(10_000);
  // A request that waited as long as that is not sent any more.
  assertEquals((await codes).toSorted(), [
    ...Array.from({ length: 8 }, () => "service-busy"),
    ...Array.from({ length: 32 }, () => "source-timeout"),
  ]);
});

Deno.test("GitHubClient sends one request after a limit, and the others when that was answered", async () => {
  await using opened = await open();
  const { clock, gh, client, commit, raw } = opened;
  for (const request of [commit, raw]) {
    gh.fault = { kind: "secondary429" };
    await failure(client.request(request));
    gh.fault = null;
    clock.advance(60_000);
    gh.resetCounts();
    const held = Promise.withResolvers<null>();
    gh.intercept = () => held.promise;
    const answers = Promise.all(Array.from({ length: 5 }, () => client.request(request)));
    await gh.log.until(() => gh.log.inFlight === 1);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(gh.requests.length, 1);
    held.resolve(null);
    assertEquals((await answers).map(({ status }) => status), [200, 200, 200, 200, 200]);
    gh.intercept = null;
  }
});

Deno.test("GitHubClient sets a refused token aside and at last goes on without", async () => {
  await using opened = await open({ tokens: ["hidden-1", "hidden-2"] });
  const { gh, client, commit } = opened;
  gh.revokeToken("hidden-1");
  assertEquals((await client.request(commit)).status, 200);
  gh.revokeToken("hidden-2");
  assertEquals((await client.request(commit)).status, 200);
  assertEquals((await client.request(commit)).status, 200);
  const statuses = gh.requests.map(({ status, token }) => [status, token]);
  assertEquals(statuses, [[401, null], [200, 1], [401, null], [200, null], [200, null]]);
});

Deno.test("GitHubClient sends no GraphQL once the last token is refused", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { gh, client, graphql } = opened;
  gh.revokeToken("t1");
  assertEquals((await failure(client.request(graphql))).code, "source-failed");
  assertEquals((await failure(client.request(graphql))).code, "source-failed");
  assertEquals(gh.requests.map(({ status }) => status), [401]);
});

function validatorOf(answer: GitHubAnswer) {
  return { etag: answer.headers.get("etag")!, fingerprint: answer.token.fingerprint };
}

Deno.test("GitHubClient sends a validator with the token alone that it came from", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { gh, client, commit } = opened;
  const known = validatorOf(await client.request(commit));
  assertEquals((await client.request({ ...commit, known })).status, 304);
  assertEquals([gh.quotaSpent("t1"), gh.quotaSpent("t2")], [1, 0]);

  // When this token's quota is spent, the client uses the other, whose ETags differ.
  gh.faultWhen(({ token }) => token === 0 ? { kind: "quota403" } : null);
  assertEquals((await client.request({ ...commit, known })).status, 200);
  assertEquals((await client.request({ ...commit, known })).status, 200);
  const asked = gh.requests.slice(-3).map(({ token, conditional }) => [token, conditional]);
  assertEquals(asked, [[0, true], [1, false], [1, false]]);
});

Deno.test("GitHubClient takes a 304 that it sent no validator for as a failure", async () => {
  await using opened = await open();
  opened.gh.intercept = () => new Response(null, { status: 304 });
  assertEquals((await failure(opened.client.request(opened.commit))).code, "source-failed");
});

Deno.test("GitHubClient reads no more of a body than allowed", async () => {
  await using opened = await open();
  const { client, commit } = opened;
  assertEquals((await client.request({ ...commit, maxBytes: 40 })).bytes.length, 40);
  assertEquals((await failure(client.request({ ...commit, maxBytes: 39 }))).code, "source-failed");
});

Deno.test("GitHubClient counts the raw host's limit separately from the API's", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, client, commit, raw } = opened;
  gh.fault = { kind: "status", status: 429, only: ["raw"] };
  assertEquals((await failure(client.request(raw))).facts.retryAfterSeconds, 60);
  assertEquals((await failure(client.request(raw))).code, "source-rate-limited");
  assertEquals((await client.request(commit)).status, 200);
  assertEquals(gh.counts(), { raw: 1, commit: 1 });
  gh.fault = null;
  clock.advance(60_000);
  assertEquals((await client.request(raw)).status, 200);
});

Deno.test("GitHubClient ends with its request", async () => {
  await using opened = await open();
  const { gh, client, commit } = opened;
  gh.fault = { kind: "hang" };
  const left = new AbortController();
  const context = { ...uncharged, signal: left.signal };
  const requested = client.request({ ...commit, context });
  await gh.log.until(() => gh.pauses.waiting === 1);
  left.abort(new Error("left"));
  await assertRejects(() => requested, Error, "left");
  await gh.log.until(() => gh.log.inFlight === 0);
  assertEquals(gh.requests.map(({ aborted }) => aborted), [true]);
});
