// Names that lead to no collection: what the error says, and what it costs.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { suggest } from "../../lib/collections/resolve_collection.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";

/** Levenshtein's distance, by its table. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const char of a) {
    const next = [row[0]! + 1];
    for (let i = 0; i < b.length; i++) {
      const change = row[i]! + (char === b[i] ? 0 : 1);
      next.push(Math.min(change, next[i]! + 1, row[i + 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

function distance(a: string, b: string): number {
  if (a === b) return 0;
  if (a.includes(b) || b.includes(a)) return 1;
  return 1 + edits(a, b) / Math.max(a.length, b.length);
}

Deno.test("suggest() gives the five nearest names by edits, of up to 32 characters", () => {
  const words = [5, 32].map((maxLength) =>
    fc.string({ unit: fc.constantFrom(..."abc"), minLength: 1, maxLength })
  );
  const word = fc.oneof(...words);
  fc.assert(
    fc.property(word, fc.uniqueArray(word, { maxLength: 12 }), (name, candidates) => {
      const nearest = candidates
        .toSorted((a, b) => distance(a, name) - distance(b, name) || (a < b ? -1 : 1)).slice(0, 5);
      assertEquals(suggest(name, candidates, () => true), nearest);
    }),
    { numRuns: 300 },
  );
});

Deno.test("suggest() ignores case, gives a name once, skips those that are not usable or the 2,001st", () => {
  const usable = (name: string) => name !== "bad";
  const found = suggest("posts", ["Posts", "posts-old", "POST", "bad", "POST"], usable);
  assertEquals(found, ["Posts", "POST", "posts-old"]);
  // Long names are compared by their ends.
  const parent = "parent/".repeat(100);
  const [posts, other] = [`${parent}posts`, `${parent}other`];
  assertEquals(suggest(`${parent}poists`, [other, posts], usable), [posts, other]);
  const names = Array.from({ length: 2_001 }, (_, n) => `${n}`);
  assertEquals(suggest("1999", names, usable)[0], "1999");
  assert(!suggest("2000", names, usable).includes("2000"));
});

Deno.test("a file where a collection usually is is mentioned, the first one that was met", async () => {
  await using site = await startSite({
    "content/guide": "1",
    "docs/guide": "2",
    "data/posts.json": "[]",
  });
  for (const file of ["content/guide", "data/posts.json"]) {
    const collection = file.split("/")[1]!;
    const { code, detail } = await site.service.problem(listPath({ collection }));
    assertEquals(code, "collection-not-found");
    assert(detail.startsWith(`"${file}" is a file, not a folder.`), detail);
  }
});

Deno.test("suggestions are names that work as collection, whatever folders are called", async () => {
  const parent = `${"y".repeat(250)}/`.repeat(4);
  await using site = await startSite({
    "_./a.md": "1",
    "_../a.md": "2",
    "a\u0001b/a.md": "3",
    "zzz/a.md": "4",
    [`${parent}${"x".repeat(200)}/a.md`]: "5",
  });
  for (const name of ["zz", `${parent}z`]) {
    const { suggestions } = await site.service.problem(listPath({ collection: name }));
    assert(suggestions!.length > 0);
    for (const collection of suggestions!) await site.service.list({ collection });
  }
});
