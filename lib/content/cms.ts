// Reads the collections that the configuration file of a content management
// system declares. An unreadable file causes a warning instead of an error.

import type { FieldBody } from "../api/contract.ts";
import { pathProblem, trimSlashes } from "../api/names.ts";
import { type Declarations, type Declared, unreadable } from "./declared.ts";
import { textOf } from "./file_text.ts";
import { compileGlob } from "./glob.ts";
import { DataError, parseData } from "./parse_data.ts";
import {
  getOwn,
  isPlainObject,
  type PlainObject,
  type PlainValue,
} from "./plain_value.ts";

/** A declaration as written. Its name and folder are not checked yet. */
type Given = Generator<
  & Pick<Declared, "rule">
  & Record<"name" | "folder", PlainValue | undefined>
  & { label?: PlainValue | undefined; fields?: FieldBody[] | undefined }
>;

/**
 * Configurations repeat whole lists of fields with aliases. They are parsed
 * once per repository and not once per file.
 */
const LIMITS = { maxChars: 256 * 1024, maxRepeatedChars: 1024 * 1024 };
const MAX_COLLECTIONS = 200;
/** Limits a name and a folder. Requests cannot contain longer ones. */
const MAX_CHARS = 1024;
/** Longer templates count as unreadable. */
const MAX_TEMPLATE_CHARS = 128;
/** Limits a rule as JSON. Each request takes time for its length. */
const MAX_RULE_CHARS = 16_384;

/**
 * Returns what the configuration file at `path` declares. The path must be one
 * of {@linkcode CONFIG_PATHS}.
 */
export function readConfig(
  { path, bytes }: { path: string; bytes: Uint8Array },
): Declarations {
  const text = textOf(bytes);
  if (text === null) return unreadable(path, "it is not UTF-8 text");
  const format = path.endsWith(".toml") ? "toml" : "yaml";
  try {
    // The byte order mark is not part of the document.
    const config = parseData(text.replace(/^\ufeff/, ""), {
      format,
      ...LIMITS,
    });
    if (!isPlainObject(config)) {
      throw new DataError("The text is not a mapping", 1);
    }
    const byName = new Map<string, Declared>();
    const omitted = new Set<string>();
    let lack: string | null = null;
    const system = path.startsWith("_config.")
      ? jekyll
      : path === ".pages.yml"
      ? pagesCms
      : decapCms;
    for (const given of system(config)) {
      const name = toText(given.name);
      const folder = typeof given.folder === "string"
        ? trimFolder(given.folder)
        : null;
      if (
        name === null || !isUsable(name) || folder === null ||
        byName.has(name) || omitted.has(name)
      ) continue;
      // A placeholder such as `{{locale}}` stands for several folders.
      if (folder !== "" && (!isUsable(folder) || folder.includes("{{"))) {
        continue;
      }
      const { rule } = given;
      if (JSON.stringify(rule).length > MAX_RULE_CHARS) {
        omitted.add(name);
        lack ??= `the rule for the files of "${name}" has more than ` +
          `${MAX_RULE_CHARS} characters`;
        continue;
      }
      const fields = given.fields && JSON.stringify(given.fields);
      const label = toText(given.label) ?? undefined;
      byName.set(name, { name, label, folder, source: path, rule, fields });
    }
    if (byName.size > MAX_COLLECTIONS) {
      lack = `it declares more than ${MAX_COLLECTIONS} collections`;
    }
    return {
      collections: [...byName.values()].slice(0, MAX_COLLECTIONS),
      warning: lack && `Cannot read "${path}" whole: ${lack}`,
    };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return unreadable(path, `${error.message} (line ${error.line})`);
  }
}

const isUsable = (path: string) =>
  path.length <= MAX_CHARS && pathProblem(path) === null;

/**
 * Pages CMS (pagescms.org/docs/configuration/content). Entries are the files
 * with the collection's extension. It defaults to the extension of `filename`.
 * `exclude` removes files by name. Sub-folders are included unless `subfolders`
 * is false. Groups only arrange the menu, so their collections count like any
 * other.
 */
function* pagesCms(parent: PlainObject, key = "content"): Given {
  for (const entry of mappingsOf(getOwn(parent, key))) {
    const type = getOwn(entry, "type");
    if (type === "group") yield* pagesCms(entry, "items");
    if (type !== "collection") continue;
    const extension = getOwn(entry, "extension");
    const filename = getOwn(entry, "filename");
    const template = toText(
      isPlainObject(filename) ? getOwn(filename, "template") : filename,
    );
    const ofTemplate = /\.([^./]+)$/.exec(template ?? "{primary}.md")?.[1] ??
      "";
    const rule = {
      extension: typeof extension === "string" ? extension : ofTemplate,
      maxSegments: getOwn(entry, "subfolders") === false ? 1 : undefined,
      // `exclude` also names folders. Files in an excluded folder are excluded.
      exclude: [getOwn(entry, "exclude")].flat(1).map(toText).filter((name) =>
        name !== null && !name.includes("/")
      ).join("/"),
    };
    yield {
      name: getOwn(entry, "name"),
      label: getOwn(entry, "label"),
      folder: getOwn(entry, "path"),
      rule,
      fields: fieldsOf(entry, pagesField),
    };
  }
}

/**
 * Folder collections of Decap CMS (decapcms.org/docs/collection-folder and
 * /docs/collection-nested). Netlify CMS and Sveltia CMS share them
 * (sveltiacms.app/en/docs/collections/entries). Entries are the files with the
 * collection's extension directly in its folder. `nested` allows `depth`
 * levels. The files of the folder itself are the first level. A `path` with
 * slashes is a template for the paths of entries. Collections of single files
 * have no folder.
 */
