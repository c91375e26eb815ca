// Immutable values by repository and object id: memory over the key-value store. An object id never changes its
// content, so nothing here is ever wrong, only absent. A tier that fails or holds damaged data is a miss, never an error.

/** How one kind of object is stored. The name is part of every key; change it when the meaning of the bytes changes. */
export interface ObjectKind<T> {
  readonly name: string;
  /** Bytes that a value takes in memory, by estimate. */
  sizeOf(value: T): number;
  /** For the key-value store. A kind without a codec lives in memory only. */
  readonly codec?: {
    encode(value: T): Uint8Array<ArrayBuffer>;
    /** Null for bytes that are no such value. */
    decode(bytes: Uint8Array<ArrayBuffer>): T | null;
    /** Values that encode to more bytes than this stay in memory only. */
    readonly maxBytes: number;
  };
}

/** Where an object is looked up. */
export interface LookupOptions {
  /** Skips the key-value store, where it is known to hold nothing. */
  readonly memoryOnly?: boolean;
}

/** See the head of this file. The second part of every key is the repository: an id alone never opens a door. */
export interface ObjectCache {
  /** Bytes in memory. */
  readonly bytes: number;
  /** The value in memory, without asking the key-value store. */
  peek<T>(kind: ObjectKind<T>, repository: string, id: string): T | undefined;
  /** The value under each id that has one, by id. All ids that memory does not hold are read together. Never rejects. */
  getMany<T>(
    kind: ObjectKind<T>,
    repository: string,
    ids: readonly string[],
    options?: LookupOptions,
  ): Promise<Map<string, T>>;
  /** One value. Never rejects. */
  get<T>(
    kind: ObjectKind<T>,
    repository: string,
    id: string,
    options?: LookupOptions,
  ): Promise<T | undefined>;
  /** Stores a value in memory now, and in the key-value store in the background. Nothing is read first. */
  set<T>(kind: ObjectKind<T>, repository: string, id: string, value: T): void;
  /** Resolves when pending writes are done, then closes the store. */
  close(): Promise<void>;
}
