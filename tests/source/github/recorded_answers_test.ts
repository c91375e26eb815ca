// What GitHub is recorded or documented to answer where something is wrong,
// written anew in the recorded shape. Each answer is given to a service that
// knows the repository and to one that does not, with one token and with two. A
// comment on each answer says where it is recorded or documented.

import { assertEquals } from "@std/assert";
import { jsonReply } from "../../github/github_api.ts";
import { freshnessOf } from "../../http/freshness_of.ts";
import { listPath, type LogLine } from "../../service.ts";
import { type Site, startGitSite, startSite } from "../../site.ts";

const MINUTE_MS = 60_000;
const FILES = { "posts/a.md": "A\n" };
const THREE_FILES = {
  "posts/a.md": "A\n",
  "posts/b.md": "B\n",
  "posts/c.md": "C\n",
};

interface Answer {
  readonly name: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of JSON the fields, or another body as it is. */
  readonly body: string | Readonly<Record<string, unknown>>;
}

/** What follows from an answer. */
interface Outcome {
  readonly to: "first token" | "everyone" | "commits";
  /**
   * What the list shows where it was served before, and where it was not: the
   * slugs and the cache, or a problem.
   */
  readonly known: readonly [shown: string | number, how: string];
  readonly unknown: readonly [shown: string | number, how: string];
  /** What the log says of the first token. */
  readonly log?: LogLine;
}

const otherTokenIsUsed: Outcome = {
  to: "first token",
  known: ["a", "fwd=stale; detail=revalidated"],
  unknown: ["a", "fwd=miss; stored"],
};
/** Which says nothing about the repository. */
const sourceFailed: Outcome = {
  to: "everyone",
  known: ["a", "hit; ttl=0; detail=stale-if-error"],
  unknown: [502, "source-failed"],
};
const setAside = (owner: string): Outcome => ({
  ...otherTokenIsUsed,
  log: { event: "token set aside", token: 1, owner },
});
const limited = (seconds: number): Outcome => ({
  ...otherTokenIsUsed,
  log: { event: "token limited", token: 1, seconds },
});

const SPENT = {
  "x-ratelimit-remaining": "0",
  "x-ratelimit-limit": "5000",
  "x-ratelimit-reset": "{in 600 s}",
};
const SECONDARY =
  "You have exceeded a secondary rate limit. Please wait a few minutes.";
const HTML =
  "<html><body><h1>503 Service Unavailable</h1>No server is available.</body></html>";
const LIFETIME =
  "The 'octo' organization forbids access via a fine-grained personal access tokens if the token's lifetime is greater than 366 days. Please adjust your token's lifetime at the following URL: https://github.com/settings/personal-access-tokens/1";

