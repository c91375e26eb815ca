// The rows of a data file as items: CSV, TSV, JSON, JSON Lines, YAML or TOML.
// The content thread keeps the rows of the files that were used last.

import { Buffer } from "node:buffer";
import { CsvError, parse as parseCsv } from "csv-parse/sync";
import type { FacetsBody } from "../api/contract.ts";
import { collectionTooLarge, problem } from "../errors.ts";
import type { Pace } from "../thread/compute.ts";
import { countFacets } from "./facets.ts";
import { project } from "./fields.ts";
import { textOf } from "./file_text.ts";
import { parseFilters } from "./filter.ts";
import { areTextsOver } from "./json_size.ts";
import { Kept } from "./kept.ts";
import { DataError, parseData, parseJson } from "./parse_data.ts";
import {
  isPlainObject,
  type PlainObject,
  type PlainValue,
} from "./plain_value.ts";
import {
  addRows,
  countRows,
  findRows,
  indexedTexts,
  textIn,
} from "./search.ts";
import { termsOf } from "./search_terms.ts";
import { snippetOf } from "./snippet.ts";
import { parseSort, sortIndices } from "./sort.ts";

const MAX_ROWS = 200_000;
/** A single row of CSV could otherwise fill the thread's memory with cells. */
const MAX_CELLS_PER_ROW = 100_000;
/**
 * The maximum of a file, or of a row of JSON Lines. These take the most memory
 * for their bytes and nothing stops `JSON.parse`.
 */
const MAX_JSON_LISTS = 500_000;
/** Parsed rows take up to 18 times the bytes of their file. */
const MAX_KEPT_BYTES = 11 << 20;
const LIMITS = { maxChars: 10 << 20, maxRepeatedChars: 1 << 20 };

/** Names the rows of a file. */
export interface RowsName {
  readonly repository: string;
  /** The path from the repository's root. */
  readonly path: string;
  readonly id: string;
  /** Whether cells of CSV may be numbers, booleans or null. */
  readonly infers: boolean;
}

