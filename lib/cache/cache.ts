// The port of every cache tier: bytes under a key of text parts, with a time of death. A tier that fails or holds
// damaged data answers as if it had nothing; no method ever throws.

/** The parts of a key, most general first. Under one of more than 1,500 bytes as UTF-8 a tier may keep nothing. */
export type CacheKey = readonly string[];

/** What a tier holds under a key. */
export interface CacheEntry {
  readonly value: Uint8Array<ArrayBuffer>;
  /** From when on the value may not be given any more, in ms since the epoch. */
  readonly diesAtMs: number;
}

/** Options of {@linkcode Cache.set}. */
export interface SetOptions {
  /** How long the value may be given, in ms; longer lives are fine for what is its own id. */
  readonly ttlMs: number;
}

/** Keeps bytes for a while. Values are immutable once given or taken: copy before changing one. */
export interface Cache {
  /** A word for metrics and logs: "memory", "kv". */
  readonly name: string;
  /** What is under a key, or null when there is nothing, it is too old, or it cannot be read. */
  get(key: CacheKey): Promise<CacheEntry | null>;
  /** Keeps bytes under a key, replacing what was there; with a life that is not over 0 only forgets it. */
  set(key: CacheKey, value: Uint8Array<ArrayBuffer>, options: SetOptions): Promise<void>;
  /** Releases what is held, when the calls under way are done; later calls answer as an empty cache. */
  close(): Promise<void>;
}