const RECORDED: readonly (Answer & Outcome)[] = [
  // PyGithub/PyGithub#1248
  {
    ...setAside("*"),
    name: "too many failed logins",
    status: 403,
    body: {
      message:
        "Maximum number of login attempts exceeded. Please try again later.",
    },
  },
  // PyGithub ReplayData, Authentication.testAuthorizationHeaderWithToken
  {
    ...setAside("*"),
    name: "too many failed logins, as in 2013",
    status: 403,
    body: { message: "Max number of login attempt exceeded" },
  },
  // github/docs, authenticating with SAML single sign-on
  {
    ...setAside("octo"),
    name: "single sign-on",
    status: 403,
    body: {
      message:
        "Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.",
    },
  },
  // PyGithub ReplayData, testBadUserAgent (its type)
  {
    ...setAside("octo"),
    name: "a 403 that is not JSON",
    status: 403,
    body: "Request forbidden by administrative rules.",
  },
  // hub4j/github-api, AppTest/testCredentialValid
  {
    ...otherTokenIsUsed,
    name: "bad credentials",
    status: 401,
    body: { message: "Bad credentials" },
    log: { event: "token refused", token: 1 },
  },
  // PyGithub ReplayData, SpecificExceptions.testRateLimitExceeded
  {
    ...limited(600),
    name: "a spent quota",
    status: 403,
    headers: SPENT,
    body: { message: "API rate limit exceeded for user ID 1." },
  },
  // hub4j/github-api, AbuseLimitHandlerTest/testHandler_Wait_Secondary_Limits_Body_Marker_Only
  {
    ...limited(60),
    name: "a secondary limit by its message alone",
    status: 403,
    body: { message: SECONDARY },
  },
  // hub4j/github-api, AbuseLimitHandlerTest/testHandler_Fail
  {
    ...limited(30),
    name: "a secondary limit with Retry-After under another message",
    status: 403,
    headers: { "retry-after": "30" },
    body: { message: "Must have push access to repository" },
  },
  // hub4j/github-api, AbuseLimitHandlerTest/…_Too_Many_Requests_Date_Retry_After
  {
    ...limited(90),
    name: "a secondary limit with a date",
    status: 429,
    headers: { "retry-after": "{date in 90 s}" },
    body: { message: SECONDARY },
  },
  // hub4j/github-api, AbuseLimitHandlerTest/…_Too_Many_Requests_No_Retry_After
  {
    ...limited(60),
    name: "a 429 without any header",
    status: 429,
    body: { message: "Wait." },
  },
  // github/docs, API versions
  {
    ...sourceFailed,
    name: "an ended API version",
    status: 410,
    body: { message: "Gone" },
  },
  // github/docs, troubleshooting the REST API
  {
    ...sourceFailed,
    name: "an unknown API version",
    status: 400,
    body: { message: "Not a supported version." },
  },
  // a proxy on the way
  {
    ...sourceFailed,
    name: "a page in place of data",
    status: 200,
    body: HTML,
  },
  // OpenAPI, forbidden_gist; octokit/octokit.rb#563
  {
    to: "everyone",
    known: [451, "repository-blocked"],
    unknown: [451, "repository-blocked"],
    name: "blocked by terms",
    status: 403,
    body: {
      message: "Repository access blocked",
      block: { reason: "tos", created_at: "2026-01-01T00:00:00Z" },
    },
  },
  // github/docs, commits
  {
    to: "commits",
    known: [404, "branch-not-found"],
    unknown: [404, "branch-not-found"],
    name: "without the branch",
    status: 422,
    body: { message: "No commit found for SHA: heads/main" },
  },
];

/** The answer, with the times that it states. */
function reply({ status, headers = {}, body }: Answer, nowMs: number) {
  const stated = Object.entries(headers).map(([name, value]) => [
    name,
    value.replace("{in 600 s}", `${nowMs / 1000 + 600}`)
      .replace("{date in 90 s}", new Date(nowMs + 90_000).toUTCString()),
  ]);
  const all = Object.fromEntries(stated);
  return typeof body === "string"
    ? new Response(body, {
      status,
      headers: { "content-type": "text/html", ...all },
    })
    : jsonReply(body, { status, headers: all });
}

/** The fields of the log's lines of one event. */
const logged = ({ service }: Site, event: string, ...fields: string[]) =>
  service.logLines(event).map((line) => fields.map((field) => line[field]));

/** Whether the store has a tombstone. */
async function hasTombstone(kv: Deno.Kv): Promise<boolean> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  return entries.some(({ key }) => key.includes("tombstone"));
}

/** Starts at a whole second, as headers state times. */
async function startAtSecond(
  files: Record<string, string>,
  env: Record<string, string>,
  kv?: Deno.Kv,
): Promise<Site> {
  const site = await startSite(files, { env, ...kv && { kv } });
  const { clock } = site.service;
  clock.advance(1000 - clock.now() % 1000);
  return site;
}

for (const recorded of RECORDED) {
  for (const tokens of ["t1", "t1,t2"]) {
    const name = `${recorded.name} (${recorded.status}), tokens ${tokens}`;
    Deno.test(`recorded answer: ${name}`, async () => {
      for (const isKnown of [true, false]) {
        const kv = await Deno.openKv(":memory:");
        const env = { GITHUB_TOKEN: tokens, MISSES_PER_MINUTE: "0" };
        await using site = await startAtSecond(FILES, env, kv);
        const { gh, service } = site;
        if (isKnown) await freshnessOf(site);
        service.clock.advance(MINUTE_MS);
        const { to, log } = recorded;
        gh.intercept = (_request, { kind, token }) => {
          const isFor = {
            "first token": token === 0,
            "everyone": true,
            "commits": kind === "commit",
          };
          return isFor[to] ? reply(recorded, service.clock.now()) : null;
        };
        const [shown, how] = await freshnessOf(site);
        const expected = isKnown ? recorded.known : recorded.unknown;
        assertEquals([shown, how], expected);
        const isMissing = recorded.known[0] !== "a";
        assertEquals(await hasTombstone(kv), isKnown && isMissing);
        if (to === "first token") {
          const next = tokens === "t1" ? null : 1;
          assertEquals(gh.requests.at(-1)!.token, next);
        }
        const lines = service.logLines().filter(({ event }) =>
          `${event}`.startsWith("token ")
        );
        assertEquals(lines, log ? [{ ...lines[0], ...log }] : []);
      }
    });
  }
}

