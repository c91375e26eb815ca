// Full text search by SQLite's FTS5. The content thread keeps one index in
// memory for each collection of a branch. Its rows are the blobs that the
// collection has now, so scores depend on the commit alone. No time limit stops
// SQLite, so what one call gets is bounded.

import { DatabaseSync } from "node:sqlite";
import { LRUCache } from "lru-cache";
import { collectionTooLarge } from "../errors.ts";
import { FileList } from "../source/file_list.ts";
import type { Pace } from "../thread/compute.ts";
import { compileRule, type EntryRule } from "./declared.ts";
import {
  type Batch,
  type FilesInput,
  frontMatterText,
  inBatch,
} from "./derive.ts";
import { derivedText, keepDerived, type Missing } from "./derived.ts";
import { derivedKey, fileName, needsReading } from "./file_names.ts";
import { splitFenced, textOf } from "./file_text.ts";
import type { FrontMatter } from "./front_matter.ts";
import { parseLfsPointer } from "./lfs_pointer.ts";
import type { PlainValue } from "./plain_value.ts";
import { matchExpression, separateWords, termsOf } from "./search_terms.ts";
import { snippetOf } from "./snippet.ts";

const MAX_READ = { files: 5_000, bytes: 32 << 20 };
const PAGE_BYTES = 4096;
/** Text of very many different short words takes the most. */
const MAX_INDEX_BYTES = 128 << 20;
const MAX_ALL_BYTES = 160 << 20;
const MIN_INDEX_BYTES = 512 * 1024;
/** Removing a row takes as long as adding it. */
const MAX_REMOVED = 500;

const SCHEMA = `
  PRAGMA max_page_count = ${MAX_INDEX_BYTES / PAGE_BYTES};
  CREATE VIRTUAL TABLE docs USING fts5(title, headings, meta, body,
    tokenize = "unicode61 remove_diacritics 2");`;
const INSERT = `INSERT INTO docs (rowid, title, headings, meta, body)
  VALUES (?, ?, ?, ?, ?)`;
const FIND = `SELECT rowid, -bm25(docs, 10, 4, 2, 1) AS score FROM docs
  WHERE docs MATCH ?`;
// The time of FTS5's own snippets is quadratic in the number of hits.
const SHOW = "SELECT body, headings, meta, title FROM docs WHERE rowid = ?";

interface SearchIndex {
  readonly db: DatabaseSync;
  /** Row numbers by blob id. Not used for rows of a data file. */
  readonly rows: Map<string, number>;
  /** The greatest row number. The first is 1. */
  last: number;
}

const indexes = new LRUCache<string, SearchIndex>({
  maxSize: MAX_ALL_BYTES,
  sizeCalculation: ({ db }) => {
    const { page_count } = db.prepare("PRAGMA page_count").get()!;
    return Math.max(Number(page_count) * PAGE_BYTES, MIN_INDEX_BYTES);
  },
  dispose: ({ db }, _, reason) => {
    if (reason !== "set") db.close();
  },
});

/** The text files of a collection, and what to find in them. */
export interface SearchInput {
  readonly repository: string;
  /** Names the index within the repository. */
  readonly index: string;
  /** The path from the repository's root. Used in errors. */
  readonly folder: string;
  readonly files: Uint8Array;
  readonly rule: EntryRule | undefined;
  readonly maxItemBytes: number;
  readonly search: string;
  /** Indices of the files whose snippets are wanted. */
  readonly shown: readonly number[];
}

/** The scores of the found files by index, and HTML of the shown files. */
export interface Hits {
  readonly scores: ReadonlyMap<number, number>;
  readonly snippets: readonly string[];
}

/**
 * Finds the files that have all terms. Removes what the collection no longer
 * has from the index.
 * @throws {CollectionsError} collection-too-large.
 * @throws {TimeLimitError} if it takes too long.
 */
export function search(input: SearchInput, pace: Pace): Hits | Missing {
  const ids = pace.within(() => searchedIds(input));
  const { db, rows } = openIndex(input);
  const wanted = new Set(ids.values());
  const stale = [...rows].filter(([id]) => !wanted.has(id));
  if (stale.length > MAX_REMOVED) {
    indexes.delete(keyOf(input));
    rows.clear();
  } else if (stale.length > 0) {
    const remove = db.prepare("DELETE FROM docs WHERE rowid = ?");
    db.exec("BEGIN");
    for (const [id, row] of stale) {
      remove.run(row);
      rows.delete(id);
    }
    db.exec("COMMIT");
  }
  const missing = [...ids].filter(([, id]) => !rows.has(id));
  if (missing.length > 0) return { missing: missing.map(([index]) => index) };

  const found = findRows(input, pace);
  const scores = new Map<number, number>();
  for (const [index, id] of ids) {
    const score = found.get(rows.get(id)!);
    if (score !== undefined) scores.set(index, score);
  }
  const shown = input.shown.map((index) => rows.get(ids.get(index)!) ?? 0);
  return { scores, snippets: snippetsOf({ ...input, shown }, pace) };
}

