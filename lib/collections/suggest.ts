// Finds the existing names that are most similar to a requested one. Two thousand names take two milliseconds.

/** At most so many candidates are compared: a folder may have any number of entries. */
export const MAX_CANDIDATES = 2_000;
const MAX_SUGGESTIONS = 5;
/** The bits of an integer. Longer names are compared by their ends: beginnings are often one parent's path. */
const MAX_COMPARED_CHARS = 32;

/**
 * At most five of the candidates (of the first 2,000) for which `isUsable` is true, the likeliest first; ties by name.
 * The distance is 0 for the same name in another case, 1 where one contains the other, else 1 and the edits as a share of
 * the longer name's length.
 */
export function suggest(
  name: string,
  candidates: readonly string[],
  isUsable: (name: string) => boolean,
): string[] {
  const wanted = name.toLowerCase();
  const wantedEnd = wanted.slice(-MAX_COMPARED_CHARS);
  const countEdits = editCounter(wantedEnd);
  const distanceOf = (lower: string): number => {
    if (lower === wanted) return 0;
    if (lower.includes(wanted) || wanted.includes(lower)) return 1;
    const end = lower.slice(-MAX_COMPARED_CHARS);
    return 1 + countEdits(end) / Math.max(end.length, wantedEnd.length);
  };
  const compared = new Set(candidates.slice(0, MAX_CANDIDATES)).values()
    .map((name) => ({ name, distance: distanceOf(name.toLowerCase()) })).toArray()
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return compared.values().map(({ name }) => name).filter(isUsable)
    .take(MAX_SUGGESTIONS).toArray();
}

/**
 * Counts the edits (Levenshtein) from a text of up to 32 characters, by the bit vectors of Myers (doi 10.1145/316542.316550)
 * and Hyyrö: one column of the table at a time, a bit for each row that is one more, or one less, than the row above.
 */
function editCounter(wanted: string): (text: string) => number {
  const positions = new Int32Array(0x10000);
  for (let i = 0; i < wanted.length; i++) positions[wanted.charCodeAt(i)]! |= 1 << i;
  const lastRow = 1 << (wanted.length - 1);
  return (text) => {
    let edits = wanted.length;
    let more = -1;
    let less = 0;
    for (let i = 0; i < text.length; i++) {
      const same = positions[text.charCodeAt(i)]!;
      const diagonal = (((same & more) + more) ^ more) | same | less;
      // Against the column before.
      const moreThanBefore = less | ~(diagonal | more);
      const lessThanBefore = more & diagonal;
      if (moreThanBefore & lastRow) edits++;
      if (lessThanBefore & lastRow) edits--;
      const shifted = (moreThanBefore << 1) | 1;
      more = (lessThanBefore << 1) | ~(diagonal | shifted);
      less = shifted & diagonal;
    }
    return edits;
  };
}
