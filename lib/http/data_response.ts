// The response for a ready body: validators, freshness and how the cache came to it (RFC 9110, 9111 and 9211).

import { chooseCoding, gzipTag, matchingTag } from "./conditional.ts";
import type { CodedBody, ReadyBody } from "./ready_body.ts";

/** What is said of an answer's age, and where it came from. */
export interface Standing {
  /** When the data was last asked of its source, in ms since the epoch. */
  readonly askedAtMs: number;
  readonly freshMs: number;
  readonly cacheStatus: CacheStatus;
  /** Whether the answer may be kept; true where it is left out. */
  readonly isKept?: boolean;
}

/** The forms of `Cache-Status` that there are. `hit` and `stale` carry the seconds that are left. */
export type CacheStatus = "hit" | "stored" | "passed" | "moved" | "revalidated" | "stale";

/**
 * An answer that is good for less than this is asked for again each time. It stands between a local folder, which is looked
 * at every second so that its author sees an edit at once, and a branch, which is good for a minute.
 */
const MIN_SHARED_MS = 10_000;

/** Whole seconds since the source was asked, never negative. */
function ageSeconds(askedAtMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - askedAtMs) / 1000));
}

/** The value of `Cache-Status`. */
function cacheStatusText(standing: Standing, ageS: number): string {
  const ttl = Math.round(standing.freshMs / 1000) - ageS;
  switch (standing.cacheStatus) {
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

/** The form in which one request gets a body. */
export interface AnswerForm {
  readonly body: ReadyBody;
  readonly coded: CodedBody;
  /** The tag by which the caller has the body already; null where it has to be sent. */
  readonly knownTag: string | null;
}

/** The best coding there is by the headers of a request, and whether the caller has the body already. */
export function chooseForm(body: ReadyBody, headers: Headers): AnswerForm {
  const { identity, gzip } = body;
  const coded = gzip !== null && chooseCoding(headers.get("accept-encoding")) === "gzip"
    ? gzip
    : identity;
  const ifNoneMatch = headers.get("if-none-match");
  // A tag that another process gave for gzip is known here before that is made.
  const knownTag = ifNoneMatch === null
    ? null
    : matchingTag(ifNoneMatch, [coded.etag, identity.etag, gzipTag(identity.etag)]);
  return { body, coded, knownTag };
}

/** From so many bytes on a body takes room while it is sent. */
const LARGE_BODY_BYTES = 1 << 20;

/** Whether an answer has to find room first: a large body that is going to be sent. */
export function needsRoom({ coded, knownTag }: AnswerForm, method: string): boolean {
  return coded.bytes.length >= LARGE_BODY_BYTES && knownTag === null && method !== "HEAD";
}

/** What a response is made with. */
export interface ResponseOptions {
  readonly standing: Standing;
  readonly requestId: string;
  readonly nowMs: number;
  /** How the bytes leave, where not as they are. */
  readonly send?: () => BodyInit;
}

/** 200, or 304 where the caller has the body already. HEAD is made of it by the framework, so the length is said here. */
export function dataResponse(
  { body, coded, knownTag }: AnswerForm,
  { standing, requestId, nowMs, send = () => coded.bytes }: ResponseOptions,
): Response {
  const age = ageSeconds(standing.askedAtMs, nowMs);
  const own = {
    "cache-control": cacheControl(standing),
    "age": String(age),
    "cache-status": cacheStatusText(standing, age),
    "x-request-id": requestId,
  };
  if (knownTag !== null) {
    const headers = { ...body.headers, ...own, etag: knownTag };
    return new Response(null, { status: 304, headers });
  }
  return new Response(send(), { headers: { ...coded.headers, ...own } });
}

function cacheControl({ isKept = true, freshMs }: Standing): string {
  if (!isKept) return "no-store";
  return freshMs < MIN_SHARED_MS ? "no-cache" : `public, max-age=${Math.floor(freshMs / 1000)}`;
}
