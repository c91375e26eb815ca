// Collections that a repository declares for a content management system, and
// the rules for their entries. All of this is plain data.

import { compileGlob } from "./glob.ts";

/** Paths of the configuration files of content management systems. */
export const CONFIG_PATHS = [
  ".pages.yml",
  "admin/config.yml",
  "static/admin/config.yml",
  "public/admin/config.yml",
  "_config.yml",
  "_config.yaml",
  "_config.toml",
];

/**
 * Plain data that says which files of a declared folder are entries. Every part
 * that is set must match.
 */
export interface EntryRule {
  /** The leading dot is optional. The empty string matches every file. */
  readonly extension?: string;
  /** The maximum number of segments in the path inside the folder. */
  readonly maxSegments?: number | undefined;
  /**
   * No segment of the path may be one of these names. They are separated by
   * slashes and are one text because there may be very many.
   */
  readonly exclude?: string;
  readonly glob?: string | undefined;
}

/** A folder to which the repository gives a name. */
export interface Declared {
  readonly name: string;
  readonly label?: string | undefined;
  /**
   * The fields of the front matter, a list of `FieldBody`, as JSON. There may
   * be very many, and a text is quickly sent between threads. Undefined if none
   * are declared.
   */
  readonly fields?: string | undefined;
  /**
   * The path from the repository's root without outer slashes. The root is the
   * empty string.
   */
  readonly folder: string;
  /** The path of the configuration file. */
  readonly source: string;
  readonly rule: EntryRule;
}

/**
 * The declarations of one configuration file in its own order. `warning` is a
 * sentence that says why the file was skipped or cut.
 */
export type Declarations = {
  readonly collections: readonly Declared[];
  readonly warning: string | null;
};

/** Returns the declarations of an unreadable configuration file. */
export function unreadable(path: string, why: string): Declarations {
  return { collections: [], warning: `Cannot read "${path}": ${why}` };
}

/**
 * Returns a function that tests whether a file is an entry. It takes the path
 * from the declared folder.
 */
export function compileRule(rule: EntryRule = {}): (path: string) => boolean {
  const { extension = "", maxSegments = Infinity } = rule;
  const suffix = extension === "" || extension.startsWith(".")
    ? extension
    : `.${extension}`;
  const exclude = new Set(rule.exclude?.split("/"));
  const matches = rule.glob === undefined ? () => true : compileGlob(rule.glob);
  return (path) => {
    const segments = path.split("/");
    return path.endsWith(suffix) && segments.length <= maxSegments &&
      !segments.some((name) => exclude.has(name)) && matches(path);
  };
}