/** Returns the scores of the rows that have all terms, by row number. */
export function findRows(
  input: IndexName & { readonly search: string },
  pace: Pace,
): ReadonlyMap<number, number> {
  const { db } = openIndex(input);
  const terms = termsOf(input.search);
  return pace.within(() =>
    new Map(
      terms.length === 0 ? [] : db.prepare(FIND).iterate(matchExpression(terms))
        .map(({ rowid, score }) => [Number(rowid), Number(score)]),
    )
  );
}

/** Returns a piece of HTML for each row number. */
export function snippetsOf(
  input: IndexName & {
    readonly search: string;
    readonly shown: readonly number[];
  },
  pace: Pace,
): string[] {
  const show = openIndex(input).db.prepare(SHOW);
  const terms = termsOf(input.search);
  return pace.within(() =>
    input.shown.map((row) => {
      const texts = Object.values(show.get(row) ?? {}).map(String);
      return snippetOf(texts, terms);
    })
  );
}

/**
 * Adds files to an index. Slow files are found by nothing.
 * @throws {CollectionsError} collection-too-large if the index is full.
 */
export function indexFiles(
  input: FilesInput & Pick<SearchInput, "index" | "folder">,
  pace: Pace,
): Batch<void> {
  const { repository, files, areSlow } = input;
  const { results, isSlow } = inBatch(
    files,
    pace,
    (file) => areSlow ? ["", "", "", ""] : columnsOf(repository, file),
  );
  const { rows } = openIndex(input);
  const added = [...results.keys()].filter((at) => !rows.has(files[at]!.id));
  let row = addRows(input, added.map((at) => results[at]!));
  for (const at of added) rows.set(files[at]!.id, row++);
  return { results: results.map(() => {}), isSlow };
}

/**
 * Adds rows to an index. Returns the number of the first one.
 * @throws {CollectionsError} collection-too-large if the index is full.
 */
export function addRows(
  name: IndexName & Pick<SearchInput, "folder">,
  rows: readonly (readonly string[])[],
): number {
  const index = openIndex(name);
  const { db, last } = index;
  const insert = db.prepare(INSERT);
  try {
    db.exec("BEGIN");
    for (const columns of rows) insert.run(++index.last, ...columns);
    db.exec("COMMIT");
  } catch (error) {
    indexes.delete(keyOf(name));
    if ((error as { errcode?: number }).errcode !== SQLITE_FULL) throw error;
    throw collectionTooLarge(
      name.folder,
      `its index takes more than ${MAX_INDEX_BYTES} bytes`,
    );
  }
  // A new value makes the cache ask for the size again.
  indexes.set(keyOf(name), { ...index });
  return last + 1;
}

/** Returns how many rows an index that only grows has. */
export const countRows = (name: IndexName) => openIndex(name).last;

const SQLITE_FULL = 13;

type IndexName = Pick<SearchInput, "repository" | "index">;
const keyOf = ({ repository, index }: IndexName) => `${repository}\n${index}`;

function openIndex(name: IndexName): SearchIndex {
  const known = indexes.get(keyOf(name));
  if (known !== undefined) return known;
  const db = new DatabaseSync(":memory:");
  db.exec(SCHEMA);
  const index = { db, rows: new Map(), last: 0 };
  indexes.set(keyOf(name), index);
  return index;
}

/** Returns the blob ids of the files that a search reads, by index. */
function searchedIds(input: SearchInput): Map<number, string> {
  const files = new FileList(input.files);
  const accepts = compileRule(input.rule);
  const ids = new Map<number, string>();
  let bytes = 0;
  for (let index = 0; index < files.length; index++) {
    const path = files.pathAt(index);
    const size = files.sizeAt(index);
    if (
      !accepts(path) || !needsReading(fileName(path), size, input.maxItemBytes)
    ) continue;
    ids.set(index, derivedKey(files.at(index)));
    bytes += size;
    if (ids.size > MAX_READ.files || bytes > MAX_READ.bytes) {
      const most = `${MAX_READ.files} text files and ${MAX_READ.bytes} bytes`;
      throw collectionTooLarge(input.folder, `a search reads at most ${most}`);
    }
  }
  return ids;
}

/** Returns title, headings, other front matter and body of a file. */
function columnsOf(
  repository: string,
  { id, bytes }: FilesInput["files"][number],
) {
  const text = parseLfsPointer(bytes) === null ? textOf(bytes) : null;
  if (text === null) return ["", "", "", ""];
  let json = derivedText(repository, id);
  if (json === undefined) {
    json = frontMatterText(text, id);
    keepDerived(repository, id, json);
  }
  const { frontMatter = {} }: FrontMatter = JSON.parse(json);
  const { title = null, ...others } = frontMatter;
  const { body } = splitFenced(text);
  const headings = body.replaceAll(/^(```|~~~)[^]*?^\1/gm, "")
    .matchAll(/^ {0,3}#{1,6}[ \t]+(.*)/gm).map(([, heading]) => heading);
  return [textIn(title), [...headings].join("\n"), textIn(others), body]
    .map(indexedText);
}

/** Returns a text as the index takes it. */
export function indexedText(text: string): string {
  return separateWords(text.replaceAll(/\p{Cc}/gu, " "));
}

/** Returns all texts, numbers and other scalars of a value. */
export function textIn(value: PlainValue): string {
  if (typeof value !== "object") return String(value);
  return Object.values(value ?? []).map(textIn).join("\n");
}
