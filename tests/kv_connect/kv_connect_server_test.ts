// Proves the server by Deno's own client, beside Deno's own store; faults, refused tokens, endpoints that move and a server
// that goes away are in remote_kv_slow_test.ts.

import { assertEquals, assertRejects } from "@std/assert";
import { testOnEachStore } from "./shared_stores.ts";

testOnEachStore("Kv sets, gets, lists, deletes and checks", async (store) => {
  using kv = await store.open();
  const values = [new Uint8Array(0), new Uint8Array(65_536).fill(7), "é", null, { a: [1, "b"] }];
  for (const [index, value] of values.entries()) {
    const key = ["values", index, new Uint8Array([0, 255, index])];
    const { versionstamp } = await kv.set(key, value);
    assertEquals(await kv.get(key), { key, value, versionstamp });
  }
  await assertRejects(() => kv.set(["values"], new Uint8Array(65_537)), TypeError, "65536");
  for (let n = 0; n < 30; n++) await kv.set(["a", n], n);
  // The client asks for the rest of a list in further reads.
  const list = await Array.fromAsync(kv.list({ prefix: ["a"] }, { batchSize: 10 }));
  assertEquals(list.map(({ value }) => value), [...Array(30).keys()]);
  await kv.delete(["a", 1]);
  const many = await kv.getMany([["a", 0], ["a", 1], ["none"]]);
  assertEquals(many.map(({ value }) => value), [0, null, null]);

  const setChecked = async (versionstamp: string | null, value: number) =>
    await kv.atomic().check({ key: ["b"], versionstamp }).set(["b"], value).commit();
  const first = await setChecked(null, 1);
  assertEquals(await setChecked(null, 2), { ok: false });
  assertEquals((await kv.get(["b"])).value, 1);
  assertEquals((await setChecked(first.ok ? first.versionstamp : "", 3)).ok, true);
});

testOnEachStore("Kv watches keys that are missing, set and deleted", async (store) => {
  using kv = await store.open();
  await kv.set(["a"], 1);
  const changes = kv.watch<[number, number]>([["a"], ["b"]])[Symbol.asyncIterator]();
  const next = async () => {
    const [a, b] = (await changes.next()).value!;
    return [a.value, b.value];
  };
  assertEquals(await next(), [1, null]);
  await kv.set(["b"], 2);
  assertEquals(await next(), [1, 2]);
  await kv.atomic().delete(["a"]).set(["b"], 3).commit();
  assertEquals(await next(), [null, 3]);
  await changes.return?.();
});
