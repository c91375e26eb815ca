import { assertEquals } from "@std/assert";
import { itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { countReads } from "./watched_kv.ts";

Deno.test("a warm process reads the store at most twice", async () => {
  const kv = await Deno.openKv(":memory:");
  const reads = countReads(kv);
  const posts = Array.from(
    { length: 60 },
    (_, n) => [`src/content/blog/2024/p${n}.md`, `${n}\n`],
  );
  await using site = await startSite(Object.fromEntries(posts), { kv });
  const readsOf = async (path: string) => {
    reads.count = 0;
    await (await site.service.get(path)).body?.cancel();
    return reads.count;
  };
  const item = (n: number) =>
    itemPath({ path: `src/content/blog/2024/p${n}.md` });
  for (const path of [listPath({ collection: "blog", limit: 10 }), item(1)]) {
    await readsOf(path);
  }
  await readsOf(listPath({ collection: "nope" }));

  assertEquals(
    await readsOf(listPath({ collection: "blog", limit: 10, page: 2 })),
    0,
  );
  assertEquals(await readsOf(listPath({ collection: "nope" })), 0);
  assertEquals(await readsOf(item(2)), 1);
});
