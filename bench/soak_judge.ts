// Holds an answer of the soak to what git says and to the contract: which state it shows, how old that is, and whether
// the service may answer so at this time.

import { createHash } from "node:crypto";
import type { Expected, ListQuery, SoakRequest } from "./soak_requests.ts";
import { hasTag, type TrueFile, type TrueState } from "./soak_truth.ts";

/** An answer as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly sentAtMs: number;
  /** Whether the source failed then or shortly before, so that the service may be without it. */
  readonly mayFail: boolean;
}

/** What an answer shows, found again for a 304 by the tag. Null: no state that ever was. */
export type Shown = () => Promise<TrueState | null>;

/** What is known of an answer that is not wrong in itself. */
export interface Verdict {
  /** A line of the report. */
  readonly name: string;
  /** Of data: how old it was at least by its commit, and by its `Age`, in ms. */
  readonly stale?: { readonly ifError: boolean; readonly ageMs: number; readonly behindMs: number };
  readonly shown?: Shown;
}

const STALE_IF_ERROR = "; detail=stale-if-error";
const FRESH_MS = 60_000;
const SLACK_MS = 1_000;
const SOURCE_PROBLEMS: Readonly<Record<string, number>> = {
  "source-failed": 502,
  "source-rate-limited": 503,
  "source-timeout": 504,
};
const BUSY_PROBLEMS: Readonly<Record<string, number>> = {
  "service-busy": 503,
  "collection-not-ready": 503,
};

/** Judges an answer; `known` is what the tag that was sent along stands for. @throws {Error} saying what is wrong. */
export async function judge(
  request: SoakRequest,
  answer: Answer,
  known: Shown | null,
): Promise<Verdict> {
  const { status, headers } = answer;
  require(headers.get("access-control-allow-origin") === "*", "no CORS");
  require(headers.has("x-request-id"), "no X-Request-Id");
  if (status >= 400) return problem(request, answer);
  const { expected, method, repository } = request;
  if (expected.kind === "problem" || repository === null) {
    throw new Error(`${status}, not a problem`);
  }
  require(status === 200 || (status === 304 && known !== null), `status ${status}`);
  require(headers.has("etag"), "no ETag");
  let shown: Shown | undefined = status === 304 ? known! : undefined;
  if (status === 200 && method === "GET") {
    if (expected.kind === "raw") {
      const oid = hashOf(answer.bytes);
      shown = () => repository.holding(expected.path, oid);
    } else {
      const value = JSON.parse(new TextDecoder().decode(answer.bytes));
      shown = () => repository.state(value.repository.commit);
      const state = await shown();
      if (state === null) throw new Error(`commit ${value.repository.commit} never was`);
      requireShown(expected, { value, state, mayFail: answer.mayFail });
    }
  }
  const cacheStatus = headers.get("cache-status") ?? "";
  const ifError = cacheStatus.endsWith(STALE_IF_ERROR);
  require(!ifError || answer.mayFail, "stale-if-error, though the source is up");
  const ageMs = Number(headers.get("age") ?? NaN) * 1000;
  require(
    ageMs >= 0 && (ifError || ageMs <= FRESH_MS),
    `Age ${headers.get("age")}, ${cacheStatus}`,
  );
  const state = shown === undefined ? undefined : await shown();
  if (state === null) throw new Error("bytes that never were there");
  const behindMs = state === undefined ? 0 : Math.max(0, answer.sentAtMs - state.replacedAtMs);
  require(
    ifError || behindMs <= FRESH_MS + SLACK_MS,
    `replaced ${behindMs} ms ago, ${cacheStatus}`,
  );
  // Age is cut to whole seconds.
  require(behindMs <= ageMs + 1_000 + SLACK_MS, `replaced ${behindMs} ms ago, but Age ${ageMs} ms`);
  const name = `${status} ${cacheStatus.replace(/^collections; /, "").replace(/; ttl=-?\d+/, "")}`;
  return { name, stale: { ifError, ageMs, behindMs }, ...(shown === undefined ? {} : { shown }) };
}

/** Whether an answer is a problem of 500 or more, or an older one for a source that fails. */
export function lacksSource({ status, headers }: Pick<Answer, "status" | "headers">): boolean {
  return status >= 500 || (headers.get("cache-status") ?? "").endsWith(STALE_IF_ERROR);
}

function problem({ expected, method, needsSource }: SoakRequest, answer: Answer): Verdict {
  const { status, headers, bytes } = answer;
  require(headers.get("cache-control") === "no-store", "a problem that may be kept");
  if (method === "HEAD") {
    require(answer.mayFail && Object.values(SOURCE_PROBLEMS).includes(status), `status ${status}`);
    return { name: `${status} to HEAD` };
  }
  const value = JSON.parse(new TextDecoder().decode(bytes));
  require(value.status === status, `problem of status ${value.status} with ${status}`);
  require(value.requestId === headers.get("x-request-id"), "another requestId");
  const isExpected = expected.kind === "problem" && expected.status === status &&
    expected.code === value.code;
  const isAllowed = needsSource && (BUSY_PROBLEMS[value.code] === status ||
    (answer.mayFail && SOURCE_PROBLEMS[value.code] === status));
  require(isExpected || isAllowed, `${status} ${value.code}: ${value.detail}`);
  return { name: `${status} ${value.code}` };
}

interface Listed {
  readonly path: string;
  readonly sha: string;
  readonly size: number;
  readonly content?: string;
  readonly error?: { readonly code: string };
}

function requireShown(
  expected: Expected,
  { value, state, mayFail }: {
    // deno-lint-ignore no-explicit-any -- what the service sent is judged here, field by field
    value: any;
    state: TrueState;
    mayFail: boolean;
  },
): void {
  if (expected.kind === "item") {
    requireFile(value, state.byPath.get(expected.path));
    require(value.content !== undefined, "no content");
  } else if (expected.kind === "list") {
    const { page, limit, content } = expected.query;
    const files = wanted(state, expected);
    const total = files.length;
    require(
      value.pagination.totalItems === total,
      `${value.pagination.totalItems} of ${total} items`,
    );
    const cut = files.slice((page - 1) * limit, page * limit);
    require(value.items.length === cut.length, `${value.items.length} items, not ${cut.length}`);
    for (const [index, file] of cut.entries()) {
      const item: Listed = value.items[index];
      requireFile(item, file);
      if (item.error !== undefined) {
        require(
          content && mayFail && item.error.code in SOURCE_PROBLEMS,
          `item: ${item.error.code}`,
        );
      } else {require(
          (item.content !== undefined) === content,
          "content where none was asked, or none",
        );}
    }
  }
}

function requireFile(item: Listed, file: TrueFile | undefined): void {
  if (file === undefined) throw new Error(`"${item.path}" is not in that commit`);
  const { path, oid, size } = file;
  const right = item.path === path && item.sha === oid && item.size === size;
  require(right, `${item.path} ${item.sha} ${item.size}, not ${path} ${oid} ${size}`);
  if (item.content === undefined) return;
  require(hashOf(new TextEncoder().encode(item.content)) === oid, `other content in ${path}`);
}

function wanted(
  { files }: TrueState,
  { prefix, query }: { readonly prefix: string; readonly query: ListQuery },
): readonly TrueFile[] {
  const found = files.filter(({ path, order }) =>
    path.startsWith(prefix) && (!query.filtered || hasTag(order))
  );
  return query.sorted ? found.toSorted((a, b) => b.order - a.order) : found;
}

/** Git's id of a blob. */
function hashOf(bytes: Uint8Array): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

function require(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
