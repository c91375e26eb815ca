// Folder collections of Decap CMS, which Netlify CMS and Sveltia CMS share: decapcms.org/docs/collection-folder and
// /docs/collection-nested, sveltiacms.app/en/docs/collections/entries.

import { trimSlashes } from "../../api/names.ts";
import { Glob } from "../glob.ts";
import { isPlainObject, type PlainObject } from "../plain_data.ts";
import {
  countSegments,
  declareCollection,
  type DeclaredCollection,
  type EntryRule,
  getMerged,
  toText,
} from "./declaration.ts";

/** Formats that bring another extension than `md`. */
const FORMAT_EXTENSIONS: Readonly<Record<string, string>> = {
  yml: "yml",
  yaml: "yml",
  toml: "toml",
  json: "json",
};

/** A longer template counts as unreadable. */
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
        rule: readRule(entry, readStructure(entry, config)),
      })
    )
    .filter((collection) => collection !== null);
}

function readRule(entry: PlainObject, structure: string): EntryRule {
  const extension = readExtension(entry);
  const nested = getMerged(entry, "nested");
  const template = trimSlashes(toText(getMerged(entry, "path")) ?? "{{slug}}");
  const levels = isPlainObject(nested) ? readDepth(nested) : countSegments(template);
  const glob = isPlainObject(nested) || structure !== "single_file"
    ? null
    : templateGlob(template, extension);
  return {
    extension,
    ...(levels === null
      ? {}
      : { maxSegments: levels + (structure === "multiple_folders" ? 1 : 0) }),
    ...(glob === null ? {} : { glob }),
  };
}

/** Null where every depth is allowed. */
function readDepth(nested: PlainObject): number | null {
  const depth = getMerged(nested, "depth");
  return typeof depth === "number" && depth >= 1 ? Math.floor(depth) : null;
}

/** A glob for the paths that a template such as `{{year}}/{{slug}}` gives; null for an unreadable one. */
function templateGlob(template: string, extension: string): string | null {
  if (template.length > MAX_TEMPLATE_CHARS) return null;
  const names = template.replace(/\{\{[^{}]*\}\}/g, "*").replace(/\*+/g, "*");
  const pattern = `${names}.${extension.replace(/^\./, "")}`;
  try {
    new Glob(pattern);
    return pattern;
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
