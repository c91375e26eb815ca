// The tier in Deno KV, shared by processes and kept over restarts. The parts of a value are written under a generation
// of their own, the manifest last and only over the one that was seen: what is read is one whole write, or nothing.

import type { Cache, CacheEntry, CacheKey, SetOptions } from "./cache.ts";
import { decodeChunks, encodeChunks, type Manifest, PART_BYTES, readManifest } from "./chunks.ts";
import { GuardedKv, type GuardOptions } from "./guarded_kv.ts";
import { fitsKv, manifestKey, partsKey } from "./kv_keys.ts";
import type { WriteBudget } from "./write_budget.ts";

type Bytes = Uint8Array<ArrayBuffer>;

// A commit takes 819,200 bytes of keys and values, and 81,920 bytes of keys, of which one has at most 2,048.
const SETS_PER_COMMIT = Math.floor(800_000 / (PART_BYTES + 2_048));
const DELETES_PER_COMMIT = 40;
const SET_TRIES = 3;
// The store's own removal is no clock to go by; it only clears away what is dead already.
const REMOVAL_DELAY_MS = 60_000;
const MAX_LIFE_MS = 366 * 24 * 3_600_000;

/** Options of {@linkcode KvCache}. */
export interface KvCacheOptions extends GuardOptions {
  /** Hears once of every call that failed. */
  readonly onError?: (error: unknown) => void;
  /** Bounds what is written; past it `set` only forgets what was there. */
  readonly budget?: WriteBudget;
  /** The largest value that is kept, in bytes before packing; 64 MiB where absent. */
  readonly maxValueBytes?: number;
}

/** Keeps values in a Deno KV, which it closes in the end. A key that KV cannot hold is never found. */
export class KvCache implements Cache {
  readonly name = "kv";
  private readonly kv: GuardedKv;
  private readonly now: () => number;
  private readonly onError: (error: unknown) => void;
  private readonly budget: WriteBudget | null;
  private readonly maxValueBytes: number;
  private readonly running = new Set<Promise<unknown>>();
  private closing: Promise<void> | null = null;

  constructor(kv: Deno.Kv, options: KvCacheOptions = {}) {
    this.kv = new GuardedKv(kv, options);
    this.now = options.now ?? Date.now;
    this.onError = options.onError ?? (() => {});
    this.budget = options.budget ?? null;
    this.maxValueBytes = options.maxValueBytes ?? 64 * 1024 * 1024;
  }

  get(key: CacheKey): Promise<CacheEntry | null> {
    return this.attempt(key, async () => {
      const manifest = readManifest((await this.kv.get(manifestKey(key))).value);
      if (manifest === null || !(manifest.diesAtMs > this.now())) return null;
      const { generation, partCount, diesAtMs } = manifest;
      const parts = partCount > 0 ? await this.kv.list(partsKey(key, generation), partCount) : [];
      const value = await decodeChunks(key, manifest, parts);
      return value && { value, diesAtMs };
    });
  }

  async set(key: CacheKey, value: Bytes, { ttlMs }: SetOptions): Promise<void> {
    const isKept = ttlMs > 0 && value.length <= this.maxValueBytes;
    await this.attempt(
      key,
      () => isKept ? this.write(key, { value, diesAtMs: this.now() + ttlMs }) : this.remove(key),
    );
  }

  close(): Promise<void> {
    this.closing ??= Promise.allSettled(this.running).then(() => this.kv.close())
      .catch(this.onError);
    return this.closing;
  }

  private async write(key: CacheKey, entry: CacheEntry): Promise<null> {
    const { manifest, parts, generation } = await encodeChunks(key, entry);
    const bytes = parts.reduce((sum, part) => sum + part.length, manifest.length);
    if (this.budget?.take(bytes) === false) return this.remove(key);
    const lifeMs = Math.min(entry.diesAtMs - this.now(), MAX_LIFE_MS);
    const expireIn = Math.ceil(Math.max(0, lifeMs)) + REMOVAL_DELAY_MS;
    for (const some of batches([...parts.entries()], SETS_PER_COMMIT)) {
      await this.kv.commit((operation) =>
        some.reduce(
          (all, [i, part]) => all.set([...partsKey(key, generation), i], part, { expireIn }),
          operation,
        )
      );
    }
    for (let tries = 0; tries < SET_TRIES; tries++) {
      const old = await this.kv.get(manifestKey(key));
      const done = await this.kv.commit((operation) =>
        operation.check(old).set(manifestKey(key), manifest, { expireIn })
      );
      if (done) return this.removeParts(key, readManifest(old.value));
    }
    // Others write this key all the time: theirs is as good.
    return this.removeParts(key, readManifest(manifest));
  }

  private async remove(key: CacheKey): Promise<null> {
    const old = await this.kv.get(manifestKey(key));
    if (old.versionstamp === null) return null;
    await this.kv.commit((operation) => operation.delete(manifestKey(key)));
    return this.removeParts(key, readManifest(old.value));
  }

  private async removeParts(key: CacheKey, manifest: Manifest | null): Promise<null> {
    if (manifest === null) return null;
    // A damaged manifest may name any number of parts; what is left over goes when it expires.
    const count = Math.min(manifest.partCount, Math.ceil(this.maxValueBytes / PART_BYTES) + 1);
    const indexes = Array.from({ length: count }, (_, index) => index);
    for (const some of batches(indexes, DELETES_PER_COMMIT)) {
      await this.kv.commit((operation) =>
        some.reduce((all, i) => all.delete([...partsKey(key, manifest.generation), i]), operation)
      );
    }
    return null;
  }

  /** Every failure is a miss: null instead of it, and of all that comes while the store is closed or rests. */
  private async attempt<T>(key: CacheKey, work: () => Promise<T | null>): Promise<T | null> {
    if (this.closing !== null || this.kv.resting || !fitsKv(key)) return null;
    const run = work();
    this.running.add(run);
    try {
      return await run;
    } catch (error) {
      this.onError(error);
      return null;
    } finally {
      this.running.delete(run);
    }
  }
}

function batches<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, i) => items.slice(i * size, (i + 1) * size));
}
