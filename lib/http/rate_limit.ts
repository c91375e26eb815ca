// How many cache misses one client address may cause: a token bucket by the generic cell rate algorithm (ITU-T I.371),
// which needs one number an address. Hits never come here.

import { LRUCache } from "lru-cache";
import { tooManyRequests } from "../errors.ts";

const MAX_ADDRESSES = 50_000;
const WINDOW_MS = 60_000;

/** Allows `perMinute` misses a minute and address, all at once or spread; 0 allows any number. */
export class RateLimit {
  /** When the bucket of an address will be full again, in ms since the epoch. */
  private readonly fullAtMs = new LRUCache<string, number>({ max: MAX_ADDRESSES });

  constructor(private readonly options: { perMinute: number; now: () => number }) {}

  /** Takes one miss from an address. @throws {CollectionsError} too-many-requests when there is none left. */
  take(address: string): void {
    const { perMinute, now } = this.options;
    if (perMinute === 0) return;
    const costMs = WINDOW_MS / perMinute;
    const start = Math.max(this.fullAtMs.get(address) ?? 0, now());
    const waitMs = start + costMs - WINDOW_MS - now();
    // Half a microsecond absorbs what adding fractions loses.
    if (waitMs > 0.0005) throw tooManyRequests(Math.max(1, Math.ceil(waitMs / 1000)));
    this.fullAtMs.set(address, start + costMs);
  }

  /** Sets `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers) for an address. */
  describe(address: string, headers: Headers): void {
    const { perMinute, now } = this.options;
    if (perMinute === 0) return;
    const busyMs = Math.max(0, (this.fullAtMs.get(address) ?? 0) - now());
    const remaining = Math.max(0, Math.floor((WINDOW_MS - busyMs) / (WINDOW_MS / perMinute)));
    headers.set("ratelimit-policy", `"misses";q=${perMinute};w=${WINDOW_MS / 1000}`);
    headers.set("ratelimit", `"misses";r=${remaining};t=${Math.ceil(busyMs / 1000)}`);
  }
}
