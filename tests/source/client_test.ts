import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { GitHubRequest } from "../../lib/source/github/client.ts";
import { consequencesOf } from "../../lib/source/source_failure.ts";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock, turns } from "../test_clock.ts";
import {
  openClient,
  openGitHub,
  type OpenOptions,
  recordedLog,
  uncharged,
} from "./open_github.ts";

/** A client of a double with `octo/site`, and requests of each kind. */
async function open(options: Omit<OpenOptions, "clock"> = {}) {
  const clock = new TestClock();
  const served = await serveRepository({ "a.md": "A\n" }, { now: clock.now });
  const { gh, url } = served;
  for (const token of options.tokens ?? []) gh.addToken(token);
  const start = () => openClient({ clock, ...options });
  const client = start();
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
    /** Opens the client of another isolate. */
    start,
    /** The status of the answer, or the code of the error. */
    outcome: async (request: GitHubRequest): Promise<number | string> => {
      try {
        return (await client.request(request)).status;
      } catch (error) {
        if (error instanceof CollectionsError) return error.code;
        throw error;
      }
    },
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

Deno.test("GitHubClient repeats once what may succeed then", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, commit, fail, outcome } = opened;
  timeOutHangs(clock, gh);
  const pausesMs: number[] = [];
  clock.sleep = (ms) => Promise.resolve(void pausesMs.push(ms));
  const headers = { "retry-after": "120" };
  const rows: {
    fault: Fault;
    requests: number;
    consequences: ReturnType<typeof consequencesOf>;
  }[] = [
    {
      fault: { kind: "reset" },
      requests: 2,
      consequences: { isUnreached: true },
    },
    {
      fault: { kind: "hang" },
      requests: 1,
      consequences: { isUnreached: true },
    },
    {
      fault: { kind: "status", status: 503, headers },
      requests: 1,
      consequences: { waitMs: 120_000 },
    },
    {
      fault: { kind: "status", status: 400 },
      requests: 1,
      consequences: { waitMs: 0 },
    },
  ];
  for (const { fault, requests, consequences } of rows) {
    gh.fault = fault;
    gh.resetCounts();
    const error = await fail(commit);
    assertEquals([fault, gh.requests.length], [fault, requests]);
    assertEquals(consequencesOf(error), consequences);
    assertEquals(clock.timerCount, 0);
  }
  gh.fault = () => gh.requests.length === 1 ? { kind: "reset" } : null;
  for (let times = 0; times < 20; times++) {
    gh.resetCounts();
    assertEquals(await outcome(commit), 200);
  }
  assert(pausesMs.every((ms) => ms >= 50 && ms <= 250), `${pausesMs}`);
  assert(new Set(pausesMs).size > 10, "the pauses differ");
});

Deno.test("GitHubClient waits as a limit states, for an hour at most", async () => {
  const inHours = (hours: number) => Date.UTC(2026, 0, 1) + hours * 3_600_000;
  const headers = {
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": `${inHours(1) / 1000}`,
    "retry-after": "30",
  };
  const rows: { fault: Fault; seconds: number }[] = [
    // GitHub's windows last an hour: no wait is longer, whatever a header says.
    { fault: { kind: "quota403", resetAtMs: inHours(100) }, seconds: 3600 },
    // A stated time to retry goes before the quota's time, which may be of
    // another limit.
    { fault: { kind: "status", status: 403, headers }, seconds: 30 },
    { fault: { kind: "secondary403", retryAfterSeconds: 0 }, seconds: 1 },
  ];
  for (const { fault, seconds } of rows) {
    await using opened = await open();
    const { clock, gh, commit, fail, outcome, tree } = opened;
    gh.fault = fault;
    const { facts } = await fail(commit);
    assertEquals([fault, facts.retryAfterSeconds], [fault, seconds]);
    gh.fault = null;
    clock.advance(seconds * 1000 - 1);
    assertEquals(await outcome(tree), "source-rate-limited");
    clock.advance(1);
    assertEquals(await outcome(tree), 200);
  }
});

