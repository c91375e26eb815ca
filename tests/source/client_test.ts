import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { GitHubRequest } from "../../lib/source/github/client.ts";
import { consequencesOf } from "../../lib/source/source_failure.ts";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock, turns } from "../test_clock.ts";
import {
  openClient,
  openGitHub,
  recordedLog,
  uncharged,
} from "./open_github.ts";

/** A client of a double with `octo/site`, and requests of each kind. */
async function open(
  { tokens = [], log }: { tokens?: readonly string[]; log?: Log } = {},
) {
  const clock = new TestClock();
  const served = await serveRepository({ "a.md": "A\n" }, { now: clock.now });
  const { gh, url } = served;
  for (const token of tokens) gh.addToken(token);
  const client = openClient({ tokens, clock, ...log && { log } });
  const request = (
    kind: GitHubRequest["kind"],
    url: string,
    accept = "application/json",
  ) => ({
    kind,
    url,
    owner: "octo",
    accept,
    context: uncharged,
    maxBytes: 1 << 20,
  });
  const object = `object(oid: "${"0".repeat(40)}") { ... on Blob { text } }`;
  const query =
    `query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { f0: ${object} }}`;
  const variables = { owner: "octo", name: "site" };
  return {
    ...served,
    clock,
    client,
    /** Sends a request that GitHub answers. */
    status: async (request: GitHubRequest) =>
      (await client.request(request)).status,
    /** Sends a request that fails. */
    fail: (request: GitHubRequest) =>
      assertRejects(() => client.request(request), CollectionsError),
    commit: request(
      "commit",
      `${url}/commits/heads%2Fmain`,
      "application/vnd.github.sha",
    ),
    tree: request("tree", `${url}/git/trees/main`),
    raw: request(
      "raw",
      `${gh.rawUrl}/octo/site/${await served.repository.head()}/a.md`,
    ),
    graphql: {
      ...request("graphql", gh.graphqlUrl),
      body: JSON.stringify({ query, variables }),
    },
  };
}

Deno.test("GitHubClient repeats a request once after a 5xx", async () => {
  for (
    const fault of [{ kind: "status", status: 502 }, {
      kind: "reset",
    }] as Fault[]
  ) {
    await using opened = await open();
    const { clock, gh, commit, fail, status } = opened;
    const pausesMs: number[] = [];
    clock.sleep = (ms) => Promise.resolve(void pausesMs.push(ms));
    gh.fault = () => gh.requests.length === 1 ? fault : null;
    assertEquals(await status(commit), 200);
    assertEquals([gh.requests.length, pausesMs.length], [2, 1]);

    gh.fault = () => fault;
    const error = await fail(commit);
    const { isUnreached = false } = consequencesOf(error);
    assertEquals([error.code, isUnreached], [
      "source-failed",
      fault.kind === "reset",
    ]);
    assertEquals(gh.requests.length, 4);
    for (let times = 0; times < 20; times++) await fail(commit);
    assert(pausesMs.every((ms) => ms >= 50 && ms <= 250), `${pausesMs}`);
    assert(new Set(pausesMs).size > 10, "the pauses differ");
  }
});

Deno.test("GitHubClient does not repeat refused or late requests", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, commit, fail, graphql } = opened;
  timeOutHangs(clock, gh);
  const unavailable = (wait: string) =>
    ({
      kind: "status",
      status: 503,
      headers: { "retry-after": wait },
    }) as const;
  const cases: [
    Fault,
    GitHubRequest,
    code: string,
    waitMs: number,
    requests: number,
  ][] = [
    [{ kind: "hang" }, commit, "source-timeout", 0, 1],
    [{ kind: "stall" }, commit, "source-timeout", 0, 1],
    [{ kind: "status", status: 502 }, graphql, "source-failed", 0, 1],
    [{ kind: "reset" }, graphql, "source-failed", 0, 1],
    [{ kind: "status", status: 400 }, commit, "source-failed", 0, 1],
    [{ kind: "status", status: 410 }, commit, "source-failed", 0, 1],
    [unavailable("120"), commit, "source-failed", 120_000, 1],
    [unavailable("soon"), commit, "source-failed", 0, 2],
  ];
  for (const [fault, request, ...expected] of cases) {
    gh.fault = fault;
    gh.resetCounts();
    const error = await fail(request);
    const { waitMs = 0 } = consequencesOf(error);
    assertEquals([fault, error.code, waitMs, gh.requests.length], [
      fault,
      ...expected,
    ]);
    assertEquals(clock.timerCount, 0);
  }
});

