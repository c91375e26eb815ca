// Cached bytes in Deno KV, shared by processes and preserved over restarts. Reads of several keys go out together; writes
// are gathered and committed together, and no write reads first. A store that fails, is slow or has damaged data is a
// miss, never an error: no method throws.

import pLimit from "p-limit";
import { type Clock, orAborted } from "../clock.ts";
import { type Bytes, decodeValue, encodeValue, readRecord } from "./kv_value.ts";

/** The parts of a key, most general first. A key of more than about 1,900 bytes as UTF-8 is never found. */
export type CacheKey = readonly string[];

const KEYS_PER_READ = 10;
// A commit takes 819,200 bytes of mutations, keys included, and 81,920 bytes of keys.
const MAX_COMMIT_BYTES = 700_000;
const MAX_COMMIT_KEYS = 35;
/** KV allows 2,048 bytes a key; the rest is for what surrounds a cache key. */
const MAX_KEY_BYTES = 1_900;
const MAX_PENDING_BYTES = 64 << 20;
const FLUSH_AFTER_MS = 500; // A cold list reads objects one after the other, which then share a commit.
// Values carry their own expiry; the store's removal only clears away what has expired.
const REMOVAL_DELAY_MS = 60_000;
const HOUR_MS = 3_600_000;

const TIMEOUT_MS = 2_000;
/** After a time-out, or several failures in a row (a refused token, for example), the store is not called for this long. */
const PAUSE_MS = 30_000;
const PAUSE_AFTER_FAILURES = 3;
/** With three processes that write all the time, one commit in eight finds the file locked; on a busy machine more. */
const LOCK_TRIES = 100;
const MAX_LOCK_PAUSE_MS = 50;

/** Options of {@linkcode KvTier}. */
export interface KvTierOptions {
  readonly clock: Clock;
  /** Begins every key, so that stores filled from different sources never mix. */
  readonly scope: string;
  /** The most that is written in each hour, essential writes aside. */
  readonly maxBytesPerHour: number;
  /** Called once for every call that failed. */
  readonly onError?: (error: unknown) => void;
}

type PendingWrite = { value: Bytes; expiresAtMs: number; isEssential: boolean };
type Mutation = { key: Deno.KvKey; value: Bytes; expireIn: number };

/** The key-value tier of the caches. */
export class KvTier {
  private readonly clock: Clock;
  /** Writes that are not committed yet, by key; a later write to a key replaces the earlier one. */
  private readonly pending = new Map<string, PendingWrite>();
  private pendingBytes = 0;
  private cancelTimer: (() => void) | null = null;
  private readonly oneFlush = pLimit(1);
  private pausedUntilMs = -Infinity;
  private failuresInARow = 0;
  private isClosed = false;
  private hourEndsAtMs = -Infinity;
  private hourBytes = 0;

  /** `kv` is null until a store that was unreachable at the start answers. */
  constructor(private kv: Deno.Kv | null, private readonly options: KvTierOptions) {
    this.clock = options.clock;
  }

  /** Sets a store that could be opened only now; the tier closes it. */
  attach(kv: Deno.Kv): void {
    this.kv = kv;
  }

  /**
   * The value under each key, in the order of the keys; null where there is none, it has expired, or it cannot be read.
   * Objects that never change may be read with eventual consistency.
   */
  async get(
    keys: readonly CacheKey[],
    options: { readonly consistency?: Deno.KvConsistencyLevel } = {},
  ): Promise<(Bytes | null)[]> {
    const ids = keys.map((key) => JSON.stringify(key));
    const found = ids.map((id) => this.pending.get(id)?.value ?? null);
    const missing = [...ids.keys()].filter((at) => found[at] === null && fitsKv(ids[at]!));
    const reads: Promise<void>[] = [];
    for (let from = 0; from < missing.length; from += KEYS_PER_READ) {
      const batch = missing.slice(from, from + KEYS_PER_READ);
      const kvKeys = batch.map((at) => this.kvKey("value", ids[at]!));
      const reading = this.attempt((kv) => kv.getMany(kvKeys, options));
      reads.push(...batch.map(async (at, index) => {
        found[at] = await this.decode(ids[at]!, (await reading)?.[index]?.value, options);
      }));
    }
    await Promise.all(reads);
    return found;
  }

  /**
   * Writes bytes in the background, to be returned for `ttlMs`; {@linkcode get} finds them at once. Essential values are
   * written regardless of the bounds: small ones that other processes rely on, such as refs.
   */
  set(
    key: CacheKey,
    value: Bytes,
    { ttlMs, isEssential = false }: { readonly ttlMs: number; readonly isEssential?: boolean },
  ): void {
    const id = JSON.stringify(key);
    if (this.isClosed || !fitsKv(id)) return;
    this.forget(id);
    if (!isEssential && this.pendingBytes + value.length > MAX_PENDING_BYTES) return;
    this.pending.set(id, { value, expiresAtMs: this.clock.now() + ttlMs, isEssential });
    this.pendingBytes += value.length;
    this.cancelTimer ??= this.clock.setTimer(FLUSH_AFTER_MS, () => void this.flush());
  }

  /** Resolves when everything set before is committed or dropped. */
  async flush(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    await this.oneFlush(() => this.commitPending());
  }

