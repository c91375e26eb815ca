// Where a cache key lies in Deno KV. The kind comes first and bytes end the prefix of a write's parts, which no cache
// key can hold: a list over the parts of one key never reads below another.

import type { CacheKey } from "./cache.ts";

// KV takes 2,048 bytes; the rest is for what is put around a cache key here. The port promises 1,500: what is between
// is for the ends of its parts and for a scope.
const MAX_KEY_BYTES = 1_900;

const encoder = new TextEncoder();

/** The KV key of a manifest. */
export function manifestKey(key: CacheKey): Deno.KvKey {
  return ["rc1", "m", ...key];
}

/** The prefix of the parts of one write; the index of a part follows it. */
export function partsKey(key: CacheKey, generation: Uint8Array<ArrayBuffer>): Deno.KvKey {
  return ["rc1", "p", ...key, generation];
}

/** Whether KV has room for a key and can tell it from every other: it turns lone surrogates into one another. */
export function fitsKv(key: CacheKey): boolean {
  const bytes = key.reduce((sum, part) => {
    const zeros = part.split("\0").length - 1; // KV doubles them.
    return sum + encoder.encode(part).length + zeros + 2;
  }, 0);
  return bytes <= MAX_KEY_BYTES && key.every((part) => part.isWellFormed());
}
