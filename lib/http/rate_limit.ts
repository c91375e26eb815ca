// What a client may cost, counted in cache misses. Time is monotonic, so setting the clock back neither blocks nor frees a
// client.

import { LRUCache } from "lru-cache";
import { problem } from "../errors.ts";

const MAX_CLIENTS = 50_000;
const WINDOW_MS = 60_000;
/** Smaller costs are charged when they add up to this, so that they do not delay the next miss by a moment. */
const SMALLEST_CHARGE = 0.1;

/** Processor time that costs as much as one miss: 120 misses a minute are 12 s of one core. */
export const PROCESSOR_MS_PER_MISS = 100;

interface Bucket {
  /** When it is full again, in monotonic ms. */
  readonly fullAtMs: number;
  /** Misses that are too few to be charged yet. */
  readonly uncharged: number;
}

/**
 * A token bucket by the generic cell rate algorithm (ITU-T I.371). 0 a minute allows any number.
 *
 * @example
 * ```ts
 * import { throws } from "node:assert/strict";
 *
 * const limit = new RateLimit({ perMinute: 2, monotonicMs: () => 0 });
 * limit.charge("192.0.2.1", 2);
 * throws(() => limit.require("192.0.2.1", 1), { code: "too-many-requests" });
 * ```
 */
export class RateLimit {
  private readonly buckets = new LRUCache<string, Bucket>({ max: MAX_CLIENTS });

  constructor(private readonly options: { perMinute: number; monotonicMs: () => number }) {}

  /** What a client has used of the window, in ms. */
  private usedMs(client: string): number {
    return Math.max(0, (this.buckets.get(client)?.fullAtMs ?? 0) - this.options.monotonicMs());
  }

  /** Does nothing while a client has as many misses left. @throws {CollectionsError} too-many-requests. */
  require(client: string, misses: number): void {
    const { perMinute } = this.options;
    if (perMinute === 0) return;
    const waitMs = this.usedMs(client) + misses * WINDOW_MS / perMinute - WINDOW_MS;
    // Half a microsecond makes up for rounding when fractions are added.
    if (waitMs > 0.0005) {
      throw problem("too-many-requests", { retryAfterSeconds: Math.ceil(waitMs / 1000) });
    }
  }

  /**
   * Charges a client, also for more than it has left, since processor time is known only afterwards. It then waits at most
   * one window until it has a miss again.
   */
  charge(client: string, misses: number): void {
    const { perMinute, monotonicMs } = this.options;
    if (perMinute === 0) return;
    let uncharged = this.buckets.get(client)?.uncharged ?? 0;
    let due = misses;
    if (misses < SMALLEST_CHARGE) {
      uncharged += misses;
      due = uncharged < SMALLEST_CHARGE ? 0 : uncharged;
      uncharged -= due;
    }
    const missMs = WINDOW_MS / perMinute;
    const usedMs = Math.min(this.usedMs(client) + due * missMs, 2 * WINDOW_MS - missMs);
    this.buckets.set(client, { fullAtMs: monotonicMs() + usedMs, uncharged });
  }

  /** Sets `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers) for a client that was refused. */
  describe(client: string, headers: Headers): void {
    const { perMinute } = this.options;
    if (perMinute === 0) return;
    const usedMs = this.usedMs(client);
    const remaining = Math.max(0, Math.floor((WINDOW_MS - usedMs) / (WINDOW_MS / perMinute)));
    headers.set("ratelimit-policy", `"misses";q=${perMinute};w=${WINDOW_MS / 1000}`);
    headers.set("ratelimit", `"misses";r=${remaining};t=${Math.ceil(usedMs / 1000)}`);
  }
}
