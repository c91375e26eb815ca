// Whole responses by their normalized URL. A cached response may be sent while
// its ref is fresh and still at the same commit. Both are read from the live
// state of the ref without a lookup.

import { LRUCache } from "lru-cache";
import type { RefState } from "../source/source.ts";
import { addGzip, type ReadyBody } from "./responses.ts";

/** Counts responses that were cached. */
export const RESPONSE_HIT = 'cache_hits_total{tier="response"}';

/** A body and how long it may be cached in ms. */
export interface MadeBody {
  readonly body: ReadyBody;
  readonly cacheForMs: number;
}

/**
 * A cached response. The log line and the metrics use `repository` and `route`.
 */
export interface ResponseEntry {
  readonly body: ReadyBody;
  readonly commit: string;
  /**
   * The branch name in the body. It can change in a local folder while the
   * files stay the same.
   */
  readonly branch: string;
  readonly ref: RefState;
  readonly repository: string;
  readonly route: string;
  /**
   * Milliseconds since the epoch. Infinity if only a push changes the response.
   */
  readonly expiresAtMs: number;
  /**
   * Milliseconds since the epoch of the last check that found this commit
   * before the response was last sent.
   */
  checkedAtMs: number;
}

/** A generous estimate of the bytes of an entry without its body. */
const OVERHEAD_BYTES = 2048;

/**
 * A cache of responses with a limit in bytes. It also maps request URLs to
 * responses.
 */
export class ResponseCache {
  private readonly entries: LRUCache<string, ResponseEntry>;
  private readonly addresses: LRUCache<string, string>;
  /**
   * About a quarter of the cache. The gzip coding is smaller, so no entry takes
   * more than half of the cache.
   */
  private readonly maxBodyBytes: number;

  constructor(
    private readonly options: { maxBytes: number; now: () => number },
  ) {
    const maxBytes = Math.floor(options.maxBytes);
    this.maxBodyBytes = maxBytes / 4 - OVERHEAD_BYTES;
    this.entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ body: { identity, gzip } }, address) =>
        identity.content.length + (gzip?.content.length ?? 0) +
        2 * address.length + OVERHEAD_BYTES,
    });
    this.addresses = new LRUCache({
      maxSize: Math.floor(maxBytes / 8),
      sizeCalculation: (value, key) => 2 * (key.length + value.length) + 200,
    });
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.entries.calculatedSize + this.addresses.calculatedSize;
  }

  /**
   * Drops what was used least recently until half of `maxBytes` is free. Drops
   * at most 10,000 entries of each map at once because there may be very many.
   */
  trim(): void {
    for (const map of [this.entries, this.addresses]) {
      for (let count = 0; count < 10_000; count++) {
        if (map.calculatedSize <= map.maxSize / 2) break;
        map.pop();
      }
    }
  }

  /** Returns the entry of a normalized URL even if it is not fresh. */
  get(address: string): ResponseEntry | undefined {
    return this.entries.get(address);
  }

  /**
   * Stores a response unless it is too large. Adds its gzip coding in the
   * background.
   */
  set(address: string, entry: ResponseEntry): void {
    const { body } = entry;
    if (body.identity.content.length > this.maxBodyBytes) {
      return void this.entries.delete(address);
    }
    const isNew = this.entries.peek(address)?.body !== body;
    this.entries.set(address, entry);
    if (!isNew) return;
    addGzip(body).then(() => {
      const current = this.entries.peek(address);
      // The cache updates the size only if the value is a new object.
      if (current?.body === body) this.entries.set(address, { ...current });
    }, () => {});
  }

  /** Maps a request key to a normalized URL. */
  alias(requestKey: string, address: string): void {
    this.addresses.set(requestKey, address);
  }

  /**
   * Returns the fresh entry for a request or null. Records the use of its ref.
   */
  fresh(requestKey: string): ResponseEntry | null {
    const address = this.addresses.get(requestKey);
    const entry = address === undefined ? undefined : this.entries.get(address);
    if (entry === undefined) return null;
    const { commit, ref, expiresAtMs } = entry;
    const now = this.options.now();
    const ageMs = now - ref.checkedAtMs;
    // The age is negative if the clock was set back. It then proves nothing.
    if (ref.commit !== commit || ageMs < 0 || ageMs >= ref.freshForMs) {
      return null;
    }
    if (now >= expiresAtMs) return null;
    ref.wantedAtMs = now;
    entry.checkedAtMs = ref.checkedAtMs;
    return entry;
  }
}