Deno.test("GitHubClient waits as a limit states, for an hour at most", async () => {
  const inHours = (hours: number) => Date.UTC(2026, 0, 1) + hours * 3_600_000;
  const spent = {
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": `${inHours(1) / 1000}`,
  };
  const status403 = (headers: Record<string, string>) =>
    ({ kind: "status", status: 403, headers }) as const;
  const cases: [Fault, waitSeconds: number][] = [
    // GitHub's windows last an hour: no wait is longer, whatever a header says.
    [{ kind: "quota403", resetAtMs: inHours(100) }, 3600],
    [{ kind: "secondary429", retryAfterSeconds: 86_400 }, 3600],
    // A stated time to retry goes before the quota's time, which may be of
    // another limit.
    [status403({ ...spent, "retry-after": "30" }), 30],
    [{ kind: "secondary403", retryAfterSeconds: 0 }, 1],
  ];
  for (const [fault, waitSeconds] of cases) {
    await using opened = await open();
    const { clock, gh, commit, fail, status, tree } = opened;
    gh.fault = fault;
    const { code, facts } = await fail(commit);
    assertEquals(code, "source-rate-limited");
    assertEquals([fault, facts.retryAfterSeconds], [fault, waitSeconds]);
    gh.fault = null;
    // Until then no request is sent, of any kind and for any repository.
    clock.advance(waitSeconds * 1000 - 1);
    await fail(tree);
    assertEquals(gh.requests.length, 1);
    clock.advance(1);
    assertEquals(await status(tree), 200);
  }
});

Deno.test("GitHubClient takes no 304 without a validator", async () => {
  await using opened = await open();
  const { gh, commit, fail } = opened;
  gh.intercept = () => new Response(null, { status: 304 });
  for (
    const known of [null, { etag: '"1"', fingerprint: "of another token" }]
  ) {
    assertEquals((await fail({ ...commit, known })).code, "source-failed");
  }
});

Deno.test("GitHubClient goes on with another token after a limit", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { gh, commit, graphql, status } = opened;
  gh.fault = ({ token }) => token === 0 ? { kind: "secondary429" } : null;
  assertEquals([await status(commit), await status(graphql)], [200, 200]);
  assertEquals(gh.requests.map(({ token }) => token), [0, 1, 1]);

  await using other = await open({ tokens: ["t1"] });
  other.gh.quota("t1").remaining = 1;
  other.gh.quota(null).remaining = 1;
  assertEquals(await other.status(other.commit), 200);
  // The answers stated that nothing is left, so nothing more is sent.
  assertEquals(await other.status(other.tree), 200);
  assertEquals((await other.fail(other.tree)).code, "source-rate-limited");
  assertEquals(await other.status(other.graphql), 200);
  assertEquals(other.gh.requests.map(({ token }) => token), [0, null, 0]);
});

Deno.test("GitHubClient sends nothing that waited for a limit", async () => {
  await using opened = await open();
  const { gh, fail, tree } = opened;
  const held = Promise.withResolvers<void>();
  gh.intercept = async () => {
    await held.promise;
    return new Response("{}", { status: 429 });
  };
  const errors = Promise.all(Array.from({ length: 40 }, () => fail(tree)));
  await gh.log.until(() => gh.log.inFlight === 32);
  held.resolve();
  const codes = new Set((await errors).map(({ code }) => code));
  assertEquals([codes, gh.requests.length], [
    new Set(["source-rate-limited"]),
    32,
  ]);
});

Deno.test("GitHubClient sends checks past bulk reads that hang", async () => {
  await using opened = await open();
  const { clock, gh, commit, fail, status, tree } = opened;
  gh.fault = ({ kind }) => kind === "tree" ? { kind: "hang" } : null;
  const errors = Promise.all(Array.from({ length: 40 }, () => fail(tree)));
  await gh.log.until(() => gh.pauses.waiting === 32);
  clock.advance(9_999);
  assertEquals([await status(commit), clock.timerCount], [200, 40]);
  clock.advance(1);
  // A request that waited as long as that is not sent any more.
  const codes = (await errors).map(({ code }) => code).toSorted();
  assertEquals(codes, [
    ...Array(8).fill("service-busy"),
    ...Array(32).fill("source-timeout"),
  ]);
});

