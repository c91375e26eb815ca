// Immutable values by repository and object id: memory over the key-value store. An object id never changes its
// content, so an entry is never out of date. A tier that fails or has damaged data is a miss, never an error.

import { LRUCache } from "lru-cache";
import type { KvTier } from "./kv_tier.ts";
import type { Bytes } from "./kv_value.ts";

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
    encode(value: T): Uint8Array;
    /** Null, or an error, for bytes that are not the value of this id. */
    decode(bytes: Bytes, id: string): T | null;
  };
}

/** The codec of values that are plain JSON data. */
export const jsonCodec = {
  encode: (value: unknown): Bytes => new TextEncoder().encode(JSON.stringify(value)),
  /** Null for bytes that are not JSON. */
  decode(bytes: Bytes) {
    try {
      return JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      return null;
    }
  },
};

/** Caches immutable objects. Every key contains the repository: an id alone never gives access. */
export class ObjectCache {
  private readonly memory: LRUCache<string, NonNullable<unknown>>;

  /** `maxBytes`, at least 1, bounds keys, values and overhead in memory; `onHit` is called for every value that is found. */
  constructor(
    private readonly options: {
      readonly maxBytes: number;
      readonly kv: KvTier | null;
      readonly onHit?: (tier: "memory" | "kv") => void;
    },
  ) {
    this.memory = new LRUCache({ maxSize: Math.floor(options.maxBytes) });
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.memory.calculatedSize;
  }

  /** The value in memory, without a read of the key-value store. */
  peek<T>(kind: ObjectKind<T>, repository: string, id: string): T | undefined {
    return this.memory.get(memoryKey(kind, repository, id)) as T | undefined;
  }

  /**
   * The value under each id that has one, by id. All ids that are not in memory are read together; `memoryOnly` skips the
   * key-value store, where it is known to have nothing. `onStoreRead` is called with their number before they are read
   * from it. Never rejects.
   */
  async getMany<T>(
    kind: ObjectKind<T>,
    repository: string,
    ids: readonly string[],
    { memoryOnly = false, onStoreRead }: {
      readonly memoryOnly?: boolean;
      readonly onStoreRead?: (count: number) => void;
    } = {},
  ): Promise<Map<string, T>> {
    const { kv, onHit } = this.options;
    const found = new Map<string, T>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const value = this.peek(kind, repository, id);
      if (value === undefined) missing.push(id);
      else {
        found.set(id, value);
        onHit?.("memory");
      }
    }
    if (missing.length === 0 || memoryOnly || kv === null || !kind.codec) return found;
    onStoreRead?.(missing.length);
    const keys = missing.map((id) => [kind.name, repository, id]);
    const stored = await kv.get(keys, { consistency: "eventual" });
    for (const [index, id] of missing.entries()) {
      // A value that was set while the store was read is the newer one.
      const value = this.peek(kind, repository, id) ?? decode(kind.codec, stored[index]!, id);
      if (value === null) continue;
      onHit?.("kv");
      found.set(id, value);
      this.remember(kind, repository, id, value);
    }
    return found;
  }

  /** One value. Never rejects. */
  async get<T>(kind: ObjectKind<T>, repository: string, id: string): Promise<T | undefined> {
    return (await this.getMany(kind, repository, [id])).get(id);
  }

  /** Stores a value in memory now, and in the key-value store in the background. Nothing is read first. */
  set<T>(kind: ObjectKind<T>, repository: string, id: string, value: T): void {
    this.remember(kind, repository, id, value);
    const { kv } = this.options;
    if (kv === null || kind.codec === undefined) return;
    kv.set([kind.name, repository, id], kind.codec.encode(value), { ttlMs: TTL_MS });
  }

  private remember<T>(kind: ObjectKind<T>, repository: string, id: string, value: T): void {
    const key = memoryKey(kind, repository, id);
    const size = Math.ceil(kind.sizeOf(value)) + key.length + ENTRY_OVERHEAD_BYTES;
    this.memory.set(key, value as NonNullable<T>, { size });
  }
}

function memoryKey(kind: { readonly name: string }, repository: string, id: string): string {
  return `${kind.name}\n${repository}\n${id}`;
}

function decode<T>(
  codec: NonNullable<ObjectKind<T>["codec"]>,
  bytes: Bytes | null,
  id: string,
): T | null {
  try {
    return bytes && codec.decode(bytes, id);
  } catch {
    return null; // Written by a program that encodes otherwise.
  }
}
