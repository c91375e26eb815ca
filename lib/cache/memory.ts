// The tier in this process, bounded by bytes: the least recently used goes first. Each entry carries its own time of
// death, checked when it is read, so that time can be injected and no timer runs.

import { LRUCache } from "lru-cache";
import type { Cache, CacheEntry, CacheKey, SetOptions } from "./cache.ts";

/** What an entry takes beside its key and value: objects, map slots, list links; measured, rounded up. */
export const ENTRY_OVERHEAD_BYTES = 512;

/** Options of {@linkcode MemoryCache}. */
export interface MemoryCacheOptions {
  /** The most that keys, values and overhead may take together; 0 keeps nothing. */
  readonly maxBytes: number;
  /** The time in ms since the epoch. */
  readonly now?: () => number;
}

/** Keeps values in this process. A value that is larger than the whole cache is not kept. */
export class MemoryCache implements Cache {
  readonly name = "memory";
  private readonly entries: LRUCache<string, CacheEntry>;
  private readonly now: () => number;
  private closed = false;

  constructor(options: MemoryCacheOptions) {
    this.now = options.now ?? Date.now;
    this.entries = new LRUCache({
      // lru-cache reads 0 as "without bound"; every entry is larger than 1.
      maxSize: Math.max(1, Math.floor(options.maxBytes)),
      sizeCalculation: ({ value }, key) => value.length + key.length + ENTRY_OVERHEAD_BYTES,
    });
  }

  /** What is held now, in bytes. */
  get bytes(): number {
    return this.entries.calculatedSize;
  }

  get(key: CacheKey): Promise<CacheEntry | null> {
    const text = JSON.stringify(key);
    const entry = this.entries.get(text);
    if (entry === undefined) return Promise.resolve(null);
    if (entry.diesAtMs > this.now()) return Promise.resolve(entry);
    this.entries.delete(text);
    return Promise.resolve(null);
  }

  set(key: CacheKey, value: Uint8Array<ArrayBuffer>, { ttlMs }: SetOptions): Promise<void> {
    if (this.closed) return Promise.resolve();
    const text = JSON.stringify(key);
    if (ttlMs > 0) {
      // A view would hold its whole buffer, which nobody counted.
      const whole = value.length === value.buffer.byteLength ? value : value.slice();
      this.entries.set(text, { value: whole, diesAtMs: this.now() + ttlMs });
    } else this.entries.delete(text);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.closed = true;
    this.entries.clear();
    return Promise.resolve();
  }
}
