import { assertEquals } from "@std/assert";
import { RecentMap } from "../../lib/work/recent_map.ts";

Deno.test("RecentMap keeps the entries that were used last", () => {
  const dropped: string[] = [];
  const map = new RecentMap<number>(3, {
    dispose: (value, key, reason) => dropped.push(`${key} ${value} ${reason}`),
  });
  for (const [value, key] of ["a", "b", "c"].entries()) map.set(key, value);
  map.get("a");
  // A new value of a full map drops no other.
  map.set("b", 9);
  map.set("d", 3);
  assertEquals([...map.keys()], ["d", "b", "a"]);
  assertEquals(dropped, ["b 1 set", "c 2 evict"]);
});
