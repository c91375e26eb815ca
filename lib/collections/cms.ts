// The collections that a repository itself declares, by the configuration file of its content management system. Only
// files whose folders are already read are considered, each parsed once per blob id. One that cannot be read causes a
// warning and no error.

import { pathProblem, trimSlashes } from "../api/names.ts";
import type { ObjectKind } from "../cache/object_cache.ts";
import { compileGlob } from "./glob.ts";
import { textOf } from "./item_body.ts";
import {
  DataError,
  getOwn,
  isPlainObject,
  parseData,
  type PlainObject,
  type PlainValue,
} from "./plain_data.ts";
import { findEntry, readBlob, type ReadContext, repositoryOf } from "./read_context.ts";

/** Which files of a declared folder are entries, as plain data; every part that is set must match. */
interface EntryRule {
  /** With or without its dot; an empty one is that of every file. */
  readonly extension?: string;
  /** How many segments the path inside the folder has at most. */
  readonly maxSegments?: number | undefined;
  /** No segment of the path is one of these. */
  readonly exclude?: readonly string[];
  readonly glob?: string | undefined;
}

/** A name that the repository gives a folder. */
export interface Declared {
  readonly name: string;
  /** From the repository's root, without outer slashes; empty for the root itself. */
  readonly folder: string;
  /** The configuration file that declares it. */
  readonly source: string;
  readonly rule: EntryRule;
}

/** What one configuration file declares, in its own order, and why it was skipped or cut, as a sentence. */
type Declarations = { readonly collections: readonly Declared[]; readonly warning: string | null };

/** Name and folder as a configuration has them. */
type Given = Generator<Pick<Declared, "rule"> & Record<"name" | "folder", PlainValue | undefined>>;

/** The reader of each configuration file, by its path; it gives the declarations of the parsed file. */
const READERS: Readonly<Record<string, (config: PlainObject) => Given>> = {
  ".pages.yml": (config) => pagesCms(getOwn(config, "content")),
  "admin/config.yml": decapCms,
  "static/admin/config.yml": decapCms,
  "public/admin/config.yml": decapCms,
  "_config.yml": jekyll,
  "_config.yaml": jekyll,
  "_config.toml": jekyll,
};

/** Configurations repeat whole lists of fields by alias, and are read once a repository, not once a file. */
const LIMITS = { maxChars: 256 * 1024, maxTokens: 30_000, maxRepeatedChars: 1024 * 1024 };
/** A configuration is written by hand; a larger file is not one. */
const MAX_CONFIG_BYTES = 1 << 20;
const MAX_COLLECTIONS = 200;
/** Of a name, and of a folder; more cannot be requested. */
const MAX_CHARS = 1024;
/** A longer template counts as unreadable. */
const MAX_TEMPLATE_CHARS = 128;

/** Parsed configurations, by path and blob id, which alone determine the result. */
const declarationsKind: ObjectKind<Declarations> = {
  name: "declarations",
  sizeOf: (declarations) => 200 + 2 * JSON.stringify(declarations).length,
};

