// The order of a list's items. Every key is read once, keys of different kinds are never compared, and equal items stay in
// the order of paths.

import { sortYielding, STEPS_PER_YIELD, yieldToEventLoop } from "../clock.ts";
import {
  type FrontMatterKey,
  parseFrontMatterKey,
  type PlainObject,
  type PlainValue,
  readFrontMatterKey,
} from "./plain_data.ts";

/** Only this much text is compared, so that long equal texts cannot delay other requests. */
const MAX_TEXT_CHARS = 1000;
const collator = new Intl.Collator("en", { numeric: true });

/** What a list is sorted by. */
export interface Sort {
  readonly by: "path" | "name" | "size" | FrontMatterKey;
  readonly descending: boolean;
}

/** Gives the items' keys by their place in the order of paths. */
interface SortKeys {
  name(index: number): string;
  size(index: number): number;
  frontMatter(index: number): PlainObject | null;
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
 * Puts `count` items, given in byte order of path, into the order of `sort`: ascending numbers, dates (ISO 8601 text,
 * by time), other text (as English readers order it, numbers within by value), false, true; descending all of it
 * reversed. Items with a list, a mapping, null or nothing come last either way. Names are always text.
 */
export async function sortIndices(
  count: number,
  sort: Sort,
  keys: SortKeys,
  signal?: AbortSignal,
): Promise<Uint32Array> {
  // Index, then key, of the items of each kind and of those without one, all in order of path.
  const kinds: [number, SortKey][][] = [[], [], [], []];
  const others: number[] = [];
  for (let index = 0; index < count; index++) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
    const key = keyAt(index, sort, keys);
    if (key === null) others.push(index);
    else kinds[key.kind]!.push([index, key]);
  }
  const sign = sort.descending ? -1 : 1;
  // Sorting is stable, so that equal items stay in ascending order of path whatever the sign.
  const ordered: [number, SortKey][][] = [];
  for (const items of kinds) {
    ordered.push(await sortYielding(items, (a, b) => sign * compareKeys(a[1], b[1]), signal));
  }
  if (sort.descending) ordered.reverse();
  return Uint32Array.from([...ordered.flat().map(([index]) => index), ...others]);
}

function keyAt(index: number, { by }: Sort, keys: SortKeys): SortKey | null {
  if (by === "path") return { kind: 0, value: index };
  if (by === "size") return { kind: 0, value: keys.size(index) };
  if (by === "name") return { kind: 2, value: keys.name(index) };
  return sortKeyOf(readFrontMatterKey(keys.frontMatter(index), by));
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
  /^(\d{4})-(\d{2})-(\d{2})(?:(?:[Tt]| +)(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? *(?:[Zz]|([+-]\d{2})(?::?(\d{2}))?)?)?$/;
const MAX_DATE_CHARS = 64;

/**
 * The time that an ISO 8601 calendar date means, alone or with a time, in ms since the epoch, UTC where it names no zone;
 * null where it is no date. The space before time and zone is that of RFC 3339 (5.6) and YAML 1.1.
 */
export function parseIsoDate(text: string): number | null {
  const match = text.length > MAX_DATE_CHARS ? null : DATE_TIME.exec(text);
  if (match === null) return null;
  const numbers = match.slice(1).map((part) => Number(part ?? 0));
  const [year, month, day, hour, minute, second, , zoneHour, zoneMinute] = numbers as Numbers;
  if (hour > 23 || minute > 59 || second > 59) return null;
  if (Math.abs(zoneHour) > 23 || zoneMinute > 59) return null;
  // Date.UTC() would take the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have falls into another one.
  if (date.getUTCMonth() !== month - 1) return null;
  const zoneMinutes = zoneHour * 60 + (match[8]?.startsWith("-") ? -zoneMinute : zoneMinute);
  const fractionMs = Number((match[7] ?? "").padEnd(9, "0")) / 1e6;
  return date.getTime() + ((hour * 60 + minute - zoneMinutes) * 60 + second) * 1000 + fractionMs;
}

type Numbers = [number, number, number, number, number, number, number, number, number];
