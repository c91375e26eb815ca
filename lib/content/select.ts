// Selects and sorts the files of a list and counts its facets. Filters by path
// run first so that no more files are loaded than the list can have. The result
// names the files whose front matter the thread lacks.

import type { FacetsBody } from "../api/contract.ts";
import { collectionTooLarge, MAX_NAMED } from "../errors.ts";
import { FileList } from "../source/file_list.ts";
import { type Pace, TimeLimitError } from "../thread/compute.ts";
import { compileRule, type EntryRule } from "./declared.ts";
import { derivedText, type Missing } from "./derived.ts";
import { datesOf } from "./entry_dates.ts";
import { countFacets } from "./facets.ts";
import {
  derivedKey,
  fileName,
  isMarkdown,
  type Kind,
  kindOf,
  needsReading,
  slugOf,
} from "./file_names.ts";
import { parseFilters } from "./filter.ts";
import type { PlainObject } from "./plain_value.ts";
import { parseSort, sortIndices } from "./sort.ts";
import { suggest } from "./suggest.ts";

/** The number of slugs that are compared with an unknown one. */
const MAX_NEAR = 2_000;
/**
 * Limits for sorting and filtering by front matter. `files` and `bytes` limit
 * the files to load. `chars` limits their front matter as JSON.
 */
export const MAX_READ = { files: 20_000, bytes: 256 << 20, chars: 16 << 20 };

export interface SelectInput {
  repository: string;
  /** The path from the repository's root. Used in errors. */
  folder: string;
  files: Uint8Array;
  rule: EntryRule | undefined;
  /** Undefined is by score, else by path. */
  sort: string | undefined;
  /** Whether the order is that of the dates of a feed instead of `sort`. */
  latestFirst?: boolean | undefined;
  filter: readonly (readonly [string, string])[];
  /** The kinds of files to select. Undefined selects all kinds. */
  kind?: readonly Kind[] | undefined;
  facets: readonly string[];
  maxItemBytes: number;
  /** Scores of the only files that a search leaves, by index. */
  scores?: ReadonlyMap<number, number> | undefined;
}

/**
 * Parsed JSON may take many times its characters. To parse more than this is
 * long work, which waits while memory is short.
 */
const MAX_SHORT_CHARS = 4 << 20;

/**
 * The indices of the selected files in list order, and the requested facets.
 */
export interface Selection {
  readonly indices: Uint32Array;
  readonly facets: FacetsBody;
  /** How long the order holds, in ms. Absent if it holds for the files. */
  readonly cacheForMs?: number;
}

/**
 * Selects files by parameters that were already checked.
 * @throws {CollectionsError} collection-too-large.
 * @throws {TimeLimitError} if a first try is not enough.
 */
export function select(
  input: SelectInput,
  { isLast }: Pace,
): Selection | Missing {
  const { repository, rule, sort, filter, kind, facets, maxItemBytes, scores } =
    input;
  const { latestFirst } = input;
  const files = new FileList(input.files);
  const order = latestFirst
    ? { by: ["date"], descending: true }
    : parseSort(sort ?? "path");
  const { byPath, byFrontMatter } = parseFilters(filter);
  if (kind) byPath.unshift((path) => kind.includes(kindOf(fileName(path))));
  const readsFiles = typeof order.by !== "string" ||
    byFrontMatter.length + facets.length > 0;
  const accepts = compileRule(rule);

  const chosen: number[] = [];
  /** The blob ids of the files to load, by index. */
  const ids = new Map<number, string>();
  let bytes = 0;
  for (let index = 0; index < files.length; index++) {
    const path = files.pathAt(index);
    if (scores?.has(index) === false) continue;
    if (!accepts(path) || !byPath.every((passes) => passes(path))) continue;
    chosen.push(index);
    const size = files.sizeAt(index);
    if (!readsFiles || !needsReading(fileName(path), size, maxItemBytes)) {
      continue;
    }
    ids.set(index, derivedKey(files.at(index)));
    bytes += size;
    if (ids.size > MAX_READ.files || bytes > MAX_READ.bytes) {
      const most = `${MAX_READ.files} files and ${MAX_READ.bytes} bytes`;
      const why = `sorting or filtering by front matter reads at most ${most}`;
      throw collectionTooLarge(input.folder, why);
    }
  }

  const texts = new Map<string, string>();
  const missing: number[] = [];
  let chars = 0;
  for (const [index, id] of ids) {
    // Files with the same content are parsed once.
    if (texts.has(id)) continue;
    const text = derivedText(repository, id);
    if (text === undefined) missing.push(index);
    texts.set(id, text ?? "");
    chars += text?.length ?? 0;
    if (chars > MAX_READ.chars) {
      const why = "its front matter does not fit into memory";
      throw collectionTooLarge(input.folder, why);
    }
  }
  if (missing.length > 0) return { missing };
  if (chars > MAX_SHORT_CHARS && !isLast) {
    throw new TimeLimitError("The front matter is too long for a first try");
  }
  const parsed = new Map<string, PlainObject | null>(
    texts.entries().map(([id, text]) => [id, JSON.parse(text)]),
  );

  const itemAt = (index: number) => parsed.get(ids.get(index) ?? "") ?? null;
  const passing = chosen.filter((index) =>
    byFrontMatter.every((passes) => passes(itemAt(index)))
  );
  const indices = scores !== undefined && sort === undefined
    ? Uint32Array.from(
      passing.toSorted((a, b) => scores.get(b)! - scores.get(a)!),
    )
    : sortIndices(passing, order, {
      name: (index) => fileName(files.pathAt(index)),
      size: (index) => files.sizeAt(index),
      item: latestFirst
        ? (index) => {
          const { published, updated } = datesOf(itemAt(index));
          return { date: (published ?? updated)?.getTime() ?? null };
        }
        : itemAt,
    });
  return { indices, facets: countFacets(facets, passing.map(itemAt)) };
}

/**
 * Returns the number of items with a slug and the first of their paths. If some
 * of the items are Markdown, only those count. If there is none, `suggestions`
 * are slugs that sort near it.
 */
export function findSlug(
  input: { files: Uint8Array; slug: string; rule: EntryRule | undefined },
) {
  const { slug } = input;
  const files = new FileList(input.files);
  const accepts = compileRule(input.rule);
  const found: string[] = [];
  const add = (path: string) => {
    if (slugOf(path) === slug && accepts(path)) found.push(path);
  };
  if (files.indexOf(slug) >= 0) add(slug);
  // Files with an extension sort next to `slug.`.
  for (
    let index = files.lowerBound(`${slug}.`);
    index < files.length;
    index++
  ) {
    const path = files.pathAt(index);
    if (!path.startsWith(`${slug}.`)) break;
    add(path);
  }
  const markdown = found.filter(isMarkdown);
  const paths = markdown.length > 0 ? markdown : found;
  const names: string[] = [];
  const near = Math.max(0, files.lowerBound(slug) - MAX_NEAR / 2);
  const end = paths.length > 0 ? 0 : Math.min(files.length, near + MAX_NEAR);
  for (let index = near; index < end; index++) {
    const path = files.pathAt(index);
    if (accepts(path)) names.push(slugOf(path));
  }
  const suggestions = suggest({ name: slug, names, folders: [] });
  return { count: paths.length, paths: paths.slice(0, MAX_NAMED), suggestions };
}
