// Caches immutable values by repository and object id. Memory comes before the
// key-value store. The content of an object id never changes, so an entry is
// never out of date. A tier that fails or has damaged data is a cache miss.

import { LRUCache } from "lru-cache";
import type { KvTier } from "./kv_tier.ts";
import type { Bytes } from "./kv_value.ts";

/**
 * The memory of an entry beside its key and value: objects, map slots and list
 * links. Measured and rounded up.
 */
const ENTRY_OVERHEAD_BYTES = 512;

const TTL_MS = 24 * 3_600_000;

/**
 * Describes how one kind of object is stored. The name is part of every key.
 * Change it when the meaning of the bytes changes.
 */
export interface ObjectKind<T> {
  readonly name: string;
  /** Returns the estimated bytes that a value takes in memory. */
  sizeOf(value: T): number;
  /**
   * Used for the key-value store. A kind without a codec is cached in memory
   * only.
   */
  readonly codec?: {
    encode(value: T): Uint8Array;
    /** Returns null or throws if the bytes are not the value of this id. */
    decode(bytes: Bytes, id: string): T | null;
  };
}

/** Encodes values that are plain JSON data. */
export const jsonCodec = {
  encode: (value: unknown): Bytes =>
    new TextEncoder().encode(JSON.stringify(value)),
  /** Returns null if the bytes are not JSON. */
  decode(bytes: Bytes) {
    try {
      return JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      return null;
    }
  },
};

/**
 * Caches immutable objects. Every key contains the repository because an id
 * alone must not give access.
 */
export class ObjectCache {
  private readonly memory: LRUCache<string, NonNullable<unknown>>;

  /**
   * `maxBytes` limits keys, values and overhead in memory. It is at least 1.
   * `onHit` is called for every value that is found.
   */
  constructor(
    private readonly options: {
      maxBytes: number;
      kv: KvTier | null;
      onHit?: (tier: "memory" | "kv") => void;
    },
  ) {
    this.memory = new LRUCache({ maxSize: Math.floor(options.maxBytes) });
  }

  /**
   * Drops what was used least recently until half of `maxBytes` is free. Drops
   * at most 10,000 entries at once because there may be very many.
   */
  trim(): void {
    const { memory } = this;
    for (let count = 0; count < 10_000; count++) {
      if (memory.calculatedSize <= memory.maxSize / 2) return;
      memory.pop();
    }
  }

  /** The number of bytes in memory. */
  get bytes(): number {
    return this.memory.calculatedSize;
  }

  /** Returns the value in memory without asking the key-value store. */
  peek<T>(kind: ObjectKind<T>, repository: string, id: string): T | undefined {
    return this.memory.get(memoryKey(kind, repository, id)) as T | undefined;
  }

  /**
   * Returns the values that are found, by id. All ids that are not in memory
   * are fetched together. `memoryOnly` skips the key-value store if it is known
   * to have nothing. `onStoreRead` is called with the number of ids before they
   * are fetched from the store. Never rejects.
   */
  async getMany<T>(
    kind: ObjectKind<T>,
    repository: string,
    ids: readonly string[],
    { memoryOnly = false, onStoreRead }: {
      memoryOnly?: boolean;
      onStoreRead?: (count: number) => void;
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
    if (missing.length === 0 || memoryOnly || kv === null || !kind.codec) {
      return found;
    }
    onStoreRead?.(missing.length);
    const keys = missing.map((id) => [kind.name, repository, id]);
    const stored = await kv.get(keys, { consistency: "eventual" });
    for (const [index, id] of missing.entries()) {
      // A value that was set during the fetch is newer.
      const value = this.peek(kind, repository, id) ??
        decode(kind.codec, stored[index]!, id);
      if (value === null) continue;
      onHit?.("kv");
      found.set(id, value);
      this.remember(kind, repository, id, value);
    }
    return found;
  }

  /** Returns one value. Never rejects. */
  async get<T>(
    kind: ObjectKind<T>,
    repository: string,
    id: string,
  ): Promise<T | undefined> {
    return (await this.getMany(kind, repository, [id])).get(id);
  }

  /**
   * Stores a value in memory now and in the key-value store in the background.
   * Nothing is fetched first.
   */
  set<T>(kind: ObjectKind<T>, repository: string, id: string, value: T): void {
    this.remember(kind, repository, id, value);
    const { kv } = this.options;
    if (kv === null || kind.codec === undefined) return;
    kv.set([kind.name, repository, id], kind.codec.encode(value), {
      ttlMs: TTL_MS,
    });
  }

  private remember<T>(
    kind: ObjectKind<T>,
    repository: string,
    id: string,
    value: T,
  ) {
    const key = memoryKey(kind, repository, id);
    const size = Math.ceil(kind.sizeOf(value)) + key.length +
      ENTRY_OVERHEAD_BYTES;
    this.memory.set(key, value as NonNullable<T>, { size });
  }
}

function memoryKey(
  kind: { name: string },
  repository: string,
  id: string,
): string {
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
    return null; // Written by a program with another encoding.
  }
}
