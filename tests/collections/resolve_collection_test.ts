// Names that lead to no collection: what the error says, and what it costs.

import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { resolveCollection } from "../../lib/collections/resolve_collection.ts";
import { candidateOf, suggest } from "../../lib/collections/suggest.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { MemorySource } from "./memory_source.ts";

/** Levenshtein's distance, by its definition. */
function edits(a: string, b: string): number {
  if (a === "" || b === "") return a.length + b.length;
  const change = a[0] === b[0] ? 0 : 1;
  return Math.min(
    edits(a.slice(1), b.slice(1)) + change,
    edits(a, b.slice(1)) + 1,
    edits(a.slice(1), b) + 1,
  );
}

function distance(a: string, b: string): number {
  if (a === b) return 0;
  if (a.includes(b) || b.includes(a)) return 1;
  return 1 + edits(a, b) / Math.max(a.length, b.length);
}

Deno.test("suggest() gives the five nearest names by edits", () => {
  const word = fc.string({ unit: fc.constantFrom(..."abc"), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(word, fc.uniqueArray(word, { maxLength: 12 }), (name, candidates) => {
      const nearest = candidates
        .toSorted((a, b) => distance(a, name) - distance(b, name) || (a < b ? -1 : 1)).slice(0, 5);
      assertEquals(suggest(name, candidates.map(candidateOf), () => true), nearest);
    }),
    { numRuns: 300 },
  );
});

Deno.test("suggest() ignores case, gives a name once, and skips those that are not usable", () => {
  const candidates = ["Posts", "posts-old", "POST", "bad", "POST"].map(candidateOf);
  const usable = (name: string) => name !== "bad";
  assertEquals(suggest("posts", candidates, usable), ["Posts", "POST", "posts-old"]);
});

Deno.test("a new unknown name is compared with 20 names in full at most, prepared once a tree", async () => {
  const pad = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const shuffled = "zyxwvutsrqponmlkjihgfedcba9876543210-";
  const source = new MemorySource(
    Array.from({ length: 2_000 }, (_, n) => [`${pad}${n}/a.md`, ""]),
  );
  const prepared: string[] = [];
  const set = source.objects.set.bind(source.objects);
  source.objects.set = (kind, repository, id, value) => {
    if (kind.name === "candidates") prepared.push(id);
    set(kind, repository, id, value);
  };
  const missing = async (name: string) => {
    const error = await assertRejects(() => resolveCollection(name, source.read()));
    assert(error instanceof CollectionsError);
    return error.facts.suggestions;
  };
  for (let n = 0; n < 10; n++) assertEquals((await missing(shuffled + n))?.length, 5);
  assertEquals(prepared.length, 1);
  assertEquals((await missing(pad.toUpperCase() + "77"))?.[0], `${pad}77`);

  const candidates = Array.from({ length: 100_000 }, (_, n) => candidateOf(pad + n));
  const countCompared = (name: string) => {
    let compared = 0;
    suggest(name, candidates, () => ++compared > 0);
    return compared;
  };
  assertEquals(countCompared(shuffled), 20);
  assert(countCompared(`${pad}1234`) < 10, "a name near to some leaves the others out");
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