Deno.test("a 403 to each token and without one is not found", async () => {
  await using site = await startSite(FILES, { env: { GITHUB_TOKEN: "t1,t2" } });
  const { gh } = site;
  gh.fault = { kind: "status", status: 403, message: LIFETIME };
  assertEquals(await freshnessOf(site), [404, "repository-not-found"]);
  assertEquals(logged(site, "token set aside", "token", "message").toSorted(), [
    [1, LIFETIME],
    [2, LIFETIME],
  ]);
  assertEquals(gh.requests.at(-1)!.token, null);
});

Deno.test("a private repository is not lost with its token", async () => {
  const rows = [
    { message: LIFETIME, headers: {}, problem: [502, "source-failed"] },
    {
      message: "",
      headers: { "retry-after": "60" },
      problem: [503, "source-rate-limited"],
    },
  ];
  for (const { message, headers, problem } of rows) {
    const env = { GITHUB_TOKEN: "t1", ALLOWED_REPOS: "octo/*" };
    await using site = await startGitSite(FILES, { env });
    const { gh, repository, service } = site;
    gh.setVisibility("octo/site", "private");
    gh.add("octo/second", repository, { visibility: "private" });
    await freshnessOf(site);
    gh.fault = ({ token }) =>
      token === 0 ? { kind: "status", status: 403, message, headers } : null;
    service.clock.advance(MINUTE_MS);
    const [shown, how] = await freshnessOf(site);
    assertEquals([shown, how], sourceFailed.known);
    assertEquals(
      await freshnessOf(site, listPath({ repo: "second" })),
      problem,
    );
  }
});

Deno.test("a token that is set aside is used for other owners", async () => {
  await using site = await startSite(FILES, { env: { GITHUB_TOKEN: "t1" } });
  const { gh, repository, service: { clock } } = site;
  gh.add("other/site", repository);
  gh.fault = ({ token, path }) =>
    token === 0 && path.startsWith("/repos/octo/")
      ? { kind: "status", status: 403, message: LIFETIME }
      : null;
  const tokens = async (owner: string) => {
    gh.resetCounts();
    await freshnessOf(site, listPath({ owner }));
    return [...new Set(gh.requests.map(({ token }) => token))];
  };
  assertEquals(await tokens("octo"), [0, null]);
  assertEquals(await tokens("other"), [0]);
  clock.advance(MINUTE_MS);
  assertEquals(await tokens("octo"), [null], "it is not tried again");
  gh.fault = null;
  clock.advance(10 * MINUTE_MS);
  assertEquals(await tokens("octo"), [0]);
});

const errors = (...errors: readonly Record<string, unknown>[]) => ({
  data: null,
  errors,
});

/**
 * Answers of GraphQL to the token, and for how many seconds it then waits; null
 * for a failure, which is no limit.
 */
const RECORDED_GRAPHQL: readonly (Answer & { seconds: number | null })[] = [
  // octokit/plugin-throttling.js#848
  {
    name: "a spent quota, as it is reported",
    status: 200,
    headers: SPENT,
    body: errors({ type: "RATE_LIMIT", code: "graphql_rate_limit" }),
    seconds: 600,
  },
  // github/docs, rate limits for the GraphQL API
  {
    name: "a secondary limit with Retry-After",
    status: 200,
    headers: { "retry-after": "45" },
    body: errors({ message: "Please wait." }),
    seconds: 45,
  },
  // github/docs, rate limits for the GraphQL API
  {
    name: "a secondary limit by its message",
    status: 200,
    body: errors({ message: SECONDARY }),
    seconds: 60,
  },
  // HHS/simpler-grants-gov#2547
  {
    name: "a lifetime over 366 days",
    status: 200,
    body: errors({
      type: "FORBIDDEN",
      path: ["repository"],
      message: LIFETIME,
    }),
    seconds: null,
  },
  // a file may have any text
  {
    name: "limited words in a file",
    status: 200,
    body: {
      data: {
        repository: {
          f0: { text: `{"type":"RATE_LIMITED","message":"${SECONDARY}"}` },
        },
      },
    },
    seconds: null,
  },
];

