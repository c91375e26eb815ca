// Finds the collections of a repository in the list of its files and describes
// them. Declared collections come first. Then come folders that hold content:
// by their place, or because they have several Markdown files.

import type { CollectionBody, FolderBody } from "../api/contract.ts";
import { collectionTooLarge } from "../errors.ts";
import { FileList } from "../source/file_list.ts";
import { compileRule, type Declared, type EntryRule } from "./declared.ts";
import { derivedText, type Missing } from "./derived.ts";
import {
  derivedKey,
  fileName,
  type Kind,
  kindOf,
  needsReading,
} from "./file_names.ts";
import type { FrontMatter } from "./front_matter.ts";
import { declaredSchema, inferSchema, type Schema } from "./schema.ts";
import { MAX_READ } from "./select.ts";
import { typesOf } from "./types.ts";

/** Folders whose sub-folders are collections. They are none themselves. */
const PARENTS = ["content", "src/content", "collections", "data", "_data"];
const CONTAINERS: ReadonlySet<string> = new Set(["", "src", ...PARENTS]);
/** Other folders need this many articles directly in them. */
const MIN_ARTICLES = 2;
/** README.md, LICENSE.md and so on. */
const ABOUT_CODE = /^[A-Z_]+\.\w+$/;

/** Maximum folders that are found to hold content. */
const MAX_FOUND = 200;
const MAX_FOLDERS = 10_000;
/** Maximum keys that all inferred schemas of an answer describe. */
const MAX_KEYS = 5_000;

export interface CollectionsInput {
  repository: string;
  files: Uint8Array;
  declared: readonly Declared[];
  /** The folder whose sub-folders are listed. */
  path: string;
  format: "plain" | "schema" | "types";
  maxItemBytes: number;
  /** The maximum number of bytes of the text. */
  maxBytes: number;
}

export interface DescribedCollections {
  /** JSON with `collections` and `folders`, or TypeScript. */
  readonly text: Uint8Array<ArrayBuffer>;
  readonly warnings: readonly string[];
}

type Found = Omit<CollectionBody, "schema"> & {
  rule?: EntryRule | undefined;
  schema?: Schema;
};

/**
 * Describes the collections of a repository.
 * @throws {CollectionsError} collection-too-large over the limits.
 */
export function describeCollections(
  input: CollectionsInput,
): DescribedCollections | Missing {
  const { format, maxBytes } = input;
  const files = new FileList(input.files);
  const warnings: string[] = [];
  const kinds = Array.from(
    { length: files.length },
    (_, index) => kindOf(fileName(files.pathAt(index))),
  );
  const collections = reachable(input.declared, files);
  const { found, folders } = survey(files, kinds, {
    path: input.path,
    maxBytes,
    known: new Set(collections.map(({ path }) => path)),
  });
  if (found.length > MAX_FOUND) {
    warnings.push(`Left out folders of content: there are over ${MAX_FOUND}`);
  }
  for (const path of found.slice(0, MAX_FOUND)) {
    collections.push({ name: path, path, items: 0, kinds: {} });
  }
  for (const collection of collections) {
    for (const index of indicesOf(collection, files)) {
      const kind = kinds[index]!;
      collection.items++;
      collection.kinds[kind] = (collection.kinds[kind] ?? 0) + 1;
    }
  }
  if (format !== "plain") {
    const missing = addSchemas(collections, files, input, warnings);
    if (missing.length > 0) return { missing };
  }
  const text = new TextEncoder().encode(
    format === "types"
      ? typesOf(collections)
      : JSON.stringify({ collections: collections.map(toBody), folders }),
  );
  if (text.length > maxBytes) {
    throw tooLarge(maxBytes);
  }
  return { text, warnings };
}

const tooLarge = (maxBytes: number) =>
  collectionTooLarge("", `its description has more than ${maxBytes} bytes`);

function toBody({ rule: _, schema, ...body }: Found) {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  const title = body.label ?? body.name;
  return { ...body, schema: schema && { $schema, title, ...schema } };
}

/** Returns the declared collections that their names lead to. */
function reachable(declared: readonly Declared[], files: FileList): Found[] {
  const exists = (folder: string) => {
    const [start, end] = files.rangeOf(folder);
    return start < end;
  };
  const byName = new Map<string, Found>();
  for (const { folder: path, rule, ...names } of declared) {
    const { name } = names;
    // A folder of that name comes first, and its files are not restricted.
    const isFolder = exists(name);
    const isOther = isFolder && name !== path;
    if (byName.has(name) || isOther || !exists(path)) continue;
    const fields = names.fields && JSON.parse(names.fields);
    const body = { ...names, fields, path, items: 0, kinds: {} };
    byName.set(name, isFolder ? body : { ...body, rule });
  }
  return [...byName.values()];
}

