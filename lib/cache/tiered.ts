// A fast tier over a slow one. What only the slow one has is kept in the fast one for the rest of its life; writes wait
// for the fast one alone.

import type { Cache, CacheEntry, CacheKey, SetOptions } from "./cache.ts";
import { WriteBehindCache } from "./write_behind.ts";

/** Options of {@linkcode TieredCache}. */
export interface TieredCacheOptions {
  /** Hears the name of the tier that had what was asked for. */
  readonly onHit?: (tier: string) => void;
  /** The most bytes of values that may wait to be written to the slow tier; 64 MiB where absent. */
  readonly maxWaitingBytes?: number;
  /** The time in ms since the epoch. */
  readonly now?: () => number;
}

/** Two tiers as one cache, which closes both in the end. A tier that throws, against the port, is a miss too. */
export class TieredCache implements Cache {
  readonly name = "tiered";
  private readonly fast: Cache;
  private readonly slow: WriteBehindCache;
  private readonly now: () => number;
  private readonly onHit: (tier: string) => void;
  /** Reads of the slow tier under way, shared by all who ask; a write to the key takes its read out. */
  private readonly reads = new Map<string, Promise<CacheEntry | null>>();
  private closed = false;

  constructor([fast, slow]: readonly [fast: Cache, slow: Cache], options: TieredCacheOptions = {}) {
    this.now = options.now ?? Date.now;
    this.onHit = options.onHit ?? (() => {});
    this.fast = fast;
    const maxWaitingBytes = options.maxWaitingBytes ?? 64 * 1024 * 1024;
    this.slow = new WriteBehindCache(slow, { maxWaitingBytes, now: this.now });
  }

  async get(key: CacheKey): Promise<CacheEntry | null> {
    if (this.closed) return null;
    const entry = await orNull(() => this.fast.get(key));
    if (entry !== null) {
      this.onHit(this.fast.name);
      return entry;
    }
    const text = JSON.stringify(key);
    let read = this.reads.get(text);
    if (read === undefined) {
      read = this.readSlow(key, () => this.reads.get(text) === read);
      this.reads.set(text, read);
    }
    const found = await read;
    if (found !== null) this.onHit(this.slow.name);
    return found;
  }

  async set(key: CacheKey, value: Uint8Array<ArrayBuffer>, options: SetOptions): Promise<void> {
    if (this.closed) return;
    this.reads.delete(JSON.stringify(key));
    await this.slow.set(key, value, options);
    await orNull(() => this.fast.set(key, value, options));
  }

  /** Resolves when all that was set is in the slow tier. */
  async settled(): Promise<void> {
    await this.slow.settled();
  }

  async close(): Promise<void> {
    this.closed = true;
    await orNull(() => this.slow.close());
    await orNull(() => this.fast.close());
  }

  /** Fills the fast tier only while the read stands: an entry written meanwhile is the newer one. */
  private async readSlow(key: CacheKey, stands: () => boolean): Promise<CacheEntry | null> {
    const entry = await orNull(() => this.slow.get(key));
    if (entry !== null && stands()) {
      const ttlMs = entry.diesAtMs - this.now();
      await orNull(() => this.fast.set(key, entry.value, { ttlMs }));
    }
    if (stands()) this.reads.delete(JSON.stringify(key));
    return entry;
  }
}

async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch {
    return null;
  }
}
