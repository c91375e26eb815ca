// Finds the existing names that are most similar to a requested one. The cost is bounded: every candidate gets a cheap
// lower bound of its distance, and only the nearest by that are compared in full.

/** At most so many candidates are compared: a folder may have any number of entries. */
export const MAX_CANDIDATES = 2_000;
const MAX_SUGGESTIONS = 5;
const MAX_COMPARED_IN_FULL = 20;
/** Longer names are compared by their beginning alone. */
const MAX_COMPARED_CHARS = 48;
/** Classes of characters by their code: letters, digits, `-`, `.` and `/` each fall into one of their own. */
const CLASSES = 39;

/** A name as it is compared, with the number of its characters of each class. */
export interface Candidate {
  readonly name: string;
  readonly lower: string;
  readonly counts: Uint8Array;
}

/** Prepares a name. */
export function candidateOf(name: string): Candidate {
  const lower = name.toLowerCase().slice(0, MAX_COMPARED_CHARS);
  const counts = new Uint8Array(CLASSES);
  for (let i = 0; i < lower.length; i++) counts[lower.charCodeAt(i) % CLASSES]!++;
  return { name, lower, counts };
}

/**
 * At most five of the candidates (of the first 2,000) for which `isUsable` is true, the likeliest first; ties by name.
 * The distance is 0 for the same name in another case, 1 where one contains the other, else 1 and the edits as a share of
 * the longer name's length. `isUsable` is called for each name that is compared in full.
 */
export function suggest(
  name: string,
  candidates: readonly Candidate[],
  isUsable: (name: string) => boolean,
): string[] {
  const wanted = candidateOf(name);
  const considered = candidates.slice(0, MAX_CANDIDATES);
  const bounds = Float64Array.from(considered, (candidate) => lowerBound(wanted, candidate));
  // Sorting all names would compare far more of them than are needed.
  const highest = bounds.toSorted()[MAX_COMPARED_IN_FULL - 1] ?? Infinity;
  const nearest = [...bounds.keys()].filter((index) => bounds[index]! <= highest)
    .map((index) => ({ ...considered[index]!, distance: bounds[index]! }))
    .sort(compareDistances).slice(0, MAX_COMPARED_IN_FULL);

  const found: Compared[] = [];
  for (const candidate of nearest) {
    const last = found[MAX_SUGGESTIONS - 1];
    if (last !== undefined && compareDistances(candidate, last) > 0) break;
    const { name, distance: bound } = candidate;
    if (found.some((one) => one.name === name) || !isUsable(name)) continue;
    const distance = bound <= 1 ? bound : distanceOf(wanted, candidate, edits(wanted, candidate));
    found.push({ name, distance });
    found.sort(compareDistances).splice(MAX_SUGGESTIONS);
  }
  return found.map(({ name }) => name);
}

interface Compared {
  readonly name: string;
  readonly distance: number;
}

function compareDistances(a: Compared, b: Compared): number {
  return a.distance - b.distance || (a.name < b.name ? -1 : 1);
}

function distanceOf(a: Candidate, b: Candidate, edits: number): number {
  return 1 + edits / Math.max(a.lower.length, b.lower.length);
}

/**
 * A distance that is not greater than the real one, and up to 1 is exact: edits are never fewer than the characters by
 * which two names differ whatever their order. That characters share a class can only lower their number.
 */
function lowerBound(a: Candidate, b: Candidate): number {
  if (a.lower === b.lower) return 0;
  let shared = 0;
  for (let i = 0; i < CLASSES; i++) shared += Math.min(a.counts[i]!, b.counts[i]!);
  const [short, long] = a.lower.length < b.lower.length ? [a, b] : [b, a];
  if (shared === short.lower.length && long.lower.includes(short.lower)) return 1;
  return distanceOf(a, b, Math.max(1, long.lower.length - shared));
}

/** Levenshtein's distance, in one row of its table. */
function edits({ lower: a }: Candidate, { lower: b }: Candidate): number {
  const row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    let diagonal = row[0]!;
    row[0] = i + 1;
    for (let j = 0; j < b.length; j++) {
      const change = diagonal + (a[i] === b[j] ? 0 : 1);
      diagonal = row[j + 1]!;
      row[j + 1] = Math.min(change, diagonal + 1, row[j]! + 1);
    }
  }
  return row[b.length]!;
}
