// Cached bytes in Deno KV, shared by processes and preserved over restarts. Reads of several keys go out together; writes
// are gathered and committed together, and no write reads first. A store that fails, is slow or has damaged data is a
// miss, never an error: no method throws.

import type { Clock } from "../clock.ts";
import { decodeValue, encodeValue, fitsKv, type KvRecord, readRecord } from "./kv_value.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The parts of a key, most general first. A key of more than about 1,900 bytes as UTF-8 is never found. */
export type CacheKey = readonly string[];

const KEYS_PER_READ = 10;
// A commit takes 819,200 bytes of mutations, keys included, and 81,920 bytes of keys.
const MAX_COMMIT_BYTES = 700_000;
const MAX_COMMIT_KEYS = 35;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
const FLUSH_AFTER_MS = 500; // A cold list reads objects one after the other, which then share a commit.
// Values carry their own expiry; the store's removal only clears away what has expired.
const REMOVAL_DELAY_MS = 60_000;

const TIMEOUT_MS = 2_000;
/** A remote store may never answer: after a time-out it is not called for this long. */
const REST_MS = 30_000;
/** A store that refuses, its token for example, is not called for this long. */
const REST_AFTER_FAILURES = 3;
/** With three processes that write all the time, one commit in eight finds the file locked; on a busy machine more. */
const LOCK_TRIES = 20;
const MAX_LOCK_PAUSE_MS = 50;
const MINUTE_MS = 60_000;

/** Options of {@linkcode KvTier}. */
export interface KvTierOptions {
  readonly clock: Clock;
  /** Begins every key, so that stores filled from different sources never mix. */
  readonly scope: string;
  /** The most that is written in any hour, {@linkcode SetOptions.isEssential} writes aside. */
  readonly maxBytesPerHour: number;
  /** Called once for every call that failed. */
  readonly onError?: (error: unknown) => void;
}

/** Options of {@linkcode KvTier.set}. */
export interface SetOptions {
  /** How long the value may be returned, in ms. */
  readonly ttlMs: number;
  /** Written regardless of the bounds; for small values that other processes rely on, such as refs. */
  readonly isEssential?: boolean;
}

interface PendingWrite {
  readonly key: CacheKey;
  readonly value: Bytes;
  readonly expiresAtMs: number;
  readonly isEssential: boolean;
}

interface Mutation {
  readonly key: Deno.KvKey;
  readonly value: Bytes;
  readonly expireIn: number;
}

/** The key-value tier of the caches. */
export class KvTier {
  private readonly clock: Clock;
  /** Writes that are not committed yet, by key; a later write to a key replaces the earlier one. */
  private readonly pending = new Map<string, PendingWrite>();
  private pendingBytes = 0;
  private cancelTimer: (() => void) | null = null;
  private flushing: Promise<void> | null = null;
  private restsUntilMs = -Infinity;
  private failuresInARow = 0;
  private isClosed = false;
  /** Bytes written, by minute; those of the last hour and a minute. */
  private readonly written: { readonly minute: number; bytes: number }[] = [];

  /** `kv` is null until a store that was unreachable at the start answers. */
  constructor(private kv: Deno.Kv | null, private readonly options: KvTierOptions) {
    this.clock = options.clock;
  }

  /** Sets a store that could be opened only now; the tier closes it. */
  attach(kv: Deno.Kv): void {
    if (this.isClosed) kv.close();
    else this.kv = kv;
  }