Deno.test("GitHubClient sends one request first after a limit", async () => {
  await using opened = await open();
  const { clock, gh, commit, fail, raw, status } = opened;
  for (const request of [commit, raw]) {
    gh.fault = { kind: "secondary429" };
    await fail(request);
    gh.fault = null;
    clock.advance(60_000);
    gh.resetCounts();
    const held = Promise.withResolvers<null>();
    gh.intercept = () => held.promise;
    const answers = Promise.all(
      Array.from({ length: 5 }, () => status(request)),
    );
    await gh.log.until(() => gh.log.inFlight === 1);
    await turns(20);
    assertEquals(gh.requests.length, 1);
    held.resolve(null);
    assertEquals(await answers, [200, 200, 200, 200, 200]);
    gh.intercept = null;
  }
});

Deno.test("GitHubClient sends the others if the first has no answer", async () => {
  await using opened = await open();
  const { clock, gh, commit, fail, status } = opened;
  gh.fault = { kind: "secondary429" };
  await fail(commit);
  clock.advance(60_000);
  gh.resetCounts();
  gh.fault = () => gh.requests.length === 1 ? { kind: "hang" } : null;
  const first = fail(commit);
  const others = Promise.all([commit, commit, commit].map(status));
  await gh.log.until(() => gh.pauses.waiting === 1);
  clock.advance(10_000);
  assertEquals([(await first).code, await others], ["source-timeout", [
    200,
    200,
    200,
  ]]);
});

Deno.test("GitHubClient sends a validator with its own token only", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { client, gh, commit, status } = opened;
  const { headers, token } = await client.request(commit);
  const known = { etag: headers.get("etag")!, fingerprint: token.fingerprint };
  assertEquals(await status({ ...commit, known }), 304);
  assertEquals([gh.quota("t1").spent, gh.quota("t2").spent], [1, 0]);

  // When this token's quota is spent, the client uses the other, whose ETags
  // differ.
  gh.fault = ({ token }) => token === 0 ? { kind: "quota403" } : null;
  assertEquals(await status({ ...commit, known }), 200);
  assertEquals(await status({ ...commit, known }), 200);
  const sent = gh.requests.slice(-3).map((
    { token, conditional },
  ) => [token, conditional]);
  assertEquals(sent, [[0, true], [1, false], [1, false]]);
});

Deno.test("GitHubClient logs once that the API version ends", async () => {
  const { log, lines } = recordedLog();
  await using opened = await open({ log });
  const { gh, commit, status } = opened;
  assertEquals([await status(commit), lines], [200, []]);
  const deprecation = "Tue, 10 Mar 2026 00:00:00 GMT";
  const sunset = "Fri, 10 Mar 2028 00:00:00 GMT";
  gh.intercept = async (_request, _logged, real) => {
    const answer = await real();
    answer.headers.set("deprecation", deprecation);
    answer.headers.set("sunset", sunset);
    return answer;
  };
  for (let times = 0; times < 3; times++) {
    assertEquals(await status(commit), 200);
  }
  assertEquals(lines, [{ event: "API version ends", deprecation, sunset }]);
});

Deno.test("GitHubSource names an API version to github.com only", async () => {
  const versions: (string | null)[] = [];
  await using server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, (request) => {
    versions.push(request.headers.get("x-github-api-version"));
    return new Response("0".repeat(40));
  });
  const base = `http://127.0.0.1:${server.addr.port}`;
  for (const apiUrl of [base, `${base}/api/v3`]) {
    const urls = {
      apiUrl,
      graphqlUrl: base,
      rawUrl: base,
      webUrl: "https://github.test",
    } as const;
    const source = openGitHub(urls, {
      clock: new TestClock(),
      allowed: "octo/*",
    });
    await source.resolve(
      { owner: "octo", repo: "site", branch: null },
      uncharged,
    );
  }
  assertEquals(versions, ["2026-03-10", null]);
});

Deno.test("GitHubClient ends with its request", async () => {
  await using opened = await open();
  const { client, commit, gh } = opened;
  gh.fault = { kind: "hang" };
  const left = new AbortController();
  const requested = client.request({
    ...commit,
    context: { ...uncharged, signal: left.signal },
  });
  await gh.log.until(() => gh.pauses.waiting === 1);
  left.abort(new Error("left"));
  await assertRejects(() => requested, Error, "left");
  await gh.log.until(() => gh.log.inFlight === 0);
});