/** All declared collections, in the order of the files, and the warnings. @throws {CollectionsError} a source failure. */
export async function readDeclarations(read: ReadContext) {
  const found = await Promise.all(Object.keys(READERS).map((path) => readConfigFile(path, read)));
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

/** Reads the text of the configuration file at `path`, which is one of those that a CMS has. */
export async function parseDeclarations(path: string, text: string): Promise<Declarations> {
  const format = path.endsWith(".toml") ? "toml" : "yaml";
  try {
    // A byte order mark is no part of the document.
    const config = await parseData(text.replace(/^\ufeff/, ""), { format, ...LIMITS });
    if (!isPlainObject(config)) throw new DataError("The text is not a mapping", 1);
    const byName = new Map<string, Declared>();
    for (const given of READERS[path]!(config)) {
      const name = toText(given.name);
      const folder = typeof given.folder === "string" ? trimFolder(given.folder) : null;
      if (name === null || !isUsable(name) || folder === null || byName.has(name)) continue;
      // A placeholder such as `{{locale}}` means many folders.
      if (folder !== "" && (!isUsable(folder) || folder.includes("{{"))) continue;
      byName.set(name, { name, folder, source: path, rule: given.rule });
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

const isUsable = (path: string) => path.length <= MAX_CHARS && pathProblem(path) === null;

/** Compiles a rule: whether a file is an entry, by its path from the declared folder. */
export function compileRule(rule: EntryRule = {}): (path: string) => boolean {
  const { extension = "", maxSegments = Infinity } = rule;
  const suffix = extension === "" || extension.startsWith(".") ? extension : `.${extension}`;
  const exclude = new Set(rule.exclude);
  const matches = rule.glob === undefined ? () => true : compileGlob(rule.glob);
  return (path) => {
    const segments = path.split("/");
    return path.endsWith(suffix) && segments.length <= maxSegments &&
      !segments.some((name) => exclude.has(name)) && matches(path);
  };
}

/**
 * Pages CMS (pagescms.org/docs/configuration/content). Entries are the files with the collection's extension (by default
 * that of `filename`) that `exclude` does not name, in sub-folders too unless `subfolders` is false. Groups only arrange
 * the menu: the collections in them count as if they stood alone.
 */
function* pagesCms(content: PlainValue | undefined): Given {
  for (const entry of mappingsOf(content)) {
    const type = getOwn(entry, "type");
    if (type === "group") yield* pagesCms(getOwn(entry, "items"));
    if (type !== "collection") continue;
    const extension = getOwn(entry, "extension");
    const filename = getOwn(entry, "filename");
    const template = toText(isPlainObject(filename) ? getOwn(filename, "template") : filename);
    const ofTemplate = /\.([^./]+)$/.exec(template ?? "{primary}.md")?.[1] ?? "";
    const rule = {
      extension: typeof extension === "string" ? extension : ofTemplate,
      maxSegments: getOwn(entry, "subfolders") === false ? 1 : undefined,
      // The names of folders count as well: the files of an excluded folder are excluded.
      exclude: [getOwn(entry, "exclude")].flat(1).map(toText).filter((name) => name !== null),
    };
    yield { name: getOwn(entry, "name"), folder: getOwn(entry, "path"), rule };
  }
}

/**
 * Folder collections of Decap CMS, which Netlify CMS and Sveltia CMS share (decapcms.org/docs/collection-folder and
 * /docs/collection-nested, sveltiacms.app/en/docs/collections/entries). Entries are the files with the collection's
 * extension directly in its folder; `nested` goes `depth` levels down (the files of the folder itself are the first), and
 * a `path` with slashes puts entries where its template says. Collections of single files have no folder.
 */
function* decapCms(config: PlainObject): Given {
  for (const entry of mappingsOf(getMerged(config, "collections"))) {
    const format = toText(getMerged(entry, "format")) ?? "";
    const extension = toText(getMerged(entry, "extension")) ??
      /^(?:yml|toml|json)$/.exec(format.replace("yaml", "yml"))?.[0] ?? "md";
    const nested = getMerged(entry, "nested");
    const template = trimSlashes(toText(getMerged(entry, "path")) ?? "{{slug}}");
    const structure = structureOf(entry, config);
    const isNested = isPlainObject(nested);
    const levels = isNested ? getMerged(nested, "depth") : template.split("/").length;
    const languageFolders = structure === "multiple_folders" ? 1 : 0;
    // Without a depth every depth is allowed.
    const isBounded = typeof levels === "number" && levels >= 1;
    const hasGlob = !isNested && structure === "single_file";
    const rule = {
      extension,
      maxSegments: isBounded ? Math.floor(levels) + languageFolders : undefined,
      glob: hasGlob ? templateGlob(template, extension) : undefined,
    };
    yield { name: getMerged(entry, "name"), folder: getMerged(entry, "folder"), rule };
  }
}

/** A glob for the paths that a template such as `{{year}}/{{slug}}` gives; undefined for an unreadable one. */
function templateGlob(template: string, extension: string): string | undefined {
  const names = template.replace(/\{\{[^{}]*\}\}/g, "*").replace(/\*+/g, "*");
  const pattern = `${names}.${extension.replace(/^\./, "")}`;
  try {
    compileGlob(pattern);
    return template.length > MAX_TEMPLATE_CHARS ? undefined : pattern;
  } catch {
    return undefined;
  }
}

/** Where translations are: in one file, or in files or folders by language (decapcms.org/docs/i18n). */
function structureOf(entry: PlainObject, config: PlainObject): string {
  const own = getMerged(entry, "i18n") ?? false;
  const [ofEntry, ofConfig] = [own, getMerged(config, "i18n")]
    .map((options) => isPlainObject(options) ? toText(getMerged(options, "structure")) : null);
  return (own === false ? null : ofEntry ?? ofConfig) ?? "single_file";
}

/**
 * Jekyll (jekyllrb.com/docs/collections): `collections` as a list of names or as a mapping by name, below
 * `collections_dir` where that is set, and `posts`, which every site has. The folder is the name behind an underscore,
 * and every file in it is an entry.
 */
function* jekyll(config: PlainObject): Given {
  const declared = getMerged(config, "collections");
  const names = Array.isArray(declared)
    ? declared.map(toText)
    : Object.keys(isPlainObject(declared) ? declared : {});
  const parents = ["source", "collections_dir"]
    .map((key) => trimFolder(toText(getMerged(config, key)) ?? ""))
    .map((folder) => folder === "" ? "" : `${folder}/`).join("");
  for (const name of new Set([...names, "posts"])) {
    if (!name?.includes("/")) yield { name, folder: `${parents}_${name}`, rule: {} };
  }
}

function mappingsOf(value: PlainValue | undefined): PlainObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
}

/** The own value of a key, else that of the first mapping under `<<` that has it (yaml.org/type/merge.html). */
function getMerged(object: PlainObject, key: string): PlainValue | undefined {
  const own = getOwn(object, key);
  if (own !== undefined) return own;
  return [getOwn(object, "<<")].flat(1).filter(isPlainObject).values()
    .map((merged) => getMerged(merged, key)).find((value) => value !== undefined);
}

/** The text of a value that is meant as a word, also where it looks like a number; null for other values. */
function toText(value: PlainValue | undefined): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
}

/** A folder without the outer slashes and the leading `./` that systems allow. */
function trimFolder(folder: string): string {
  return trimSlashes(folder.replace(/^\.(?=\/|$)/, ""));
}
