// The collections that a repository declares for a content management system, as plain data, and which files are entries.

import { compileGlob } from "./glob.ts";

/** Where the configurations of content management systems are. */
export const CONFIG_PATHS = [
  ".pages.yml",
  "admin/config.yml",
  "static/admin/config.yml",
  "public/admin/config.yml",
  "_config.yml",
  "_config.yaml",
  "_config.toml",
];

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

/** A name that the repository gives a folder. */
export interface Declared {
  readonly name: string;
  /** From the repository's root, without outer slashes; empty for the root itself. */
  readonly folder: string;
  /** The configuration file that declares it. */
  readonly source: string;
  readonly rule: EntryRule;
}

/** What one configuration file declares, in its own order, and why it was skipped or cut, as a sentence. */
export type Declarations = {
  readonly collections: readonly Declared[];
  readonly warning: string | null;
};

/** What a configuration file declares that cannot be read. */
export function unreadable(path: string, why: string): Declarations {
  return { collections: [], warning: `Cannot read "${path}": ${why}` };
}

/** Compiles a rule: whether a file is an entry, by its path from the declared folder. */
export function compileRule(rule: EntryRule = {}): (path: string) => boolean {
  const { extension = "", maxSegments = Infinity } = rule;
  const suffix = extension === "" || extension.startsWith(".") ? extension : `.${extension}`;
  const exclude = new Set(rule.exclude);
  const matches = rule.glob === undefined ? () => true : compileGlob(rule.glob);
  return (path) => {
    const segments = path.split("/");
    return path.endsWith(suffix) && segments.length <= maxSegments &&
      !segments.some((name) => exclude.has(name)) && matches(path);
  };
}
