// The collections that a repository itself declares, by the configuration files of its CMS. Only files whose folders are
// already read are considered, each parsed once per blob id. A file that cannot be read causes a warning and no error.

import type { ObjectKind } from "../../cache/object_cache.ts";
import { findEntry } from "../find_entry.ts";
import { readBlob, textOf } from "../item_body.ts";
import { parseData } from "../parse_data.ts";
import { DataError, isPlainObject, type PlainObject, type PlainValue } from "../plain_data.ts";
import { type ReadContext, repositoryOf } from "../read_context.ts";
import { decapCmsCollections } from "./decap_cms.ts";
import type { DeclaredCollection } from "./declaration.ts";
import { jekyllCollections } from "./jekyll.ts";
import { pagesCmsCollections } from "./pages_cms.ts";

/** Configurations repeat whole lists of fields by alias, and are read once a repository, not once a file. */
const LIMITS = { maxChars: 256 * 1024, maxTokens: 30_000, maxRepeatedChars: 1024 * 1024 };

/** Collections of one file; people have dozens. */
const MAX_COLLECTIONS = 200;
/** A configuration is written by hand; a larger file is not one. */
const MAX_CONFIG_BYTES = 1 << 20;

type Reader = (config: PlainObject, source: string) => DeclaredCollection[];

const READERS: ReadonlyMap<string, Reader> = new Map([
  [".pages.yml", pagesCmsCollections],
  ["admin/config.yml", decapCmsCollections],
  ["static/admin/config.yml", decapCmsCollections],
  ["public/admin/config.yml", decapCmsCollections],
  ["_config.yml", jekyllCollections],
  ["_config.yaml", jekyllCollections],
  ["_config.toml", jekyllCollections],
]);

/** What one configuration file declares, in its own order, and one sentence where the list is cut. */
export interface Declarations {
  readonly collections: readonly DeclaredCollection[];
  readonly warning: string | null;
}

/** A declaration; `id` differs between declarations and between versions of the file. */
export type Declared = DeclaredCollection & { readonly id: string };

/** Parsed configurations, by path and blob id, which alone determine the result. */
const declarationsKind: ObjectKind<ReadDeclarations> = {
  name: "declarations",
  sizeOf: (declarations) => 200 + 2 * JSON.stringify(declarations).length,
};

interface ReadDeclarations extends Declarations {
  readonly collections: readonly Declared[];
}

/** All declared collections, in the order of the files, and why a file was skipped or cut. @throws {CollectionsError} a source failure. */
export async function readDeclarations(
  read: ReadContext,
): Promise<{ collections: readonly Declared[]; warnings: readonly string[] }> {
  const found = await Promise.all(
    [...READERS.keys()].map((path) => readConfigFile(path, read)),
  );
  return {
    collections: found.flatMap(({ collections }) => collections),
    warnings: found.map(({ warning }) => warning).filter((warning) => warning !== null),
  };
}

async function readConfigFile(path: string, read: ReadContext): Promise<ReadDeclarations> {
  const entry = await findEntry(path, read);
  if (entry?.kind !== "file") return { collections: [], warning: null };
  if (entry.size > MAX_CONFIG_BYTES) {
    return unreadable(path, `it has more than ${MAX_CONFIG_BYTES} bytes`);
  }
  const key = `${path} ${entry.id}`;
  const cached = read.objects.peek(declarationsKind, repositoryOf(read), key);
  if (cached !== undefined) return cached;
  const text = textOf(await readBlob({ path, id: entry.id, size: entry.size }, read));
  if (text === null) return unreadable(path, "it is not UTF-8 text");
  const { collections, warning } = await parseDeclarations(path, text);
  const declarations = {
    collections: collections.map((one) => ({ ...one, id: `${key} ${one.name}` })),
    warning,
  };
  read.objects.set(declarationsKind, repositoryOf(read), key, declarations);
  return declarations;
}

function unreadable(path: string, why: string): ReadDeclarations {
  return { collections: [], warning: `Cannot read "${path}": ${why}` };
}

/** Reads the text of the configuration file at `path`; a path of no known system declares nothing. */
export async function parseDeclarations(path: string, text: string): Promise<Declarations> {
  const reader = READERS.get(path);
  if (reader === undefined) return { collections: [], warning: null };
  try {
    const config = await parseConfig(path, text);
    if (!isPlainObject(config)) throw new DataError("The text is not a mapping", 1);
    const collections = firstOfEachName(reader(config, path));
    const warning = collections.length > MAX_COLLECTIONS
      ? `Cannot read "${path}" whole: it declares more than ${MAX_COLLECTIONS} collections`
      : null;
    return { collections: collections.slice(0, MAX_COLLECTIONS), warning };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return unreadable(path, `${error.message} (line ${error.line})`);
  }
}

function firstOfEachName(collections: readonly DeclaredCollection[]): DeclaredCollection[] {
  const seen = new Set<string>();
  return collections.filter(({ name }) => !seen.has(name) && seen.add(name));
}

function parseConfig(path: string, text: string): Promise<PlainValue> {
  // A byte order mark is no part of the document.
  const document = text.replace(/^\ufeff/, "");
  return parseData(document, { format: path.endsWith(".toml") ? "toml" : "yaml", ...LIMITS });
}
