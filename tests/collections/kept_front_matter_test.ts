import { assert, assertEquals } from "@std/assert";
import { startSite } from "../site.ts";

/** Just short of the 1,024 UTF-16 units that a declared folder may have, in names that Git can keep in files. */
const LONG = {
  "3 bytes a character": Array(16).fill("€".repeat(63)).join("/"),
  "4 bytes a character": Array(16).fill("𝄞".repeat(31)).join("/"),
};

for (const [what, folder] of Object.entries(LONG)) {
  Deno.test(`keepFrontMatter() of a folder too long for the store's keys harms nothing: ${what}`, async () => {
    assert(folder.length <= 1024 && new TextEncoder().encode(folder).length > 1_900);
    const content = [{ name: "long", type: "collection", path: folder }];
    await using site = await startSite({
      ".pages.yml": JSON.stringify({ content }),
      [`${folder}/a.md`]: "---\ndate: 2026-01-01\n---\n",
      [`${folder}/b.md`]: "---\ndate: 2026-01-02\n---\n",
    });
    const { service } = site;
    const { collection, items } = await service.list({
      collection: "long",
      sort: "-frontMatter.date",
    });
    assertEquals(collection.path, folder);
    assertEquals(items.map(({ name }) => name), ["b.md", "a.md"]);
    await service.services.close();
    assertEquals(service.logLines().filter(({ level }) => level !== "info"), []);
  });
}
