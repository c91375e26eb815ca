// Sorting that holds up nobody: short runs by the engine's own sort, merged pair by pair, with a turn for others
// whenever a slice of time is over.

import { Slices } from "../give_way.ts";

/** A run takes a few milliseconds even where comparing is dear. */
const RUN_LENGTH = 2048;

/** Sorts like `items.toSorted(compare)`; what is equal keeps its order. */
export async function sortInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Promise<T[]> {
  const slices = new Slices();
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += RUN_LENGTH) {
    if (slices.isOver({ costly: true })) await slices.giveWay();
    runs.push(items.slice(start, start + RUN_LENGTH).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let first = 0; first < runs.length; first += 2) {
      const [left, right] = [runs[first]!, runs[first + 1]];
      merged.push(right === undefined ? left : await merge(left, right, { compare, slices }));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(
  left: readonly T[],
  right: readonly T[],
  { compare, slices }: { compare: (a: T, b: T) => number; slices: Slices },
): Promise<T[]> {
  const merged: T[] = [];
  let fromLeft = 0;
  let fromRight = 0;
  while (fromLeft < left.length && fromRight < right.length) {
    if (slices.isOver()) await slices.giveWay();
    const leftFirst = compare(left[fromLeft]!, right[fromRight]!) <= 0;
    merged.push(leftFirst ? left[fromLeft++]! : right[fromRight++]!);
  }
  return merged.concat(left.slice(fromLeft), right.slice(fromRight));
}
