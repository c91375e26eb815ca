// A collection that a repository's own CMS configuration names, and the rules that all systems share for its name and
// folder. The configuration is hostile: what is not plainly a folder of the repository is not taken.

import { pathProblem, trimSlashes } from "../../api/names.ts";
import { Glob } from "../glob.ts";
import { getOwn, isPlainObject, type PlainObject, type PlainValue } from "../plain_data.ts";

/** Which files of a declared folder are entries, as plain data; every part that is set must match. */
export interface EntryRule {
  /** With or without its dot; an empty one is that of every file. */
  readonly extension?: string;
  /** How many segments the path inside the folder has at most. */
  readonly maxSegments?: number;
  /** No segment of the path is one of these. */
  readonly exclude?: readonly string[];
  readonly glob?: string;
}

/** A name that the repository gives a folder. */
export interface DeclaredCollection {
  readonly name: string;
  /** From the repository's root, without outer slashes; empty for the root itself. */
  readonly folder: string;
  /** The configuration file that declares it. */
  readonly source: string;
  readonly rule: EntryRule;
}

/** Characters of a name, and of a folder; more cannot be requested. */
const MAX_CHARS = 1024;

/** Compiles a rule: whether a file is an entry, by its path from the declared folder. */
export function compileRule(rule: EntryRule): (path: string) => boolean {
  const { extension = "", maxSegments = Infinity } = rule;
  const suffix = extension === "" || extension.startsWith(".") ? extension : `.${extension}`;
  const exclude = new Set(rule.exclude);
  const glob = rule.glob === undefined ? null : new Glob(rule.glob);
  return (path) =>
    path.endsWith(suffix) && countSegments(path) <= maxSegments &&
    (exclude.size === 0 || !path.split("/").some((name) => exclude.has(name))) &&
    (glob === null || glob.matches(path));
}

/** The collection of these parts, or null where its name cannot be requested or its folder cannot exist. */
export function declareCollection(parts: {
  name: PlainValue | undefined;
  folder: PlainValue | undefined;
  source: string;
  rule: EntryRule;
}): DeclaredCollection | null {
  const name = toText(parts.name);
  const folder = toFolder(parts.folder);
  if (name === null || folder === null || !isUsable(name)) return null;
  return { name, folder, source: parts.source, rule: parts.rule };
}

/** The text of a value that is meant as a word, also where it looks like a number; null for other values. */
export function toText(value: PlainValue | undefined): string | null {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
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
  // A placeholder such as `{{locale}}` means many folders.
  return folder === "" || (isUsable(folder) && !folder.includes("{{")) ? folder : null;
}

function isUsable(path: string): boolean {
  return path.length <= MAX_CHARS && pathProblem(path) === null;
}