/** Yields the indices of a collection's items. */
function* indicesOf({ path, rule }: Found, files: FileList) {
  const accepts = compileRule(rule);
  const [start, end] = files.rangeOf(path);
  const inside = path === "" ? 0 : path.length + 1;
  for (let index = start; index < end; index++) {
    if (!rule || accepts(files.pathAt(index).slice(inside))) yield index;
  }
}

interface Folder {
  path: string;
  files: number;
  /** Markdown that is not about the code. */
  articles: number;
  data: number;
  /** Articles in it, in a folder of their own or in folders of numbers. */
  own: number;
  /** The collections in it. */
  found: string[];
}

/**
 * Returns the folders that hold content and the direct sub-folders of `path`.
 * Reads the list once. The stack holds the folders of the current path.
 */
function survey(
  files: FileList,
  kinds: readonly Kind[],
  { path: parent, known, maxBytes }: {
    path: string;
    known: ReadonlySet<string>;
    maxBytes: number;
  },
) {
  const folders: FolderBody[] = [];
  let chars = 0;
  const stack: Folder[] = [];
  const open = (path: string) =>
    stack.push({ path, files: 0, articles: 0, data: 0, own: 0, found: [] });
  const close = () => {
    const { path, files, articles, data, own, found } = stack.pop()!;
    const above = stack.at(-1)!;
    const name = fileName(path);
    above.files += files;
    if (above.path === parent) {
      folders.push({ name, path, files });
      if (folders.length > MAX_FOLDERS) {
        throw collectionTooLarge(
          "",
          `a folder has more than ${MAX_FOLDERS} folders`,
        );
      }
      chars += name.length + path.length;
      if (chars > maxBytes) throw tooLarge(maxBytes);
    }
    if (known.has(path)) return;
    above.articles += articles;
    above.data += data;
    // A page may have its own folder. A year is no collection.
    if (articles === 1 || /^\d+$/.test(name)) above.own += articles;
    const isCollection = PARENTS.includes(above.path)
      ? articles + data > 0
      : own >= MIN_ARTICLES || articles > 0 && path.startsWith("_");
    const inside = isCollection && !CONTAINERS.has(path) ? [path] : found;
    // One more than the maximum shows that there are too many.
    above.found.push(...inside.slice(0, MAX_FOUND + 1 - above.found.length));
  };
  open("");
  for (let index = 0; index < files.length; index++) {
    const path = files.pathAt(index);
    while (stack.length > 1 && !path.startsWith(`${stack.at(-1)!.path}/`)) {
      close();
    }
    let end = stack.at(-1)!.path.length;
    while ((end = path.indexOf("/", end + 1)) > 0) open(path.slice(0, end));
    const folder = stack.at(-1)!;
    folder.files++;
    if (kinds[index] === "data") folder.data++;
    if (kinds[index] === "markdown" && !ABOUT_CODE.test(fileName(path))) {
      folder.articles++;
      folder.own++;
    }
  }
  while (stack.length > 1) close();
  return { found: stack[0]!.found, folders };
}

/**
 * Adds the schema of each collection. Returns the files whose front matter the
 * thread lacks. A collection that is too much to read gets a warning.
 */
function addSchemas(
  collections: readonly Found[],
  files: FileList,
  { repository, maxItemBytes }: CollectionsInput,
  warnings: string[],
): number[] {
  const missing: number[] = [];
  const room = { keys: MAX_KEYS };
  let budget = MAX_READ;
  for (const collection of collections) {
    if (collection.fields !== undefined) {
      collection.schema = declaredSchema(collection.fields);
      continue;
    }
    let { files: count, bytes, chars } = budget;
    const lacking: number[] = [];
    const texts: string[] = [];
    for (const index of indicesOf(collection, files)) {
      const file = files.at(index);
      const { path, size } = file;
      if (!needsReading(fileName(path), size, maxItemBytes)) continue;
      const text = derivedText(repository, derivedKey(file));
      count--;
      bytes -= size;
      chars -= text?.length ?? 0;
      if (Math.min(count, bytes, chars) < 0) break;
      if (text === undefined) lacking.push(index);
      else texts.push(text);
    }
    if (Math.min(count, bytes, chars) < 0) {
      const name = JSON.stringify(collection.name);
      warnings.push(
        `Left out the schema of ${name}: it would take too much front matter`,
      );
      continue;
    }
    budget = { files: count, bytes, chars };
    missing.push(...lacking);
    if (missing.length === 0) {
      const items = texts.values()
        .map((text) => (JSON.parse(text) as FrontMatter).frontMatter)
        .filter((frontMatter) => frontMatter !== undefined);
      collection.schema = inferSchema(items, room);
    }
  }
  return missing;
}
