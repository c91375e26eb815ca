// Full text search by SQLite's FTS5. The content thread keeps one index in
// memory for each collection of a branch. Its rows are the blobs that the
// collection has now, so scores depend on the commit alone. No time limit stops
// SQLite, so what one call gets is bounded.

import { DatabaseSync } from "node:sqlite";
import { deflateSync, inflateSync } from "node:zlib";
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
import { Kept } from "./kept.ts";
import { parseLfsPointer } from "./lfs_pointer.ts";
import type { PlainValue } from "./plain_value.ts";
import {
  matchExpression,
  separateWords,
  termsOf,
  WORD,
} from "./search_terms.ts";
import { snippetOf } from "./snippet.ts";

const MAX_READ = { files: 5_000, bytes: 32 << 20 };
/**
 * The allocator gives memory of this size back to the system. It keeps smaller
 * pages: three dropped indexes of 48 MiB left 159 MiB resident, now 22 MiB.
 */
const PAGE_BYTES = 64 * 1024;
/** All indexes of a thread. Very many different short words take the most. */
const MAX_INDEX_BYTES = 64 << 20;
/** SQLite takes some memory beside the pages. */
const MIN_INDEX_BYTES = 512 * 1024;
/** The maximum of one text. Markdown with HTML has at most as many bytes. */
const MAX_CHARS = 1 << 20;
/**
 * Until a commit, FTS5 has the words of new rows in a hash table. Its time is
 * quadratic for words that are made to share a hash. So a row has at most this
 * many different words, and commits follow each other soon.
 */
const MAX_WORDS = 5_000;
const COMMIT_AFTER_MS = 20;
/** FTS5 may find many words in a long one because it knows fewer letters. */
const WORD_CHARS = 16;
const SLICE_CHARS = 4096;
/** The fastest that finds repeated words. */
const DEFLATE = { level: 1 };

const SCHEMA = `
  PRAGMA page_size = ${PAGE_BYTES};
  PRAGMA max_page_count = ${MAX_INDEX_BYTES / PAGE_BYTES};
  CREATE TABLE texts(id INTEGER PRIMARY KEY, deflated BLOB);
  CREATE VIRTUAL TABLE docs USING fts5(title, headings, meta, body,
    content = "", tokenize = "unicode61 remove_diacritics 2");`;
const INSERT = `INSERT INTO docs (rowid, title, headings, meta, body)
  VALUES (?, ?, ?, ?, ?)`;
const REMOVE = `INSERT INTO docs (docs, rowid, title, headings, meta, body)
  VALUES ('delete', ?, ?, ?, ?, ?)`;
const INSERT_TEXTS = "INSERT INTO texts (id, deflated) VALUES (?, ?)";
const FIND = `SELECT rowid, -bm25(docs, 10, 4, 2, 1) AS score FROM docs
  WHERE docs MATCH ?`;
// The time of FTS5's own snippets is quadratic in the number of hits.
const FIND_TEXTS = "SELECT deflated FROM texts WHERE id = ?";
const REMOVE_TEXTS = "DELETE FROM texts WHERE id = ?";

interface SearchIndex {
  readonly db: DatabaseSync;
  /** Row numbers by blob id. Not used for rows of a data file. */
  readonly rows: Map<string, number>;
  /** The greatest row number. The first is 1. */
  last: number;
}

