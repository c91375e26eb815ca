// Each row of the table of errors, caused for real. The test service checks what all problems have in common.

import { assert, assertEquals } from "@std/assert";
import { type ProblemBody, problemBody } from "../../lib/api/contract.ts";
import { ERRORS, type ProblemCode } from "../../lib/errors.ts";
import { timeOutHangs } from "../github/github_faults.ts";
import { itemPath, listPath, type RequestOptions, type ServiceOptions } from "../service.ts";
import { type Site, startSite } from "../site.ts";

/** Texts that must not reach a client: a token, and messages of the source or of a fault of the service. */
const CANARIES = ["ghp_canaryToken", "canaryUpstream", "canaryFault"];

/** One way to cause a problem. */
interface Row {
  readonly code: ProblemCode;
  readonly path: string;
  readonly init?: RequestOptions;
  readonly options?: Pick<ServiceOptions, "env" | "change">;
  readonly arrange?: (site: Site) => unknown;
  /** Seconds of `Retry-After`; absent where there is none. */
  readonly retryAfter?: number;
  readonly check?: (problem: ProblemBody, response: Response) => void;
}

const says = (text: string) => ({ detail }: ProblemBody) => assert(detail.includes(text), detail);

const ROWS: readonly Row[] = [
  {
    code: "invalid-parameters",
    path: listPath({ page: 0 }),
    check: ({ errors }) => assertEquals(errors?.map(({ parameter }) => parameter), ["page"]),
  },
  {
    code: "repository-not-allowed",
    path: listPath(),
    options: { env: { ALLOWED_REPOS: "octo/other" } },
  },
  { code: "repository-not-found", path: listPath({ repo: "none" }) },
  {
    code: "branch-not-found",
    path: listPath({ branch: "none" }),
    check: says('default branch is "main"'),
  },
  {
    code: "collection-not-found",
    path: listPath({ collection: "post" }),
    check: ({ suggestions }) => assertEquals(suggestions, ["posts", "more"]),
  },
  {
    code: "collection-not-found",
    path: listPath({ collection: "posts/a.md" }),
    check: says("is a file"),
  },
  { code: "item-not-found", path: itemPath({ path: "posts" }), check: says("is a folder") },
  {
    code: "slug-ambiguous",
    path: itemPath({ collection: "posts", slug: "twice" }),
    check: ({ paths }) => assertEquals(paths, ["posts/twice.html", "posts/twice.txt"]),
  },
  { code: "route-not-found", path: "/api/none" },
  { code: "route-not-found", path: "/api/%zz" },
  { code: "method-not-allowed", path: listPath(), init: { method: "POST" } },
  {
    code: "repository-empty",
    path: listPath({ repo: "empty" }),
    arrange: ({ gh }) => gh.addEmpty("octo/empty"),
  },
  {
    code: "item-too-large",
    path: itemPath({ path: "more/large.bin" }),
    options: { env: { MAX_ITEM_MB: "1" } },
  },
  {
    code: "too-many-requests",
    path: listPath({ repo: "other" }),
    options: { env: { MISSES_PER_MINUTE: "1" } },
    arrange: ({ service }) => service.list(),
    retryAfter: 60,
  },
  {
    code: "repository-blocked",
    path: listPath({ repo: "blocked" }),
    arrange: ({ gh }) => gh.addBlocked("octo/blocked"),
  },
  {
    code: "internal-error",
    path: listPath(),
    options: {
      change: (services) => ({
        ...services,
        sourceOf: (owner) =>
          Object.create(services.sourceOf(owner), {
            resolve: { value: () => Promise.reject(new TypeError("canaryFault")) },
          }),
      }),
    },
    check: ({ detail, requestId }) => assert(detail.includes(requestId), detail),
  },
  ...([
    { kind: "status", status: 500, message: "canaryUpstream" },
    { kind: "garbage" },
    { kind: "html" },
    { kind: "cut" },
  ] as const).map((fault): Row => ({
    code: "source-failed",
    path: listPath(),
    arrange: ({ gh }) => gh.fault = fault,
  })),
  { code: "source-failed", path: listPath(), arrange: ({ gh }) => gh.down() },
  {
    code: "source-rate-limited",
    path: listPath(),
    arrange: ({ gh }) => gh.fault = { kind: "secondary403", retryAfterSeconds: 77 },
    retryAfter: 77,
  },
  {
    code: "source-timeout",
    path: listPath(),
    arrange({ gh, service }) {
      timeOutHangs(service.clock, gh);
      gh.fault = { kind: "hang" };
    },
  },
];

for (const [index, row] of ROWS.entries()) {
  Deno.test(`problem ${row.code}, cause ${index + 1}`, async () => {
    await using site = await startSite({
      "posts/a.md": "# A\n",
      "posts/twice.html": "",
      "posts/twice.txt": "",
      "more/large.bin": new Uint8Array((1 << 20) + 1),
    }, {
      ...row.options,
      env: { GITHUB_TOKEN: "ghp_canaryToken", ...row.options?.env },
    });
    site.gh.addToken("ghp_canaryToken", { sees: "all" });
    await row.arrange?.(site);

    const response = await site.service.get(row.path, row.init);

    assertEquals(response.status, ERRORS[row.code].status);
    const text = await response.text();
    const problem = problemBody.parse(JSON.parse(text));
    assertEquals(problem.code, row.code);
    assertEquals(problem.type, `http://localhost:8000/problems/${row.code}`);
    assertEquals(problem.retryAfterSeconds, row.retryAfter);
    row.check?.(problem, response);
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
  const caused = new Set([...ROWS.map(({ code }) => code), ...others]);
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
