// Deno KV as it can be leant on: every call ends in time. A locked database is asked again; a remote one that went away
// would be waited for without end, so after a time-out the store rests and is not asked at all.

import { type Clock, systemClock } from "../clock.ts";

/** With three processes that write all the time, one commit in eight finds the file locked; on a busy machine more. */
const LOCK_TRIES = 20;
const MAX_LOCK_PAUSE_MS = 50;

/** Options of {@linkcode GuardedKv}. */
export interface GuardOptions {
  /** After how many ms a call is given up, all its tries together; 2,000 where absent. */
  readonly timeoutMs?: number;
  /** For how many ms the store is left alone after that; 30,000 where absent. */
  readonly restMs?: number;
  /** The time in ms since the epoch. */
  readonly now?: () => number;
  /** Waits before a locked database is asked again. */
  readonly sleep?: Clock["sleep"];
  /** Tells when a call's time is up. */
  readonly alarm?: Clock["alarm"];
}

/** Bounds every call to a Deno KV in time. Each method throws what the store throws, or an Error on time-out. */
export class GuardedKv {
  private readonly timeoutMs: number;
  private readonly restMs: number;
  private readonly now: () => number;
  private readonly sleep: Clock["sleep"];
  private readonly alarm: Clock["alarm"];
  private restsUntilMs = -Infinity;

  constructor(private readonly kv: Deno.Kv, options: GuardOptions = {}) {
    this.timeoutMs = options.timeoutMs ?? 2_000;
    this.restMs = options.restMs ?? 30_000;
    this.now = options.now ?? systemClock.now;
    this.sleep = options.sleep ?? systemClock.sleep;
    this.alarm = options.alarm ?? systemClock.alarm;
  }

  /** Whether the store rests after a time-out and should not be asked. */
  get resting(): boolean {
    return this.now() < this.restsUntilMs;
  }

  /** Reads one entry. */
  get(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<unknown>> {
    return this.call(() => this.kv.get(key));
  }

  /** The values of the first `limit` entries under a prefix, in order of key. */
  list(prefix: Deno.KvKey, limit: number): Promise<unknown[]> {
    return this.call(async () => {
      const values: unknown[] = [];
      const batchSize = Math.min(limit, 500);
      for await (const { value } of this.kv.list({ prefix }, { limit, batchSize })) {
        values.push(value);
      }
      return values;
    });
  }

  /** Commits what `fill` puts into an atomic operation; false where a check of it did not hold. */
  commit(fill: (operation: Deno.AtomicOperation) => Deno.AtomicOperation): Promise<boolean> {
    return this.call(async () => (await fill(this.kv.atomic()).commit()).ok);
  }

  /** Closes the store; calls under way throw. */
  close(): void {
    this.kv.close();
  }

  private call<T>(work: () => Promise<T>): Promise<T> {
    return this.inTime(() => this.retryLocked(work));
  }

  private async retryLocked<T>(work: () => Promise<T>): Promise<T> {
    for (let left = LOCK_TRIES - 1;; left--) {
      try {
        return await work();
      } catch (error) {
        // Two processes wrote to one SQLite file at once.
        if (left === 0 || !String(error).includes("database is locked")) throw error;
        await this.sleep(Math.random() * MAX_LOCK_PAUSE_MS);
        if (this.resting) throw error;
      }
    }
  }

  private async inTime<T>(work: () => Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const callOff = this.alarm(this.timeoutMs, () => {
      this.restsUntilMs = this.now() + this.restMs;
      late.reject(
        new Error(`Cannot reach the key-value store: no answer in ${this.timeoutMs} ms`),
      );
    });
    try {
      return await Promise.race([work(), late.promise]);
    } finally {
      callOff();
    }
  }
}
