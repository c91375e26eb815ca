// Whole answers by the address of their normalised form. An answer is good while its ref is at the commit that it was
// made from and was checked in time; who holds an entry sees both on the ref's live check, without asking.

import { LRUCache } from "lru-cache";
import type { RefCheck } from "../repository/repository.ts";
import { addGzip, type ReadyBody } from "./ready_body.ts";

/** An answer that is kept, and what it hangs from. */
export interface ResponseEntry {
  readonly body: ReadyBody;
  readonly commit: string;
  /** The name that the body gives the ref; a local folder can take another and keep its files. */
  readonly branch: string;
  readonly check: RefCheck;
  /** For the log line of a hit. */
  readonly subject: string;
  /** The pattern of the route that made it, for the metrics of a hit. */
  readonly route: string;
}

/** What an entry takes beside its bytes, by a generous count. */
const OVERHEAD_BYTES = 2048;

/** Answers, bounded by bytes; and which request, as it came, leads to which answer. */
export class ResponseCache {
  private readonly entries: LRUCache<string, ResponseEntry>;
  private readonly requests: LRUCache<string, string>;
  private readonly maxBodyBytes: number;
  /** Bodies that were given to be compressed; even where that was not worth it, once is enough. */
  private readonly packed = new WeakSet<ReadyBody>();

  constructor(private readonly options: { maxBytes: number; now: () => number }) {
    const maxBytes = Math.max(1, Math.floor(options.maxBytes));
    // Its gzip form is smaller, so that no entry takes more than half of the room.
    this.maxBodyBytes = maxBytes / 4 - OVERHEAD_BYTES;
    this.entries = new LRUCache({ maxSize: maxBytes, sizeCalculation: sizeOf });
    this.requests = new LRUCache({
      maxSize: Math.max(1, Math.floor(maxBytes / 8)),
      sizeCalculation: (value, key) => 2 * (key.length + value.length) + 200,
    });
  }

  /** Bytes that are held. */
  get bytes(): number {
    return this.entries.calculatedSize + this.requests.calculatedSize;
  }

  /** The entry under a normalised address, fresh or not. */
  get(address: string): ResponseEntry | undefined {
    return this.entries.get(address);
  }

  /** Keeps an answer unless it is too large; its gzip form follows when it is made. */
  set(address: string, entry: ResponseEntry): void {
    const { body } = entry;
    if (body.identity.bytes.length > this.maxBodyBytes) return void this.entries.delete(address);
    this.entries.set(address, entry);
    if (body.gzip !== null || this.packed.has(body) || this.entries.peek(address) !== entry) return;
    this.packed.add(body);
    addGzip(body).then((added) => {
      const held = this.entries.peek(address);
      // Counted anew with its second form; as the same object it would not be.
      if (added > 0 && held?.body === body) this.entries.set(address, { ...held });
    }, () => {});
  }

  /** Notes which normalised address a request as it came stands for. */
  alias(requestKey: string, address: string): void {
    this.requests.set(requestKey, address);
  }

  /** The entry for a request as it came, if it may be given as it is; marks its ref as wanted. */
  fresh(requestKey: string): ResponseEntry | null {
    const address = this.requests.get(requestKey);
    const entry = address === undefined ? undefined : this.entries.get(address);
    if (entry === undefined) return null;
    const { check } = entry;
    const now = this.options.now();
    const ageMs = now - check.askedAtMs;
    // A negative age is that of a clock that was set back, and says nothing.
    if (check.commit !== entry.commit || ageMs < 0 || ageMs >= check.freshMs) return null;
    check.wantedAtMs = now;
    return entry;
  }
}

function sizeOf({ body }: ResponseEntry, address: string): number {
  return body.identity.bytes.length + (body.gzip?.bytes.length ?? 0) + 2 * address.length +
    OVERHEAD_BYTES;
}