/** A data file. Its bytes are moved to the thread. */
export interface TableInput extends RowsName {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface RowsInput extends RowsName {
  readonly sort: string | undefined;
  readonly filter: readonly (readonly [string, string])[];
  readonly facets: readonly string[];
  readonly search: string | undefined;
  readonly fields: readonly string[] | undefined;
  /** The positions of the page in the list. */
  readonly start: number;
  readonly end: number;
  readonly maxBytes: number;
}

/** A page of rows. */
export interface RowsPage {
  /** The items with commas between them. Null if they are too large. */
  readonly json: Uint8Array<ArrayBuffer> | null;
  readonly total: number;
  readonly facets: FacetsBody;
}

/** What the thread has to get before it can list rows. */
export type RowsLack = { readonly missing: "rows" | "index" };

interface Row {
  readonly index: number;
  readonly key?: string;
  readonly data: PlainValue;
}

const tables = new Kept<{ rows: readonly Row[]; size: number }>({
  maxBytes: MAX_KEPT_BYTES,
  sizeOf: ({ size }) => size + 1,
});
const keyOf = ({ repository, path, id, infers }: RowsName) =>
  `${repository}\n${id} ${infers} ${path}`;
const indexOf = (name: RowsName) => ({
  repository: name.repository,
  index: keyOf(name),
  folder: name.path,
});

/**
 * Parses the rows of a file and keeps them.
 * @throws {CollectionsError} collection-too-large, or collection-not-found if
 * the file has no list.
 */
export function parseTable(input: TableInput): void {
  const { path, bytes, infers } = input;
  try {
    const text = textOf(bytes);
    if (text === null) throw new DataError("It is not UTF-8 text", 1);
    while (tables.bytes + bytes.length >= MAX_KEPT_BYTES) tables.pop();
    const rows = rowsOf(text.replace(/^\ufeff/, ""), path, infers);
    tables.set(keyOf(input), { rows, size: bytes.length });
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    const { message, line } = error;
    const at = line > 1 ? ` (line ${line})` : "";
    const state = `"${path}" is no list of rows: ${message}${at}.`;
    throw problem("collection-not-found", { state });
  }
}

/**
 * Adds rows to the search index while the turn lasts. Returns whether nothing
 * remains to be added.
 */
export function indexTable(name: RowsName, pace: Pace): boolean {
  const { rows = [] } = tables.get(keyOf(name)) ?? {};
  let count = countRows(indexOf(name));
  addRows(indexOf(name), (add) => {
    while (count < rows.length) {
      count = add(textsOf(rows[count]!));
      if (pace.isOver()) break;
    }
  });
  return count >= rows.length;
}

/** Returns what the index has of a row. */
const textsOf = ({ data }: Row) => indexedTexts(["", "", "", textIn(data)]);

/** Selects, sorts and writes rows. The order is by score, else by index. */
export function listRows(input: RowsInput, pace: Pace): RowsPage | RowsLack {
  const { search = "", sort, fields, start, end } = input;
  const table = tables.get(keyOf(input));
  if (table === undefined) return { missing: "rows" };
  const { rows } = table;
  const searched = { ...indexOf(input), search };
  const isSearch = input.search !== undefined;
  if (isSearch && countRows(searched) < rows.length) {
    return { missing: "index" };
  }
  const scores = isSearch ? findRows(searched, pace) : null;
  const order = parseSort(sort ?? "path");
  const { byFrontMatter: tests } = parseFilters(input.filter);
  const { indices, facets } = pace.within(() => {
    const passing = [...rows.keys()].filter((index) =>
      scores?.has(index + 1) !== false &&
      tests.every((passes) => passes(itemAt(index)))
    );
    const facets = countFacets(input.facets, passing.map(itemAt));
    if (scores !== null && sort === undefined) {
      passing.sort((a, b) => scores.get(b + 1)! - scores.get(a + 1)!);
      return { indices: passing, facets };
    }
    const sorted = sortIndices(passing, order, { item: itemAt });
    return { indices: [...sorted], facets };
  });
  function itemAt(index: number): PlainObject {
    return { data: rows[index]!.data };
  }

  const page = indices.slice(start, end);
  const terms = termsOf(search);
  const snippets = scores &&
    pace.within(() =>
      page.map((index) => snippetOf([textsOf(rows[index]!)[3]!], terms))
    );
  const items: string[] = [];
  let bytesLeft = input.maxBytes;
  for (const [at, index] of page.entries()) {
    const match = scores && {
      score: scores.get(index + 1)!,
      snippet: snippets![at]!,
    };
    const item = { ...rows[index]!, ...match && { match } };
    const sent = fields ? project(item, fields) : item;
    const isOver = areTextsOver(sent, bytesLeft);
    const json = isOver ? "" : JSON.stringify(sent);
    bytesLeft -= Buffer.byteLength(json) + 1;
    if (isOver || bytesLeft < 0) {
      return { json: null, total: indices.length, facets };
    }
    items.push(json);
  }
  const json = new TextEncoder().encode(items.join());
  return { json, total: indices.length, facets };
}

/**
 * @throws {DataError} if the text has no list.
 * @throws {CollectionsError} collection-too-large.
 */
function rowsOf(text: string, path: string, infers: boolean): Row[] {
  const format = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  if (format === "csv" || format === "tsv") {
    const delimiter = format === "csv" ? "," : "\t";
    if (mostCells(text, delimiter) > MAX_CELLS_PER_ROW) {
      const why = `it has a row with more than ${MAX_CELLS_PER_ROW} cells`;
      throw collectionTooLarge(path, why);
    }
    return csvRows(text, { path, delimiter, infers });
  }
  if (/^(jsonl|ndjson)$/.test(format)) return jsonLinesRows(text, path);
  if (format === "json") requireFewLists(text, path);
  const value = parseData(text, {
    format: format === "json" || format === "toml" ? format : "yaml",
    ...LIMITS,
  });
  const listed = (list: readonly PlainValue[]) => {
    requireFewRows(list.length, path);
    return list.map((data, index) => ({ index, data }));
  };
  if (Array.isArray(value)) return listed(value);
  if (!isPlainObject(value)) throw new DataError("It has no list", 1);
  const keys = Object.keys(value);
  const only = value[keys[0] ?? ""];
  // TOML has no list at the top.
  if (keys.length === 1 && Array.isArray(only)) return listed(only);
  requireFewRows(keys.length, path);
  return keys.map((key, index) => ({ index, key, data: value[key]! }));
}

/** @throws {CollectionsError} collection-too-large. */
function requireFewRows(count: number, path: string): void {
  if (count <= MAX_ROWS) return;
  throw collectionTooLarge(path, `it has more than ${MAX_ROWS} rows`);
}

/** A list of all lines would take more memory than the rows. */
function jsonLinesRows(text: string, path: string): Row[] {
  const rows: Row[] = [];
  let line = 1;
  for (let start = 0; start < text.length; line++) {
    const lineEnd = text.indexOf("\n", start);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const data = text.slice(start, end).trim();
    start = end + 1;
    if (data === "") continue;
    requireFewRows(rows.length + 1, path);
    requireFewLists(data, path, "a row");
    rows.push({ index: rows.length, data: parseJson(data, line) });
  }
  return rows;
}

/** Returns the number of cells of the longest row. */
function mostCells(text: string, delimiter: string): number {
  let [most, cells] = [1, 1];
  let isCellStart = true;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"' && isCellStart) {
      at = text.indexOf('"', at + 1);
      // Two quotes stand for one.
      while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
      if (at < 0) break;
    }
    const endsRow = char === "\n" || char === "\r";
    isCellStart = endsRow || char === delimiter;
    if (endsRow) cells = 1;
    else if (isCellStart) most = Math.max(most, ++cells);
  }
  return most;
}