  /**
   * The value under each key, in the order of the keys; null where there is none, it has expired, or it cannot be read.
   * Objects that never change may be read with eventual consistency.
   */
  async get(
    keys: readonly CacheKey[],
    { consistency = "strong" }: { readonly consistency?: Deno.KvConsistencyLevel } = {},
  ): Promise<(Bytes | null)[]> {
    const found = keys.map((key) => this.pendingValue(key));
    const missing = keys.flatMap((key, index) =>
      found[index] === undefined && fitsKv(key) ? [{ key, index }] : []
    );
    const reads = Array.from(
      { length: Math.ceil(missing.length / KEYS_PER_READ) },
      async (_, batch) => {
        const wanted = missing.slice(batch * KEYS_PER_READ, (batch + 1) * KEYS_PER_READ);
        const kvKeys = wanted.map(({ key }) => this.recordKey(key));
        const entries = await this.attempt((kv) => kv.getMany(kvKeys, { consistency }));
        if (entries === null) return;
        await Promise.all(wanted.map(async ({ key, index }, i) => {
          const value = await this.decode(key, entries[i]!.value, consistency);
          if (value !== null) found[index] = value;
        }));
      },
    );
    await Promise.all(reads);
    return found.map((value) => value ?? null);
  }

  /** Writes bytes in the background. {@linkcode get} finds them at once. */
  set(key: CacheKey, value: Bytes, { ttlMs, isEssential = false }: SetOptions): void {
    if (this.isClosed || !fitsKv(key)) return;
    const id = idOf(key);
    this.forget(id);
    if (!isEssential && this.pendingBytes + value.length > MAX_PENDING_BYTES) return;
    const expiresAtMs = this.clock.now() + ttlMs;
    this.pending.set(id, { key, value, expiresAtMs, isEssential });
    this.pendingBytes += value.length;
    this.cancelTimer ??= this.clock.setTimer(FLUSH_AFTER_MS, () => void this.flush());
  }

  /** Resolves when everything set before is committed or dropped. */
  async flush(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    while (this.flushing !== null) await this.flushing;
    if (this.pending.size === 0) return;
    this.flushing = this.commitPending();
    await this.flushing;
  }

  /** Commits pending writes and closes the store. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.flush();
    // It may be closed already.
    await Promise.try(() => this.kv?.close()).catch(() => {});
  }

  private pendingValue(key: CacheKey): Bytes | undefined {
    const write = this.pending.get(idOf(key));
    return write !== undefined && write.expiresAtMs > this.clock.now() ? write.value : undefined;
  }

  private async decode(
    key: CacheKey,
    stored: unknown,
    consistency: Deno.KvConsistencyLevel,
  ): Promise<Bytes | null> {
    const record = readRecord(stored);
    if (record === null || !(record.expiresAtMs > this.clock.now())) return null;
    const parts = record.partCount === 0 ? [] : await this.readParts(record, consistency);
    return parts === null ? null : await decodeValue(this.checkedKey(key), record, parts);
  }

  private readParts(
    { partsId, partCount: limit }: KvRecord,
    consistency: Deno.KvConsistencyLevel,
  ): Promise<unknown[] | null> {
    const prefix = this.partsKey(partsId);
    const batchSize = Math.min(limit, 500);
    return this.attempt(async (kv) => {
      const parts: unknown[] = [];
      const entries = kv.list({ prefix }, { limit, batchSize, consistency });
      for await (const { value } of entries) parts.push(value);
      return parts;
    });
  }

  private async commitPending(): Promise<void> {
    let batch: Mutation[] = [];
    let batchBytes = 0;
    const done: [string, PendingWrite][] = [];
    const commitBatch = async () => {
      const mutations = batch;
      [batch, batchBytes] = [[], 0];
      if (mutations.length > 0) {
        await this.attempt(async (kv) => {
          const operation = kv.atomic();
          for (const { key, value, expireIn } of mutations) operation.set(key, value, { expireIn });
          await operation.commit();
        });
      }
    };
    // Parts come before the record that names them, so that a record without its parts is rare.
    for (const [id, write] of [...this.pending]) {
      for (const mutation of await this.mutationsOf(write)) {
        const bytes = mutation.value.length;
        const isFull = batchBytes + bytes > MAX_COMMIT_BYTES || batch.length >= MAX_COMMIT_KEYS;
        if (isFull) await commitBatch();
        batch.push(mutation);
        batchBytes += bytes;
      }
      done.push([id, write]);
    }
    await commitBatch();
    for (const [id, write] of done) if (this.pending.get(id) === write) this.forget(id);
    this.flushing = null;
    if (this.pending.size > 0 && !this.isClosed) {
      this.cancelTimer ??= this.clock.setTimer(FLUSH_AFTER_MS, () => void this.flush());
    }
  }

  private async mutationsOf(write: PendingWrite): Promise<Mutation[]> {
    const { key, value, expiresAtMs, isEssential } = write;
    if (this.isResting) return [];
    const { record, parts, partsId } = await encodeValue(this.checkedKey(key), value, expiresAtMs);
    const bytes = parts.reduce((sum, part) => sum + part.length, record.length);
    if (!isEssential && !this.takeBudget(bytes)) return [];
    const expireIn = Math.max(1, expiresAtMs - this.clock.now()) + REMOVAL_DELAY_MS;
    const prefix = this.partsKey(partsId);
    return [
      ...parts.map((part, index) => ({ key: [...prefix, index], value: part, expireIn })),
      { key: this.recordKey(key), value: record, expireIn },
    ];
  }

  /** Takes bytes out of the hour's budget; false, with nothing taken, where fewer are left. */
  private takeBudget(bytes: number): boolean {
    const { written } = this;
    const minute = Math.floor(this.clock.monotonicMs() / MINUTE_MS);
    while (written.length > 0 && written[0]!.minute < minute - 60) written.shift();
    const total = written.reduce((sum, slot) => sum + slot.bytes, bytes);
    if (total > this.options.maxBytesPerHour) return false;
    const last = written.at(-1);
    if (last?.minute === minute) last.bytes += bytes;
    else written.push({ minute, bytes });
    return true;
  }

