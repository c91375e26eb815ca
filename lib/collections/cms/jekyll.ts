// Collections of Jekyll, as jekyllrb.com/docs/collections describes them: the folder is the name behind an underscore.

import { trimSlashes } from "../../api/names.ts";
import { isPlainObject, type PlainObject, type PlainValue } from "../plain_data.ts";
import { declareCollection, type DeclaredCollection, getMerged, toText } from "./declaration.ts";

/**
 * Reads a parsed `_config.yml`: `collections` as a list of names or as a mapping by name, below `collections_dir` where
 * that is set, and `posts`, which every site has. Every file in the folder is an entry.
 */
export function jekyllCollections(config: PlainObject, source: string): DeclaredCollection[] {
  const declared = getMerged(config, "collections");
  const names = Array.isArray(declared)
    ? declared.map(toText)
    : isPlainObject(declared)
    ? Object.keys(declared)
    : [];
  const parents = [getMerged(config, "source"), getMerged(config, "collections_dir")]
    .map(toFolderPrefix).join("");
  return [...new Set([...names, "posts"])]
    .filter((name) => name !== null && name !== "" && !name.includes("/"))
    .map((name) => declareCollection({ name, folder: `${parents}_${name}`, source, rule: {} }))
    .filter((collection) => collection !== null);
}

/** `.` and nothing both mean the current folder. */
function toFolderPrefix(value: PlainValue | undefined): string {
  const folder = trimSlashes((toText(value) ?? "").replace(/^\.(?=\/|$)/, ""));
  return folder === "" ? "" : `${folder}/`;
}
