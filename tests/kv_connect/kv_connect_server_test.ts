// Proves the server by Deno's own client.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { KvConnectServer, type KvOperation, oneIn } from "./kv_connect_server.ts";

/** Registers a test that runs on a local database and, by the server, on a remote one. */
function onBoth(name: string, run: (kv: Deno.Kv) => Promise<void>): void {
  Deno.test(`${name}, locally`, async () => {
    using kv = await Deno.openKv(":memory:");
    await run(kv);
  });
  Deno.test(`${name}, remotely`, async () => {
    await using server = await KvConnectServer.start();
    using kv = await server.open();
    await run(kv);
    assert(server.counts.size > 1);
  });
}

onBoth("Kv gives values of every kind back as they were set", async (kv) => {
  const values = [
    new Uint8Array(0),
    new Uint8Array(65_536).fill(7),
    "text é",
    "x".repeat(65_000),
    3.5,
    7n,
    true,
    null,
    { a: [1, { b: "c" }], u: new Uint8Array([1, 2]) },
    new Map([["a", new Date(1)]]),
    new Deno.KvU64(2n ** 63n),
  ];
  for (const [index, value] of values.entries()) {
    const key = ["values", index, new Uint8Array([0, 255, index]), 7n, true];
    const set = await kv.set(key, value);
    assertEquals(await kv.get(key), { key, value, versionstamp: set.versionstamp });
  }
  await assertRejects(() => kv.set(["a"], new Uint8Array(65_537)), TypeError, "65536");
  assertEquals(await kv.get(["a"]), { key: ["a"], value: null, versionstamp: null });
});

onBoth("Kv gets many, deletes and lists by prefix, range, limit and order", async (kv) => {
  for (let n = 0; n < 1_200; n += 10) {
    const atomic = kv.atomic();
    for (let m = n; m < n + 10; m++) atomic.set(["a", m], m);
    await atomic.commit();
  }
  await kv.set(["a"], "itself");
  await kv.set(["b", new Uint8Array([0])], "zero");
  const list = async (selector: Deno.KvListSelector, options?: Deno.KvListOptions) =>
    (await Array.fromAsync(kv.list<number>(selector, options))).map(({ value }) => value);
  const numbers = Array.from({ length: 1_200 }, (_, n) => n);
  assertEquals(await list({ prefix: ["a"] }), numbers);
  assertEquals(
    await list({ prefix: ["a"] }, { reverse: true, batchSize: 500 }),
    numbers.toReversed(),
  );
  assertEquals(await list({ start: ["a", 5], end: ["a", 8] }), [5, 6, 7]);
  assertEquals(await list({ prefix: ["a"], start: ["a", 1_197] }), [1_197, 1_198, 1_199]);
  assertEquals(await list({ prefix: ["a"] }, { limit: 2, reverse: true }), [1_199, 1_198]);
  assertEquals((await list({ prefix: [] }, { limit: 1 })) as unknown[], ["itself"]);
  await kv.delete(["a", 1]);
  const many = await kv.getMany([["a", 0], ["a", 1], ["b", new Uint8Array([0])], ["none"]]);
  assertEquals(many.map(({ value }) => value), [0, null, "zero", null]);
});

onBoth("Kv commits all or nothing by its checks", async (kv) => {
  const first = await kv.atomic().check({ key: ["a"], versionstamp: null }).set(["a"], 1).commit();
  assert(first.ok);
  const { versionstamp } = first;
  assertEquals(
    await kv.atomic().check({ key: ["a"], versionstamp: null }).set(["b"], 1).delete(["a"])
      .commit(),
    { ok: false },
  );
  const second = await kv.atomic().check({ key: ["a"], versionstamp }).set(["a"], 2).set(["b"], 2)
    .commit();
  assert(second.ok && second.versionstamp > versionstamp);
  assertEquals(await kv.atomic().check({ key: ["a"], versionstamp }).delete(["a"]).commit(), {
    ok: false,
  });
  assertEquals((await kv.getMany([["a"], ["b"]])).map(({ value }) => value), [2, 2]);
  await kv.atomic().sum(["n"], 5n).max(["x"], 9n).min(["y"], 3n).commit();
  await kv.atomic().sum(["n"], 2n).max(["x"], 4n).min(["y"], 1n).commit();
  const numbers = await kv.getMany<Deno.KvU64[]>([["n"], ["x"], ["y"]]);
  assertEquals(numbers.map(({ value }) => value?.value), [7n, 9n, 1n]);
});

