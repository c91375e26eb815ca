// Checks one response against the wire contract: what every response carries,
// what data and problems carry; and against the OpenAPI document, which must
// describe its status, each of its headers and each key of its body. The test
// service calls it for each response.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { ListBody, ProblemBody } from "../lib/api/contract.ts";
import { FEED_TYPES } from "../lib/api/feed_formats.ts";
import { ERRORS, type ProblemCode } from "../lib/errors.ts";
import { buildDocument } from "./api/openapi_document.ts";

/**
 * Headers that a page of another origin may read anyway (Fetch Standard,
 * "CORS-safelisted response-header name").
 */
const SAFELISTED =
  /^(cache-control|content-(language|length|type)|expires|last-modified|pragma|access-control-.*)$/;
const CACHE_STATUS =
  /^collections; (hit; ttl=\d+|fwd=miss|fwd=miss; stored|fwd=stale; stored|fwd=stale; detail=revalidated|hit; ttl=-?\d+; detail=stale-if-error)$/;
/** Headers of plain HTTP, which the document need not name. */
const PLAIN = ["content-type", "content-length", "content-encoding"];

/** What the document says of a response. */
interface Described {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<
    Record<string, { readonly schema: { readonly $ref: string } }>
  >;
}

const noExamples = buildDocument({
  list: {},
  item: {},
  collections: {},
  changes: {},
  problems: {},
});
const { paths, components } = JSON.parse(JSON.stringify(noExamples));
const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
ajv.addSchema({ $id: "document", components });

/**
 * Checks a response, whose body stays unread. @throws {AssertionError} naming
 * what is against the contract.
 */
export async function checkContract(
  request: Request,
  response: Response,
): Promise<void> {
  const { method } = request;
  const { headers, status } = response;
  checkEveryResponse(headers);
  if (method === "OPTIONS") checkPreflight(response);
  const bytes = await response.clone().bytes();
  if (["HEAD", "OPTIONS"].includes(method) || status === 304) {
    assertEquals(bytes.length, 0);
  }
  const { pathname } = new URL(request.url);
  const isData = pathname in paths && status < 400;
  if (status < 400 && !isData) return;
  if (status >= 400) checkProblemHeaders(headers);
  else if (method !== "OPTIONS") checkDataHeaders(response);
  const responses = method === "GET"
    ? paths[pathname]?.get.responses
    : undefined;
  const described: Described | undefined = responses?.[status];
  assert(
    responses === undefined || described,
    `the document has no ${status} for ${pathname}`,
  );
  if (described) checkDescribedHeaders(described, headers);
  if (bytes.length === 0) return;
  assertEquals(
    Number(headers.get("content-length")),
    bytes.length,
    "content-length",
  );
  if (headers.has("content-disposition")) return;
  const type = headers.get("content-type") ?? "";
  const content = described?.content?.[type];
  assert(
    described === undefined || content,
    `the document has no ${type} for ${pathname}`,
  );
  const text = await textOf(bytes, headers.get("content-encoding"));
  if (Object.values<string>(FEED_TYPES).includes(type)) return;
  const body = JSON.parse(text);
  checkValue(content?.schema.$ref ?? "#/components/schemas/Problem", body);
  if (isData) checkStored(response, body);
  else checkProblem(response, body);
}

function checkEveryResponse(headers: Headers): void {
  assertEquals(headers.get("access-control-allow-origin"), "*");
  assertEquals(headers.get("cross-origin-resource-policy"), "cross-origin");
  assertEquals(headers.get("x-content-type-options"), "nosniff");
  assertMatch(headers.get("x-request-id") ?? "", /^[0-9a-f]{8}-[0-9a-z]+$/);
  assert(
    !/\borigin\b/i.test(headers.get("vary") ?? ""),
    "no answer varies by origin",
  );
  const exposed = (headers.get("access-control-expose-headers") ?? "")
    .toLowerCase().split(/, */);
  for (const name of headers.keys()) {
    assert(
      SAFELISTED.test(name) || exposed.includes(name),
      `"${name}" is not exposed`,
    );
  }
}

