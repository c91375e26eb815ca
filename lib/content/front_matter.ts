// The front matter of text files. `---` opens YAML, `+++` TOML, and front matter needs its closing line. The files are
// hostile, and the time that this takes is not bounded: it runs on the content thread.

import { splitFenced } from "./file_text.ts";
import { DataError, parseData } from "./parse_data.ts";
import { isPlainObject, type PlainObject } from "./plain_value.ts";

/** A file's front matter, or why it does not parse, in one short line of the file; empty for a file that has none. */
export interface FrontMatter {
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: { readonly message: string; readonly line: number };
}

/** Aliases repeat text, and real front matter has few of them. */
const LIMITS = { maxChars: 256 * 1024, maxRepeatedChars: 16 * 1024 };

/**
 * Reads the front matter at the start of a text, or after its byte order mark. There is none without an opening and a
 * closing line, and none in YAML that is not a mapping.
 */
export function readFrontMatter(text: string): FrontMatter {
  const { fence, block } = splitFenced(text);
  if (fence === "") return {};
  try {
    const frontMatter = parseData(block, { format: fence === "---" ? "yaml" : "toml", ...LIMITS });
    return isPlainObject(frontMatter) ? { frontMatter } : {};
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // The opening line is the file's first.
    return { frontMatterError: { message: error.message, line: error.line + 1 } };
  }
}