onBoth("Kv watches keys that are missing, set and deleted", async (kv) => {
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

Deno.test("KvConnectServer passes the time of expiry on", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  // What has expired stays readable until a sweep, at times of the database's own: set far apart, seen in the request.
  const set = spyOn(server, "set");
  await kv.set(["a"], 1, { expireIn: 5_000_000 });
  await kv.set(["b"], 1);
  assertEquals(set.map((options) => options?.expireIn === undefined), [false, true]);
  assert(Math.abs(set[0]!.expireIn! - 5_000_000) < 100_000);
});

/** Records the options of a method of every atomic operation on the server's local database. */
function spyOn(server: KvConnectServer, method: "set"): ({ expireIn?: number } | undefined)[] {
  const seen: ({ expireIn?: number } | undefined)[] = [];
  const { local } = server;
  const atomic = local.atomic.bind(local);
  local.atomic = () => {
    const operation = atomic();
    const original = operation[method].bind(operation);
    operation[method] = (key, value, options) => {
      seen.push(options);
      return original(key, value, options);
    };
    return operation;
  };
  return seen;
}

Deno.test("KvConnectServer counts one request a read, write or watch, however many keys it has", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  server.counts.clear();
  await kv.getMany(Array.from({ length: 10 }, (_, n) => [n]));
  await kv.atomic().set(["a"], 1).set(["b"], 2).commit();
  const changes = kv.watch([["a"], ["b"]])[Symbol.asyncIterator]();
  await changes.next();
  await changes.return?.();
  const counted: KvOperation[] = ["snapshot_read", "atomic_write", "watch"];
  assertEquals(counted.map((operation) => server.counts.get(operation)), [1, 1, 1]);
});

Deno.test("KvConnectServer fails one in N requests, which Deno's client repeats", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  server.fault = oneIn(2);
  server.counts.clear();
  for (let n = 0; n < 3; n++) assert((await kv.set(["a"], n)).ok);
  assertEquals((await kv.get(["a"])).value, 2);
  const { counts } = server;
  assert(counts.get("atomic_write")! + counts.get("snapshot_read")! > 4);
  server.fault = () => 429;
  await assertRejects(() => kv.get(["a"]), Error, "429");
});

Deno.test("KvConnectServer takes no time by default", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  server.latencyMs = 30;
  const startedAtMs = performance.now();
  await kv.get(["a"]);
  // Timers may run a little early.
  assert(performance.now() - startedAtMs >= 25);
});

Deno.test("KvConnectServer refuses another token, at the start and later", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  const { token } = server;
  server.token = "another";
  await assertRejects(() => kv.get(["a"]), Error, "refused");
  Deno.env.set("DENO_KV_ACCESS_TOKEN", token);
  await assertRejects(() => Deno.openKv(server.url), TypeError, "401");
});

Deno.test("KvConnectServer goes away and comes back with what it stored", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  await kv.set(["a"], 1);
  await server.down();
  await assertRejects(() => server.open(), TypeError);
  const pending = kv.get(["a"]);
  server.up();
  assertEquals((await pending).value, 1);
});

Deno.test("KvConnectServer shows a watch after an outage what changed meanwhile", async () => {
  await using server = await KvConnectServer.start();
  using kv = await server.open();
  const changes = kv.watch<[number]>([["a"]])[Symbol.asyncIterator]();
  await changes.next();
  await server.down();
  server.up();
  await kv.set(["a"], 2);
  assertEquals((await changes.next()).value![0].value, 2);
  await changes.return?.();
});

Deno.test("KvConnectServer moves its endpoint, and clients follow by the next metadata", async () => {
  await using server = await KvConnectServer.start();
  server.metadataTtlMs = 10_300;
  using kv = await server.open();
  await kv.set(["a"], 1);
  server.endpoint = "/moved";
  // Soon, but not at once: the client requests new metadata 10 s before the end of the old.
  server.metadataTtlMs = 3_600_000;
  assertEquals((await kv.get(["a"])).value, 1);
});
