// Counts the values of front matter keys over a list of items.

import type { FacetsBody } from "../api/contract.ts";
import { parseItemKey, type PlainObject, readItemKey } from "./plain_value.ts";
import { compareKeys, sortKeyOf } from "./sort.ts";

const MAX_VALUES = 100;
/**
 * Longer text is not useful as a facet. 500 of them would make a large
 * response.
 */
const MAX_CHARS = 1024;

type FacetValue = string | number | boolean;
type Counted = { value: FacetValue; count: number };

/**
 * Counts the scalar values of each key. A list counts each of its elements once
 * per item. The most frequent values come first. Ties are in sort order.
 */
export function countFacets(
  facets: readonly string[],
  items: readonly (PlainObject | null)[],
): FacetsBody {
  return Object.fromEntries(facets.map((facet) => {
    const key = parseItemKey(facet)!;
    const counts = new Map<FacetValue, number>();
    for (const frontMatter of items) {
      for (
        const value of new Set([readItemKey(frontMatter, key)].flat(1))
      ) {
        if (value === undefined || typeof value === "object") continue;
        if (typeof value === "string" && value.length > MAX_CHARS) continue;
        counts.set(value, (counts.get(value) ?? 0) + 1);
      }
    }
    return [facet, greatest(counts, compareCounted)];
  }));
}

/** Returns the first 100 values in the order of `compare`. Takes one pass. */
export function greatest(
  counts: Iterable<readonly [FacetValue, number]>,
  compare: (a: Counted, b: Counted) => number,
): Counted[] {
  const first: Counted[] = [];
  for (const [value, count] of counts) {
    const counted = { value, count };
    if (first.length === MAX_VALUES && compare(counted, first.at(-1)!) >= 0) {
      continue;
    }
    let [low, high] = [0, first.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(counted, first[middle]!) < 0) high = middle;
      else low = middle + 1;
    }
    first.splice(low, 0, counted);
    if (first.length > MAX_VALUES) first.pop();
  }
  return first;
}

function compareCounted(a: Counted, b: Counted): number {
  return b.count - a.count ||
    compareKeys(sortKeyOf(a.value)!, sortKeyOf(b.value)!) ||
    (String(a.value) < String(b.value) ? -1 : 1);
}
