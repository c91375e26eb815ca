// Values of every kind, by Deno's own client. Checks and watches are in
// change_feed_test.ts, many keys in kv_tier_test.ts, faults, refused tokens,
// endpoints that move and a server that goes away in remote_kv_slow_test.ts.

import { assertEquals, assertRejects } from "@std/assert";
import { testOnEachStore } from "./shared_stores.ts";

testOnEachStore(
  "Kv sets, gets and deletes values of up to 65,536 bytes",
  async (store) => {
    using kv = await store.open();
    const values = [
      new Uint8Array(0),
      new Uint8Array(65_536).fill(7),
      "é",
      null,
      { a: [1, "b"] },
    ];
    for (const [index, value] of values.entries()) {
      const key = ["values", index, new Uint8Array([0, 255, index])];
      const { versionstamp } = await kv.set(key, value);
      assertEquals(await kv.get(key), { key, value, versionstamp });
      await kv.delete(key);
      assertEquals(await kv.get(key), { key, value: null, versionstamp: null });
    }
    await assertRejects(
      () => kv.set(["values"], new Uint8Array(65_537)),
      TypeError,
      "65536",
    );
  },
);
