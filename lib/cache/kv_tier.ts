// Caches bytes in Deno KV. They are shared by processes and survive restarts.
// Several keys are fetched together. Writes are collected and committed
// together without fetching first. A store that fails, is slow or has damaged
// data is a cache miss. No method throws.

import { type Clock, orAborted, yieldToEventLoop } from "../work/clock.ts";
import { RetryTable } from "../work/retry.ts";
import {
  type Bytes,
  decodeValue,
  encodeValue,
  MAX_VALUE_BYTES,
} from "./kv_value.ts";

/** Begins every key. Change it when stored values mean something else. */
export const KV_PREFIX = "rc4";

/**
 * The parts of a key with the most general part first. They have less than
 * 2,000 bytes as UTF-8 because KV rejects longer keys.
 */
export type CacheKey = readonly string[];

const KEYS_PER_READ = 10;
// A commit may have 819,200 bytes of mutations, keys included, and 81,920 bytes
// of keys.
const MAX_COMMIT_BYTES = 700_000;
const MAX_COMMIT_KEYS = 35;
const MAX_PENDING_BYTES = 8 << 20;
// A cold list fetches objects one after the other. They then share a commit.
const FLUSH_AFTER_MS = 500;
const HOUR_MS = 3_600_000;

const TIMEOUT_MS = 2_000;
/**
 * The store is not called for this long after a timeout, or after several
 * failures in a row (a refused token, for example).
 */
const PAUSE_MS = 30_000;
const PAUSE_AFTER_FAILURES = 3;
/**
 * One commit in eight finds the file locked if three processes write all the
 * time. Busy machines have more.
 */
const LOCK_TRIES = 100;
const MAX_LOCK_PAUSE_MS = 50;

/** Options of {@linkcode KvTier}. */
export interface KvTierOptions {
  clock: Clock;
  /**
   * Begins every key so that stores filled from different sources never mix.
   */
  scope: string;
  /**
   * The maximum number of bytes written per hour. Essential writes do not
   * count.
   */
  maxBytesPerHour: number;
  /** Called once for every failed call. */
  onError?: (error: unknown) => void;
}

type PendingWrite = {
  key: Deno.KvKey;
  value: Uint8Array;
  expiresAtMs: number;
  isEssential: boolean;
};

/** The key-value tier of the caches. */
export class KvTier {
  private readonly clock: Clock;
  private readonly pending: PendingWrite[] = [];
  /** Bytes that are not committed yet. A running flush is included. */
  private pendingBytes = 0;
  private flushing = Promise.resolve();
  private cancelTimer: (() => void) | null = null;
  /** The store is its only key. */
  private readonly pauses: RetryTable<unknown>;
  private failuresInARow = 0;
  private hourEndsAtMs = -Infinity;
  private hourBytes = 0;

  private opening: Promise<Deno.Kv> | null = null;
  private isClosed = false;

  /**
   * `open` returns the store, which the tier closes. It is called again while
   * it fails. It reports failures itself.
   */
  constructor(
    private readonly open: () => Promise<Deno.Kv>,
    private readonly options: KvTierOptions,
  ) {
    this.clock = options.clock;
    this.pauses = new RetryTable(this.clock);
  }

  /**
   * Returns the value under each key in the order of the keys. Missing, expired
   * and unreadable values are null. Objects that never change may be fetched
   * with eventual consistency.
   */
  async get(
    keys: readonly CacheKey[],
    options: { consistency?: Deno.KvConsistencyLevel } = {},
  ): Promise<(Bytes | null)[]> {
    const count = Math.ceil(keys.length / KEYS_PER_READ);
    const batches = Array.from(
      { length: count },
      (_, n) =>
        keys.slice(n * KEYS_PER_READ, (n + 1) * KEYS_PER_READ)
          .map((key) => this.kvKey(key)),
    );
    const read = await this.attempt((kv) =>
      Promise.all(batches.map((batch) => kv.getMany<unknown[]>(batch, options)))
    );
    if (read === null) return keys.map(() => null);
    const values: (Bytes | null)[] = [];
    for (const entries of read) {
      for (const { value } of entries) {
        await yieldToEventLoop();
        values.push(decodeValue(value, this.clock.now()));
      }
    }
    return values;
  }

  /**
   * Writes bytes in the background with a lifetime of `ttlMs`. Values that do
   * not fit are dropped. Essential values may exceed the limits for pending
   * bytes and bytes per hour. They are small values that other processes rely
   * on, such as refs.
   */
  set(
    key: CacheKey,
    value: Uint8Array,
    { ttlMs, isEssential = false }: {
      ttlMs: number;
      isEssential?: boolean;
    },
  ): void {
    const pendingBytes = this.pendingBytes + value.length;
    if (this.isPaused || value.length > MAX_VALUE_BYTES) return;
    if (!isEssential && pendingBytes > MAX_PENDING_BYTES) return;
    const expiresAtMs = this.clock.now() + ttlMs;
    this.pending.push({
      key: this.kvKey(key),
      value,
      expiresAtMs,
      isEssential,
    });
    this.pendingBytes = pendingBytes;
    this.cancelTimer ??= this.clock.setTimer(
      FLUSH_AFTER_MS,
      () => void this.flush(),
    );
  }

