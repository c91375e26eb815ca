// The response for a ready body: validators, freshness and how the cache came to it (RFC 9110, 9111 and 9211).

import { chooseCoding, gzipTag, matchingTag } from "./conditional.ts";
import type { ReadyBody } from "./ready_body.ts";

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

/** A local folder is looked at anew all the time; its answers must be asked for again. */
const MIN_SHARED_MS = 60_000;

/** Whole seconds since the source was asked, never negative. */
export function ageSeconds(askedAtMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - askedAtMs) / 1000));
}

/** The value of `Cache-Status`. */
export function cacheStatusText(standing: Standing, ageS: number): string {
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

/** What a request says that decides the form of its answer. */
export interface Preferences {
  readonly acceptEncoding: string | null;
  readonly ifNoneMatch: string | null;
}

/** What a response is made with. */
export interface ResponseOptions {
  readonly standing: Standing;
  readonly preferences: Preferences;
  readonly requestId: string;
  readonly nowMs: number;
  /** How the bytes leave, where not as they are. */
  readonly send?: (bytes: Uint8Array<ArrayBuffer>) => BodyInit;
}

/** From so many bytes on a body takes room while it is sent. */
export const LARGE_BODY_BYTES = 1 << 20;

/**
 * 200 with the best coding there is, or 304 where the caller has the body already. HEAD is made of it by the framework,
 * so the length is said here.
 */
export function dataResponse(
  body: ReadyBody,
  { standing, preferences, requestId, nowMs, send = (bytes) => bytes }: ResponseOptions,
): Response {
  const age = ageSeconds(standing.askedAtMs, nowMs);
  const own = {
    "cache-control": cacheControl(standing),
    "age": String(age),
    "cache-status": cacheStatusText(standing, age),
    "x-request-id": requestId,
  };
  const { identity, gzip } = body;
  const coded = gzip !== null && chooseCoding(preferences.acceptEncoding) === "gzip"
    ? gzip
    : identity;
  if (preferences.ifNoneMatch !== null) {
    // A tag that another process gave for gzip is known here before that is made.
    const tags = [coded.etag, identity.etag, gzipTag(identity.etag)];
    const etag = matchingTag(preferences.ifNoneMatch, tags);
    if (etag !== null) {
      return new Response(null, { status: 304, headers: { ...body.headers, ...own, etag } });
    }
  }
  return new Response(send(coded.bytes), { headers: { ...coded.headers, ...own } });
}

function cacheControl({ isKept = true, freshMs }: Standing): string {
  if (!isKept) return "no-store";
  return freshMs < MIN_SHARED_MS ? "no-cache" : `public, max-age=${freshMs / 1000}`;
}
