// What GitHub is recorded or documented to answer where something is wrong,
// written anew in the recorded shape. Each answer is given to a service that
// knows the repository and to one that does not, with one token and with two.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { jsonReply } from "../../github/github_api.ts";
import { freshnessOf } from "../../http/freshness_of.ts";
import type { LogLine } from "../../service.ts";
import { type Site, startGitSite, startSite } from "../../site.ts";

const MINUTE_MS = 60_000;
const FILES = { "posts/a.md": "A\n" };

/** One answer, and what follows from it. */
interface Recorded {
  readonly name: string;
  /** Where it is recorded or documented. */
  readonly source: string;
  /**
   * Who gets it: the first token, each request, or each request about a commit.
   */
  readonly to: "first token" | "everyone" | "commits";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of JSON the fields, or another body as it is. */
  readonly body: string | Readonly<Record<string, unknown>>;
  /**
   * What a request for the repository gets that was served before: it is
   * checked again, older, or a problem.
   */
  readonly known: "checked" | "older" | readonly [status: number, code: string];
  /** What a request gets for one that was not. */
  readonly unknown: 200 | readonly [status: number, code: string];
  /**
   * Whether the store tells the other processes that the repository must not be
   * served.
   */
  readonly tombstone: boolean;
  /**
   * The lines that the log has of a token; the same with one token and with
   * two.
   */
  readonly log: readonly LogLine[];
}

const DOCS = "https://docs.github.com/rest";
const SPENT = { "x-ratelimit-remaining": "0", "x-ratelimit-limit": "5000" };
const HTML =
  "<html><body><h1>503 Service Unavailable</h1>No server is available.</body></html>";
const LIFETIME = (days: number) =>
  `The 'octo' organization forbids access via a fine-grained personal access tokens if the token's lifetime is greater than ${days} days. Please adjust your token's lifetime at the following URL: https://github.com/settings/personal-access-tokens/1`;

/** A 403 about the first token: the next one is used, or none. */
function denied(
  name: string,
  source: string,
  message: string,
  { owner = "octo", headers = {} }: {
    owner?: string;
    headers?: Record<string, string>;
  } = {},
): Recorded {
  const line = { event: "token set aside", token: 1, owner, message };
  const body = { message, documentation_url: DOCS, status: "403" };
  const goesOn = { known: "checked", unknown: 200, tombstone: false } as const;
  return {
    name,
    source,
    to: "first token",
    status: 403,
    headers,
    body,
    ...goesOn,
    log: [line],
  };
}

/** A limit of the first token: the next one is used, or none. */
function limited(
  name: string,
  source: string,
  [status, message, headers = {}]: [number, string, Record<string, string>?],
  seconds: number,
): Recorded {
  const line = { event: "token limited", token: 1, seconds };
  const goesOn = { known: "checked", unknown: 200, tombstone: false } as const;
  const body = { message, documentation_url: DOCS };
  return {
    name,
    source,
    to: "first token",
    status,
    headers,
    body,
    ...goesOn,
    log: [line],
  };
}

/** A failure of the source, which says nothing about the repository. */
function failed(
  name: string,
  source: string,
  status: number,
  body: Recorded["body"],
  headers: Record<string, string> = {},
): Recorded {
  const known = "older";
  const unknown = [502, "source-failed"] as const;
  const shown = { known, unknown, tombstone: false, log: [] } as const;
  return { name, source, to: "everyone", status, headers, body, ...shown };
}

/** An answer about the repository. */
function about(
  name: string,
  source: string,
  [status, code]: readonly [status: number, code: string],
  answer: Pick<Recorded, "status" | "body"> & { readonly to?: Recorded["to"] },
  log: readonly LogLine[] = [],
): Recorded {
  const problem = [status, code] as const;
  return {
    name,
    source,
    to: "everyone",
    ...answer,
    known: problem,
    unknown: problem,
    tombstone: true,
    log,
  };
}

const refused = { event: "token refused", token: 1 };
const goesOn = { known: "checked", unknown: 200, tombstone: false } as const;
const blocked = (reason: string) => ({
  message: "Repository access blocked",
  block: { reason, created_at: "2026-01-01T00:00:00Z", html_url: null },
});

