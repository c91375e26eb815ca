// Remembers failures and when their keys may be tried again. An outage then
// costs few requests and callers lose no time. When a wait is over, a single
// try can go first. The others get the failure, or wait until it has ended.

import type { Clock } from "./clock.ts";
import { RecentMap } from "./recent_map.ts";

const MAX_KEYS = 10_000;

interface Entry<Failure> {
  /** Null once a later try has succeeded. */
  failure: Failure | null;
  waitMs: number;
  /** Monotonic so that a jump of the wall clock changes no wait. */
  untilMs: number;
  probe: PromiseWithResolvers<void> | null;
}

/**
 * Remembers failures by key. The least recently used keys are forgotten first.
 */
export class RetryTable<Failure> {
  private readonly entries = new RecentMap<Entry<Failure>>(MAX_KEYS);

  /**
   * The first wait of a key is `firstMs`. A failure within `maxMs` after a wait
   * doubles the next wait up to `maxMs`. If `times` is omitted, `failed` sets
   * the length of each wait.
   */
  constructor(
    private readonly clock: Clock,
    private readonly times: {
      firstMs: number;
      maxMs: number;
    } = {
      firstMs: 0,
      maxMs: 0,
    },
  ) {}

  /**
   * Returns the failure of the first key that waits or is probed. Returns null
   * if all keys may be tried.
   */
  failureOf(...keys: readonly string[]): Failure | null {
    for (const key of keys) {
      if (this.waitMs(key) > 0 || this.probeOf(key)) {
        return this.entries.get(key)!.failure;
      }
    }
    return null;
  }

  /** Returns the wait of a key in ms. */
  waitMs(key: string): number {
    const entry = this.entries.get(key);
    return entry?.failure == null
      ? 0
      : Math.max(0, entry.untilMs - this.clock.monotonicMs());
  }

  /**
   * Resolves when the probe of a key has ended. Returns null if there is no
   * probe.
   */
  probeOf(key: string): Promise<void> | null {
    return this.entries.get(key)?.probe?.promise ?? null;
  }

  /**
   * Makes a key wait for at least `leastMs`. Concurrent failures make one wait.
   * @returns whether the wait is new.
   */
  failed(key: string, failure: Failure, leastMs = 0): boolean {
    const { firstMs, maxMs } = this.times;
    const now = this.clock.monotonicMs();
    const before = this.entries.get(key);
    if (before !== undefined && this.waitMs(key) > 0) {
      before.untilMs = Math.max(before.untilMs, now + leastMs);
      return false;
    }
    this.endProbe(key);
    const isRepeated = before !== undefined && now < before.untilMs + maxMs;
    const doubledMs = isRepeated ? Math.min(before.waitMs * 2, maxMs) : firstMs;
    const waitMs = Math.max(doubledMs, leastMs);
    this.entries.set(key, {
      failure,
      waitMs,
      untilMs: now + waitMs,
      probe: null,
    });
    return true;
  }

  succeeded(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) entry.failure = null;
    this.endProbe(key);
  }

  /**
   * Starts the single try of a key after its wait. Does nothing if a try has
   * succeeded since.
   */
  probe(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined && entry.failure !== null) {
      entry.probe ??= Promise.withResolvers();
    }
  }

  /** Ends a probe even if it has no result. The next try is then a probe. */
  endProbe(key: string): void {
    const entry = this.entries.get(key);
    entry?.probe?.resolve();
    if (entry !== undefined) entry.probe = null;
  }
}
