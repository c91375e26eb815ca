// What the key-value store costs: packing and unpacking, and reading through the tier. Sizes are those of a short
// file, of the largest value that needs no parts, and of the largest blob that is stored.

import { decodeChunks, encodeChunks, readManifest } from "../lib/cache/chunks.ts";
import { KvCache } from "../lib/cache/kv.ts";
import { noise, prose } from "./sample_bytes.ts";

const KEY = ["blob", "octo/site", "0123456789abcdef0123456789abcdef01234567"];
const DIES_AT_MS = Number.MAX_SAFE_INTEGER;
const SIZES = { "1 KB": 1_000, "60 KB": 59_000, "1 MB": 1_000_000 };

const folder = await Deno.makeTempDir();
const cache = new KvCache(await Deno.openKv(`${folder}/kv`), {
  onError: (error) => {
    throw error;
  },
});
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

for (const [title, length] of Object.entries(SIZES)) {
  for (const [kind, value] of [["text", prose(length)], ["noise", noise(length)]] as const) {
    const entry = { value, diesAtMs: DIES_AT_MS };
    const { manifest, parts } = await encodeChunks(KEY, entry);
    const key = [...KEY, title, kind];
    await cache.set(key, value, { ttlMs: 3_600_000 });
    if ((await cache.get(key))?.value.length !== length) throw new Error(`Cannot read "${key}"`);

    Deno.bench(`encodeChunks() of ${title} of ${kind}`, { group: `encode ${title}` }, async () => {
      await encodeChunks(KEY, entry);
    });

    Deno.bench(`decodeChunks() of ${title} of ${kind}`, { group: `decode ${title}` }, async () => {
      await decodeChunks(KEY, readManifest(manifest)!, parts);
    });

    Deno.bench(`KvCache.get() of ${title} of ${kind}`, { group: `read ${title}` }, async () => {
      await cache.get(key);
    });
  }
}
