// Sorts the items of a list. Every key is computed once. Values of different
// kinds are never compared. Equal items stay in path order.

import {
  parseItemKey,
  type PlainObject,
  type PlainValue,
  readItemKey,
} from "./plain_value.ts";

/** Text is compared by its beginning. Comparing long equal texts is slow. */
const MAX_TEXT_CHARS = 256;
const collator = new Intl.Collator("en", { numeric: true });

/** The sort order of a list. */
interface Sort {
  readonly by: "path" | "name" | "size" | readonly string[];
  readonly descending: boolean;
}

/**
 * Parses the parameter `sort`.
 * @throws {SyntaxError} if it is invalid. The message may be shown to anyone.
 */
export function parseSort(text: string): Sort {
  const descending = text.startsWith("-");
  const field = descending ? text.slice(1) : text;
  const isPlain = field === "path" || field === "name" || field === "size";
  const by = isPlain
    ? field
    : field === "lastChanged.date"
    ? field.split(".")
    : parseItemKey(field);
  if (by !== null) return { by, descending };
  throw new SyntaxError(
    "must be path, name, size, lastChanged.date, frontMatter.<key> or " +
      'data.<key>, with "-" in front for descending',
  );
}

/** Whether the order needs the history of the items. */
export const isByHistory = ({ by }: Sort) => by[0] === "lastChanged";

/**
 * Returns the indices in the order of `sort`. The given indices must be in byte
 * order of path. Ascending order is numbers, dates, other text, false, true.
 * Dates are ISO 8601 text and sort by time. Other text sorts as English readers
 * order it. Numbers inside it sort by value. Descending order reverses all of
 * this. Items with a list, a mapping, null or no value always come last. Names
 * are always text.
 */
export function sortIndices(
  indices: readonly number[],
  { by, descending }: Sort,
  keys: {
    name?: (index: number) => string;
    size?: (index: number) => number;
    item: (index: number) => PlainObject | null;
  },
): Uint32Array {
  const keyOf = (index: number): SortKey | null => {
    if (by === "path") return { kind: 0, value: index };
    if (by === "size") return { kind: 0, value: keys.size!(index) };
    if (by === "name") {
      return { kind: 2, value: keys.name!(index).slice(0, MAX_TEXT_CHARS) };
    }
    return sortKeyOf(readItemKey(keys.item(index), by));
  };
  const keyed: { index: number; key: SortKey }[] = [];
  const others: number[] = [];
  for (const index of indices) {
    const key = keyOf(index);
    if (key === null) others.push(index);
    else keyed.push({ index, key });
  }
  const sign = descending ? -1 : 1;
  // Sorting is stable, so equal items stay in ascending path order for both
  // signs.
  keyed.sort((a, b) => sign * compareKeys(a.key, b.key));
  return Uint32Array.from(keyed.map(({ index }) => index).concat(others));
}

/** A sort key. The order is numbers, dates, text, booleans. */
type SortKey =
  | { readonly kind: 0 | 1 | 3; readonly value: number }
  | { readonly kind: 2; readonly value: string };

/**
 * Returns the sort key of a front matter value. Lists, mappings, null and
 * missing values have no order and give null.
 */
export function sortKeyOf(value: PlainValue | undefined): SortKey | null {
  if (typeof value === "number") return { kind: 0, value };
  if (typeof value === "boolean") return { kind: 3, value: Number(value) };
  if (typeof value !== "string") return null;
  const timeMs = parseIsoDate(value);
  if (timeMs !== null) return { kind: 1, value: timeMs };
  return { kind: 2, value: value.slice(0, MAX_TEXT_CHARS) };
}

/** Compares two keys. The result is negative if `a` comes first. */
export function compareKeys(a: SortKey, b: SortKey): number {
  if (a.kind === 2 && b.kind === 2) return collator.compare(a.value, b.value);
  return a.kind - b.kind || Number(a.value) - Number(b.value);
}

const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?:(?:[Tt]| +)((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?) *(?:[Zz]|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?)?$/;
const MAX_DATE_CHARS = 64;

/**
 * Returns the time of an ISO 8601 calendar date in ms since the epoch, or null
 * if the text is not a date. The date may have a time. The default zone is UTC.
 * RFC 3339 (5.6) and YAML 1.1 allow the space before time and zone.
 */
export function parseIsoDate(text: string): number | null {
  const match = text.length > MAX_DATE_CHARS ? null : DATE_TIME.exec(text);
  if (match === null) return null;
  const [, date = "", time = "00:00", hours = "+00", minutes = "00"] = match;
  // A day that the month does not have becomes a day of the next month.
  if (new Date(date).getUTCDate() !== Number(date.slice(8))) return null;
  return Date.parse(`${date}T${time.replace(",", ".")}${hours}:${minutes}`);
}
