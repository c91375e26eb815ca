import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { suggest } from "../../lib/collections/suggest.ts";

const any = () => true;

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

function plain(name: string, candidates: readonly string[]): string[] {
  const distance = (candidate: string) =>
    candidate === name
      ? 0
      : candidate.includes(name) || name.includes(candidate)
      ? 1
      : 1 + edits(name, candidate) / Math.max(name.length, candidate.length);
  return candidates.toSorted((a, b) => distance(a) - distance(b) || (a < b ? -1 : 1)).slice(0, 5);
}

Deno.test("suggest() gives the five nearest names by edits", () => {
  const word = fc.string({ unit: fc.constantFrom(..."abc"), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(word, fc.uniqueArray(word, { maxLength: 12 }), (name, candidates) => {
      assertEquals(suggest(name, candidates, any), plain(name, candidates));
    }),
    { numRuns: 300 },
  );
});

Deno.test("suggest() ignores case and skips names that are not usable", () => {
  assertEquals(suggest("posts", ["Posts", "posts-old", "POST", "bad"], (name) => name !== "bad"), [
    "Posts",
    "POST",
    "posts-old",
  ]);
});

Deno.test("suggest() compares few of many long names in full", () => {
  const long = "abcdefghijklmnopqrstuvwxyz0123456789-".repeat(10);
  const candidates = Array.from({ length: 100_000 }, (_, n) => `${n}${long}`);
  let compared = 0;
  const found = suggest("zyxwvutsrqponmlkjihgfedcba".repeat(30), candidates, () => {
    compared++;
    return true;
  });
  assertEquals(found.length, 5);
  assert(compared <= 50, `${compared} candidates`);
});
