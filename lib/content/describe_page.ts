// Builds the items of a page that needs files. Parsers take long to load, so
// other pages do not load them.

import type { Pace } from "../thread/compute.ts";
import { derive } from "./derive.ts";
import { derivedText, type Missing } from "./derived.ts";
import {
  describe,
  type DescribeInput,
  type Description,
  frontMatterKey,
} from "./describe.ts";

/**
 * Returns what {@linkcode describe} returns. If the page carries all files whose
 * front matter the thread lacks, a first try derives and keeps it, as far as the
 * turn allows.
 */
export function describePage(
  input: DescribeInput,
  pace: Pace,
): Description | Missing {
  const described = pace.within(() => describe(input));
  // A file that takes too long must not fail the page.
  if (!("missing" in described) || pace.isLast) return described;
  const { repository, files } = input;
  const carried = new Map<string, Uint8Array>();
  for (const index of described.missing) {
    const { bytes } = files[index]!;
    if (bytes === undefined) return described;
    carried.set(frontMatterKey(files[index]!), bytes);
  }
  const inputs = [...carried].map(([id, bytes]) => ({ id, bytes }));
  derive({ repository, files: inputs }, pace);
  // After its turn, describing again would have less than its time limit.
  if (!pace.isOver()) return pace.within(() => describe(input));
  return {
    missing: described.missing.filter((index) =>
      derivedText(repository, frontMatterKey(files[index]!)) === undefined
    ),
  };
}
