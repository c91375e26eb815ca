// Names that lead to no collection: which ones the error suggests.

import { assert, assertEquals } from "@std/assert";
import { suggest } from "../../lib/content/suggest.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

Deno.test("suggest() gives the five nearest usable names once", () => {
  const parent = "parent/".repeat(100);
  const rows: [name: string, candidates: string, found: string][] = [
    ["posts", "Posts posts-old POST posts/../a POST", "Posts POST posts-old"],
    [
      "recipes",
      "recepies guides receipt recipe recipse reziepe",
      "recipe recepies recipse receipt reziepe",
    ],
    ["abcd", "xyzw abxy abcx", "abcx abxy xyzw"],
    // Long names are compared by their ends.
    [
      `${parent}poists`,
      `${parent}other ${parent}posts`,
      `${parent}posts ${parent}other`,
    ],
  ];
  for (const [name, candidates, found] of rows) {
    const names = candidates.split(" ");
    const suggested = suggest({ name, names, folders: [] });
    assertEquals(suggested.join(" "), found);
  }
  const names = Array.from({ length: 2_001 }, (_, n) => `${n}`);
  assertEquals(suggest({ name: "1999", names, folders: [] })[0], "1999");
  assert(
    !suggest({ name: "2000", names, folders: [] }).includes("2000"),
    "only 2,000 names are compared",
  );
});

Deno.test("suggestions are names that work as collection", async () => {
  const parent = `${"y".repeat(250)}/`.repeat(4);
  await using site = await startSite({
    "admin/config.yml": "collections: [{ name: zzzy, folder: gone }]",
    "_./a.md": "1",
    "_../a.md": "2",
    "a\u0001b/a.md": "3",
    "zzz/a.md": "4",
    "_zz/a.md": "5",
    ".zz/a.md": "6",
    [`${parent}${"x".repeat(200)}/a.md`]: "7",
  });
  const { suggestions } = await site.service.problem(
    listPath({ collection: "zzzz" }),
  );
  assertEquals(suggestions!.slice(0, 2), ["zz", "zzz"]);
  assert(!suggestions!.includes(".zz"), "hidden folders are no collections");
  const below = await site.service.problem(
    listPath({ collection: `${parent}z` }),
  );
  for (const collection of [...suggestions!, ...below.suggestions!]) {
    await site.service.list({ collection });
  }
});
