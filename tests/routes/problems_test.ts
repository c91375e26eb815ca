// Each row of the table of errors, caused for real. The test service checks what all problems have in common.

import { assert, assertEquals } from "@std/assert";
import { type ProblemBody, problemBody } from "../../lib/api/contract.ts";
import { ERRORS, type ProblemCode } from "../../lib/errors.ts";
import type { Services } from "../../lib/services.ts";
import { type Fault, timeOutHangs } from "../github/github_faults.ts";
import { itemPath, listPath, type RequestOptions } from "../service.ts";
import { type Site, startSite } from "../site.ts";

/** Texts that must not reach a client: a token, and messages of the source or of a fault of the service. */
const CANARIES = ["ghp_canaryToken", "canaryUpstream", "canaryFault"];

/** What a cause needs beside its request, and what its problem has. */
interface Details {
  readonly init?: RequestOptions;
  readonly env?: Record<string, string>;
  readonly change?: (services: Services) => Services;
  readonly arrange?: (site: Site) => unknown;
  /** Seconds of `Retry-After`; absent where there is none. */
  readonly retryAfter?: number;
  readonly check?: (problem: ProblemBody) => void;
}

/** One way to cause a problem. */
type Row = readonly [code: ProblemCode, path: string, details?: Details];

const says = (text: string): Details => ({
  check: ({ detail }) => assert(detail.includes(text), detail),
});
const under = (fault: Fault): Details => ({ arrange: ({ gh }) => gh.fault = fault });
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

const ROWS: readonly Row[] = [
  ["invalid-parameters", listPath({ page: 0 }), {
    check: ({ errors }) => assertEquals(errors?.map(({ parameter }) => parameter), ["page"]),
  }],
  ["repository-not-allowed", listPath(), { env: { ALLOWED_REPOS: "octo/other" } }],
  ["repository-not-found", listPath({ repo: "none" })],
  ["branch-not-found", listPath({ branch: "none" }), says('default branch is "main"')],
  ["collection-not-found", listPath({ collection: "post" }), {
    check: ({ suggestions }) => assertEquals(suggestions, ["posts", "more"]),
  }],
  ["collection-not-found", listPath({ collection: "posts/a.md" }), says("is a file")],
  ["item-not-found", itemPath({ path: "posts" }), says("is a folder")],
  ["slug-ambiguous", itemPath({ collection: "posts", slug: "twice" }), {
    check: ({ paths }) => assertEquals(paths, ["posts/twice.html", "posts/twice.txt"]),
  }],
  ["route-not-found", "/api/none"],
  ["route-not-found", "/api/%zz"],
  ["method-not-allowed", listPath(), { init: { method: "POST" } }],
  ["repository-empty", listPath({ repo: "e" }), { arrange: ({ gh }) => gh.add("octo/e", null) }],
  ["item-too-large", itemPath({ path: "more/large.bin" }), { env: { MAX_ITEM_MB: "1" } }],
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
    check: ({ detail, requestId }) => assert(detail.includes(requestId), detail),
  }],
  ["source-failed", listPath(), under({ kind: "status", status: 500, message: "canaryUpstream" })],
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
    await using site = await startSite({
      ...{ "posts/a.md": "# A\n", "posts/twice.html": "", "posts/twice.txt": "" },
      "more/large.bin": new Uint8Array((1 << 20) + 1),
    }, {
      env: { GITHUB_TOKEN: "ghp_canaryToken", ...details.env },
      ...details.change && { change: details.change },
    });
    site.gh.addToken("ghp_canaryToken");
    await details.arrange?.(site);

    const response = await site.service.get(path, details.init);

    assertEquals(response.status, ERRORS[code].status);
    const text = await response.text();
    const problem = problemBody.parse(JSON.parse(text));
    assertEquals([problem.code, problem.retryAfterSeconds], [code, details.retryAfter]);
    assertEquals(problem.type, `http://localhost:8000/problems/${code}`);
    details.check?.(problem);
    for (const canary of CANARIES) {
      assert(!`${text}${site.service.logText}`.includes(canary), `"${canary}" got out`);
    }
  });
}

Deno.test("every code of the table has a cause", () => {
  // Those of the webhook are in webhook_test.ts, collection-too-large in hostile_trees_test.ts, collection-not-ready in
  // front_matter_reads_test.ts.
  const others: ProblemCode[] = [
    ...["service-busy", "collection-too-large", "collection-not-ready"] as const,
    ...["signature-invalid", "body-too-large"] as const,
  ];
  const caused = new Set([...ROWS.map(([code]) => code), ...others]);
  assertEquals([...caused].toSorted(), Object.keys(ERRORS).toSorted());
});

Deno.test("problem service-busy, when the queue to the source is full", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" }, {
    env: { MISSES_PER_MINUTE: "0" },
  });
  const { gh, service } = site;
  gh.fault = { kind: "hang" };
  const disconnect = new AbortController();

  // 64 are sent, 512 of one client wait, and the one after that is refused.
  const responses = Array.from(
    { length: 577 },
    (_, n) => service.get(listPath({ repo: `r${n}` }), { signal: disconnect.signal }),
  );
  const response = await Promise.race(responses);

  assertEquals([response.status, response.headers.get("retry-after")], [503, "1"]);
  assertEquals((await response.json()).code, "service-busy");
  disconnect.abort();
  await Promise.allSettled(responses);
});
