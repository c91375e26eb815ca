// Response bodies with their validators and codings, and the responses made of them (RFC 9110, 9111 and 9211). A body is
// made once and sent often; its strong tag is a digest of its bytes, one per coding.

import { acceptsEncodings, eTag } from "@std/http";
import { rawContentType } from "../collections/content_type.ts";
import { yieldToEventLoop } from "../yield.ts";
import { jsonBytes } from "./json_bytes.ts";
import { headersOf, type SharedHeaders } from "./shared_headers.ts";

/** The methods of every address but the webhook's. */
export const METHODS: readonly string[] = ["GET", "HEAD", "OPTIONS"];
const WEBHOOK_METHODS: readonly string[] = ["POST", "OPTIONS"];
const WEBHOOK_PATH = /^\/api\/webhooks\/github\/?$/;

/** The methods of the address of a URL; without a webhook secret the webhook's address has only OPTIONS. */
export function methodsOf(url: string, { hasWebhook }: { hasWebhook: boolean }): readonly string[] {
  if (!WEBHOOK_PATH.test(URL.parse(url)?.pathname ?? "")) return METHODS;
  return hasWebhook ? WEBHOOK_METHODS : WEBHOOK_METHODS.slice(1);
}

/** On every response, whatever its status. It exposes each header that the service sends and that is not safelisted. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Accept-Ranges, Age, Allow, Cache-Status, Content-Disposition, Content-Encoding, Content-Range, " +
    "Content-Security-Policy, Cross-Origin-Resource-Policy, Date, ETag, Link, Location, RateLimit, " +
    "RateLimit-Policy, Retry-After, Vary, X-Content-Type-Options, X-Request-Id, X-TypeScript-Types",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
};

/** What makes a body: bytes, their type, and headers that belong to them. */
export interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One coding of a body, with the headers of every 200 that sends it. */
export interface CodedBody {
  /**
   * ASCII below 1 MiB is a string of one-byte characters: Deno copies bytes, not strings, for each response, which takes
   * 5 of 26 µs of processor time at 17 kB.
   */
  readonly content: string | Uint8Array<ArrayBuffer>;
  readonly etag: string;
  readonly headers: SharedHeaders;
}

/** A body that can be sent. `gzip` is added later, and only where it is smaller. */
export interface ReadyBody {
  readonly contentType: string;
  /** Headers of a 304. */
  readonly headers: SharedHeaders;
  readonly identity: CodedBody;
  gzip: CodedBody | null;
}

const MIN_GZIP_BYTES = 1024;
const COMPRESSIBLE = /^text\/|json|xml|javascript|toml|yaml|image\/svg/;
/** Compression yields to the event loop after so many bytes. */
const GZIP_SLICE_BYTES = 64 * 1024;
/** Larger bodies reserve memory while they are sent. */
const LARGE_BODY_BYTES = 1 << 20;
/** Data that is fresh for less than this, such as a local folder's, is sent as `no-cache`. */
const MIN_SHARED_MS = 10_000;

/** JSON as {@linkcode Content}. */
export async function jsonContent(
  value: Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
): Promise<Content> {
  return { bytes: await jsonBytes(value), contentType: "application/json", headers };
}

/** A file's bytes. The policy and the type keep a browser from running anything in them. */
export function rawContent(
  file: { name: string; contentType: string; bytes: Uint8Array<ArrayBuffer> },
): Content {
  return {
    bytes: file.bytes,
    contentType: rawContentType(file.contentType),
    headers: {
      "content-disposition": contentDisposition(file.name),
      "content-security-policy": "sandbox; default-src 'none'",
    },
  };
}

/** `Content-Disposition: inline` with the name as ASCII and, by RFC 8187, whole (RFC 6266). */
export function contentDisposition(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, "_");
  const whole = encodeURIComponent(name.toWellFormed())
    .replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  return `inline; filename="${plain}"; filename*=UTF-8''${whole}`;
}

/** Makes a body of content. */
export async function readyBody({ bytes, contentType, headers }: Content): Promise<ReadyBody> {
  const etag = await eTag(bytes);
  const common = { ...COMMON_HEADERS, ...headers, vary: "Accept-Encoding" };
  const isText = bytes.length < LARGE_BODY_BYTES && bytes.every((byte) => byte < 0x80);
  const identity = {
    content: isText ? new TextDecoder().decode(bytes) : bytes,
    etag,
    headers: {
      common: {
        ...common,
        etag,
        "content-type": contentType,
        "content-length": String(bytes.length),
      },
    },
  };
  return { contentType, headers: { common }, identity, gzip: null };
}

/** Adds the gzip coding where it is worth it. Resolves to its bytes, or 0. */
export async function addGzip(body: ReadyBody): Promise<number> {
  const { content, etag, headers } = body.identity;
  if (content.length < MIN_GZIP_BYTES || !COMPRESSIBLE.test(body.contentType)) return 0;
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const pieces = ReadableStream.from(piecesOf(bytes));
  const packed = await new Response(pieces.pipeThrough(new CompressionStream("gzip"))).bytes();
  if (packed.length >= bytes.length) return 0;
  const tag = gzipTag(etag);
  body.gzip = {
    content: packed,
    etag: tag,
    headers: {
      common: {
        ...headers.common,
        etag: tag,
        "content-length": String(packed.length),
        "content-encoding": "gzip",
      },
    },
  };
  return packed.length;
}

/** Compression runs on this thread, so a long body is given to it in parts. */
async function* piecesOf(bytes: Uint8Array<ArrayBuffer>) {
  for (let at = 0; at < bytes.length; at += GZIP_SLICE_BYTES) {
    await yieldToEventLoop();
    yield bytes.subarray(at, at + GZIP_SLICE_BYTES);
  }
}

