// Which of the names that there are was probably meant.

const MAX_SUGGESTIONS = 5;
/** What is looked at; a folder may have any number of entries. */
const MAX_CANDIDATES = 2_000;
/** Longer names are compared by their beginning alone, so that the cost of a comparison is bounded. */
const MAX_COMPARED = 64;

/** At most five of the candidates (of the first 2,000), the likeliest first; ties by name. */
export function suggest(name: string, candidates: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  return candidates
    .slice(0, MAX_CANDIDATES)
    .map((candidate) => ({ candidate, distance: distanceOf(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ candidate }) => candidate);
}

/** 0 for the same name in another case, 1 where one holds the other, else edits as a share of the length. */
function distanceOf(a: string, b: string): number {
  if (a === b) return 0;
  if (a.includes(b) || b.includes(a)) return 1;
  return 1 +
    edits(a.slice(0, MAX_COMPARED), b.slice(0, MAX_COMPARED)) / Math.max(a.length, b.length);
}

/** Levenshtein's distance. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