  /** Resolves when everything set before is committed or dropped. */
  flush(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    const writes = this.pending.splice(0);
    this.flushing = this.flushing.then(() => this.commitAll(writes));
    return this.flushing;
  }

  /** Commits pending writes and closes the store. */
  async close(): Promise<void> {
    await this.flush();
    this.cancelTimer?.();
    if (this.isClosed) return;
    this.isClosed = true;
    // A remote store may never open.
    this.opening?.then((kv) => kv.close()).catch(() => {});
  }

  /**
   * Returns the result of a store call. Returns null if it fails, takes too
   * long or the store is paused. Never throws.
   */
  async attempt<T>(call: (kv: Deno.Kv) => T | Promise<T>): Promise<T | null> {
    const { clock } = this;
    if (this.isPaused) return null;
    const timeout = new AbortController();
    const { signal } = timeout;
    const pause = (error: unknown) =>
      this.pauses.failed("store", error, PAUSE_MS);
    const cancelTimer = clock.setTimer(TIMEOUT_MS, () => {
      const state = `no answer in ${TIMEOUT_MS} ms`;
      const error = new Error(`Cannot reach the key-value store: ${state}`);
      pause(error);
      timeout.abort(error);
    });
    let kv: Deno.Kv | null = null;
    try {
      this.opening ??= this.open().catch((error) => {
        this.opening = null;
        throw error;
      });
      const store = kv = await orAborted(this.opening, signal);
      const value = await orAborted(
        retryLocked(() => call(store), clock, signal),
        signal,
      );
      this.failuresInARow = 0;
      return value;
    } catch (error) {
      if (++this.failuresInARow >= PAUSE_AFTER_FAILURES && !signal.aborted) {
        pause(error);
      }
      if (!this.isClosed && (kv !== null || signal.aborted)) {
        this.options.onError?.(error);
      }
      return null;
    } finally {
      cancelTimer();
    }
  }

  private async commitAll(writes: readonly PendingWrite[]) {
    const batch: Parameters<Deno.AtomicOperation["set"]>[] = [];
    let bytes = 0;
    const commit = async () => {
      const mutations = batch.splice(0);
      bytes = 0;
      await this.attempt((kv) =>
        mutations.reduce((operation, set) => operation.set(...set), kv.atomic())
          .commit()
      );
    };
    for (const { key, value, expiresAtMs, isEssential } of writes) {
      await yieldToEventLoop();
      const record = this.isPaused ? null : encodeValue(value, expiresAtMs);
      this.pendingBytes -= value.length;
      if (record === null || !(isEssential || this.takeBudget(record.length))) {
        continue;
      }
      if (
        bytes + record.length > MAX_COMMIT_BYTES ||
        batch.length >= MAX_COMMIT_KEYS
      ) {
        await commit();
      }
      // The store removes expired values with some delay.
      batch.push([key, record, {
        expireIn: Math.max(1, expiresAtMs - this.clock.now()),
      }]);
      bytes += record.length;
    }
    if (batch.length > 0) await commit();
  }

  /**
   * Takes bytes out of the hour's budget. Returns false and takes nothing if
   * the budget is too small.
   */
  private takeBudget(bytes: number): boolean {
    const now = this.clock.monotonicMs();
    if (now >= this.hourEndsAtMs) {
      [this.hourEndsAtMs, this.hourBytes] = [now + HOUR_MS, 0];
    }
    if (this.hourBytes + bytes > this.options.maxBytesPerHour) return false;
    this.hourBytes += bytes;
    return true;
  }

  /** Whether the last call of the store succeeded. */
  get isUp(): boolean {
    return this.failuresInARow === 0 && !this.isPaused;
  }

  private get isPaused(): boolean {
    return this.isClosed || this.pauses.waitMs("store") > 0;
  }

  private kvKey(key: CacheKey): Deno.KvKey {
    return [KV_PREFIX, "value", this.options.scope, ...key];
  }
}

/**
 * Returns the result of a call. The call is repeated while another process has
 * the SQLite file locked. The process that creates the file locks it until its
 * tables exist.
 * @throws what `call` throws.
 * @throws the reason of `signal` between two calls.
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
      if (triesLeft === 0 || !String(error).includes("database is locked")) {
        throw error;
      }
      await clock.sleep(Math.random() * MAX_LOCK_PAUSE_MS, signal);
    }
  }
}