function gzipTag(etag: string): string {
  return etag.replace(/"$/, '-gzip"');
}

/** The coding of a body for one request. */
export interface NegotiatedBody {
  readonly body: ReadyBody;
  readonly coded: CodedBody;
  /** The tag that matched `If-None-Match`; null where the body has to be sent. */
  readonly knownTag: string | null;
}

/** Chooses the coding by `Accept-Encoding`, and whether the client has the body by `If-None-Match`. */
export function negotiateBody(body: ReadyBody, headers: Headers): NegotiatedBody {
  const { identity, gzip } = body;
  const coded = gzip !== null && acceptsGzip(headers.get("accept-encoding")) ? gzip : identity;
  const ifNoneMatch = headers.get("if-none-match");
  // Another process may have sent the gzip tag before this one has compressed the body.
  const knownTag = ifNoneMatch === null
    ? null
    : matchingTag(ifNoneMatch, [coded.etag, identity.etag, gzipTag(identity.etag)]);
  return { body, coded, knownTag };
}

/** The bytes of a large body that is going to be sent, for which memory has to be reserved first; null for any other. */
export function largeBytes(
  { coded: { content }, knownTag }: NegotiatedBody,
  method: string,
): Uint8Array<ArrayBuffer> | null {
  if (content.length < LARGE_BODY_BYTES || knownTag !== null || method === "HEAD") return null;
  return typeof content === "string" ? null : content;
}

/** The tag that `If-None-Match` names (weak comparison, RFC 9110, 13.1.2), the first for `*`, null where none matches. */
function matchingTag(ifNoneMatch: string, tags: readonly string[]): string | null {
  if (ifNoneMatch.trim() === "*") return tags[0] ?? null;
  const given = new Set(ifNoneMatch.match(/"[^"]*"/g) ?? []);
  return tags.find((tag) => given.has(tag)) ?? null;
}

const MAX_REMEMBERED = 200;
const gzipAccepted = new Map<string, boolean>();

/** Clients send few different values, so parsed ones are remembered. */
function acceptsGzip(acceptEncoding: string | null): boolean {
  // An empty field accepts no coding (RFC 9110, 12.5.3).
  if (!acceptEncoding || acceptEncoding.length > 200) return false;
  let accepted = gzipAccepted.get(acceptEncoding);
  if (accepted === undefined) {
    const headers = new Headers({ "accept-encoding": acceptEncoding });
    accepted = acceptsEncodings({ headers }, "gzip", "identity") === "gzip";
    if (gzipAccepted.size >= MAX_REMEMBERED) gzipAccepted.clear();
    gzipAccepted.set(acceptEncoding, accepted);
  }
  return accepted;
}

/** How the cache handled a response (RFC 9211); `passed` was not stored. */
export type CacheStatus = "hit" | "stored" | "passed" | "moved" | "revalidated" | "stale";

/** How old a response is, and where it came from. */
export interface ResponseAge {
  /** When the ref was checked, in ms since the epoch. */
  readonly checkedAtMs: number;
  readonly freshForMs: number;
  readonly cacheStatus: CacheStatus;
  /** False for a body that must not be stored; true where it is left out. */
  readonly isStorable?: boolean;
}

/** The headers that say how old a response is. */
export type AgeHeaders = Readonly<Record<"cache-control" | "age" | "cache-status", string>>;

/** Makes {@linkcode AgeHeaders}. */
export function ageHeaders(age: ResponseAge, nowMs: number): AgeHeaders {
  const ageSeconds = Math.max(0, Math.floor((nowMs - age.checkedAtMs) / 1000));
  return {
    "cache-control": cacheControl(age),
    "age": String(ageSeconds),
    "cache-status": cacheStatusText(age, ageSeconds),
  };
}

/** What a response is made with. */
export interface ResponseOptions {
  readonly age: AgeHeaders;
  readonly requestId: string;
  /** The stream of a large body; others are sent as they are. */
  readonly body?: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** 200, or 304 where the client has the body already. */
export function dataResponse(
  { body, coded, knownTag }: NegotiatedBody,
  { age, requestId, body: stream }: ResponseOptions,
): Response {
  const own = { ...age, "x-request-id": requestId };
  if (knownTag !== null) {
    const headers = headersOf(body.headers, { ...own, etag: knownTag });
    return new Response(null, { status: 304, headers });
  }
  return new Response(stream ?? coded.content, { headers: headersOf(coded.headers, own) });
}

function cacheControl({ isStorable = true, freshForMs }: ResponseAge): string {
  if (!isStorable) return "no-store";
  if (freshForMs < MIN_SHARED_MS) return "no-cache";
  return `public, max-age=${Math.floor(freshForMs / 1000)}`;
}

function cacheStatusText({ cacheStatus, freshForMs }: ResponseAge, ageSeconds: number): string {
  const ttl = Math.round(freshForMs / 1000) - ageSeconds;
  switch (cacheStatus) {
    case "hit":
      return `collections; hit; ttl=${ttl}`;
    case "stored":
      return "collections; fwd=miss; stored";
    case "passed":
      return "collections; fwd=miss";
    case "moved":
      return "collections; fwd=stale; stored";
    case "revalidated":
      return "collections; fwd=stale; detail=revalidated";
    case "stale":
      return `collections; hit; ttl=${ttl}; detail=stale-if-error`;
  }
}

/** Text in UTF-8, its length given so that HEAD has the headers of GET (RFC 9110, 9.3.2). */
export function textResponse(
  text: string,
  { status = 200, headers }: { status?: number; headers: Readonly<Record<string, string>> },
): Response {
  const bytes = new TextEncoder().encode(text);
  return new Response(bytes, {
    status,
    headers: { ...headers, "content-length": String(bytes.length) },
  });
}
