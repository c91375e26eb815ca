// A Deno KV with a hook before each of its calls, through which a test counts
// them, delays them or makes them fail; and values to store.

/** The calls that reach the store. */
export type KvCall = "getMany" | "commit";

/**
 * Wraps `kv` with `before`, awaited ahead of each call; what it throws is
 * thrown in place of the call.
 */
export function watchedKv(
  kv: Deno.Kv,
  before: (call: KvCall) => void | Promise<void>,
): Deno.Kv {
  const watched: Pick<Deno.Kv, "getMany" | "atomic" | "close"> = {
    async getMany(keys, options) {
      await before("getMany");
      return await kv.getMany(keys, options);
    },
    atomic() {
      const operation = kv.atomic();
      const commit = operation.commit.bind(operation);
      return Object.assign(operation, {
        async commit() {
          await before("commit");
          return await commit();
        },
      });
    },
    close: () => kv.close(),
  };
  return watched as Deno.Kv;
}

/** Counts the reads of a store from now on. */
export function countReads(kv: Deno.Kv): { count: number } {
  const reads = { count: 0 };
  const getMany = kv.getMany.bind(kv);
  kv.getMany = ((...parameters: Parameters<typeof getMany>) => {
    reads.count++;
    return getMany(...parameters);
  }) as typeof kv.getMany;
  return reads;
}

/** Every entry of a store. */
export async function allEntries(
  kv: Deno.Kv,
): Promise<Deno.KvEntry<unknown>[]> {
  return await Array.fromAsync(kv.list({ prefix: [] }));
}

/** Byte by byte; `assertEquals` takes long over megabytes. */
export function equalBytes(a: Uint8Array | null, b: Uint8Array): boolean {
  return a !== null && a.length === b.length &&
    a.every((byte, i) => byte === b[i]);
}

/**
 * Bytes that do not compress, so that their size is the stored size;
 * `getRandomValues` gives at most 65,536 at once.
 */
export function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
}

/** Random letters: a value that deflates slowly and does not fit. */
export function letters(): Uint8Array<ArrayBuffer> {
  return randomBytes(4 << 20).map((byte) => 97 + byte % 4);
}
