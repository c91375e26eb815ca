// The collections that the configuration file of a content management system declares. One that cannot be read causes a
// warning and no error.

import { pathProblem, trimSlashes } from "../api/names.ts";
import { type Declarations, type Declared, unreadable } from "./declared.ts";
import { textOf } from "./file_text.ts";
import { compileGlob } from "./glob.ts";
import { DataError, parseData } from "./parse_data.ts";
import { getOwn, isPlainObject, type PlainObject, type PlainValue } from "./plain_value.ts";

/** Name and folder as a configuration has them. */
type Given = Generator<Pick<Declared, "rule"> & Record<"name" | "folder", PlainValue | undefined>>;

/** Configurations repeat whole lists of fields by alias, and are read once a repository, not once a file. */
const LIMITS = { maxChars: 256 * 1024, maxRepeatedChars: 1024 * 1024 };
const MAX_COLLECTIONS = 200;
/** Of a name, and of a folder; more cannot be requested. */
const MAX_CHARS = 1024;
/** A longer template counts as unreadable. */
const MAX_TEMPLATE_CHARS = 128;

/** Reads the configuration file at `path`, which is one of {@linkcode CONFIG_PATHS}. */
export function readConfig({ path, bytes }: { path: string; bytes: Uint8Array }): Declarations {
  const text = textOf(bytes);
  if (text === null) return unreadable(path, "it is not UTF-8 text");
  const format = path.endsWith(".toml") ? "toml" : "yaml";
  try {
    // A byte order mark is no part of the document.
    const config = parseData(text.replace(/^\ufeff/, ""), { format, ...LIMITS });
    if (!isPlainObject(config)) throw new DataError("The text is not a mapping", 1);
    const byName = new Map<string, Declared>();
    const system = path.startsWith("_config.")
      ? jekyll
      : path === ".pages.yml"
      ? pagesCms
      : decapCms;
    for (const given of system(config)) {
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

/**
 * Pages CMS (pagescms.org/docs/configuration/content). Entries are the files with the collection's extension (by default
 * that of `filename`) that `exclude` does not name, in sub-folders too unless `subfolders` is false. Groups only arrange
 * the menu: the collections in them count as if they stood alone.
 */
function* pagesCms(parent: PlainObject, key = "content"): Given {
  for (const entry of mappingsOf(getOwn(parent, key))) {
    const type = getOwn(entry, "type");
    if (type === "group") yield* pagesCms(entry, "items");
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
    const isNested = isPlainObject(nested);
    // Without a depth every depth is allowed.
    const depth = isNested ? getMerged(nested, "depth") : undefined;
    // Translations may have folders and names of their own.
    const isTranslated = Boolean(getMerged(entry, "i18n"));
    const isBounded = !isTranslated && typeof depth === "number" && depth >= 1;
    const rule = {
      extension,
      maxSegments: isBounded ? Math.floor(depth) : undefined,
      glob: isNested || isTranslated ? undefined : templateGlob(template, extension),
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
