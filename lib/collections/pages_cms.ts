// Collections of Pages CMS, as pagescms.org/docs/configuration/content describes `content`.

import {
  declareCollection,
  type DeclaredCollection,
  hasExtension,
  toText,
} from "./declared_collection.ts";
import { getOwn, isPlainObject, type PlainObject, type PlainValue } from "./plain_data.ts";

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
      const collection = type === "collection" ? readCollection(entry, source) : null;
      if (collection !== null) collections.push(collection);
    }
  };
  visit(getOwn(config, "content"));
  return collections;
}

function readCollection(entry: PlainObject, source: string): DeclaredCollection | null {
  const extension = readExtension(entry);
  const excluded = new Set([getOwn(entry, "exclude")].flat(1).map(toText));
  const subfolders = getOwn(entry, "subfolders") !== false;
  return declareCollection({
    name: getOwn(entry, "name"),
    folder: getOwn(entry, "path"),
    source,
    accepts: (path) =>
      hasExtension(path, extension) && (subfolders || !path.includes("/")) &&
      // The names of folders count as well: what is in an excluded folder is out of reach.
      !path.split("/").some((name) => excluded.has(name)),
  });
}

function readExtension(entry: PlainObject): string {
  const extension = getOwn(entry, "extension");
  if (typeof extension === "string") return extension;
  const option = getOwn(entry, "filename");
  const template = toText(isPlainObject(option) ? getOwn(option, "template") : option) ??
    DEFAULT_FILENAME;
  return /\.([^./]+)$/.exec(template)?.[1] ?? "";
}