function checkPreflight({ headers, status }: Response): void {
  assertEquals(status, 204);
  assertEquals(
    headers.get("access-control-allow-methods"),
    "GET, HEAD, OPTIONS",
  );
  const allowed =
    headers.get("access-control-allow-headers")?.toLowerCase().split(/, */) ??
      [];
  for (const name of ["if-none-match", "content-type", "accept"]) {
    assert(allowed.includes(name));
  }
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
  assertMatch(
    cacheControl!,
    /^(public, max-age=60(, s-maxage=\d+)?|no-cache|no-store)$/,
  );
  checkTags(headers);
  const isPassed = cacheStatus === "collections; fwd=miss";
  if (isPassed) assertEquals(cacheControl, "no-store");
  else if (cacheControl === "no-store") {
    assertMatch(cacheStatus, /; detail=stale-if-error$/);
  }
}

/**
 * The tags are short, in ASCII and the same for both kinds of cache; what nginx
 * keeps is at most 60 s old then.
 */
function checkTags(headers: Headers): void {
  const tags = headers.get("surrogate-key")?.split(" ") ?? [];
  assertEquals(headers.get("cache-tag"), tags.join(","));
  assertEquals(tags.length, 3);
  for (const tag of tags) assertMatch(tag, /^[!-+\--~]{1,200}$/);
  const keptS = Number(headers.get("x-accel-expires") ?? NaN);
  assert(keptS >= 0 && keptS <= Math.max(0, 59 - Number(headers.get("age"))));
}

/**
 * A page that lacks a file which the source failed to give is `no-store`;
 * everything else may be stored.
 */
function checkStored(
  { headers }: Response,
  { items = [] }: Partial<ListBody>,
): void {
  const lacks = items.some(({ error }) => error?.code.startsWith("source-"));
  assertEquals(headers.get("cache-control") === "no-store", lacks, "no-store");
}

function checkProblemHeaders(headers: Headers): void {
  assertEquals(headers.get("content-type"), "application/problem+json");
  assertEquals(headers.get("cache-control"), "no-store");
  assertEquals(headers.get("etag"), null);
}

function checkProblem(
  { headers, status }: Response,
  problem: ProblemBody,
): void {
  const kind = ERRORS[problem.code as ProblemCode];
  assertEquals([problem.status, problem.title, kind.status], [
    status,
    kind.title,
    status,
  ]);
  assert(problem.type.endsWith(`/problems/${problem.code}`), problem.type);
  assertEquals(problem.requestId, headers.get("x-request-id"));
  assertEquals(problem.errors !== undefined, status === 400);
  const retryAfter = headers.get("retry-after");
  assertEquals(
    problem.retryAfterSeconds ?? null,
    retryAfter === null ? null : Number(retryAfter),
  );
  assert(
    !/\n|\.ts\b|\bat \w+ \(/.test(JSON.stringify(problem)),
    "a problem tells no stack",
  );
}

async function textOf(
  bytes: Uint8Array<ArrayBuffer>,
  coding: string | null,
): Promise<string> {
  if (coding === null) {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  }
  assertEquals(coding, "gzip");
  const unpacked = new Blob([bytes]).stream().pipeThrough(
    new DecompressionStream("gzip"),
  );
  return await new Response(unpacked).text();
}

function checkDescribedHeaders(
  { headers = {} }: Described,
  given: Headers,
): void {
  const references = new Map(
    Object.entries(headers).map((
      [name, { $ref }],
    ) => [name.toLowerCase(), $ref]),
  );
  for (const [name, value] of given) {
    if (PLAIN.includes(name)) continue;
    const reference = references.get(name);
    assert(
      reference !== undefined,
      `the document does not name the header "${name}"`,
    );
    const { schema } = components.headers[reference.split("/").at(-1)!];
    checkValue(
      `${reference}/schema`,
      schema.type === "integer" ? Number(value) : value,
    );
  }
}

/**
 * Checks a value against a schema of the document, which is named as the
 * document refers to it.
 */
function checkValue(reference: string, value: unknown): void {
  const validate = ajv.getSchema(`document${reference}`)!;
  validate(value);
  assertEquals(validate.errors ?? null, null);
}
