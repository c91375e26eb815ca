// Builds the items of a page with front matter. Parsers take long to load, so
// pages without front matter do not load them.

import type { Pace } from "../thread/compute.ts";
import { derive } from "./derive.ts";
import type { Missing } from "./derived.ts";
import {
  describe,
  type DescribeInput,
  type Description,
  keyOf,
} from "./describe.ts";

/**
 * Returns what {@linkcode describe} returns. A first try derives front matter
 * that the thread lacks if the page carries the files.
 */
export function describePage(
  input: DescribeInput,
  pace: Pace,
): Description | Missing {
  const described = pace.within(() => describe(input));
  // A file that takes too long must not fail the page.
  if (!("missing" in described) || pace.isLast) return described;
  const files = described.missing.flatMap((index) => {
    const { bytes } = input.files[index]!;
    return bytes ? [{ id: keyOf(input.files[index]!), bytes }] : [];
  });
  if (files.length < described.missing.length) return described;
  const { results } = derive({ repository: input.repository, files }, pace);
  return results.length < files.length
    ? described
    : pace.within(() => describe(input));
}
