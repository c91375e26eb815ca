// Shows where the terms of a search are in a text.

import { decompose } from "./decompose.ts";
import { escapeMarkup } from "./rendered.ts";
import { SEPARATOR, WORD } from "./search_terms.ts";

const CHARS = { before: 60, after: 180 };

interface Word {
  start: number;
  end: number;
  /** The word without case and diacritics. */
  folded: string;
}

/**
 * Returns the first hits in the first text that has one, with their
 * surroundings. It is HTML: escaped text with the hits in `<mark>`.
 */
export function snippetOf(
  texts: readonly string[],
  terms: readonly string[],
): string {
  const wanted = terms.map((term) => [...wordsOf(term)]);
  for (const text of texts) {
    const hits = hitsOf(text, wanted);
    if (hits.length > 0) return cut(text, hits);
  }
  return cut(texts[0] ?? "", []);
}

function* wordsOf(text: string): Generator<Word> {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const plain = /[^a-z0-9]/i.test(word)
      ? decompose(word).replaceAll(/\p{M}/gu, "")
      : word;
    const end = index + word.length;
    yield { start: index, end, folded: plain.toLowerCase() };
  }
}

/** Returns the hits near the first one. They do not overlap. */
function hitsOf(text: string, wanted: readonly Word[][]) {
  const hits: { start: number; end: number }[] = [];
  const longest = Math.max(1, ...wanted.map(({ length }) => length));
  const recent: Word[] = [];
  const take = () => {
    const found = wanted.find((term, at) =>
      term.every(({ folded }, n) =>
        at === wanted.length - 1 && n === term.length - 1
          ? recent[n]?.folded.startsWith(folded)
          : recent[n]?.folded === folded
      )
    );
    const words = recent.splice(0, found?.length ?? 1);
    if (found === undefined) return;
    hits.push({ start: words[0]!.start, end: words.at(-1)!.end });
  };
  for (const word of wordsOf(text)) {
    recent.push(word);
    if (recent.length < longest) continue;
    take();
    if (hits.length > 0 && word.start > hits[0]!.start + CHARS.after) break;
  }
  while (recent.length > 0) take();
  return hits;
}

function cut(text: string, hits: readonly { start: number; end: number }[]) {
  const start = Math.max(0, (hits[0]?.start ?? 0) - CHARS.before);
  const limit = (hits[0]?.start ?? 0) + CHARS.after;
  let html = start > 0 ? "…" : "";
  let at = start;
  for (const hit of hits) {
    if (hit.start >= limit) break;
    const end = Math.min(hit.end, limit);
    html += `${escape(text.slice(at, hit.start))}<mark>${
      escape(text.slice(hit.start, end))
    }</mark>`;
    at = end;
  }
  return (html + escape(text.slice(at, limit))).trim() +
    (limit < text.length ? "…" : "");
}

function escape(text: string): string {
  return escapeMarkup(
    text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "")
      .replaceAll(SEPARATOR, "").replaceAll(/\s+/g, " "),
  );
}
