// A part of a cache that nobody else sees: what is kept for one scope is never found by another.

import type { Cache, CacheEntry, CacheKey, SetOptions } from "./cache.ts";

/** A cache whose keys all begin with `scope`, a few bytes; closes what it stands on. */
export class ScopedCache implements Cache {
  readonly name: string;

  constructor(private readonly cache: Cache, private readonly scope: string) {
    this.name = cache.name;
  }

  get(key: CacheKey): Promise<CacheEntry | null> {
    return this.cache.get([this.scope, ...key]);
  }

  set(key: CacheKey, value: Uint8Array<ArrayBuffer>, options: SetOptions): Promise<void> {
    return this.cache.set([this.scope, ...key], value, options);
  }

  close(): Promise<void> {
    return this.cache.close();
  }
}
