// The rows of the contract's table of errors, each with a way to cause it.

import { assert, assertEquals } from "@std/assert";
import type { ProblemBody } from "../../lib/api/contract.ts";
import type { ProblemCode } from "../../lib/errors.ts";
import { timeOutHangs } from "../github/time_out_hangs.ts";
import { itemPath, listPath, type RequestOptions, type ServiceOptions } from "../service.ts";
import type { Site } from "../site.ts";

/** One way to cause a problem. */
export interface ProblemRow {
  readonly status: number;
  readonly code: ProblemCode;
  readonly path: string;
  readonly init?: RequestOptions;
  readonly options?: Pick<ServiceOptions, "env" | "change">;
  /** Brings about what the request then meets. */
  readonly arrange?: (site: Site) => unknown;
  /** Seconds of `Retry-After`; absent where there is none. */
  readonly retryAfter?: number;
  readonly check?: (problem: ProblemBody, response: Response) => void;
}

const upstreamFault = { message: "canaryUpstream" };

/** Each row at least once. */
export const problemRows: readonly ProblemRow[] = [
  {
    status: 400,
    code: "invalid-parameters",
    path: listPath({ page: 0 }),
    check: ({ errors }) => assertEquals(errors?.map(({ parameter }) => parameter), ["page"]),
  },
  {
    status: 403,
    code: "repository-not-allowed",
    path: listPath(),
    options: { env: { ALLOWED_REPOS: "octo/other" } },
  },
  { status: 404, code: "repository-not-found", path: listPath({ repo: "none" }) },
  {
    status: 404,
    code: "repository-not-found",
    path: listPath(),
    arrange: ({ gh }) => gh.setVisibility("octo/site", "private"),
  },
  {
    status: 404,
    code: "branch-not-found",
    path: listPath({ branch: "none" }),
    check: ({ detail }) => assert(detail.includes('default branch is "main"'), detail),
  },
  {
    status: 404,
    code: "collection-not-found",
    path: listPath({ collection: "post" }),
    check: ({ suggestions }) => assertEquals(suggestions, ["posts", "more"]),
  },
  {
    status: 404,
    code: "collection-not-found",
    path: listPath({ collection: "posts/a.md" }),
    check: ({ detail }) => assert(detail.includes("is a file"), detail),
  },
  { status: 404, code: "item-not-found", path: itemPath({ path: "posts/none.md" }) },
  {
    status: 404,
    code: "item-not-found",
    path: itemPath({ path: "posts" }),
    check: ({ detail }) => assert(detail.includes("is a folder"), detail),
  },
  { status: 404, code: "route-not-found", path: "/api/none" },
  { status: 404, code: "route-not-found", path: "/api/%zz" },
  {
    status: 405,
    code: "method-not-allowed",
    path: listPath(),
    init: { method: "POST" },
    check: (_, { headers }) => assertEquals(headers.get("allow"), "GET, HEAD, OPTIONS"),
  },
  { status: 405, code: "method-not-allowed", path: "/none", init: { method: "DELETE" } },
  {
    status: 409,
    code: "repository-empty",
    path: listPath({ repo: "empty" }),
    arrange: ({ gh }) => gh.addEmpty("octo/empty"),
  },
  {
    status: 422,
    code: "item-too-large",
    path: itemPath({ path: "more/large.bin" }),
    options: { env: { MAX_ITEM_MB: "1" } },
    check({ size, maxBytes, htmlUrl }) {
      assertEquals([size, maxBytes], [(1 << 20) + 1, 1 << 20]);
      assertEquals(htmlUrl, "https://github.test/octo/site/blob/main/more/large.bin");
    },
  },
  {
    status: 429,
    code: "too-many-requests",
    path: listPath({ repo: "other" }),
    options: { env: { MISSES_PER_MINUTE: "1" } },
    arrange: ({ service }) => service.list(),
    retryAfter: 60,
    check(_, { headers }) {
      assertEquals(headers.get("ratelimit-policy"), '"misses";q=1;w=60');
      assertEquals(headers.get("ratelimit"), '"misses";r=0;t=60');
    },
  },
  {
    status: 451,
    code: "repository-blocked",
    path: listPath({ repo: "blocked" }),
    arrange: ({ gh }) => gh.addBlocked("octo/blocked"),
  },
  {
    status: 500,
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
    { kind: "status", status: 500, ...upstreamFault },
    { kind: "garbage" },
    { kind: "html" },
    { kind: "cut" },
  ] as const).map((fault): ProblemRow => ({
    status: 502,
    code: "source-failed",
    path: listPath(),
    arrange: ({ gh }) => gh.fault = fault,
  })),
  {
    status: 502,
    code: "source-failed",
    path: listPath(),
    arrange: ({ gh }) => gh.down(),
  },
  {
    status: 503,
    code: "source-rate-limited",
    path: listPath(),
    arrange: ({ gh }) => gh.fault = { kind: "secondary403", retryAfterSeconds: 77 },
    retryAfter: 77,
  },
  {
    status: 503,
    code: "collection-not-ready",
    path: listPath({ sort: "frontMatter.title" }),
    arrange({ gh, service }) {
      gh.fault = { kind: "hang", only: ["raw", "blob", "graphql"] };
      // Once the job waits for the source, the time of the request passes.
      gh.log.until(() => gh.pauses.waiting > 0).then(() => service.clock.advance(8_000));
    },
    retryAfter: 5,
  },
  {
    status: 504,
    code: "source-timeout",
    path: listPath(),
    arrange: ({ gh, service }) => {
      timeOutHangs(service.clock, gh);
      gh.fault = { kind: "hang" };
    },
  },
];