function* decapCms(config: PlainObject): Given {
  for (const entry of mappingsOf(getMerged(config, "collections"))) {
    const format = toText(getMerged(entry, "format")) ?? "";
    const extension = toText(getMerged(entry, "extension")) ??
      /^(?:yml|toml|json)$/.exec(format.replace("yaml", "yml"))?.[0] ?? "md";
    const nested = getMerged(entry, "nested");
    const template = trimSlashes(
      toText(getMerged(entry, "path")) ?? "{{slug}}",
    );
    const isNested = isPlainObject(nested);
    // Any depth is allowed if `depth` is not set.
    const depth = isNested ? getMerged(nested, "depth") : undefined;
    // Translations may have their own folders and names.
    const isTranslated = Boolean(getMerged(entry, "i18n"));
    const isBounded = !isTranslated && typeof depth === "number" && depth >= 1;
    const rule = {
      extension,
      maxSegments: isBounded ? Math.floor(depth) : undefined,
      glob: isNested || isTranslated
        ? undefined
        : templateGlob(template, extension),
    };
    yield {
      name: getMerged(entry, "name"),
      label: getMerged(entry, "label"),
      folder: getMerged(entry, "folder"),
      rule,
      fields: fieldsOf(entry, decapField),
    };
  }
}

type FieldReader = (field: PlainObject) => Omit<FieldBody, "name" | "label">;

/** Returns the fields of a collection or of a field, or undefined. */
function fieldsOf(
  parent: PlainObject,
  read: FieldReader,
): FieldBody[] | undefined {
  const fields = mappingsOf(getMerged(parent, "fields")).flatMap((field) => {
    const name = toText(getMerged(field, "name"));
    const label = toText(getMerged(field, "label")) ?? undefined;
    return name === null ? [] : [{ name, label, ...read(field) }];
  });
  return fields.length === 0 ? undefined : fields;
}

/**
 * Reads a field of Pages CMS. It is optional unless it says otherwise. A field
 * without a type refers to a component.
 */
function pagesField(field: PlainObject): ReturnType<FieldReader> {
  const options = getMerged(field, "options");
  const own = isPlainObject(options) ? options : {};
  const isList = Boolean(getMerged(field, "list")) ||
    getOwn(own, "multiple") === true;
  return {
    type: toText(getMerged(field, "type")) ?? "component",
    required: getMerged(field, "required") === true,
    list: isList || undefined,
    options: optionsOf(getOwn(own, "values")),
    fields: fieldsOf(field, pagesField),
  };
}

/**
 * Reads a field of Decap CMS. It is required unless it says otherwise. The
 * elements of a list are texts, values of one `field`, or mappings.
 */
function decapField(field: PlainObject): ReturnType<FieldReader> {
  const type = toText(getMerged(field, "widget")) ?? "string";
  const required = getMerged(field, "required") !== false;
  const options = optionsOf(getMerged(field, "options"));
  const fields = fieldsOf(field, decapField);
  if (type !== "list") {
    const list = getMerged(field, "multiple") === true || undefined;
    return { type, required, list, options, fields };
  }
  const one = getMerged(field, "field");
  if (isPlainObject(one)) {
    const { type, list, options, fields } = decapField(one);
    const inner = list ? { type: "list" } : { type, options, fields };
    return { required, list: true, ...inner };
  }
  const isMapping = fields !== undefined ||
    getMerged(field, "types") !== undefined;
  const element = isMapping ? "object" : "string";
  return { type: element, required, list: true, fields };
}

/** Returns the values of a choice. An option may also have a label. */
function optionsOf(given: PlainValue | undefined): FieldBody["options"] {
  if (!Array.isArray(given)) return undefined;
  const values = given.map((option) =>
    isPlainObject(option) ? getOwn(option, "value") : option
  ).filter((value) =>
    value !== null && value !== undefined && typeof value !== "object"
  );
  return values.length === 0 ? undefined : values;
}

/**
 * Returns a glob for the paths that a template such as `{{year}}/{{slug}}`
 * produces, or undefined if the template is unreadable.
 */
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
 * Jekyll (jekyllrb.com/docs/collections). `collections` is a list of names or a
 * mapping by name. The folders are below `collections_dir` if it is set. Every
 * site has `posts`. A folder is named with an underscore before the name. Every
 * file in it is an entry.
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
    if (!name?.includes("/")) {
      yield { name, folder: `${parents}_${name}`, rule: {} };
    }
  }
}

function mappingsOf(value: PlainValue | undefined): PlainObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
}

/**
 * Returns the own value of a key. Otherwise returns the value in the first
 * mapping under `<<` that has the key (yaml.org/type/merge.html).
 */
function getMerged(object: PlainObject, key: string): PlainValue | undefined {
  const own = getOwn(object, key);
  if (own !== undefined) return own;
  return [getOwn(object, "<<")].flat(1).filter(isPlainObject).values()
    .map((merged) => getMerged(merged, key)).find((value) =>
      value !== undefined
    );
}

/**
 * Returns a value that is meant as a word, or null for other values. Words may
 * parse as numbers.
 */
function toText(value: PlainValue | undefined): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
}

/** Removes outer slashes and a leading `./`. Some systems allow them. */
function trimFolder(folder: string): string {
  return trimSlashes(folder.replace(/^\.(?=\/|$)/, ""));
}
