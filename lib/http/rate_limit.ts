// Limits what a client may cost in cache misses. Time is monotonic because
// setting the clock back must neither block nor free a client.

import { problem } from "../errors.ts";
import { RecentMap } from "../work/recent_map.ts";

const MAX_CLIENTS = 50_000;
const WINDOW_MS = 60_000;
/**
 * Smaller costs are charged when they add up to this. Otherwise each of them
 * would delay the next miss by a moment.
 */
const SMALLEST_CHARGE = 0.1;

/**
 * Processor time in ms that costs as much as one miss. 120 misses a minute are
 * 12 s of one core.
 */
export const PROCESSOR_MS_PER_MISS = 100;

interface Bucket {
  /** Monotonic milliseconds at which the bucket is full again. */
  fullAtMs: number;
  /** Fractions of misses that are not charged yet. */
  uncharged: number;
}

/**
 * A token bucket that uses the generic cell rate algorithm (ITU-T I.371).
 * `perMinute: 0` turns the limit off.
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
  private readonly buckets = new RecentMap<Bucket>(MAX_CLIENTS);

  constructor(
    private readonly options: { perMinute: number; monotonicMs: () => number },
  ) {}

  private usedMs(client: string): number {
    return Math.max(
      0,
      (this.buckets.get(client)?.fullAtMs ?? 0) - this.options.monotonicMs(),
    );
  }

  /**
   * Checks that a client may cause this many more misses.
   * @throws {CollectionsError} too-many-requests.
   */
  require(client: string, misses: number): void {
    const { perMinute } = this.options;
    if (perMinute === 0) return;
    const waitMs = this.usedMs(client) + misses * WINDOW_MS / perMinute -
      WINDOW_MS;
    // Half a microsecond covers the rounding errors of added fractions.
    if (waitMs > 0.0005) {
      throw problem("too-many-requests", {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      });
    }
  }

  /**
   * Charges a client. The charge may exceed the limit because processor time is
   * known only afterwards. The client then waits at most one window for its
   * next miss.
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
    const usedMs = Math.min(
      this.usedMs(client) + due * missMs,
      2 * WINDOW_MS - missMs,
    );
    this.buckets.set(client, { fullAtMs: monotonicMs() + usedMs, uncharged });
  }

  /**
   * Sets `RateLimit` and `RateLimit-Policy`
   * (draft-ietf-httpapi-ratelimit-headers) for a client over the limit.
   */
  describe(client: string, headers: Headers): void {
    const { perMinute } = this.options;
    if (perMinute === 0) return;
    const usedMs = this.usedMs(client);
    const remaining = Math.max(
      0,
      Math.floor((WINDOW_MS - usedMs) / (WINDOW_MS / perMinute)),
    );
    headers.set(
      "ratelimit-policy",
      `"misses";q=${perMinute};w=${WINDOW_MS / 1000}`,
    );
    headers.set(
      "ratelimit",
      `"misses";r=${remaining};t=${Math.ceil(usedMs / 1000)}`,
    );
  }
}