for (const answer of RECORDED_GRAPHQL) {
  for (const hasRaw of [true, false]) {
    const name = `${answer.name} (${answer.status}), raw host ${hasRaw}`;
    Deno.test(`GraphQL answer: ${name}`, async () => {
      const env = {
        GITHUB_TOKEN: "t1",
        ...hasRaw ? {} : { GITHUB_RAW_URL: "" },
      };
      await using site = await startAtSecond(THREE_FILES, env);
      const { gh, service } = site;
      gh.intercept = (_request, { kind }) =>
        kind === "graphql" ? reply(answer, service.clock.now()) : null;
      const { items } = await service.list({ includeContent: true });
      const { graphql, raw, blob } = gh.counts();
      const codes = new Set(items.map(({ error }) => error?.code));
      const { seconds } = answer;
      const expected = seconds === null
        ? [undefined, 3, undefined]
        : hasRaw
        ? [3, undefined, undefined]
        : [undefined, undefined, "source-rate-limited"];
      assertEquals([graphql, raw, blob, ...codes], [1, ...expected]);
      const lines = logged(site, "token limited", "token", "seconds");
      assertEquals(lines, seconds === null ? [] : [[1, seconds]]);
    });
  }
}

const TAKEDOWN = "Repository unavailable due to DMCA takedown.\n";

/** Answers of the Git host, and what is not queried then. */
const RECORDED_GIT: readonly (Answer & {
  /** Null where the answer is about one repository. */
  paused: { of: "host" | "repository"; seconds: number } | null;
})[] = [
  // the host's own text
  {
    name: "missing or not public",
    status: 401,
    headers: { "www-authenticate": 'Basic realm="GitHub"' },
    body: "Repository not found.",
    paused: null,
  },
  // ebullient/ttrpg-convert-cli#538, YuukiPS/DockerGS#9
  {
    name: "a takedown",
    status: 403,
    body: TAKEDOWN,
    paused: null,
  },
  // jelmer/dulwich#562
  {
    name: "nothing there",
    status: 404,
    body: "Not Found",
    paused: null,
  },
  // RFC 7725
  {
    name: "blocked by law",
    status: 451,
    body: TAKEDOWN,
    paused: null,
  },
  // github.blog, updated rate limits for unauthenticated requests
  {
    name: "too many requests",
    status: 429,
    headers: { "retry-after": "120" },
    body: "",
    paused: { of: "host", seconds: 120 },
  },
  // github.blog, updated rate limits for unauthenticated requests
  {
    name: "too many requests without a time",
    status: 429,
    body: "",
    paused: { of: "host", seconds: 3600 },
  },
  // PyGithub ReplayData, 502
  {
    name: "a server error",
    status: 502,
    body: HTML,
    paused: { of: "repository", seconds: 600 },
  },
  // a proxy on the way
  {
    name: "garbage",
    status: 200,
    body: HTML,
    paused: { of: "repository", seconds: 600 },
  },
];

for (const answer of RECORDED_GIT) {
  const name = `${answer.name} (${answer.status})`;
  Deno.test(`Git host answer: ${name}`, async () => {
    const kv = await Deno.openKv(":memory:");
    const env = { MISSES_PER_MINUTE: "0" };
    await using site = await startGitSite(FILES, { env, kv });
    const { bridge, gh, service } = site;
    await freshnessOf(site);
    service.clock.advance(MINUTE_MS);
    gh.resetCounts();
    bridge.intercept = () => reply(answer, 0);
    // The API's answer decides.
    const [shown, how] = await freshnessOf(site);
    assertEquals([shown, how], otherTokenIsUsed.known);
    assertEquals(gh.counts().commit, 1);
    assertEquals(await hasTombstone(kv), false);
    const { paused } = answer;
    const lines = logged(site, "ls-refs paused", "of", "seconds");
    assertEquals(lines, paused ? [[paused.of, paused.seconds]] : []);
    bridge.requests.length = 0;
    service.clock.advance(MINUTE_MS);
    await freshnessOf(site);
    assertEquals(bridge.requests.length, paused ? 0 : 1);
    gh.get("octo/site").blocked = 451;
    service.clock.advance(MINUTE_MS);
    assertEquals(await freshnessOf(site), [451, "repository-blocked"]);
    assertEquals(await hasTombstone(kv), true);
  });
}