/** @throws {CollectionsError} collection-too-large. */
function requireFewLists(text: string, path: string, subject = "it"): void {
  let [count, isString] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') isString = !isString;
    else if (isString) at += char === "\\" ? 1 : 0;
    else if (char === "[" || char === "{") count++;
  }
  if (count <= MAX_JSON_LISTS) return;
  const why = `${subject} has more than ${MAX_JSON_LISTS} lists and objects`;
  throw collectionTooLarge(path, why);
}

/**
 * Parses RFC 4180 with a header. A cell without a name of its own is named by
 * its column. Missing cells are absent.
 */
function csvRows(
  text: string,
  { path, delimiter, infers }: {
    path: string;
    delimiter: string;
    infers: boolean;
  },
): Row[] {
  const rows: Row[] = [];
  const names: string[] = [];
  /** How often each name was wanted. */
  const taken = new Map<string, number>();
  const nameAt = (column: number, header = "") => {
    const wanted = header.trim() || `column${column + 1}`;
    let name = wanted;
    for (let n = taken.get(wanted) ?? 1; taken.has(name);) {
      name = `${wanted}_${++n}`;
      taken.set(wanted, n);
    }
    taken.set(name, 1);
    return names[column] = name;
  };
  const onRecord = (cells: string[]) => {
    if (taken.size === 0) {
      cells.forEach((cell, column) => nameAt(column, cell));
      return null;
    }
    const data = Object.fromEntries(
      cells.map((cell, column) => [
        names[column] ?? nameAt(column),
        infers ? inferred(cell) : cell,
      ]),
    );
    requireFewRows(rows.length + 1, path);
    rows.push({ index: rows.length, data });
    return null;
  };
  try {
    parseCsv(text, {
      delimiter,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      on_record: onRecord,
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new DataError(error.message, Number(error.lines ?? 1));
  }
  return rows;
}

function inferred(cell: string): PlainValue {
  if (cell === "") return null;
  if (cell === "true" || cell === "false") return cell === "true";
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(cell)) return cell;
  const value = Number(cell);
  const isExact = Number.isFinite(value) &&
    (Number.isSafeInteger(value) || !Number.isInteger(value));
  return isExact ? value : cell;
}
