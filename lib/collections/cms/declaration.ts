// A collection that a repository's own CMS configuration names, and the rule for its entries. The configuration is hostile:
// what is not plainly a folder of the repository is not taken.

import { pathProblem, trimSlashes } from "../../api/names.ts";
import { Glob } from "../glob.ts";
import type { PlainValue } from "../plain_data.ts";

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

/** A collection as a configuration has it. */
export interface Declaration {
  readonly name: PlainValue | undefined;
  readonly folder: PlainValue | undefined;
  readonly rule: EntryRule;
}

/** A name that the repository gives a folder. */
export interface Declared {
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

/** The collection of a declaration, or null where its name cannot be requested or its folder cannot exist. */
export function acceptDeclaration(declaration: Declaration, source: string): Declared | null {
  const name = toText(declaration.name);
  const { folder: given, rule } = declaration;
  if (name === null || !isUsable(name) || typeof given !== "string") return null;
  const folder = trimFolder(given);
  // A placeholder such as `{{locale}}` means many folders.
  const isFolder = folder === "" || (isUsable(folder) && !folder.includes("{{"));
  return isFolder ? { name, folder, source, rule } : null;
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

/** How many segments a path has. */
export function countSegments(path: string): number {
  return path.split("/").length;
}

function isUsable(path: string): boolean {
  return path.length <= MAX_CHARS && pathProblem(path) === null;
}
