// The dates that the entries of a feed have by their front matter.

import { type PlainObject, readItemKey } from "./plain_value.ts";
import { parseIsoDate } from "./sort.ts";

const MAX_CHARS = 64;

/** Returns when an item was published and when it was updated. */
export function datesOf(item: PlainObject | null) {
  const [date, pubDate, updated] = ["date", "pubDate", "updated"].map((key) =>
    parseDate(readItemKey(item, ["frontMatter", key]))
  );
  return { published: date ?? pubDate, updated };
}

/** Parses ISO 8601 and other dates with a year. The default zone is UTC. */
export function parseDate(value: unknown): Date | undefined {
  if (typeof value !== "string" || value.length > MAX_CHARS) return;
  const ms = parseIsoDate(value) ??
    (/\b\d{4}\b/.test(value) ? Date.parse(`${value} UTC`) : NaN);
  return Number.isNaN(ms) ? undefined : new Date(ms);
}