  private get isResting(): boolean {
    return this.kv === null || this.clock.monotonicMs() < this.restsUntilMs;
  }

  /** The result of a store call; null where it fails, takes too long, or the store is paused. Never throws. */
  async attempt<T>(call: (kv: Deno.Kv) => Promise<T>): Promise<T | null> {
    const { kv } = this;
    if (kv === null || this.isResting) return null;
    const late = Promise.withResolvers<never>();
    const rest = () => this.restsUntilMs = this.clock.monotonicMs() + REST_MS;
    const cancelTimer = this.clock.setTimer(TIMEOUT_MS, () => {
      rest();
      late.reject(new Error(`Cannot reach the key-value store: no answer in ${TIMEOUT_MS} ms`));
    });
    try {
      const value = await Promise.race([this.retryLocked(() => call(kv)), late.promise]);
      this.failuresInARow = 0;
      return value;
    } catch (error) {
      if (++this.failuresInARow >= REST_AFTER_FAILURES) rest();
      if (!this.isClosed) this.options.onError?.(error);
      return null;
    } finally {
      cancelTimer();
    }
  }

  private async retryLocked<T>(call: () => Promise<T>): Promise<T> {
    for (let triesLeft = LOCK_TRIES - 1;; triesLeft--) {
      try {
        return await call();
      } catch (error) {
        // Two processes wrote to one SQLite file at once.
        if (triesLeft === 0 || !String(error).includes("database is locked")) throw error;
        await this.clock.sleep(Math.random() * MAX_LOCK_PAUSE_MS);
        if (this.isResting) throw error;
      }
    }
  }

  private forget(id: string): void {
    this.pendingBytes -= this.pending.get(id)?.value.length ?? 0;
    this.pending.delete(id);
  }

  private recordKey(key: CacheKey): Deno.KvKey {
    return ["rc2", "record", this.options.scope, ...key];
  }

  private partsKey(partsId: string): Deno.KvKey {
    return ["rc2", "parts", this.options.scope, partsId];
  }

  private checkedKey(key: CacheKey): string {
    return JSON.stringify([this.options.scope, ...key]);
  }
}

function idOf(key: CacheKey): string {
  return JSON.stringify(key);
}
