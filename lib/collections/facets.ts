// How often each value of a front matter key is there, for tag clouds and filters of a front end.

import type { FacetsBody } from "../api/contract.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../clock.ts";
import { parseFrontMatterKey, type PlainObject, readFrontMatterKey } from "./plain_data.ts";
import { compareKeys, sortKeyOf } from "./sort.ts";

const MAX_VALUES = 100;
/** Longer text is not useful as a facet, and 500 of them would make a large response. */
const MAX_VALUE_CHARS = 1024;

type Scalar = string | number | boolean;

/**
 * Counts the values of each key over items, each element of a list once an item; null, mappings and missing values are
 * not counted. The most frequent come first, then those that sorting puts first. @throws the signal's reason.
 */
export async function countFacets(
  facets: readonly string[],
  items: readonly (PlainObject | null)[],
  signal?: AbortSignal,
): Promise<FacetsBody> {
  const counted: FacetsBody = {};
  for (const facet of facets) {
    const key = parseFrontMatterKey(facet)!;
    const counts = new Map<Scalar, number>();
    for (const [index, frontMatter] of items.entries()) {
      if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
      for (const value of new Set([readFrontMatterKey(frontMatter, key)].flat(1))) {
        if (isCounted(value)) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
    }
    counted[facet] = [...counts]
      .sort(([a, countA], [b, countB]) => countB - countA || compareValues(a, b))
      .slice(0, MAX_VALUES)
      .map(([value, count]) => ({ value, count }));
  }
  return counted;
}

function isCounted(value: unknown): value is Scalar {
  return typeof value === "number" || typeof value === "boolean" ||
    (typeof value === "string" && value.length <= MAX_VALUE_CHARS);
}

/** As sorting does, then by the text, so that the order never depends on the files' paths. */
function compareValues(a: Scalar, b: Scalar): number {
  return compareKeys(sortKeyOf(a)!, sortKeyOf(b)!) || (String(a) < String(b) ? -1 : 1);
}