const indexes = new Kept<SearchIndex>({
  maxBytes: MAX_INDEX_BYTES,
  sizeOf: ({ db }) => {
    const { page_count } = db.prepare("PRAGMA page_count").get()!;
    return Math.max(Number(page_count) * PAGE_BYTES, MIN_INDEX_BYTES);
  },
  dispose: ({ db }) => db.close(),
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
  if (stale.length > 0) {
    const remove = db.prepare(REMOVE);
    const removeTexts = db.prepare(REMOVE_TEXTS);
    let areRemoved = false;
    try {
      areRemoved = withCommits(db, (next) =>
        stale.every(([id, row]) => {
          remove.run(row, ...textsOf(db, row));
          removeTexts.run(row);
          rows.delete(id);
          next();
          return !pace.isOver();
        }));
    } catch (error) {
      if (!isFull(error)) throw error;
    }
    // Removing a row takes as long as adding it, and as much of the index.
    if (!areRemoved) {
      indexes.delete(keyOf(input));
      rows.clear();
    }
  }
  const missing = [...ids].filter(([, id]) => !rows.has(id));
  if (missing.length > 0) return { missing: missing.map(([index]) => index) };

  const found = findRows(input, pace);
  const scores = new Map<number, number>();
  for (const [index, id] of ids) {
    const score = found.get(rows.get(id)!);
    if (score !== undefined) scores.set(index, score);
  }
  const terms = termsOf(input.search);
  const snippets = pace.within(() =>
    input.shown.map((index) => {
      const row = rows.get(ids.get(index)!) ?? 0;
      const [title = "", headings = "", meta = "", body = ""] = textsOf(
        db,
        row,
      );
      return snippetOf([body, headings, meta, title], terms);
    })
  );
  return { scores, snippets };
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

/**
 * Adds files to an index. Slow files are found by nothing.
 * @throws {CollectionsError} collection-too-large if the index is full.
 */
export function indexFiles(
  input: FilesInput & Pick<SearchInput, "index" | "folder">,
  pace: Pace,
): Batch<void> {
  const { repository, files, areSlow } = input;
  const { db, rows } = openIndex(input);
  const insertTexts = db.prepare(INSERT_TEXTS);
  const { results, isSlow } = addRows(input, (add) =>
    inBatch(
      files,
      pace,
      (file) => areSlow ? ["", "", "", ""] : columnsOf(repository, file),
      (columns, { id }) => {
        if (rows.has(id)) return;
        const row = add(columns);
        insertTexts.run(row, deflateSync(JSON.stringify(columns), DEFLATE));
        rows.set(id, row);
      },
    ));
  return { results: results.map(() => {}), isSlow };
}

/**
 * Returns the result of `work`. It calls `add` for each row with what
 * {@linkcode indexedTexts} returns and gets the row's number.
 * @throws {CollectionsError} collection-too-large if the index is full.
 */
export function addRows<T>(
  name: IndexName & Pick<SearchInput, "folder">,
  work: (add: (columns: readonly string[]) => number) => T,
): T {
  const index = openIndex(name);
  const { db } = index;
  const insert = db.prepare(INSERT);
  try {
    const result = withCommits(db, (next) =>
      work((columns) => {
        insert.run(++index.last, ...columns);
        next();
        return index.last;
      }));
    // A new value makes the cache ask for the size again.
    indexes.set(keyOf(name), { ...index });
    return result;
  } catch (error) {
    indexes.delete(keyOf(name));
    if (!isFull(error)) throw error;
    throw collectionTooLarge(
      name.folder,
      `its index takes more than ${MAX_INDEX_BYTES} bytes`,
    );
  }
}

/** Returns the columns of a row. */
function textsOf(db: DatabaseSync, row: number): string[] {
  const found = db.prepare(FIND_TEXTS).get(row);
  if (found === undefined) return [];
  const json = inflateSync(found.deflated as Uint8Array);
  return JSON.parse(new TextDecoder().decode(json));
}

/** `work` calls `next` after each row that it changes. */
function withCommits<T>(
  db: DatabaseSync,
  work: (next: () => void) => T,
): T {
  // Errors of `db.exec()` have no code (Deno 2.9.6).
  const [begin, commit] = [db.prepare("BEGIN"), db.prepare("COMMIT")];
  begin.run();
  let endsAtMs = performance.now() + COMMIT_AFTER_MS;
  const result = work(() => {
    if (performance.now() < endsAtMs) return;
    commit.run();
    begin.run();
    endsAtMs = performance.now() + COMMIT_AFTER_MS;
  });
  commit.run();
  return result;
}

/** Returns how many rows an index that only grows has. */
export const countRows = (name: IndexName) => openIndex(name).last;

const SQLITE_FULL = 13;
const isFull = (error: unknown) =>
  (error as { errcode?: number }).errcode === SQLITE_FULL;

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
  // More is not indexed, and each copy of a whole text takes up to 20 MiB.
  const body = splitFenced(text).body.slice(0, MAX_CHARS);
  const headings = body.replaceAll(/^(```|~~~)[^]*?^\1/gm, "")
    .matchAll(/^ {0,3}#{1,6}[ \t]+(.*)/gm).map(([, heading]) => heading);
  return indexedTexts([
    textIn(title),
    [...headings].join("\n"),
    textIn(others),
    body,
  ]);
}

/**
 * Returns the texts of a row as the index takes them: the beginning of each,
 * with at most 5,000 different words in all.
 */
export function indexedTexts(texts: readonly string[]): string[] {
  const plain = texts.map((text) =>
    separateWords(text.slice(0, MAX_CHARS).replaceAll(/\p{Cc}/gu, " "))
  );
  // Each word takes two characters.
  const chars = plain.reduce((sum, { length }) => sum + length, 0);
  if (chars < 2 * MAX_WORDS) return plain;
  const words = new Set<string>();
  let left = MAX_WORDS;
  return plain.map((text) => {
    for (let at = 0; at < text.length; at += SLICE_CHARS) {
      for (const word of text.slice(at, at + SLICE_CHARS).match(WORD) ?? []) {
        if (words.has(word)) continue;
        words.add(word);
        left -= Math.ceil(word.length / WORD_CHARS);
      }
      if (left < 0) return text.slice(0, at);
    }
    return text;
  });
}

/** Returns all texts, numbers and other scalars of a value. */
export function textIn(value: PlainValue): string {
  if (typeof value !== "object") return String(value);
  return Object.values(value ?? []).map(textIn).join("\n");
}
