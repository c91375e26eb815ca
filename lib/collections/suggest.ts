// Finds the existing names that are most similar to a requested one. The cost is bounded: every candidate gets a cheap
// lower bound of its distance, and only the nearest by that are compared in full.

const MAX_SUGGESTIONS = 5;
/** A folder may have any number of entries. */
export const MAX_CANDIDATES = 2_000;
/** Longer names are compared by their beginning alone. */
const MAX_COMPARED_CHARS = 64;
const MAX_COMPARED_IN_FULL = 50;

/**
 * At most five of the candidates (of the first 2,000) for which `isUsable` is true, the likeliest first; ties by name.
 * The distance is 0 for the same name in another case, 1 where one contains the other, else 1 and the edits as a share of
 * the longer name's length.
 */
export function suggest(
  name: string,
  candidates: readonly string[],
  isUsable: (candidate: string) => boolean,
): string[] {
  const wanted = name.toLowerCase();
  const bagDistance = bagDistanceTo(wanted);
  const nearest = candidates.slice(0, MAX_CANDIDATES)
    .map((candidate) => {
      const lower = candidate.toLowerCase();
      return { candidate, lower, bound: distanceOf(wanted, lower, bagDistance) };
    })
    .sort((a, b) => a.bound - b.bound || (a.candidate < b.candidate ? -1 : 1));
  return nearest.slice(0, MAX_COMPARED_IN_FULL)
    .filter(({ candidate }) => isUsable(candidate))
    .map(({ candidate, lower }) => ({
      candidate,
      distance: distanceOf(wanted, lower, (b) => edits(wanted.slice(0, MAX_COMPARED_CHARS), b)),
    }))
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ candidate }) => candidate);
}

function distanceOf(a: string, b: string, editsTo: (b: string) => number): number {
  if (a === b) return 0;
  if (a.includes(b) || b.includes(a)) return 1;
  return 1 + editsTo(b.slice(0, MAX_COMPARED_CHARS)) / Math.max(a.length, b.length);
}

/**
 * Gives the number of characters by which two names differ whatever their order; edits are never fewer. Characters fall
 * into 256 classes, which can only lower the number.
 */
function bagDistanceTo(name: string): (text: string) => number {
  const wanted = name.slice(0, MAX_COMPARED_CHARS);
  const counts = new Int16Array(256);
  for (let i = 0; i < wanted.length; i++) counts[wanted.charCodeAt(i) & 255]!++;
  return (text) => {
    let shared = 0;
    for (let i = 0; i < text.length; i++) if (counts[text.charCodeAt(i) & 255]!-- > 0) shared++;
    for (let i = 0; i < text.length; i++) counts[text.charCodeAt(i) & 255]!++;
    return Math.max(wanted.length, text.length) - shared;
  };
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
