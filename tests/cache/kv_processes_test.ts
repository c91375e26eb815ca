import { assert, assertEquals } from "@std/assert";
import { KvCache } from "../../lib/cache/kv.ts";
import { configFlag } from "../run_task.ts";
import { pattern } from "./kv_writer.ts";

const ttlMs = 60_000;
const writer = `${import.meta.dirname}/kv_writer.ts`;

Deno.test("KvCache of two processes on one file share values and never see half of one", async () => {
  const folder = await Deno.makeTempDir();
  const errors: unknown[] = [];
  const cache = new KvCache(await Deno.openKv(`${folder}/kv`), {
    onError: (error) => errors.push(error),
  });
  const other = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", await configFlag(), writer, `${folder}/kv`],
  }).output();
  let running = true;
  let found = 0;
  other.finally(() => running = false);
  for (let i = 0; running; i++) {
    if (i % 10 === 0) await cache.set(["both"], pattern(i % 128), { ttlMs });
    const entry = await cache.get(["both"]);
    if (entry === null) continue;
    found++;
    assertEquals(entry.value, pattern(entry.value[0]!));
  }
  const { code, stderr } = await other;
  assertEquals([code, new TextDecoder().decode(stderr), errors], [0, "", []]);
  assertEquals((await cache.get(["theirs"]))?.value, pattern(7));
  assert(found > 0);
  await cache.close();
  await Deno.remove(folder, { recursive: true });
});
