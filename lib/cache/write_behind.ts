// Puts writes to a slow tier off to the background. Per key they happen in order and the last one wins; until then
// they are read from here, so that a reader never sees what was there before his own write.

import pLimit from "p-limit";
import type { Cache, CacheEntry, CacheKey, SetOptions } from "./cache.ts";

const WRITES_AT_ONCE = 4;

/** Options of {@linkcode WriteBehindCache}. */
export interface WriteBehindOptions {
  /** The most bytes of values that may wait; past it a `set` only forgets what was there. */
  readonly maxWaitingBytes: number;
  /** The time in ms since the epoch. */
  readonly now: () => number;
}

/** An entry to write; the slow tier forgets what is under the key of a dead one. */
interface Write {
  readonly key: CacheKey;
  readonly entry: CacheEntry;
}

const DEAD: CacheEntry = { value: new Uint8Array(0), diesAtMs: -Infinity };

/** A slow tier whose writes resolve at once. */
export class WriteBehindCache implements Cache {
  readonly name: string;
  private readonly waiting = new Map<string, Write>();
  private readonly writing = new Map<string, Promise<void>>();
  private readonly limit = pLimit(WRITES_AT_ONCE);
  private waitingBytes = 0;
  private closed = false;

  constructor(private readonly slow: Cache, private readonly options: WriteBehindOptions) {
    this.name = slow.name;
  }

  async get(key: CacheKey): Promise<CacheEntry | null> {
    const waiting = this.waiting.get(JSON.stringify(key));
    if (this.closed) return null;
    if (waiting === undefined) return await this.slow.get(key);
    const { entry } = waiting;
    return entry.diesAtMs > this.options.now() ? entry : null;
  }

  set(key: CacheKey, value: Uint8Array<ArrayBuffer>, { ttlMs }: SetOptions): Promise<void> {
    // A view would hold its whole buffer, which nobody counted.
    const whole = value.length === value.buffer.byteLength ? value : value.slice();
    const entry = { value: whole, diesAtMs: this.options.now() + ttlMs };
    this.put(key, this.hasRoom(value.length) ? entry : DEAD);
    return Promise.resolve();
  }

  /** Resolves when nothing waits to be written. */
  async settled(): Promise<void> {
    while (this.writing.size > 0) await Promise.all(this.writing.values());
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.settled();
    await this.slow.close();
  }

  private hasRoom(bytes: number): boolean {
    return this.waitingBytes + bytes <= this.options.maxWaitingBytes;
  }

  private put(key: CacheKey, entry: CacheEntry): void {
    if (this.closed) return;
    const text = JSON.stringify(key);
    this.forget(text);
    this.waiting.set(text, { key, entry });
    this.waitingBytes += entry.value.length;
    if (!this.writing.has(text)) this.writing.set(text, this.drain(text));
  }

  private forget(text: string): void {
    this.waitingBytes -= this.waiting.get(text)?.entry.value.length ?? 0;
    this.waiting.delete(text);
  }

  /** Writes what waits under a key, and what came in its place meanwhile. */
  private async drain(text: string): Promise<void> {
    while (this.waiting.has(text)) await this.limit(() => this.write(text));
    this.writing.delete(text);
  }

  private async write(text: string): Promise<void> {
    const write = this.waiting.get(text)!;
    const { key, entry } = write;
    try {
      await this.slow.set(key, entry.value, { ttlMs: entry.diesAtMs - this.options.now() });
    } catch {
      // A tier that throws, against the port, keeps nothing.
    } finally {
      if (this.waiting.get(text) === write) this.forget(text);
    }
  }
}
