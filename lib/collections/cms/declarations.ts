// The collections that a repository itself declares, by the configuration files of its CMS. Only files whose folders are
// already read are considered, each parsed once per blob id. A file that cannot be read causes a warning and no error.

import { pathProblem } from "../../api/names.ts";
import type { ObjectKind } from "../../cache/object_cache.ts";
import { Glob } from "../glob.ts";
import { textOf } from "../item_body.ts";
import { DataError, parseData } from "../parse_data.ts";
import { isPlainObject } from "../plain_data.ts";
import { findEntry, readBlob, type ReadContext, repositoryOf } from "../read_context.ts";
import { type Declaration, type EntryRule, READERS, toText, trimFolder } from "./systems.ts";

/** A name that the repository gives a folder. */
export interface Declared {
  readonly name: string;
  /** From the repository's root, without outer slashes; empty for the root itself. */
  readonly folder: string;
  /** The configuration file that declares it. */
  readonly source: string;
  readonly rule: EntryRule;
}

/** Configurations repeat whole lists of fields by alias, and are read once a repository, not once a file. */
const LIMITS = { maxChars: 256 * 1024, maxTokens: 30_000, maxRepeatedChars: 1024 * 1024 };
/** Collections of one file; people have dozens. */
const MAX_COLLECTIONS = 200;
/** Characters of a name, and of a folder; more cannot be requested. */
const MAX_CHARS = 1024;
/** A configuration is written by hand; a larger file is not one. */
const MAX_CONFIG_BYTES = 1 << 20;

/** What one configuration file declares, in its own order, and why it was skipped or cut, as a sentence. */
interface Declarations {
  readonly collections: readonly Declared[];
  readonly warning: string | null;
}

/** Parsed configurations, by path and blob id, which alone determine the result. */
const declarationsKind: ObjectKind<Declarations> = {
  name: "declarations",
  sizeOf: (declarations) => 200 + 2 * JSON.stringify(declarations).length,
};

/** All declared collections, in the order of the files, and the warnings. @throws {CollectionsError} a source failure. */
export async function readDeclarations(read: ReadContext) {
  const found = await Promise.all([...READERS.keys()].map((path) => readConfigFile(path, read)));
  return {
    collections: found.flatMap(({ collections }) => collections),
    warnings: found.map(({ warning }) => warning).filter((warning) => warning !== null),
  };
}

async function readConfigFile(path: string, read: ReadContext): Promise<Declarations> {
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
  const declarations = await parseDeclarations(path, text);
  read.objects.set(declarationsKind, repositoryOf(read), key, declarations);
  return declarations;
}

function unreadable(path: string, why: string): Declarations {
  return { collections: [], warning: `Cannot read "${path}": ${why}` };
}

/** Reads the text of the configuration file at `path`, which is one of {@linkcode READERS}. */
export async function parseDeclarations(path: string, text: string): Promise<Declarations> {
  const format = path.endsWith(".toml") ? "toml" : "yaml";
  try {
    // A byte order mark is no part of the document.
    const config = await parseData(text.replace(/^\ufeff/, ""), { format, ...LIMITS });
    if (!isPlainObject(config)) throw new DataError("The text is not a mapping", 1);
    const byName = new Map<string, Declared>();
    for (const declaration of READERS.get(path)!(config)) {
      const declared = acceptDeclaration(declaration, path);
      if (declared !== null && !byName.has(declared.name)) byName.set(declared.name, declared);
    }
    const warning = byName.size > MAX_COLLECTIONS
      ? `Cannot read "${path}" whole: it declares more than ${MAX_COLLECTIONS} collections`
      : null;
    return { collections: [...byName.values()].slice(0, MAX_COLLECTIONS), warning };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return unreadable(path, `${error.message} (line ${error.line})`);
  }
}

/** The collection of a declaration, or null where its name cannot be requested or its folder cannot exist. */
function acceptDeclaration({ name: given, folder: path, rule }: Declaration, source: string) {
  const isUsable = (path: string) => path.length <= MAX_CHARS && pathProblem(path) === null;
  const name = toText(given);
  const folder = typeof path === "string" ? trimFolder(path) : null;
  if (name === null || !isUsable(name) || folder === null) return null;
  // A placeholder such as `{{locale}}` means many folders.
  const isFolder = folder === "" || (isUsable(folder) && !folder.includes("{{"));
  return isFolder ? { name, folder, source, rule } : null;
}

/** Compiles a rule: whether a file is an entry, by its path from the declared folder. */
export function compileRule(rule: EntryRule = {}): (path: string) => boolean {
  const { extension = "", maxSegments = Infinity } = rule;
  const suffix = extension === "" || extension.startsWith(".") ? extension : `.${extension}`;
  const exclude = new Set(rule.exclude);
  const glob = rule.glob === undefined ? null : new Glob(rule.glob);
  return (path) => {
    const segments = path.split("/");
    return path.endsWith(suffix) && segments.length <= maxSegments &&
      !segments.some((name) => exclude.has(name)) && (glob === null || glob.matches(path));
  };
}
