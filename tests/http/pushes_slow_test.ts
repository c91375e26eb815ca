// How soon 200 pushes show in two processes on one store, by their clock.

import { assertEquals, assertLessOrEqual } from "@std/assert";
import { openFile, testOnEachStore } from "../kv_connect/shared_stores.ts";
import { pushWithHook, pushWithoutHook } from "./deliveries.ts";

const PUSHES = 200;

testOnEachStore("with the webhook 200 pushes show in 2 s in both processes", async (store) => {
  const delaysMs = await pushWithHook(store, PUSHES);
  assertEquals(delaysMs.length, 2 * PUSHES);
  assertLessOrEqual(Math.max(...delaysMs), 2_000);
});

Deno.test("without the webhook 200 pushes show in 61 s in both processes", async () => {
  await using store = await openFile();
  const delaysMs = await pushWithoutHook(store, PUSHES);
  assertEquals(delaysMs.length, PUSHES);
  assertLessOrEqual(Math.max(...delaysMs), 61_000);
});
