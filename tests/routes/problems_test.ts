// Each row of the table of errors, caused for real. The test service checks
// what all problems have in common.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { ERRORS, type ProblemCode } from "../../lib/errors.ts";
import type { Services } from "../../lib/services.ts";
import { problemBody } from "../api/body_schemas.ts";
import { PROBLEMS } from "../api/real_examples.ts";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import {
  itemPath,
  listPath,
  type Parameters,
  type RequestOptions,
} from "../service.ts";
import { TimeLimitError } from "../../lib/thread/compute.ts";
import { WatchedCompute } from "../thread/watched_compute.ts";
import { type Site, startSite } from "../site.ts";

/**
 * Texts that must not reach a client: a token, and messages of the source or of
 * a fault of the service.
 */
const CANARIES = ["ghp_canaryToken", "canaryUpstream", "canaryFault"];

/** What a cause needs beside its request, and what its problem has. */
interface Details {
  readonly init?: RequestOptions;
  readonly env?: Record<string, string>;
  readonly change?: (services: Services) => Services;
  readonly arrange?: (site: Site) => unknown;
  /** Seconds of `Retry-After`; absent where there is none. */
  readonly retryAfter?: number;
  /** In the text of the body. */
  readonly says?: RegExp;
}

const under = (fault: Fault): Details => ({
  arrange: ({ gh }) => gh.fault = fault,
});
const breakResolve = (services: Services): Services => ({
  ...services,
  sourceOf: (owner) =>
    Object.create(services.sourceOf(owner), {
      resolve: { value: () => Promise.reject(new TypeError("canaryFault")) },
    }),
});
const hang = ({ gh, service }: Site) => {
  timeOutHangs(service.clock, gh);
  gh.fault = { kind: "hang" };
};
const hangTooLong = ({ gh, service }: Site) =>
  gh.fault = ({ kind }) => {
    if (kind !== "graphql") return null;
    service.clock.advance(8_000);
    return { kind: "hang" };
  };

const NEWEST = listPath({ sort: "-frontMatter.date" });

const NO_TOKEN = { env: { GITHUB_TOKEN: "" } };

/**
 * One way to cause each problem, or several, unless openapi_test.ts compares the
 * problem whole.
 */
const ROWS:
  readonly (readonly [code: ProblemCode, path: string, details?: Details])[] = [
    ["repository-not-allowed", listPath(), {
      env: { ALLOWED_REPOS: "octo/other" },
    }],
    ["collection-not-found", listPath({ collection: "posts/a.md" }), {
      says: /is a file/,
    }],
    ["route-not-found", "/api/none"],
    // The framework decodes a parameter of a path.
    ["route-not-found", "/problems/%ff"],
    ["method-not-allowed", listPath(), { init: { method: "POST" } }],
    ["repository-empty", listPath({ repo: "e" }), {
      arrange: ({ gh }) => gh.add("octo/e", null),
    }],
    ["history-unavailable", listPath({ fields: "lastChanged" }), NO_TOKEN],
    ["history-unavailable", listPath({ sort: "lastChanged.date" }), NO_TOKEN],
    [
      "history-unavailable",
      itemPath({ path: "posts/a.md", includeHistory: true }),
      NO_TOKEN,
    ],
    ["too-many-requests", listPath({ repo: "other" }), {
      env: { MISSES_PER_MINUTE: "1" },
      arrange: ({ service }) => service.list(),
      retryAfter: 60,
    }],
    ["repository-blocked", listPath({ repo: "b" }), {
      arrange: ({ gh }) => gh.add("octo/b", null, { blocked: 451 }),
    }],
    ["internal-error", listPath(), {
      change: breakResolve,
      says: /"detail":"[^"]*[0-9a-f]{8}-/,
    }],
    ["collection-not-ready", NEWEST, { arrange: hangTooLong, retryAfter: 5 }],
    [
      "source-failed",
      listPath(),
      under({ kind: "status", status: 500, message: "canaryUpstream" }),
    ],
    ["source-failed", listPath(), under({ kind: "garbage" })],
    ["source-failed", listPath(), under({ kind: "html" })],
    ["source-failed", listPath(), under({ kind: "cut" })],
    ["source-failed", listPath(), { arrange: ({ gh }) => gh.down() }],
    ["source-rate-limited", listPath(), {
      ...under({ kind: "secondary403", retryAfterSeconds: 77 }),
      retryAfter: 77,
    }],
    ["source-timeout", listPath(), { arrange: hang }],
  ];

