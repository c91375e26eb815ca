// Reads the parameter `search`. No character of it has a meaning in FTS5. Long
// phrases are slow to find and nothing stops SQLite, so there are none.

const MAX_CHARS = 1_000;
const MAX_TERMS = 32;

/** What FTS5's tokenizer `unicode61` takes as a word. */
export const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;
/** Letters of scripts that write no spaces between words. */
const UNSPACED =
  /[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&\p{L}]/v;
const UNSPACED_LETTERS = new RegExp(`${UNSPACED.source}+`, "gv");
const UNSPACED_RUN = new RegExp(`(?:${UNSPACED.source}\\p{M}*){1,4}`, "gv");

/** Separates words of indexed text that has no spaces. Never shown. */
export const SEPARATOR = "\u200b";

/**
 * Returns the text with each letter of an unspaced script as a word, also next
 * to letters of other scripts.
 */
export function separateWords(text: string): string {
  return text.replace(
    UNSPACED_LETTERS,
    (letters) => ["", ...letters, ""].join(SEPARATOR),
  );
}

/**
 * Returns the terms of a search. Each is a word or up to four letters of an
 * unspaced script.
 * @throws {SyntaxError} if it has too many characters or terms.
 */
export function termsOf(search: string): string[] {
  if (search.length > MAX_CHARS) {
    throw new SyntaxError(`must have at most ${MAX_CHARS} characters`);
  }
  const terms = search.replace(UNSPACED_RUN, " $& ").match(WORD) ?? [];
  if (terms.length > MAX_TERMS) {
    throw new SyntaxError(`must have at most ${MAX_TERMS} words`);
  }
  const last = terms.splice(-1);
  return [...new Set(terms), ...last].map(separateWords);
}

/**
 * Returns the FTS5 expression for texts that have all terms. The last term may
 * be the beginning of a word.
 */
export function matchExpression(terms: readonly string[]): string {
  return `${terms.map((term) => `"${term}"`).join(" ")} *`;
}
