// The front matter of text files. `---` opens YAML, `+++` TOML, and front matter needs its closing line. The files are
// hostile, and the time that this takes is not bounded: it runs on the content thread.

import { DataError, parseData } from "./parse_data.ts";
import { isPlainObject, type PlainObject } from "./plain_value.ts";

/** A file's front matter, or why it does not parse, in one short line of the file; empty for a file that has none. */
export interface FrontMatter {
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: { readonly message: string; readonly line: number };
}

/** Aliases repeat text, and real front matter has few of them. */
const LIMITS = { maxChars: 256 * 1024, maxRepeatedChars: 16 * 1024 };

/** An opening line, the block, and its closing line; blanks after a fence do not count, as in Jekyll. */
const FENCED = /^\ufeff?(---|\+\+\+)[ \t]*\r?\n((?:[^]*?\n)??)\1[ \t]*(?:\r?\n|$)/;

/**
 * Reads the front matter at the start of a text, or after its byte order mark, and the text after it as `body`. Null when
 * there is none: no opening line, no closing one, or YAML that is not a mapping.
 */
export function readFrontMatter(text: string): FrontMatter & { readonly body: string } | null {
  const [whole, fence, block] = FENCED.exec(text) ?? [];
  if (whole === undefined || block === undefined) return null;
  const body = text.slice(whole.length);
  try {
    const format = fence === "---" ? "yaml" : "toml";
    const frontMatter = parseData(block, { format, ...LIMITS });
    return isPlainObject(frontMatter) ? { frontMatter, body } : null;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // The opening line is the file's first.
    return { frontMatterError: { message: error.message, line: error.line + 1 }, body };
  }
}

/** What follows the front matter of a text by its fences alone; all of a text without them. */
export function bodyOf(text: string): string {
  const front = FENCED.exec(text);
  return front === null ? text : text.slice(front[0].length);
}
