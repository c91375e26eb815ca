// What the content thread keeps between tasks. While the process has little
// memory left, the thread forgets what no task has used lately.

import { LRUCache } from "lru-cache";

interface KeptOptions<Value> {
  maxBytes: number;
  sizeOf: (value: Value, key: string) => number;
  /** Called for a value that is no longer kept. */
  dispose?: (value: Value) => void;
  /** Returns monotonic milliseconds. */
  now?: () => number;
}

const caches: { forgetUnused(unusedMs: number): number }[] = [];

/** Keeps the values that were used last. Each thread has its own. */
export class Kept<Value> {
  private readonly entries: LRUCache<
    string,
    { value: Value; usedAtMs: number }
  >;
  private readonly now: () => number;

  constructor(options: KeptOptions<Value>) {
    const { maxBytes, sizeOf, dispose } = options;
    this.now = options.now ?? (() => performance.now());
    this.entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ value }, key) => sizeOf(value, key),
      dispose: ({ value }, _, reason) => {
        if (reason !== "set") dispose?.(value);
      },
    });
    caches.push(this);
  }

  get bytes(): number {
    return this.entries.calculatedSize;
  }

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    entry.usedAtMs = this.now();
    return entry.value;
  }

  set(key: string, value: Value): void {
    this.entries.set(key, { value, usedAtMs: this.now() });
  }

  delete(key: string): void {
    this.entries.delete(key);
  }

  /** Drops the value that was used least recently. */
  pop(): void {
    this.entries.pop();
  }

  /** Drops what was not used for so long. Returns its bytes. */
  forgetUnused(unusedMs: number): number {
    const { bytes } = this;
    const before = this.now() - unusedMs;
    for (;;) {
      const [oldest] = this.entries.rvalues();
      if (oldest === undefined || oldest.usedAtMs > before) break;
      this.entries.pop();
    }
    return bytes - this.bytes;
  }
}

/** Drops what no task used for so long. Returns its bytes. */
export function forgetUnused(unusedMs: number): number {
  return caches.reduce((sum, cache) => sum + cache.forgetUnused(unusedMs), 0);
}