Deno.test("a secondary limit stops a token for REST and GraphQL", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { gh, commit, graphql, outcome } = opened;
  gh.fault = ({ token }) => token === 0 ? { kind: "secondary429" } : null;
  assertEquals([await outcome(commit), await outcome(graphql)], [200, 200]);
  assertEquals(gh.requests.map(({ token }) => token), [0, 1, 1]);
});

Deno.test("GitHubClient takes no 304 without a validator", async () => {
  await using opened = await open();
  const { gh, commit, outcome } = opened;
  gh.intercept = () => new Response(null, { status: 304 });
  const other = { etag: '"1"', fingerprint: "of another token" };
  for (const known of [null, other]) {
    assertEquals(await outcome({ ...commit, known }), "source-failed");
  }
});

Deno.test("GitHubClient sends a validator with its own token only", async () => {
  await using opened = await open({ tokens: ["t1", "t2"] });
  const { client, gh, commit, outcome } = opened;
  const { headers, token } = await client.request(commit);
  const known = { etag: headers.get("etag")!, fingerprint: token.fingerprint };
  gh.fault = ({ token }) => token === 0 ? { kind: "quota403" } : null;
  assertEquals(await outcome({ ...commit, known }), 200);
  const sent = gh.requests.map(({ token, conditional }) => ({
    token,
    conditional,
  }));
  assertEquals(sent, [
    { token: 0, conditional: false },
    { token: 0, conditional: true },
    { token: 1, conditional: false },
  ]);
});

Deno.test("GitHubClient sends checks past bulk reads that hang", async () => {
  await using opened = await open();
  const { clock, gh, commit, outcome, tree } = opened;
  gh.fault = ({ kind }) => kind === "tree" ? { kind: "hang" } : null;
  const outcomes = Promise.all(Array(40).fill(tree).map(outcome));
  await gh.log.until(() => gh.pauses.waiting === 32);
  clock.advance(9_999);
  assertEquals([await outcome(commit), clock.timerCount], [200, 40]);
  clock.advance(1);
  // A request that waited as long as that is not sent any more.
  assertEquals((await outcomes).toSorted(), [
    ...Array(8).fill("service-busy"),
    ...Array(32).fill("source-timeout"),
  ]);
});

Deno.test("GitHubClient reads half as much while memory is short", async () => {
  await using opened = await open({ isMemoryShort: () => true });
  const { clock, gh, outcome, tree } = opened;
  gh.fault = ({ kind }) => kind === "tree" ? { kind: "hang" } : null;
  const outcomes = Promise.all(Array(40).fill(tree).map(outcome));
  await gh.log.until(() => gh.pauses.waiting === 16);
  clock.advance(10_000);
  assertEquals((await outcomes).toSorted(), [
    ...Array(24).fill("service-busy"),
    ...Array(16).fill("source-timeout"),
  ]);
});

Deno.test("GitHubClient sends nothing that waited for a limit", async () => {
  await using opened = await open();
  const { gh, outcome, tree } = opened;
  const held = Promise.withResolvers<void>();
  gh.intercept = async () => {
    await held.promise;
    return new Response("{}", { status: 429 });
  };
  const outcomes = Promise.all(Array(40).fill(tree).map(outcome));
  await gh.log.until(() => gh.log.inFlight === 32);
  held.resolve();
  assertEquals(await outcomes, Array(40).fill("source-rate-limited"));
  assertEquals(gh.requests.length, 32);
});

Deno.test("isolates share GitHub's 100 requests at once", async () => {
  for (const isolates of [1, 2, 16, 32]) {
    await using opened = await open({ isolates });
    const { gh, clock, tree, commit, start } = opened;
    const held = Promise.withResolvers<Response>();
    gh.intercept = () => held.promise;
    const answers = Array.from({ length: isolates }, () => {
      const client = start();
      return Array(100).fill([tree, commit]).flat().map((request, index) => {
        const context = { ...uncharged, client: `${index % 100}` };
        return client.request({ ...request, context });
      });
    }).flat();
    const settled = Promise.allSettled(answers);
    await gh.log.until(() => gh.log.inFlight >= 90);
    // Were there more at once, they would be seen.
    await turns(20);
    clock.advance(10_000);
    held.resolve(new Response());
    await settled;
    assert(gh.log.maxConcurrent <= 100, `${gh.log.maxConcurrent} at once`);
  }
});

