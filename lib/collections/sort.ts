// The order of a list's items. Every key is read once, keys of different kinds are never compared, and equal items stay in
// the order of paths.

import { sortYielding, STEPS_PER_YIELD, yieldToEventLoop } from "../yield.ts";
import { parseIsoDate } from "./iso_date.ts";
import {
  type FrontMatterKey,
  parseFrontMatterKey,
  type PlainObject,
  type PlainValue,
  readFrontMatterKey,
} from "./plain_data.ts";

/** Text is compared up to here, so that long equal texts cannot delay other requests. */
const MAX_TEXT_CHARS = 1000;

/** What a list is sorted by. */
export interface Sort {
  readonly by: "path" | "name" | "size" | FrontMatterKey;
  readonly descending: boolean;
}

/** Gives the items' keys by their place in the order of paths; only what the sort needs is called. */
export interface SortKeys {
  name(index: number): string;
  /** In bytes. */
  size(index: number): number;
  /** Null for a file without front matter. */
  frontMatter(index: number): PlainObject | null;
}

/**
 * Reads `path`, `name`, `size` or `frontMatter.<key>`, with `-` in front for descending.
 * @throws {SyntaxError} for anything else; the message may be shown to anyone.
 */
export function parseSort(text: string): Sort {
  const descending = text.startsWith("-");
  const field = descending ? text.slice(1) : text;
  const by = field === "path" || field === "name" || field === "size"
    ? field
    : parseFrontMatterKey(field);
  if (by === null) {
    throw new SyntaxError(
      'must be path, name, size or frontMatter.<key>, with "-" in front for descending',
    );
  }
  return { by, descending };
}

/**
 * Puts `count` items, given in byte order of path, into the order of `sort`: ascending numbers, dates (ISO 8601 text,
 * by time), other text (as English readers order it, numbers within by value), false, true; descending all of it
 * reversed. Items with a list, a mapping, null or nothing come last either way. Names are always text; of front matter
 * text the first 1,000 characters count.
 */
export async function sortIndices(
  count: number,
  sort: Sort,
  keys: SortKeys,
  signal?: AbortSignal,
): Promise<Uint32Array> {
  const groups = await groupByKind(count, sort, { keys, signal });
  const sign = sort.descending ? -1 : 1;
  // Sorting is stable, so that equal items stay in ascending order of path whatever the sign.
  const byNumber = (a: Keyed<number>, b: Keyed<number>) => sign * (a.key - b.key);
  const byText = (a: Keyed<string>, b: Keyed<string>) => sign * collator.compare(a.key, b.key);
  const ordered: Keyed<unknown>[][] = [
    await sortYielding(groups.numbers, byNumber, signal),
    await sortYielding(groups.dates, byNumber, signal),
    await sortYielding(groups.texts, byText, signal),
    await sortYielding(groups.booleans, byNumber, signal),
  ];
  if (sort.descending) ordered.reverse();
  return Uint32Array.from([...ordered, groups.others].flat(), ({ index }) => index);
}

const collator = new Intl.Collator("en", { numeric: true });

interface Keyed<Key> {
  readonly index: number;
  readonly key: Key;
}

/** The items by kind of key, each kind in order of path. */
class Groups {
  readonly numbers: Keyed<number>[] = [];
  readonly dates: Keyed<number>[] = [];
  readonly texts: Keyed<string>[] = [];
  readonly booleans: Keyed<number>[] = [];
  readonly others: Keyed<null>[] = [];

  addValue(index: number, value: PlainValue | undefined): void {
    if (typeof value === "number") this.numbers.push({ index, key: value });
    else if (typeof value === "boolean") this.booleans.push({ index, key: Number(value) });
    else if (typeof value === "string") {
      const timeMs = parseIsoDate(value);
      if (timeMs === null) this.texts.push({ index, key: value.slice(0, MAX_TEXT_CHARS) });
      else this.dates.push({ index, key: timeMs });
    } else this.others.push({ index, key: null });
  }
}

async function groupByKind(
  count: number,
  { by }: Sort,
  { keys, signal }: { keys: SortKeys; signal: AbortSignal | undefined },
): Promise<Groups> {
  const groups = new Groups();
  for (let index = 0; index < count; index++) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop(signal);
    if (by === "path") groups.numbers.push({ index, key: index });
    else if (by === "size") groups.numbers.push({ index, key: keys.size(index) });
    else if (by === "name") groups.texts.push({ index, key: keys.name(index) });
    else groups.addValue(index, readFrontMatterKey(keys.frontMatter(index), by));
  }
  return groups;
}
