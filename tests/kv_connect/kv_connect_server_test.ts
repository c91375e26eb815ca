// Proves the server by Deno's own client.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { KvConnectServer, type KvOperation, oneIn } from "./kv_connect_server.ts";
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

/** Registers a test with a server and a client of it. */
function testServer(
  name: string,
  run: (server: KvConnectServer, kv: Deno.Kv) => Promise<void>,
): void {
  Deno.test(`KvConnectServer ${name}`, async () => {
    await using server = await KvConnectServer.start();
    using kv = await server.open();
    await run(server, kv);
  });
}

testServer("passes the time of expiry on", async (server, kv) => {
  const { local } = server;
  const atomic = local.atomic.bind(local);
  const expiries: (number | undefined)[] = [];
  local.atomic = () => {
    const operation = atomic();
    const set = operation.set.bind(operation);
    operation.set = (key, value, options) => {
      expiries.push(options?.expireIn);
      return set(key, value, options);
    };
    return operation;
  };
  await kv.set(["a"], 1, { expireIn: 5_000_000 });
  await kv.set(["b"], 1);
  assert(Math.abs(expiries[0]! - 5_000_000) < 100_000);
  assertEquals(expiries.slice(1), [undefined]);
});

testServer(
  "counts one request a read, write or watch, and is late on request",
  async (server, kv) => {
    server.counts.clear();
    await kv.getMany(Array.from({ length: 10 }, (_, n) => [n]));
    await kv.atomic().set(["a"], 1).set(["b"], 2).commit();
    const changes = kv.watch([["a"], ["b"]])[Symbol.asyncIterator]();
    await changes.next();
    await changes.return?.();
    const counted: KvOperation[] = ["snapshot_read", "atomic_write", "watch"];
    assertEquals(counted.map((operation) => server.counts.get(operation)), [1, 1, 1]);
    server.latencyMs = 30;
    const startedAtMs = performance.now();
    await kv.get(["a"]);
    assert(performance.now() - startedAtMs >= 25, "timers may run a little early");
  },
);

testServer("fails one in N requests, which Deno's client repeats", async (server, kv) => {
  server.fault = oneIn(2);
  server.counts.clear();
  for (let n = 0; n < 3; n++) assert((await kv.set(["a"], n)).ok);
  assertEquals((await kv.get(["a"])).value, 2);
  const { counts } = server;
  assert(counts.get("atomic_write")! + counts.get("snapshot_read")! > 4);
  server.fault = () => 429;
  await assertRejects(() => kv.get(["a"]), Error, "429");
});

testServer("refuses another token, at the start and later", async (server, kv) => {
  server.token = "another";
  await assertRejects(() => kv.get(["a"]), Error, "refused");
  await assertRejects(() => server.open(), TypeError, "401");
});

testServer("goes away and comes back with what it stored, for a watch too", async (server, kv) => {
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

testServer("moves its endpoint, and clients follow by the next metadata", async (server) => {
  server.metadataTtlMs = 10_300;
  using kv = await server.open();
  await kv.set(["a"], 1);
  server.endpoint = "/moved";
  // Soon, but not at once: the client requests new metadata 10 s before the end of the old.
  server.metadataTtlMs = 3_600_000;
  assertEquals((await kv.get(["a"])).value, 1);
});
