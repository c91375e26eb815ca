// The order of a list's items. Every key is read once, keys of different kinds are never compared, and equal items stay in
// the order of paths.

import {
  parseFrontMatterKey,
  type PlainObject,
  type PlainValue,
  readFrontMatterKey,
} from "./plain_value.ts";

/** Texts are compared by their beginning: comparing long ones that are equal is slow. */
const MAX_TEXT_CHARS = 256;
const collator = new Intl.Collator("en", { numeric: true });

/** What a list is sorted by. */
export interface Sort {
  readonly by: "path" | "name" | "size" | readonly string[];
  readonly descending: boolean;
}

/** Reads the parameter `sort`. @throws {SyntaxError} for anything else; its message may be shown to anyone. */
export function parseSort(text: string): Sort {
  const descending = text.startsWith("-");
  const field = descending ? text.slice(1) : text;
  const isPlain = field === "path" || field === "name" || field === "size";
  const by = isPlain ? field : parseFrontMatterKey(field);
  if (by !== null) return { by, descending };
  throw new SyntaxError(
    'must be path, name, size or frontMatter.<key>, with "-" in front for descending',
  );
}

/**
 * Puts items, given by index in byte order of path, into the order of `sort`: ascending numbers, dates (ISO 8601 text,
 * by time), other text (as English readers order it, numbers within by value), false, true; descending all of it
 * reversed. Items with a list, a mapping, null or nothing come last either way. Names are always text.
 */
export function sortIndices(
  indices: readonly number[],
  { by, descending }: Sort,
  keys: {
    readonly name: (index: number) => string;
    readonly size: (index: number) => number;
    readonly frontMatter: (index: number) => PlainObject | null;
  },
): Uint32Array {
  const keyOf = (index: number): SortKey | null => {
    if (by === "path") return { kind: 0, value: index };
    if (by === "size") return { kind: 0, value: keys.size(index) };
    if (by === "name") return { kind: 2, value: keys.name(index).slice(0, MAX_TEXT_CHARS) };
    return sortKeyOf(readFrontMatterKey(keys.frontMatter(index), by));
  };
  const keyed: { readonly index: number; readonly key: SortKey }[] = [];
  const others: number[] = [];
  for (const index of indices) {
    const key = keyOf(index);
    if (key === null) others.push(index);
    else keyed.push({ index, key });
  }
  const sign = descending ? -1 : 1;
  // Sorting is stable, so that equal items stay in ascending order of path whatever the sign.
  keyed.sort((a, b) => sign * compareKeys(a.key, b.key));
  return Uint32Array.from(keyed.map(({ index }) => index).concat(others));
}

/** A sort key: numbers before dates before text before booleans. */
export type SortKey =
  | { readonly kind: 0 | 1 | 3; readonly value: number }
  | { readonly kind: 2; readonly value: string };

/** The sort key of a front matter value; null for a list, a mapping, null or nothing, which have no order. */
export function sortKeyOf(value: PlainValue | undefined): SortKey | null {
  if (typeof value === "number") return { kind: 0, value };
  if (typeof value === "boolean") return { kind: 3, value: Number(value) };
  if (typeof value !== "string") return null;
  const timeMs = parseIsoDate(value);
  if (timeMs !== null) return { kind: 1, value: timeMs };
  return { kind: 2, value: value.slice(0, MAX_TEXT_CHARS) };
}

/** Orders two keys: negative where `a` comes first. */
export function compareKeys(a: SortKey, b: SortKey): number {
  if (a.kind === 2 && b.kind === 2) return collator.compare(a.value, b.value);
  return a.kind - b.kind || Number(a.value) - Number(b.value);
}

const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?:(?:[Tt]| +)((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?) *(?:[Zz]|([+-](?:[01]\d|2[0-3]))(?::?([0-5]\d))?)?)?$/;
const MAX_DATE_CHARS = 64;

/**
 * The time that an ISO 8601 calendar date means, alone or with a time, in ms since the epoch, UTC where it names no zone;
 * null where it is no date. The space before time and zone is that of RFC 3339 (5.6) and YAML 1.1.
 */
export function parseIsoDate(text: string): number | null {
  const match = text.length > MAX_DATE_CHARS ? null : DATE_TIME.exec(text);
  if (match === null) return null;
  const [, date = "", time = "00:00", hours = "+00", minutes = "00"] = match;
  // A day that the month does not have is one of the next month.
  if (new Date(date).getUTCDate() !== Number(date.slice(8))) return null;
  return Date.parse(`${date}T${time.replace(",", ".")}${hours}:${minutes}`);
}
