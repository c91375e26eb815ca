// The other process of a test: writes values to the KV file that is its argument, known by their bytes, then one to find.

import { KvTier } from "../../lib/cache/kv_tier.ts";
import { systemClock } from "../../lib/clock.ts";

const ttlMs = 60_000;
const WRITES = 40;

if (import.meta.main) {
  const tier = new KvTier(await Deno.openKv(Deno.args[0]), {
    ...{ clock: systemClock, scope: "s", maxBytesPerHour: 1e9 },
    onError: console.error,
  });
  for (let i = 0; i < WRITES; i++) {
    tier.set(["both"], pattern(128 + i), { ttlMs });
    await tier.flush();
  }
  tier.set(["theirs"], pattern(7), { ttlMs });
  await tier.close();
}

/** 100,000 bytes that do not deflate, each set by `seed`, which is the first. */
export function pattern(seed: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(100_000);
  let state = seed + 1;
  for (let i = 1; i < bytes.length; i++) {
    state = Math.imul(state, 1_664_525) + 1_013_904_223 | 0;
    bytes[i] = state >>> 24;
  }
  bytes[0] = seed;
  return bytes;
}
