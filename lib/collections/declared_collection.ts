// A collection that a repository's own CMS configuration names, and the rules that all systems share for its name and
// folder. The configuration is hostile: what is not plainly a folder of the repository is not taken.

import { pathProblem, trimSlashes } from "../api/names.ts";
import { getOwn, isPlainObject, type PlainObject, type PlainValue } from "./plain_data.ts";

/** A name that the repository gives a folder, with the system's rule for which files in it are entries. */
export interface DeclaredCollection {
  readonly name: string;
  /** From the repository's root, without outer slashes; empty for the root itself. */
  readonly folder: string;
  /** The configuration file that says so. */
  readonly source: string;
  /** Whether a file is an entry; the path starts in `folder`. */
  accepts(pathInside: string): boolean;
}

/** Characters of a name, and of a folder; more cannot be asked for. */
const MAX_CHARS = 1024;

/** The collection of these parts, or null where nobody could ask for the name or the folder cannot be. */
export function declareCollection(parts: {
  name: PlainValue | undefined;
  folder: PlainValue | undefined;
  source: string;
  accepts: (pathInside: string) => boolean;
}): DeclaredCollection | null {
  const name = toText(parts.name);
  const folder = toFolder(parts.folder);
  if (name === null || folder === null || !isUsable(name)) return null;
  return { name, folder, source: parts.source, accepts: parts.accepts };
}

/** The text of a value that is meant as a word, also where it looks like a number; null for other values. */
export function toText(value: PlainValue | undefined): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
}

/** Whether a path ends in an extension, given with or without its dot; an empty one is that of every file. */
export function hasExtension(path: string, extension: string): boolean {
  if (extension === "") return true;
  return path.endsWith(extension.startsWith(".") ? extension : `.${extension}`);
}

/** How many segments a path has. */
export function countSegments(path: string): number {
  return path.split("/").length;
}

/**
 * The value of a key where YAML's merge key is in use (yaml.org/type/merge.html): the mapping's own, else that of the
 * first mapping under `<<` that has it.
 */
export function getMerged(object: PlainObject, key: string): PlainValue | undefined {
  const own = getOwn(object, key);
  if (own !== undefined) return own;
  for (const merged of [getOwn(object, "<<")].flat(1)) {
    const value = isPlainObject(merged) ? getMerged(merged, key) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A folder of the repository; systems allow outer slashes and a leading `./`. Null for anything else. */
function toFolder(value: PlainValue | undefined): string | null {
  if (typeof value !== "string") return null;
  const folder = trimSlashes(value.replace(/^\.(?=\/|$)/, ""));
  // A placeholder such as `{{locale}}` stands for many folders.
  return folder === "" || (isUsable(folder) && !folder.includes("{{")) ? folder : null;
}

function isUsable(path: string): boolean {
  return path.length <= MAX_CHARS && pathProblem(path) === null;
}
