// Checks one response against the wire contract: what every response carries, what data and problems carry, and bodies
// without a key that the contract does not name. The test service calls it for each response.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { z } from "zod";
import { contentBody, type ListBody, listBody, problemBody } from "../lib/api/contract.ts";
import { ERRORS, type ProblemCode } from "../lib/errors.ts";

/** Headers that a page of another origin may read anyway (Fetch Standard, "CORS-safelisted response-header name"). */
const SAFELISTED: ReadonlySet<string> = new Set(
  "cache-control content-language content-length content-type expires last-modified pragma".split(
    " ",
  ),
);
const CACHE_STATUS =
  /^collections; (hit; ttl=\d+|fwd=miss|fwd=miss; stored|fwd=stale; stored|fwd=stale; detail=revalidated|hit; ttl=-?\d+; detail=stale-if-error)$/;
/** The operations, with the bodies that they answer with. */
const OPERATIONS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ["/api/list-collection-items", listBody],
  ["/api/get-item-content", contentBody],
]);

/** Checks a response, whose body stays unread. @throws {AssertionError} naming what is against the contract. */
export async function checkContract(request: Request, response: Response): Promise<void> {
  const { method } = request;
  const { headers, status } = response;
  checkEveryResponse(headers);
  if (method === "OPTIONS") checkPreflight(response);
  const bytes = await response.clone().bytes();
  if (["HEAD", "OPTIONS"].includes(method) || status === 304) assertEquals(bytes.length, 0);
  const schema = OPERATIONS.get(new URL(request.url).pathname);
  // Other content than the API's: the range of a file, and the HTML page for an unknown address.
  const wantsPage = /\btext\/html\b/.test(request.headers.get("accept") ?? "");
  if (schema === undefined && (status === 416 || status === 404 && wantsPage)) return;
  if (status < 400 && schema === undefined) return;
  if (status >= 400) checkProblemHeaders(response);
  else if (method !== "OPTIONS") checkDataHeaders(response);
  if (bytes.length === 0) return;
  assertEquals(Number(headers.get("content-length")), bytes.length, "content-length");
  if (headers.has("content-disposition")) return;
  const text = await textOf(bytes, headers.get("content-encoding"));
  // A file may have this key, which zod leaves out of every record.
  const body: unknown = JSON.parse(text, (key, value) => key === "__proto__" ? undefined : value);
  if (status >= 400) checkProblem(response, body);
  else {
    checkBody(schema!, body);
    checkStored(response, body);
  }
}

/** Every key of a body is one that its schema names: parsing leaves others out, and then the two differ. */
function checkBody(schema: z.ZodType, body: unknown): void {
  assertEquals(schema.parse(body), body);
}

function checkEveryResponse(headers: Headers): void {
  assertEquals(headers.get("access-control-allow-origin"), "*");
  assertEquals(headers.get("cross-origin-resource-policy"), "cross-origin");
  assertEquals(headers.get("x-content-type-options"), "nosniff");
  assertMatch(headers.get("x-request-id") ?? "", /^[0-9a-f]{8}-[0-9a-z]+$/);
  assert(!/\borigin\b/i.test(headers.get("vary") ?? ""), "no answer varies by origin");
  const exposed = new Set(
    (headers.get("access-control-expose-headers") ?? "").toLowerCase().split(/, */),
  );
  for (const name of headers.keys()) {
    const readable = SAFELISTED.has(name) || name.startsWith("access-control-");
    assert(readable || exposed.has(name), `"${name}" is not exposed`);
  }
}

function checkPreflight({ headers, status }: Response): void {
  assertEquals(status, 204);
  assertEquals(headers.get("access-control-allow-methods"), "GET, HEAD, OPTIONS");
  const allowed = headers.get("access-control-allow-headers")?.toLowerCase().split(/, */) ?? [];
  for (const name of ["if-none-match", "content-type", "accept"]) assert(allowed.includes(name));
  assertEquals(headers.get("access-control-max-age"), "86400");
}

function checkDataHeaders({ headers, status }: Response): void {
  assert(status === 200 || status === 304, `${status} is no status of data`);
  assertMatch(headers.get("etag") ?? "", /^"[^"]+"$/);
  assertEquals(headers.get("vary"), "Accept-Encoding");
  assertMatch(headers.get("age") ?? "", /^\d+$/);
  const cacheStatus = headers.get("cache-status") ?? "";
  assertMatch(cacheStatus, CACHE_STATUS);
  const cacheControl = headers.get("cache-control");
  assert(["public, max-age=60", "no-cache", "no-store"].includes(cacheControl!), cacheControl!);
  const isPassed = cacheStatus === "collections; fwd=miss";
  if (isPassed) assertEquals(cacheControl, "no-store");
  else if (cacheControl === "no-store") assertMatch(cacheStatus, /; detail=stale-if-error$/);
}

/** A page that lacks a file which the source failed to give is `no-store`; everything else may be stored. */
function checkStored({ headers }: Response, body: unknown): void {
  const { items = [] } = body as Partial<ListBody>;
  const lacks = items.some(({ error }) => error?.code.startsWith("source-"));
  assertEquals(headers.get("cache-control") === "no-store", lacks, "no-store");
}

function checkProblemHeaders({ headers }: Response): void {
  assertEquals(headers.get("content-type"), "application/problem+json");
  assertEquals(headers.get("cache-control"), "no-store");
  assertEquals(headers.get("etag"), null);
}

function checkProblem({ headers, status }: Response, body: unknown): void {
  checkBody(problemBody, body);
  const problem = problemBody.parse(body);
  const kind = ERRORS[problem.code as ProblemCode];
  assertEquals([problem.status, problem.title], [status, kind.title]);
  assertEquals(kind.status, status);
  assert(problem.type.endsWith(`/problems/${problem.code}`), problem.type);
  assertEquals(problem.requestId, headers.get("x-request-id"));
  assertEquals(problem.errors !== undefined, status === 400);
  const retryAfter = headers.get("retry-after");
  assertEquals(problem.retryAfterSeconds ?? null, retryAfter === null ? null : Number(retryAfter));
  assert(!/\n|\.ts\b|\bat \w+ \(/.test(JSON.stringify(body)), "a problem tells no stack");
}

async function textOf(bytes: Uint8Array<ArrayBuffer>, coding: string | null): Promise<string> {
  if (coding === null) return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  assertEquals(coding, "gzip");
  return await new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
  ).text();
}
