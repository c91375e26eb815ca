// Proves the server by Deno's own client; faults, refused tokens and endpoints that move are in remote_kv_slow_test.ts.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { KvConnectServer } from "./kv_connect_server.ts";
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
  for (let n = 0; n < 600; n += 10) {
    const atomic = kv.atomic();
    for (let m = n; m < n + 10; m++) atomic.set(["a", m], m);
    await atomic.commit();
  }
  const list = async (options: Deno.KvListOptions) =>
    (await Array.fromAsync(kv.list({ prefix: ["a"] }, options))).map(({ value }) => value);
  assertEquals(await list({ batchSize: 500 }), Array.from({ length: 600 }, (_, n) => n));
  assertEquals(await list({ limit: 2, reverse: true }), [599, 598]);
  await kv.delete(["a", 1]);
  const many = await kv.getMany([["a", 0], ["a", 1], ["none"]]);
  assertEquals(many.map(({ value }) => value), [0, null, null]);

  const first = await kv.atomic().check({ key: ["b"], versionstamp: null }).set(["b"], 1).commit();
  assert(first.ok);
  const { versionstamp } = first;
  const again = kv.atomic().check({ key: ["b"], versionstamp: null }).set(["c"], 1).delete(["b"]);
  assertEquals(await again.commit(), { ok: false });
  assert((await kv.atomic().check({ key: ["b"], versionstamp }).set(["b"], 2).commit()).ok);
  assertEquals((await kv.getMany([["b"], ["c"]])).map(({ value }) => value), [2, null]);
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

Deno.test("KvConnectServer goes away and comes back with what it stored, for a watch too", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  await kv.set(["a"], 1);
  const changes = kv.watch<[number]>([["a"]])[Symbol.asyncIterator]();
  await changes.next();
  await server.down();
  await assertRejects(() => server.open(), TypeError);
  const pending = kv.get(["a"]);
  server.up();
  assertEquals((await pending).value, 1);
  await kv.set(["a"], 2);
  let seen = 0;
  while (seen !== 2) seen = (await changes.next()).value![0].value!;
  await changes.return?.();
});
