// Immutable values by repository and object id: memory over the key-value store. An object id never changes its
// content, so an entry is never out of date. A tier that fails or has damaged data is a miss, never an error.

import { LRUCache } from "lru-cache";
import type { KvTier } from "./kv_tier.ts";

/** What an entry takes in memory beside its key and value: objects, map slots, list links; measured, rounded up. */
export const ENTRY_OVERHEAD_BYTES = 512;

const TTL_MS = 24 * 3_600_000;

/** How one kind of object is stored. The name is part of every key; change it when the meaning of the bytes changes. */
export interface ObjectKind<T> {
  readonly name: string;
  /** Bytes that a value takes in memory, by estimate. */
  sizeOf(value: T): number;
  /** For the key-value store. A kind without a codec lives in memory only. */
  readonly codec?: {
    encode(value: T): Uint8Array<ArrayBuffer>;
    /** Null for bytes that do not decode. */
    decode(bytes: Uint8Array<ArrayBuffer>): T | null;
    /** Values that encode to more bytes than this stay in memory only. */
    readonly maxBytes: number;
  };
}

/** Where an object is looked up. */
export interface LookupOptions {
  /** Skips the key-value store, where it is known to have nothing. */
  readonly memoryOnly?: boolean;
}

/** Options of {@linkcode ObjectCache}. */
export interface ObjectCacheOptions {
  /** The most that keys, values and overhead may take in memory together. */
  readonly maxBytes: number;
  /** Null where there is no key-value store. */
  readonly kv: KvTier | null;
  /** Called for every value that is found, with the tier that had it. */
  readonly onHit?: (tier: "memory" | "kv") => void;
}

/** Caches immutable objects. The second part of every key is the repository: an id alone never gives access. */
export class ObjectCache {
  private readonly memory: LRUCache<string, NonNullable<unknown>>;
  private readonly kv: KvTier | null;
  private readonly onHit: (tier: "memory" | "kv") => void;

  constructor({ maxBytes, kv, onHit }: ObjectCacheOptions) {
    // lru-cache reads 0 as "without bound"; every entry is larger than 1.
    this.memory = new LRUCache({ maxSize: Math.max(1, Math.floor(maxBytes)) });
    this.kv = kv;
    this.onHit = onHit ?? (() => {});
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.memory.calculatedSize;
  }

  /** The value in memory, without a read of the key-value store. */
  peek<T>(kind: ObjectKind<T>, repository: string, id: string): T | undefined {
    return this.memory.get(memoryKey(kind, repository, id)) as T | undefined;
  }

  /** The value under each id that has one, by id. All ids that are not in memory are read together. Never rejects. */
  async getMany<T>(
    kind: ObjectKind<T>,
    repository: string,
    ids: readonly string[],
    { memoryOnly = false }: LookupOptions = {},
  ): Promise<Map<string, T>> {
    const found = new Map<string, T>();
    const missing = new Set<string>();
    for (const id of ids) {
      const value = this.peek(kind, repository, id);
      if (value === undefined) missing.add(id);
      else found.set(id, value);
    }
    for (let hits = found.size; hits > 0; hits--) this.onHit("memory");
    const { codec } = kind;
    if (missing.size === 0 || memoryOnly || this.kv === null || codec === undefined) return found;
    const wanted = [...missing];
    const stored = await this.kv.get(wanted.map((id) => kvKey(kind, repository, id)), {
      consistency: "eventual",
    });
    wanted.forEach((id, index) => {
      // A value that was set while the store was read is the newer one.
      const value = this.peek(kind, repository, id) ?? decoded(codec, stored[index] ?? null);
      if (value === null) return;
      this.onHit("kv");
      found.set(id, value);
      this.remember(kind, memoryKey(kind, repository, id), value);
    });
    return found;
  }

  /** One value. Never rejects. */
  async get<T>(
    kind: ObjectKind<T>,
    repository: string,
    id: string,
    options?: LookupOptions,
  ): Promise<T | undefined> {
    return (await this.getMany(kind, repository, [id], options)).get(id);
  }

  /** Stores a value in memory now, and in the key-value store in the background. Nothing is read first. */
  set<T>(kind: ObjectKind<T>, repository: string, id: string, value: T): void {
    this.remember(kind, memoryKey(kind, repository, id), value);
    const { codec } = kind;
    if (this.kv === null || codec === undefined) return;
    const bytes = codec.encode(value);
    if (bytes.length > codec.maxBytes) return;
    this.kv.set(kvKey(kind, repository, id), bytes, { ttlMs: TTL_MS });
  }

  /** Resolves when pending writes are done, then closes the store. */
  async close(): Promise<void> {
    this.memory.clear();
    await this.kv?.close();
  }

  private remember<T>(kind: ObjectKind<T>, key: string, value: T): void {
    const size = Math.ceil(kind.sizeOf(value)) + key.length + ENTRY_OVERHEAD_BYTES;
    this.memory.set(key, value as NonNullable<T>, { size });
  }
}

function memoryKey(kind: { readonly name: string }, repository: string, id: string): string {
  return `${kind.name}\n${repository}\n${id}`;
}

function kvKey(kind: { readonly name: string }, repository: string, id: string): string[] {
  return [kind.name, repository, id];
}

function decoded<T>(
  codec: NonNullable<ObjectKind<T>["codec"]>,
  bytes: Uint8Array<ArrayBuffer> | null,
): T | null {
  if (bytes === null) return null;
  try {
    return codec.decode(bytes);
  } catch {
    return null; // Written by a program that encodes otherwise.
  }
}
