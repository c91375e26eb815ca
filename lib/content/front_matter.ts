// Parses the front matter of text files. `---` opens YAML and `+++` opens TOML.
// A closing line is required. Files are hostile and the parse time is not
// bounded, so this runs on the content thread.

import { splitFenced } from "./file_text.ts";
import { DataError, parseData } from "./parse_data.ts";
import { isPlainObject, type PlainObject } from "./plain_value.ts";

/**
 * A file's front matter, or why it does not parse. Empty if the file has no
 * front matter. `message` is one short line. `line` is its line in the file.
 */
export interface FrontMatter {
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: {
    readonly message: string;
    readonly line: number;
  };
}

/** Aliases repeat text. Real front matter has few of them. */
const LIMITS = { maxChars: 256 * 1024, maxRepeatedChars: 16 * 1024 };

/**
 * Returns the front matter at the start of a text. A byte order mark may come
 * first. A text has no front matter if the opening or closing line is missing
 * or if its YAML is not a mapping.
 */
export function readFrontMatter(text: string): FrontMatter {
  const { fence, block } = splitFenced(text);
  if (fence === "") return {};
  try {
    const frontMatter = parseData(block, {
      format: fence === "---" ? "yaml" : "toml",
      ...LIMITS,
    });
    return isPlainObject(frontMatter) ? { frontMatter } : {};
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // The opening line is the first line of the file.
    return {
      frontMatterError: { message: error.message, line: error.line + 1 },
    };
  }
}
