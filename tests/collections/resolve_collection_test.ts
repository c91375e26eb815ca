import { assert, assertEquals } from "@std/assert";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

Deno.test("a file where a collection usually is is mentioned, the first one that was met", async () => {
  await using site = await startSite({
    "content/guide": "1",
    "docs/guide": "2",
    "data/posts.json": "[]",
  });
  for (
    const [collection, file] of [["guide", "content/guide"], ["posts.json", "data/posts.json"]]
  ) {
    const response = await site.service.get(listPath({ collection: collection! }));
    const { code, detail } = await response.json();
    assertEquals(code, "collection-not-found");
    assert(detail.startsWith(`"${file}" is a file, not a folder.`), detail);
  }
});

Deno.test("suggestions are names that work as collection, whatever folders are called", async () => {
  const long = "y".repeat(250);
  await using site = await startSite({
    "_./a.md": "1",
    "_../a.md": "2",
    "a\u0001b/a.md": "3",
    "zzz/a.md": "4",
    [`${`${long}/`.repeat(4)}${"x".repeat(200)}/a.md`]: "5",
  });
  for (const collection of ["zz", `${`${long}/`.repeat(4)}z`]) {
    const { suggestions } = await (await site.service.get(listPath({ collection }))).json();
    assert(suggestions.length > 0);
    for (const suggestion of suggestions) {
      const response = await site.service.get(listPath({ collection: suggestion }));
      assertEquals([suggestion, response.status], [suggestion, 200]);
      await response.body?.cancel();
    }
  }
});
