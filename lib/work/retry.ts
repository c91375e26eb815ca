// Remembers what failed, and until when it is not tried again, so that an outage costs few requests and callers lose no
// time. When a wait is over, one try can go alone: the others get the failure, or wait, until it has ended.

import { LRUCache } from "lru-cache";
import type { Clock } from "./clock.ts";

const MAX_KEYS = 10_000;

interface Entry<Failure> {
  /** Null once a later try succeeded. */
  failure: Failure | null;
  waitMs: number;
  /** Monotonic, so a jump of the wall clock changes no wait. */
  untilMs: number;
  probe: PromiseWithResolvers<void> | null;
}

/** Failures by key. The keys that were not used for longest are forgotten first. */
export class RetryTable<Failure> {
  private readonly entries = new LRUCache<string, Entry<Failure>>({ max: MAX_KEYS });

  /**
   * The first wait of a key is `firstMs`. A failure within `maxMs` after a wait makes the next one twice as long, up to
   * `maxMs`. Where they are left out, each wait is as long as `failed` is given.
   */
  constructor(
    private readonly clock: Clock,
    private readonly times: { readonly firstMs: number; readonly maxMs: number } = {
      firstMs: 0,
      maxMs: 0,
    },
  ) {}

  /** The failure of the first of these keys that waits or is probed; null where all may be tried. */
  failureOf(...keys: readonly string[]): Failure | null {
    for (const key of keys) {
      if (this.waitMs(key) > 0 || this.probeOf(key)) return this.entries.get(key)!.failure;
    }
    return null;
  }

  /** For how long a key is not tried, in ms. */
  waitMs(key: string): number {
    const entry = this.entries.get(key);
    return entry?.failure == null ? 0 : Math.max(0, entry.untilMs - this.clock.monotonicMs());
  }

  /** Resolves when the probe of a key has ended; null where there is none. */
  probeOf(key: string): Promise<void> | null {
    return this.entries.get(key)?.probe?.promise ?? null;
  }

  /**
   * Makes a key wait, for at least `leastMs`. Tries that were under way together make one wait.
   * @returns whether it is a new one.
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
    this.entries.set(key, { failure, waitMs, untilMs: now + waitMs, probe: null });
    return true;
  }

  succeeded(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined) entry.failure = null;
    this.endProbe(key);
  }

  /** Begins the try of a key that goes alone, where its wait is over and no try has succeeded since. */
  probe(key: string): void {
    const entry = this.entries.get(key);
    if (entry !== undefined && entry.failure !== null) entry.probe ??= Promise.withResolvers();
  }

  /** Ends a probe, also one without a result: the next try is a probe then. */
  endProbe(key: string): void {
    const entry = this.entries.get(key);
    entry?.probe?.resolve();
    if (entry !== undefined) entry.probe = null;
  }
}
