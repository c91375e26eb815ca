// Where each content management system puts its configuration, and how it declares collections there.

import { trimSlashes } from "../../api/names.ts";
import { Glob } from "../glob.ts";
import { getOwn, isPlainObject, type PlainObject, type PlainValue } from "../plain_data.ts";

/** Which files of a declared folder are entries, as plain data; every part that is set must match. */
export interface EntryRule {
  /** With or without its dot; an empty one is that of every file. */
  readonly extension?: string;
  /** How many segments the path inside the folder has at most. */
  readonly maxSegments?: number | undefined;
  /** No segment of the path is one of these. */
  readonly exclude?: readonly string[];
  readonly glob?: string | undefined;
}

/** A collection as a configuration has it. */
export interface Declaration {
  readonly name: PlainValue | undefined;
  readonly folder: PlainValue | undefined;
  readonly rule: EntryRule;
}

/** The reader of each configuration file, by its path; a parsed file gives its declarations in its own order. */
export const READERS: ReadonlyMap<string, (config: PlainObject) => Iterable<Declaration>> = new Map(
  [
    [".pages.yml", (config) => pagesCms(getOwn(config, "content"))],
    ["admin/config.yml", decapCms],
    ["static/admin/config.yml", decapCms],
    ["public/admin/config.yml", decapCms],
    ["_config.yml", jekyll],
    ["_config.yaml", jekyll],
    ["_config.toml", jekyll],
  ],
);

/**
 * Pages CMS (pagescms.org/docs/configuration/content). Entries are the files with the collection's extension (by default
 * that of `filename`) that `exclude` does not name, in sub-folders too unless `subfolders` is false. Groups only arrange
 * the menu: the collections in them count as if they stood alone.
 */
function* pagesCms(content: PlainValue | undefined): Generator<Declaration> {
  for (const entry of mappingsOf(content)) {
    const type = getOwn(entry, "type");
    if (type === "group") yield* pagesCms(getOwn(entry, "items"));
    if (type !== "collection") continue;
    // The names of folders count as well: the files of an excluded folder are excluded.
    const exclude = [getOwn(entry, "exclude")].flat(1).map(toText).filter((name) => name !== null);
    const extension = getOwn(entry, "extension");
    const filename = getOwn(entry, "filename");
    const template = toText(isPlainObject(filename) ? getOwn(filename, "template") : filename);
    const ofTemplate = /\.([^./]+)$/.exec(template ?? "{primary}.md")?.[1] ?? "";
    const rule = {
      extension: typeof extension === "string" ? extension : ofTemplate,
      maxSegments: getOwn(entry, "subfolders") === false ? 1 : undefined,
      exclude,
    };
    yield { name: getOwn(entry, "name"), folder: getOwn(entry, "path"), rule };
  }
}

/** A longer template counts as unreadable. */
const MAX_TEMPLATE_CHARS = 128;

/**
 * Folder collections of Decap CMS, which Netlify CMS and Sveltia CMS share (decapcms.org/docs/collection-folder and
 * /docs/collection-nested, sveltiacms.app/en/docs/collections/entries). Entries are the files with the collection's
 * extension directly in its folder; `nested` goes `depth` levels down (the files of the folder itself are the first), and
 * a `path` with slashes puts entries where its template says. Collections of single files have no folder.
 */
function* decapCms(config: PlainObject): Generator<Declaration> {
  for (const entry of mappingsOf(getMerged(config, "collections"))) {
    const rule = decapRule(entry, structureOf(entry, config));
    yield { name: getMerged(entry, "name"), folder: getMerged(entry, "folder"), rule };
  }
}

function decapRule(entry: PlainObject, structure: string): EntryRule {
  const format = toText(getMerged(entry, "format")) ?? "";
  const extension = toText(getMerged(entry, "extension")) ??
    /^(?:yml|toml|json)$/.exec(format.replace("yaml", "yml"))?.[0] ?? "md";
  const nested = getMerged(entry, "nested");
  const template = trimSlashes(toText(getMerged(entry, "path")) ?? "{{slug}}");
  const isNested = isPlainObject(nested);
  // Without a depth every depth is allowed.
  const levels = isNested ? getMerged(nested, "depth") : template.split("/").length;
  const languageFolders = structure === "multiple_folders" ? 1 : 0;
  const isDeep = typeof levels !== "number" || levels < 1;
  const hasGlob = !isNested && structure === "single_file";
  return {
    extension,
    maxSegments: isDeep ? undefined : Math.floor(levels) + languageFolders,
    glob: hasGlob ? templateGlob(template, extension) : undefined,
  };
}

/** A glob for the paths that a template such as `{{year}}/{{slug}}` gives; undefined for an unreadable one. */
function templateGlob(template: string, extension: string): string | undefined {
  const names = template.replace(/\{\{[^{}]*\}\}/g, "*").replace(/\*+/g, "*");
  const pattern = `${names}.${extension.replace(/^\./, "")}`;
  try {
    new Glob(pattern);
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
function* jekyll(config: PlainObject): Generator<Declaration> {
  const declared = getMerged(config, "collections");
  const names = Array.isArray(declared)
    ? declared.map(toText)
    : Object.keys(isPlainObject(declared) ? declared : {});
  const parents = ["source", "collections_dir"]
    .map((key) => trimFolder(toText(getMerged(config, key)) ?? ""))
    .map((folder) => folder === "" ? "" : `${folder}/`).join("");
  for (const name of new Set([...names, "posts"])) {
    if (name?.includes("/")) continue;
    yield { name, folder: `${parents}_${name}`, rule: {} };
  }
}

function mappingsOf(value: PlainValue | undefined): PlainObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
}

/** The own value of a key, else that of the first mapping under `<<` that has it (yaml.org/type/merge.html). */
function getMerged(object: PlainObject, key: string): PlainValue | undefined {
  const own = getOwn(object, key);
  if (own !== undefined) return own;
  for (const merged of [getOwn(object, "<<")].flat(1)) {
    const value = isPlainObject(merged) ? getMerged(merged, key) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The text of a value that is meant as a word, also where it looks like a number; null for other values. */
export function toText(value: PlainValue | undefined): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
}

/** A folder without the outer slashes and the leading `./` that systems allow. */
export function trimFolder(folder: string): string {
  return trimSlashes(folder.replace(/^\.(?=\/|$)/, ""));
}
