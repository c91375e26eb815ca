// Different words that share one list of FTS5's hash table (fts5_hash.c), which
// takes quadratic time for them.

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
/** So many low bits are equal. The table has as many lists for 32,768 words. */
const BITS = 16;
const [START_CHARS, END_CHARS] = [4, 6];
const FIRST = 13;

const hashOf = (word: string, first: number) =>
  [...word].reduceRight(
    (hash, char) => (hash << 3) ^ hash ^ char.charCodeAt(0),
    first,
  );
const lowBits = (hash: number) => hash & ((1 << BITS) - 1);

/** A text of so many letters, another for each number. */
function textOf(number: number, chars: number): string {
  let text = "";
  for (let rest = number; text.length < chars; rest = Math.floor(rest / 26)) {
    text += LETTERS[rest % 26];
  }
  return text;
}

/** Returns so many words. */
export function collidingWords(count: number): string[] {
  // The hash is linear in the bits: that of a word is the sum of its parts.
  const starts = Map.groupBy(
    Array.from({ length: 26 ** START_CHARS }, (_, n) => textOf(n, START_CHARS)),
    (start) => lowBits(hashOf(start, 0)),
  );
  const words: string[] = [];
  for (let n = 0; words.length < count; n++) {
    const end = textOf(n, END_CHARS);
    let wanted = hashOf(end, FIRST);
    for (let char = 0; char < START_CHARS; char++) wanted ^= wanted << 3;
    for (const start of starts.get(lowBits(wanted)) ?? []) {
      words.push(start + end);
    }
  }
  return words.slice(0, count);
}