const RECORDED: readonly Recorded[] = [
  denied(
    "too many failed logins",
    "PyGithub/PyGithub#1248",
    "Maximum number of login attempts exceeded. Please try again later.",
    { owner: "*" },
  ),
  denied(
    "too many failed logins, as in 2013",
    "PyGithub ReplayData, Authentication.testAuthorizationHeaderWithToken",
    "Max number of login attempt exceeded",
    { owner: "*" },
  ),
  denied(
    "single sign-on",
    "github/docs, authenticating with SAML single sign-on",
    "Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.",
    {
      headers: {
        "x-github-sso":
          "required; url=https://github.com/orgs/octo/sso?authorization_request=A",
      },
    },
  ),
  denied(
    "a lifetime over 366 days",
    "GladysAssistant/v4-website#408",
    LIFETIME(366),
  ),
  denied(
    "an IP allow list",
    "SalesforceFoundation/NPSP#7247",
    "Although you appear to have the correct authorization credentials, the `octo` organization has an IP allow list enabled, and your IP address is not permitted to access this resource.",
  ),
  denied(
    "a missing permission",
    "github/docs, troubleshooting the REST API",
    "Resource not accessible by personal access token",
    { headers: { "x-accepted-github-permissions": "contents=read" } },
  ),
  {
    ...denied(
      "a 403 that is not JSON",
      "PyGithub ReplayData, testBadUserAgent (its type)",
      "",
    ),
    body: "Request forbidden by administrative rules.",
  },
  {
    name: "bad credentials",
    source: "hub4j/github-api, AppTest/testCredentialValid",
    to: "first token",
    status: 401,
    ...goesOn,
    log: [refused],
    body: { message: "Bad credentials", documentation_url: DOCS },
  },
  {
    name: "a second factor",
    source: "PyGithub ReplayData, SpecificExceptions.test2FARequired",
    to: "first token",
    status: 401,
    ...goesOn,
    log: [refused],
    headers: { "x-github-otp": "required; app" },
    body: {
      message: "Must specify two-factor authentication OTP code.",
      documentation_url: DOCS,
    },
  },
  limited(
    "a spent quota (403)",
    "PyGithub ReplayData, SpecificExceptions.testRateLimitExceeded",
    [
      403,
      "API rate limit exceeded for user ID 1.",
      { ...SPENT, "x-ratelimit-reset": "{in 600 s}" },
    ],
    600,
  ),
  limited("a spent quota (429)", "github/docs, rate limits for the REST API", [
    429,
    "API rate limit exceeded for user ID 1.",
    { ...SPENT, "x-ratelimit-reset": "{in 600 s}" },
  ], 600),
  limited(
    "an abuse limit with Retry-After",
    "PyGithub ReplayData, SpecificExceptions.testAuthenticatedRateLimitExceeded",
    [403, "You have triggered an abuse detection mechanism.", {
      "retry-after": "90",
    }],
    90,
  ),
  limited(
    "a secondary limit by its message alone",
    "hub4j/github-api, AbuseLimitHandlerTest/testHandler_Wait_Secondary_Limits_Body_Marker_Only",
    [
      403,
      "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    ],
    60,
  ),
  limited(
    "a secondary limit with Retry-After under another message",
    "hub4j/github-api, AbuseLimitHandlerTest/testHandler_Fail",
    [403, "Must have push access to repository", { "retry-after": "30" }],
    30,
  ),
  limited(
    "a secondary limit with a date",
    "hub4j/github-api, AbuseLimitHandlerTest/…_Too_Many_Requests_Date_Retry_After",
    [429, "You have exceeded a secondary rate limit.", {
      "retry-after": "{date in 90 s}",
    }],
    90,
  ),
  limited(
    "a 429 without any header",
    "hub4j/github-api, AbuseLimitHandlerTest/…_Too_Many_Requests_No_Retry_After",
    [429, "You have exceeded a secondary rate limit."],
    60,
  ),
  failed("an ended API version", "github/docs, API versions", 410, {
    message: "Gone",
  }),
  failed(
    "an unknown API version",
    "github/docs, troubleshooting the REST API",
    400,
    {
      message: "Not a supported version.",
    },
  ),
  failed("a media type that is not served", "RFC 9110, 15.5.7", 406, {
    message: "Not Acceptable",
  }),
  failed("a server error", "PyGithub ReplayData, 502", 500, {
    error: "Server Error",
  }),
  failed("no server", "PyGithub ReplayData, 503", 503, HTML),
  failed("a page in place of data", "a proxy on the way", 200, HTML),
  about("blocked by law", "github/rest-api-description#3314", [
    451,
    "repository-blocked",
  ], {
    status: 451,
    body: blocked("dmca"),
  }),
  about("blocked by terms", "OpenAPI, forbidden_gist; octokit/octokit.rb#563", [
    451,
    "repository-blocked",
  ], { status: 403, body: blocked("tos") }),
  about("missing", "PyGithub ReplayData, 404", [404, "repository-not-found"], {
    status: 404,
    body: { message: "Not Found", documentation_url: DOCS, status: "404" },
  }),
  about("empty", "github/docs, trees", [409, "repository-empty"], {
    to: "commits",
    status: 409,
    body: {
      message: "Git Repository is empty.",
      documentation_url: DOCS,
      status: "409",
    },
  }),
  about(
    "without the branch",
    "github/docs, commits",
    [404, "branch-not-found"],
    {
      to: "commits",
      status: 422,
      body: {
        message: "No commit found for SHA: heads/main",
        documentation_url: DOCS,
        status: "422",
      },
    },
  ),
];

/** The answer, with the times that it states. */
function reply(
  { status, headers = {}, body }: Recorded,
  nowMs: number,
): Response {
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

function answerWith({ gh, service }: Site, recorded: Recorded): void {
  gh.intercept = (_request, { kind, token }) => {
    const isFor = {
      "first token": token === 0,
      "everyone": true,
      "commits": kind === "commit",
    };
    return isFor[recorded.to] ? reply(recorded, service.clock.now()) : null;
  };
}

/** Whether the store has a tombstone. */
async function hasTombstone(kv: Deno.Kv): Promise<boolean> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  return entries.some(({ key }) => key.includes("tombstone"));
}

const TOKEN_EVENTS = /^token |^all tokens/;

for (const recorded of RECORDED) {
  for (const tokens of [["t1"], ["t1", "t2"]]) {
    const name =
      `${recorded.name} (${recorded.status}), ${tokens.length} token(s)`;
    Deno.test(`recorded answer: ${name}`, async () => {
      for (const isKnown of [true, false]) {
        const kv = await Deno.openKv(":memory:");
        const env = { GITHUB_TOKEN: tokens.join(), MISSES_PER_MINUTE: "0" };
        await using site = await startSite(FILES, { env, kv });
        const { gh, service } = site;
        // A whole second, as headers state times.
        service.clock.advance(1000 - service.clock.now() % 1000);
        if (isKnown) await freshnessOf(site);
        service.clock.advance(MINUTE_MS);
        answerWith(site, recorded);
        const [status, freshness] = await freshnessOf(site);
        const { known, unknown } = recorded;
        if (!isKnown) assertEquals(unknown === 200 ? "a" : unknown[0], status);
        else if (known === "checked") {
          assertEquals(freshness, "fwd=stale; detail=revalidated");
        } else if (known === "older") {
          assertStringIncludes(`${freshness}`, "stale-if-error");
        } else assertEquals([status, freshness], known);
        if (!isKnown && unknown !== 200) assertEquals(freshness, unknown[1]);
        assertEquals(await hasTombstone(kv), isKnown && recorded.tombstone);

        // The other token, or none, gave what was served.
        const { log, to } = recorded;
        const last = gh.requests.at(-1)!.token;
        if (to === "first token") {
          assertEquals(last, tokens.length === 1 ? null : 1);
        }
        const lines = service.logLines().filter(({ event }) =>
          TOKEN_EVENTS.test(`${event}`)
        );
        const isRefusal = recorded.status === 401 && tokens.length === 1;
        assertEquals(lines.length, log.length + (isRefusal ? 1 : 0));
        for (const [index, line] of log.entries()) {
          assertEquals(lines[index], { ...lines[index], ...line });
        }
      }
    });
  }
}

Deno.test("a 403 to each token and without one is not found", async () => {
  await using site = await startSite(FILES, { env: { GITHUB_TOKEN: "t1,t2" } });
  const { gh, service } = site;
  gh.fault = { kind: "status", status: 403, message: LIFETIME(366) };
  assertEquals(await freshnessOf(site), [404, "repository-not-found"]);
  const lines = service.logLines("token set aside");
  assertEquals(lines.map(({ token }) => token).toSorted(), [1, 2]);
  assertEquals(gh.requests.at(-1)!.token, null);
});

Deno.test("a private repository is not lost with its token", async () => {
  const rows = [
    { message: LIFETIME(366), headers: {}, problem: [502, "source-failed"] },
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
    assertEquals((await freshnessOf(site))[0], "a");
    gh.fault = ({ token }) =>
      token === 0 ? { kind: "status", status: 403, message, headers } : null;
    service.clock.advance(MINUTE_MS);
    const [shown, freshness] = await freshnessOf(site);
    assert(
      shown === "a" && `${freshness}`.includes("stale-if-error"),
      `${shown} ${freshness}`,
    );
    const path =
      "/api/list-collection-items?owner=octo&repo=second&collection=posts";
    assertEquals(await freshnessOf(site, path), problem);
  }
});

Deno.test("a token that is set aside is used for other owners", async () => {
  await using site = await startSite(FILES, { env: { GITHUB_TOKEN: "t1" } });
  const { gh, repository, service: { clock } } = site;
  gh.add("other/site", repository);
  const paths = ["octo", "other"]
    .map((owner) =>
      `/api/list-collection-items?owner=${owner}&repo=site&collection=posts`
    );
  gh.fault = ({ token, path }) =>
    token === 0 && path.startsWith("/repos/octo/")
      ? { kind: "status", status: 403, message: LIFETIME(366) }
      : null;
  const tokens = async (path: string) => {
    gh.resetCounts();
    await freshnessOf(site, path);
    return [...new Set(gh.requests.map(({ token }) => token))];
  };
  assertEquals(await tokens(paths[0]!), [0, null]);
  assertEquals(await tokens(paths[1]!), [0]);
  clock.advance(MINUTE_MS);
  assertEquals(await tokens(paths[0]!), [null], "it is not tried again");
  gh.fault = null;
  clock.advance(10 * MINUTE_MS);
  assertEquals(await tokens(paths[0]!), [0]);
});

/**
 * One answer of GraphQL to the first token; for how many seconds it then waits;
 * null for a failure, which is no limit.
 */
type GraphqlRow = [
  name: string,
  source: string,
  status: number,
  seconds: number | null,
  body: Readonly<Record<string, unknown>>,
  headers?: Record<string, string>,
];
type Kinds = Readonly<Record<string, number>>;

const LIMITS = "github/docs, rate limits for the GraphQL API";
const IN_600_S = { ...SPENT, "x-ratelimit-reset": "{in 600 s}" };
const primary = "API rate limit already exceeded for user ID 1.";
const secondary =
  "You have exceeded a secondary rate limit. Please wait a few minutes.";
const errors = (...errors: readonly Record<string, unknown>[]) => ({
  data: null,
  errors,
});
/**
 * The requests for contents with one token, where there is a raw host and where
 * there is none, and with two tokens.
 */
const LIMITED: readonly Kinds[] = [{ graphql: 1, raw: 3 }, { graphql: 1 }, {
  graphql: 2,
}];
const FAILED: readonly Kinds[] = Array(3).fill({ graphql: 1, blob: 3 });

const RECORDED_GRAPHQL: readonly GraphqlRow[] = [
  ["a spent quota, as it is documented", LIMITS, 200, 600, {
    errors: [{ type: "RATE_LIMITED", message: primary }],
  }, IN_600_S],
  [
    "a spent quota, as it is reported",
    "octokit/plugin-throttling.js#848",
    200,
    600,
    {
      errors: [{
        type: "RATE_LIMIT",
        code: "graphql_rate_limit",
        message: primary,
      }],
    },
    IN_600_S,
  ],
  [
    "a secondary limit with Retry-After",
    LIMITS,
    200,
    45,
    errors({ message: "Please wait." }),
    {
      "retry-after": "45",
    },
  ],
  [
    "a secondary limit by its message",
    LIMITS,
    200,
    60,
    errors({ message: secondary }),
  ],
  ["a secondary limit", "Azure/azure-rest-api-specs#36378", 403, 60, {
    message: secondary,
  }],
  ["a lifetime over 366 days", "HHS/simpler-grants-gov#2547", 200, null, {
    data: { repository: null },
    errors: [{
      type: "FORBIDDEN",
      path: ["repository"],
      message: LIFETIME(366),
    }],
  }],
  ["a time-out", "github/docs, time-outs of the GraphQL API", 502, null, {
    message: "We couldn't respond to your request in time.",
  }],
  ["limited words in a file", "a file may have any text", 200, null, {
    data: {
      repository: {
        f0: { text: `{"type":"RATE_LIMITED","message":"${secondary}"}` },
      },
    },
  }],
];

for (
  const [name, source, status, seconds, body, headers = {}] of RECORDED_GRAPHQL
) {
  const [withRaw, withoutRaw, secondToken] = seconds === null
    ? FAILED
    : LIMITED;
  const code = seconds === null ? null : "source-rate-limited";
  const rows = [
    { tokens: ["t1"], hasRaw: true, requests: withRaw, code: null },
    { tokens: ["t1"], hasRaw: false, requests: withoutRaw, code },
    { tokens: ["t1", "t2"], hasRaw: false, requests: secondToken, code: null },
  ];
  for (const { tokens, hasRaw, requests, code } of rows) {
    const how = `${tokens.length} token(s)${hasRaw ? ", raw host" : ""}`;
    Deno.test(`GraphQL answer: ${name} (${status}), ${source}, ${how}`, async () => {
      const files = {
        "posts/a.md": "A\n",
        "posts/b.md": "B\n",
        "posts/c.md": "C\n",
      };
      const raw = hasRaw ? {} : { GITHUB_RAW_URL: "" };
      await using site = await startSite(files, {
        env: { GITHUB_TOKEN: tokens.join(), ...raw },
      });
      const { gh, service } = site;
      service.clock.advance(1000 - service.clock.now() % 1000);
      gh.intercept = (_request, { kind, token }) =>
        kind === "graphql" && token === 0
          ? reply(
            { ...RECORDED[0]!, status, headers, body },
            service.clock.now(),
          )
          : null;
      const { items } = await service.list({ includeContent: true });
      const codes = new Set(items.map(({ error }) => error?.code ?? null));
      assertEquals(codes, new Set([code]));
      const { commit: _commit, repo: _repo, ...counts } = gh.counts();
      const { tree: _tree, "tree-recursive": _recursive, ...contents } = counts;
      assertEquals(contents, requests);
      const lines = service.logLines("token limited").map((
        { token, seconds },
      ) => [token, seconds]);
      assertEquals(lines, seconds === null ? [] : [[1, seconds]]);
    });
  }
}

/** An answer, and for how many seconds its host is not asked after it. */
type Row<Paused> = [
  name: string,
  source: string,
  status: number,
  paused: Paused,
  body: string,
  headers?: Record<string, string>,
];

const LAW = "451: Unavailable For Legal Reasons";
const RECORDED_RAW: readonly Row<number>[] = [
  [
    "too many requests",
    "artifacthub/hub#4397, denoland/deno#29366",
    429,
    60,
    "",
  ],
  ["… with Retry-After", "algolia/npm-search#993", 429, 1800, "", {
    "retry-after": "1800",
  }],
  ["a file that is not there", "the host's own text", 404, 0, "404: Not Found"],
  ["blocked", "github/rest-api-description#3314, at the API", 451, 0, LAW],
  ["a broken edge", "PyGithub ReplayData, 503", 503, 0, HTML],
];

for (
  const [name, source, status, pausedSeconds, body, headers = {}]
    of RECORDED_RAW
) {
  Deno.test(`raw host answer: ${name} (${status}), ${source}`, async () => {
    const files = {
      "posts/a.md": "A\n",
      "posts/b.md": "B\n",
      "posts/c.md": "C\n",
    };
    await using site = await startSite(files);
    const { gh, repository, service } = site;
    gh.intercept = (_request, { kind }) =>
      kind === "raw" ? new Response(body, { status, headers }) : null;
    const contents = async () => {
      const { items } = await service.list({ includeContent: true });
      return items.map(({ content, error }) => content ?? error);
    };
    assertEquals(await contents(), ["A\n", "B\n", "C\n"]);
    assertEquals(gh.counts().blob, 3);
    const limits = service.logLines("token limited").map((
      { token, seconds },
    ) => [token, seconds]);
    assertEquals(limits, pausedSeconds === 0 ? [] : [[0, pausedSeconds]]);
    gh.resetCounts();
    await repository.commit({ "posts/a.md": "new\n" });
    service.clock.advance(MINUTE_MS - 1_000);
    await freshnessOf(site);
    service.clock.advance(1_000);
    assertEquals((await contents())[0], "new\n");
    assertEquals((gh.counts().raw ?? 0) > 0, pausedSeconds <= 60);
  });
}

/** What is not queried then; null where the answer is about one repository. */
type GitPause = readonly [of: "host" | "repository", seconds: number] | null;

const TAKEDOWN = "Repository unavailable due to DMCA takedown.\n";
const REALM = { "www-authenticate": 'Basic realm="GitHub"' };
const BLOG = "github.blog, updated rate limits for unauthenticated requests";
const RECORDED_GIT: readonly Row<GitPause>[] = [
  [
    "missing or not public",
    "the host's own text",
    401,
    null,
    "Repository not found.",
    REALM,
  ],
  [
    "a takedown",
    "ebullient/ttrpg-convert-cli#538, YuukiPS/DockerGS#9",
    403,
    null,
    TAKEDOWN,
  ],
  ["nothing there", "jelmer/dulwich#562", 404, null, "Not Found"],
  ["blocked by law", "RFC 7725", 451, null, TAKEDOWN],
  ["too many requests", BLOG, 429, ["host", 120], "", { "retry-after": "120" }],
  ["too many requests without a time", BLOG, 429, ["host", 3600], ""],
  [
    "a server error",
    "PyGithub ReplayData, 502",
    502,
    ["repository", 600],
    HTML,
  ],
  ["garbage", "a proxy on the way", 200, ["repository", 600], HTML],
];

for (const [name, source, status, paused, body, headers = {}] of RECORDED_GIT) {
  Deno.test(`Git host answer: ${name} (${status}), ${source}`, async () => {
    for (const isKnown of [true, false]) {
      const kv = await Deno.openKv(":memory:");
      await using site = await startGitSite(FILES, {
        env: { MISSES_PER_MINUTE: "0" },
        kv,
      });
      const { bridge, gh, service } = site;
      if (isKnown) await freshnessOf(site);
      service.clock.advance(MINUTE_MS);
      gh.resetCounts();
      bridge.intercept = () => new Response(body, { status, headers });
      // The API's answer decides.
      const [shown, freshness] = await freshnessOf(site);
      assertEquals([shown, gh.counts().commit], ["a", 1]);
      if (isKnown) assertEquals(freshness, "fwd=stale; detail=revalidated");
      assertEquals(await hasTombstone(kv), false);
      const lines = service.logLines("ls-refs paused").map((
        { of, seconds },
      ) => [of, seconds]);
      assertEquals(lines, paused === null ? [] : [[...paused]]);
      bridge.requests.length = 0;
      service.clock.advance(MINUTE_MS);
      await freshnessOf(site);
      assertEquals(bridge.requests.length, paused === null ? 1 : 0);
      // What the API denies as well is denied.
      gh.get("octo/site").blocked = 451;
      service.clock.advance(MINUTE_MS);
      assertEquals(await freshnessOf(site), [451, "repository-blocked"]);
      assertEquals(await hasTombstone(kv), true);
    }
  });
}
