// Whole responses by their normalised address. A response may be sent while its ref is at the commit that it was made
// from and was checked in time; both are read from the ref's live state, without a lookup.

import { LRUCache } from "lru-cache";
import type { RefState } from "../source/source.ts";
import { addGzip, type ReadyBody } from "./responses.ts";

/** A body, and for how long it may be cached, in ms. */
export interface MadeBody {
  readonly body: ReadyBody;
  readonly cacheForMs: number;
}

/** A cached response; `repository` and `route` are for the log line and metrics. */
export interface ResponseEntry {
  readonly body: ReadyBody;
  readonly commit: string;
  /** The branch as the body names it; it can change in a local folder without a change of files. */
  readonly branch: string;
  readonly ref: RefState;
  readonly repository: string;
  readonly route: string;
  /** In ms since the epoch; Infinity for a response that only a push changes. */
  readonly expiresAtMs: number;
  /** When the last check before this response was sent found its commit, in ms since the epoch. */
  checkedAtMs: number;
}

/** Bytes of an entry beside its body, by a generous estimate. */
const OVERHEAD_BYTES = 2048;

/** Responses, bounded by bytes, and which request URL leads to which response. */
export class ResponseCache {
  private readonly entries: LRUCache<string, ResponseEntry>;
  private readonly addresses: LRUCache<string, string>;
  /** The gzip coding is smaller, so that no entry takes more than half of the cache. */
  private readonly maxBodyBytes: number;

  constructor(private readonly options: { maxBytes: number; now: () => number }) {
    const maxBytes = Math.floor(options.maxBytes);
    this.maxBodyBytes = maxBytes / 4 - OVERHEAD_BYTES;
    this.entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ body: { identity, gzip } }, address) =>
        identity.content.length + (gzip?.content.length ?? 0) + 2 * address.length + OVERHEAD_BYTES,
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

  /** The entry under a normalised address, fresh or not. */
  get(address: string): ResponseEntry | undefined {
    return this.entries.get(address);
  }

  /** Stores a response unless it is too large. Its gzip coding is added in the background. */
  set(address: string, entry: ResponseEntry): void {
    const { body } = entry;
    if (body.identity.content.length > this.maxBodyBytes) return void this.entries.delete(address);
    const isNew = this.entries.peek(address)?.body !== body;
    this.entries.set(address, entry);
    if (!isNew) return;
    addGzip(body).then(() => {
      const current = this.entries.peek(address);
      // The cache counts a value again only when it is another object.
      if (current?.body === body) this.entries.set(address, { ...current });
    }, () => {});
  }

  /** Remembers which normalised address a request stands for. */
  alias(requestKey: string, address: string): void {
    this.addresses.set(requestKey, address);
  }

  /** The entry for a request that may be sent as it is, or null. Records the use of its ref. */
  fresh(requestKey: string): ResponseEntry | null {
    const address = this.addresses.get(requestKey);
    const entry = address === undefined ? undefined : this.entries.get(address);
    if (entry === undefined) return null;
    const { commit, ref, expiresAtMs } = entry;
    const now = this.options.now();
    const ageMs = now - ref.checkedAtMs;
    // A negative age comes from a clock that was set back, and says nothing.
    if (ref.commit !== commit || ageMs < 0 || ageMs >= ref.freshForMs) return null;
    if (now >= expiresAtMs) return null;
    ref.wantedAtMs = now;
    entry.checkedAtMs = ref.checkedAtMs;
    return entry;
  }
}