  /** Commits pending writes and closes the store. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.flush();
    try {
      this.kv?.close();
    } catch {
      // It is closed already.
    }
  }

  /** The result of a store call; null where it fails, takes too long, or the store is paused. Never throws. */
  async attempt<T>(call: (kv: Deno.Kv) => T | Promise<T>): Promise<T | null> {
    const { kv, clock } = this;
    if (kv === null || this.isPaused) return null;
    const timeout = new AbortController();
    const cancelTimer = clock.setTimer(TIMEOUT_MS, () => {
      const state = `no answer in ${TIMEOUT_MS} ms`;
      timeout.abort(new Error(`Cannot reach the key-value store: ${state}`));
    });
    try {
      const { signal } = timeout;
      const value = await orAborted(retryLocked(() => call(kv), clock, signal), signal);
      this.failuresInARow = 0;
      return value;
    } catch (error) {
      if (++this.failuresInARow >= PAUSE_AFTER_FAILURES || timeout.signal.aborted) {
        this.pausedUntilMs = clock.monotonicMs() + PAUSE_MS;
      }
      if (!this.isClosed) this.options.onError?.(error);
      return null;
    } finally {
      cancelTimer();
    }
  }

  private async decode(
    id: string,
    stored: unknown,
    options: { readonly consistency?: Deno.KvConsistencyLevel },
  ): Promise<Bytes | null> {
    const record = readRecord(stored);
    if (record === null || !(record.expiresAtMs > this.clock.now())) return null;
    const { partsId, partCount: limit } = record;
    const parts = limit === 0 ? [] : await this.attempt((kv) => {
      const prefix = this.kvKey("parts", partsId);
      const list = kv.list({ prefix }, { ...options, limit, batchSize: Math.min(limit, 500) });
      return Array.fromAsync(list, ({ value }) => value);
    });
    return parts && await decodeValue(this.scoped(id), record, parts);
  }

  private async commitPending(): Promise<void> {
    const writes = [...this.pending];
    let batch: Mutation[] = [];
    let batchBytes = 0;
    for await (const mutation of this.mutationsOf(writes)) {
      const bytes = mutation.value.length;
      if (batchBytes + bytes > MAX_COMMIT_BYTES || batch.length >= MAX_COMMIT_KEYS) {
        await this.commit(batch);
        [batch, batchBytes] = [[], 0];
      }
      batch.push(mutation);
      batchBytes += bytes;
    }
    if (batch.length > 0) await this.commit(batch);
    for (const [id, write] of writes) if (this.pending.get(id) === write) this.forget(id);
  }

  private async commit(mutations: readonly Mutation[]): Promise<void> {
    await this.attempt((kv) => {
      const operation = kv.atomic();
      for (const { key, value, expireIn } of mutations) operation.set(key, value, { expireIn });
      return operation.commit();
    });
  }

  /** Parts come before the record that names them, so that a record without its parts is rare. */
  private async *mutationsOf(writes: readonly [string, PendingWrite][]): AsyncGenerator<Mutation> {
    for (const [id, { value, expiresAtMs, isEssential }] of writes) {
      if (this.isPaused) return;
      const { record, parts, partsId } = await encodeValue(this.scoped(id), value, expiresAtMs);
      const bytes = parts.reduce((sum, part) => sum + part.length, record.length);
      if (!isEssential && !this.takeBudget(bytes)) continue;
      const expireIn = Math.max(1, expiresAtMs - this.clock.now()) + REMOVAL_DELAY_MS;
      const prefix = this.kvKey("parts", partsId);
      yield* parts.map((part, index) => ({ key: [...prefix, index], value: part, expireIn }));
      yield { key: this.kvKey("value", id), value: record, expireIn };
    }
  }

  /** Takes bytes out of the hour's budget; false, with nothing taken, where fewer are left. */
  private takeBudget(bytes: number): boolean {
    const now = this.clock.monotonicMs();
    if (now >= this.hourEndsAtMs) [this.hourEndsAtMs, this.hourBytes] = [now + HOUR_MS, 0];
    if (this.hourBytes + bytes > this.options.maxBytesPerHour) return false;
    this.hourBytes += bytes;
    return true;
  }

  private get isPaused(): boolean {
    return this.kv === null || this.clock.monotonicMs() < this.pausedUntilMs;
  }

  private forget(id: string): void {
    this.pendingBytes -= this.pending.get(id)?.value.length ?? 0;
    this.pending.delete(id);
  }

  private kvKey(kind: "value" | "parts", id: string): Deno.KvKey {
    return ["rc2", kind, this.options.scope, id];
  }

  private scoped(id: string): string {
    return `${this.options.scope}\n${id}`;
  }
}

/**
 * The result of a call, which is repeated while another process has the SQLite file locked: one that makes the file
 * locks it until its tables exist. @throws what `call` throws; the reason of `signal` between two calls.
 */
export async function retryLocked<T>(
  call: () => T | Promise<T>,
  clock: Clock,
  signal?: AbortSignal,
): Promise<T> {
  for (let triesLeft = LOCK_TRIES - 1;; triesLeft--) {
    try {
      return await call();
    } catch (error) {
      if (triesLeft === 0 || !String(error).includes("database is locked")) throw error;
      await clock.sleep(Math.random() * MAX_LOCK_PAUSE_MS, signal);
    }
  }
}

function fitsKv(id: string): boolean {
  return new TextEncoder().encode(id).length <= MAX_KEY_BYTES;
}
