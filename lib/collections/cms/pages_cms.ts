// Collections of Pages CMS, as pagescms.org/docs/configuration/content describes `content`.

import { getOwn, isPlainObject, type PlainObject, type PlainValue } from "../plain_data.ts";
import {
  declareCollection,
  type DeclaredCollection,
  type EntryRule,
  toText,
} from "./declaration.ts";

const DEFAULT_FILENAME = "{year}-{month}-{day}-{primary}.md";

/**
 * Reads a parsed `.pages.yml`. Entries are the files with the collection's extension (by default that of `filename`)
 * that `exclude` does not name, in sub-folders too unless `subfolders` is false. Groups only arrange the menu: the
 * collections in them count as if they stood alone.
 */
export function pagesCmsCollections(config: PlainObject, source: string): DeclaredCollection[] {
  const collections: DeclaredCollection[] = [];
  const visit = (entries: PlainValue | undefined) => {
    for (const entry of Array.isArray(entries) ? entries : []) {
      if (!isPlainObject(entry)) continue;
      const type = getOwn(entry, "type");
      if (type === "group") visit(getOwn(entry, "items"));
      const collection = type !== "collection" ? null : declareCollection({
        name: getOwn(entry, "name"),
        folder: getOwn(entry, "path"),
        source,
        rule: readRule(entry),
      });
      if (collection !== null) collections.push(collection);
    }
  };
  visit(getOwn(config, "content"));
  return collections;
}

function readRule(entry: PlainObject): EntryRule {
  // The names of folders count as well: the files of an excluded folder are excluded.
  const exclude = [getOwn(entry, "exclude")].flat(1).map(toText).filter((name) => name !== null);
  return {
    extension: readExtension(entry),
    ...(exclude.length === 0 ? {} : { exclude }),
    ...(getOwn(entry, "subfolders") === false ? { maxSegments: 1 } : {}),
  };
}

function readExtension(entry: PlainObject): string {
  const extension = getOwn(entry, "extension");
  if (typeof extension === "string") return extension;
  const option = getOwn(entry, "filename");
  const template = toText(isPlainObject(option) ? getOwn(option, "template") : option) ??
    DEFAULT_FILENAME;
  return /\.([^./]+)$/.exec(template)?.[1] ?? "";
}