for (const [index, [code, path, details = {}]] of ROWS.entries()) {
  Deno.test(`problem ${code}, cause ${index + 1}`, async () => {
    const { env, change, arrange, init, retryAfter, says } = details;
    await using site = await startSite({
      "posts/a.md": "# A\n",
      "posts/b.md": "# B\n",
    }, {
      env: { GITHUB_TOKEN: "ghp_canaryToken", ...env },
      ...change && { change },
    });
    await arrange?.(site);

    const response = await site.service.get(path, init);

    assertEquals(response.status, ERRORS[code].status);
    const text = await response.text();
    const problem = problemBody.parse(JSON.parse(text));
    assertEquals([problem.code, problem.retryAfterSeconds], [code, retryAfter]);
    assertEquals(problem.type, `http://localhost:8000/problems/${code}`);
    if (says) assertMatch(text, says);
    for (const canary of CANARIES) {
      assert(
        !`${text}${site.service.logText}`.includes(canary),
        `"${canary}" got out`,
      );
    }
    assert(!site.service.logText.includes("posts"), site.service.logText);
  });
}

Deno.test("every code of the table has a cause", () => {
  // The first two are below, those of the webhook are in webhook_test.ts, the
  // last is in hostile_trees_test.ts.
  const others =
    "service-busy query-too-expensive signature-invalid body-too-large collection-too-large";
  const caused = ROWS.map(([code]) => code);
  assertEquals(
    new Set([...caused, ...Object.keys(PROBLEMS), ...others.split(" ")]),
    new Set(Object.keys(ERRORS)),
  );
});

Deno.test("problem query-too-expensive, when the query is stopped", async () => {
  const compute = new WatchedCompute();
  compute.answer = (task) => {
    if (task === "select") throw new TimeLimitError("too long");
  };
  await using site = await startSite({ "posts/a.md": "" }, { compute });
  const path = listPath({ collection: "posts", sort: "name" });
  for (const turn of ["first", "again"]) {
    const { status, code, detail } = await site.service.problem(path);
    assertEquals([turn, status, code], [turn, 422, "query-too-expensive"]);
    assert(detail.includes('"posts"'), detail);
  }
  assertEquals(compute.runs.filter(({ task }) => task === "select").length, 1);
});

Deno.test("problem service-busy, when the queue to the source is full", async () => {
  await using site = await startSite({}, { env: { MISSES_PER_MINUTE: "0" } });
  const { gh, service } = site;
  gh.fault = { kind: "hang" };
  const disconnect = new AbortController();

  // 64 are sent, 512 of one client wait, and the one after that is refused.
  const responses = Array.from(
    { length: 577 },
    (_, n) =>
      service.get(listPath({ repo: `r${n}` }), { signal: disconnect.signal }),
  );
  const response = await Promise.race(responses);

  assertEquals([response.status, response.headers.get("retry-after")], [
    503,
    "5",
  ]);
  assertEquals((await response.json()).code, "service-busy");
  disconnect.abort();
  await Promise.allSettled(responses);
});

Deno.test("a problem names the bad parameter, slug or path", async () => {
  await using site = await startSite({
    "posts/2024/hello.md": "# A\n",
    "posts/2024/other.txt": "",
    "posts/b.md": "",
  });
  const bad = await site.service.problem(listPath({ limit: 0, page: "x" }));
  const number = "must be a whole number of 1 or more, in plain digits";
  assertEquals(
    bad.detail,
    `These parameters are not usable: page ${number}; limit ${number}.`,
  );
  const suggested = async (parameters: Parameters) =>
    (await site.service.problem(itemPath(parameters))).suggestions;
  const slug = await suggested({ collection: "posts", slug: "2024/helo" });
  assertEquals(slug?.[0], "2024/hello");
  assertEquals(await suggested({ path: "posts/2024/Hello.md" }), [
    "posts/2024/hello.md",
    "posts/2024/other.txt",
  ]);
  assertEquals(await suggested({ path: "none/hello.md" }), []);
});
