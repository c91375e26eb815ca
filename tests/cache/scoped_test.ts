import { assertEquals } from "@std/assert";
import { KvCache } from "../../lib/cache/kv.ts";
import { MemoryCache } from "../../lib/cache/memory.ts";
import { ScopedCache } from "../../lib/cache/scoped.ts";
import { testCache } from "./cache_suite.ts";

testCache("ScopedCache", async (clock) => {
  const kv = new KvCache(await Deno.openKv(":memory:"), { now: () => clock.nowMs });
  return new ScopedCache(kv, "0123456789ab");
});

Deno.test("ScopedCache shows nothing of another scope", async () => {
  const memory = new MemoryCache({ maxBytes: 100_000 });
  const value = new Uint8Array([1]);
  const [a, b] = [new ScopedCache(memory, "a"), new ScopedCache(memory, "b")];
  await a.set(["key"], value, { ttlMs: 60_000 });

  assertEquals((await a.get(["key"]))?.value, value);
  assertEquals(await b.get(["key"]), null);
  await b.set(["key"], value, { ttlMs: 0 });
  assertEquals((await a.get(["key"]))?.value, value);
});
