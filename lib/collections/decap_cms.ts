// Folder collections of Decap CMS, which Netlify CMS and Sveltia CMS share: decapcms.org/docs/collection-folder and
// /docs/collection-nested, sveltiacms.app/en/docs/collections/entries.

import { trimSlashes } from "../api/names.ts";
import {
  countSegments,
  declareCollection,
  type DeclaredCollection,
  getMerged,
  hasExtension,
  toText,
} from "./declared_collection.ts";
import { Glob } from "./glob.ts";
import { isPlainObject, type PlainObject } from "./plain_data.ts";

/** Formats that bring another extension than `md`. */
const FORMAT_EXTENSIONS: Readonly<Record<string, string>> = {
  yml: "yml",
  yaml: "yml",
  toml: "toml",
  json: "json",
};

/** A longer template is taken for one that cannot be told, since a glob's size grows with the square of its length. */
const MAX_TEMPLATE_CHARS = 128;

/**
 * Reads a parsed `config.yml`. Entries are the files with the collection's extension directly in its folder; `nested`
 * goes `depth` levels down (the files of the folder itself are the first), and a `path` with slashes puts entries where
 * its template says. Collections of single files are left out.
 */
export function decapCmsCollections(config: PlainObject, source: string): DeclaredCollection[] {
  const entries = getMerged(config, "collections");
  return (Array.isArray(entries) ? entries : [])
    .filter(isPlainObject)
    .map((entry) =>
      declareCollection({
        name: getMerged(entry, "name"),
        folder: getMerged(entry, "folder"),
        source,
        accepts: readRule(entry, readStructure(entry, config)),
      })
    )
    .filter((collection) => collection !== null);
}

function readRule(entry: PlainObject, structure: string): (path: string) => boolean {
  const extension = readExtension(entry);
  const nested = getMerged(entry, "nested");
  const template = trimSlashes(toText(getMerged(entry, "path")) ?? "{{slug}}");
  const levels = (isPlainObject(nested) ? readDepth(nested) : countSegments(template)) +
    (structure === "multiple_folders" ? 1 : 0);
  const glob = isPlainObject(nested) || structure !== "single_file"
    ? null
    : templateGlob(template, extension);
  return (path) =>
    hasExtension(path, extension) && countSegments(path) <= levels &&
    (glob === null || glob.matches(path));
}

function readDepth(nested: PlainObject): number {
  const depth = getMerged(nested, "depth");
  return typeof depth === "number" && depth >= 1 ? Math.floor(depth) : Infinity;
}

/** The paths that a template such as `{{year}}/{{slug}}` gives; null where it cannot be told. */
function templateGlob(template: string, extension: string): Glob | null {
  if (template.length > MAX_TEMPLATE_CHARS) return null;
  const pattern = template.replace(/\{\{[^{}]*\}\}/g, "*").replace(/\*+/g, "*");
  try {
    return new Glob(`${pattern}.${extension.replace(/^\./, "")}`);
  } catch {
    return null;
  }
}

function readExtension(entry: PlainObject): string {
  const extension = toText(getMerged(entry, "extension"));
  if (extension !== null) return extension;
  const format = toText(getMerged(entry, "format")) ?? "";
  return Object.hasOwn(FORMAT_EXTENSIONS, format) ? FORMAT_EXTENSIONS[format]! : "md";
}

/** Where translations are: in one file, or in files or folders by language (decapcms.org/docs/i18n). */
function readStructure(entry: PlainObject, config: PlainObject): string {
  const own = getMerged(entry, "i18n") ?? false;
  if (own === false) return "single_file";
  const structure = [own, getMerged(config, "i18n")]
    .map((options) => isPlainObject(options) ? toText(getMerged(options, "structure")) : null);
  return structure[0] ?? structure[1] ?? "single_file";
}
