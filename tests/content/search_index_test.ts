import { assert, assertEquals, assertThrows } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { addRows, findRows, indexedTexts } from "../../lib/content/search.ts";
import { unlimited } from "../../lib/thread/compute.ts";
import { collidingWords } from "./colliding_words.ts";

const words = (count: number) =>
  Array.from({ length: count }, (_, n) => `w${n}`.padEnd(5, "x"));
const wordsIn = (texts: readonly string[]) =>
  new Set(texts.join(" ").match(/\w+/g)).size;

Deno.test("indexedTexts() ends after so many different words", () => {
  const short = ["a title", "", "x y", words(900).join(" ")];
  assertEquals(indexedTexts(short), short);
  const same = ["a", "b", "c", "d e ".repeat(100_000)];
  assertEquals(indexedTexts(same), same);
  const texts = indexedTexts(["a title", "", "x y", words(9_000).join(" ")]);
  assertEquals(texts[0], "a title");
  const found = wordsIn(texts);
  assert(found > 4_000 && found <= 5_000, `${found} words`);
  // A newer letter separates words for FTS5.
  const joined = indexedTexts([words(60_000).join("\u{1e900}")]);
  assert(wordsIn(joined) < 15_000, `${wordsIn(joined)} words`);
});

Deno.test("indexedTexts() ends texts after 1 MiB", () => {
  const [text] = indexedTexts(["a b ".repeat(1 << 20)]);
  assertEquals(text!.length, 1 << 20);
});

Deno.test("addRows() takes linear time for words that share a hash", () => {
  const all = collidingWords(40_000);
  assertEquals(new Set(all).size, all.length);
  /** Adds rows of 5,000 words each, and returns how long that took. */
  const add = (count: number) => {
    const name = { repository: "r", index: `${count}`, folder: "f" };
    const startedMs = performance.now();
    addRows(name, (add) => {
      for (let row = 0; row < count; row++) {
        const text = all.slice(row * 5_000, (row + 1) * 5_000).join(" ");
        add(indexedTexts(["", "", "", text]));
      }
    });
    const tookMs = performance.now() - startedMs;
    const search = `${all[(count - 1) * 5_000]!} `;
    assertEquals([...findRows({ ...name, search }, unlimited).keys()], [count]);
    return tookMs;
  };
  add(1);
  const [some, more] = [add(2), add(8)];
  assert(more < 10 * some, `2 rows: ${some} ms, 8 rows: ${more} ms`);
});

Deno.test("addRows() refuses what fills the index", () => {
  const name = { repository: "r", index: "full", folder: "f" };
  const rowOf = (row: number) =>
    words(5_000).map((word) => `${word}x${row}`).join(" ");
  const error = assertThrows(
    () =>
      addRows(name, (add) => {
        for (let row = 0; row < 5_000; row++) add(["", "", "", rowOf(row)]);
      }),
    CollectionsError,
  );
  assertEquals(error.code, "collection-too-large");
});
