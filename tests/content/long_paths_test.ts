// Paths may have thousands of characters. What repeats them stops once it is
// too large.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { compareLists } from "../../lib/content/changes.ts";
import { describeCollections } from "../../lib/content/collections.ts";
import { writeSitemap } from "../../lib/content/feed.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { FileList, FileListBuilder } from "../../lib/source/file_list.ts";
import { counted } from "./counted.ts";

const COUNT = 5_000;
const LONG = `${"\u20ac".repeat(83)}/`.repeat(12);

function listOf(
  pathOf: (number: string) => string,
  lastId = "a",
): Uint8Array {
  const builder = new FileListBuilder();
  for (let n = 0; n < COUNT; n++) {
    const path = pathOf(String(n).padStart(4, "0"));
    const id = n === COUNT - 1 ? lastId : "a";
    builder.add({ path, id: id.repeat(40), size: 1 });
  }
  return builder.build().bytes;
}

/** How many paths `work` reads. */
const readPaths = (work: () => void) =>
  counted(FileList.prototype, "pathAt", work);

Deno.test("compareLists() compares no files after 4 MiB of paths", () => {
  const files = listOf((number) => `${LONG}${number}`);
  const after = { folder: "posts", files, rule: undefined };
  const compared = counted(FileList.prototype, "at", () => {
    assertEquals(compareLists({ before: null, after }), null);
  });
  assert(compared > COUNT / 2 && compared < COUNT, `${compared}`);
});

Deno.test("compareLists() counts no paths that did not change", () => {
  const sideOf = (lastId: string) => ({
    folder: "posts",
    files: listOf((number) => `${LONG}${number}.md`, lastId),
    rule: { extension: "md" },
  });
  const json = compareLists({ before: sideOf("a"), after: sideOf("b") });
  const { changed, added } = JSON.parse(new TextDecoder().decode(json!));
  assertEquals([changed.length, added.length], [1, 0]);
});

Deno.test("writeSitemap() writes no address after its maximum", () => {
  const input = {
    files: listOf((number) => `${LONG}${number}.md`),
    indices: Uint32Array.from({ length: COUNT }, (_, n) => n),
    dates: [],
    linkTemplate: "https://a.test/{slug}",
    collection: "posts",
    maxBytes: 1 << 20,
  };
  const read = readPaths(() => {
    assertThrows(() => writeSitemap(input), CollectionsError, "more than");
  });
  assert(read < COUNT / 10, `${read}`);
});

Deno.test("describeCollections() finds no folder after its maximum", () => {
  const files = listOf((number) => `${number}${LONG.slice(0, 80)}/a.md`);
  const input = {
    ...{ repository: "r", files, declared: [], path: "" },
    ...{ format: "plain", maxItemBytes: 1, maxBytes: 10_000 } as const,
  };
  const read = readPaths(() => {
    assertThrows(() => describeCollections(input), CollectionsError);
  });
  // Each path is also read for its kind.
  assert(read < COUNT + COUNT / 10, `${read}`);
});