Deno.test("GitHubClient sends one request first after a limit", async () => {
  await using opened = await open();
  const { clock, gh, commit, outcome, raw } = opened;
  for (const request of [commit, raw]) {
    for (const status of [200, 429]) {
      gh.fault = { kind: "secondary429" };
      await outcome(request);
      gh.fault = null;
      clock.advance(3_600_000);
      gh.resetCounts();
      const held = Promise.withResolvers<Response | null>();
      gh.intercept = () => held.promise;
      const outcomes = Promise.all(Array(5).fill(request).map(outcome));
      await gh.log.until(() => gh.log.inFlight === 1);
      await turns(20);
      assertEquals(gh.requests.length, 1);
      held.resolve(status === 200 ? null : new Response("{}", { status }));
      const others = status === 200 ? 200 : "source-rate-limited";
      assertEquals(await outcomes, Array(5).fill(others));
      assertEquals(gh.requests.length, status === 200 ? 5 : 1);
      gh.intercept = null;
      clock.advance(3_600_000);
    }
  }
});

Deno.test("GitHubClient sends the others if the first has no answer", async () => {
  await using opened = await open();
  const { clock, gh, commit, outcome } = opened;
  gh.fault = { kind: "secondary429" };
  await outcome(commit);
  clock.advance(60_000);
  gh.resetCounts();
  gh.fault = () => gh.requests.length === 1 ? { kind: "hang" } : null;
  const first = outcome(commit);
  const others = Promise.all([commit, commit].map(outcome));
  await gh.log.until(() => gh.pauses.waiting === 1);
  clock.advance(10_000);
  assertEquals([await first, await others], ["source-timeout", [200, 200]]);
});

Deno.test("GitHubClient logs once that the API version ends", async () => {
  const { log, lines } = recordedLog();
  await using opened = await open({ log });
  const { gh, commit, outcome } = opened;
  const deprecation = "Tue, 10 Mar 2026 00:00:00 GMT";
  const sunset = "Fri, 10 Mar 2028 00:00:00 GMT";
  gh.intercept = () => new Response("", { headers: { deprecation, sunset } });
  for (let times = 0; times < 3; times++) await outcome(commit);
  assertEquals(lines, [{ event: "API version ends", deprecation, sunset }]);
});

Deno.test("GitHubSource names an API version to github.com only", async () => {
  const versions: (string | null)[] = [];
  const address = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using server = Deno.serve(address, ({ headers }) => {
    versions.push(headers.get("x-github-api-version"));
    return new Response("0".repeat(40));
  });
  const url = `http://127.0.0.1:${server.addr.port}` as const;
  const webUrl = "https://github.test";
  const addresses = { graphqlUrl: url, rawUrl: url, webUrl } as const;
  const options = { clock: new TestClock(), allowed: "octo/*" };
  const query = { owner: "octo", repo: "site", branch: null };
  for (const apiUrl of [url, `${url}/api/v3`] as const) {
    const source = openGitHub({ ...addresses, apiUrl }, options);
    await source.resolve(query, uncharged);
  }
  assertEquals(versions, ["2026-03-10", null]);
});

Deno.test("GitHubClient ends with its request", async () => {
  await using opened = await open();
  const { client, commit, gh } = opened;
  gh.fault = { kind: "hang" };
  const left = new AbortController();
  const context = { ...uncharged, signal: left.signal };
  const requested = client.request({ ...commit, context });
  await gh.log.until(() => gh.pauses.waiting === 1);
  left.abort(new Error("left"));
  await assertRejects(() => requested, Error, "left");
  await gh.log.until(() => gh.log.inFlight === 0);
});
