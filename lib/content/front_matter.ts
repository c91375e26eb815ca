// Parses the front matter of text files. `---` opens YAML and `+++` opens TOML.
// A closing line is required. Files are hostile and the parse time is not
// bounded, so this runs on the content thread.

import { splitFenced } from "./file_text.ts";
import { DataError, type DataFormat, parseData } from "./parse_data.ts";
import {
  isPlainObject,
  type PlainObject,
  type PlainValue,
} from "./plain_value.ts";

/**
 * A file's front matter, or why it does not parse. Empty if the file has no
 * front matter. `message` is one short line. `line` is its line in the file.
 */
export interface FrontMatter {
  readonly frontMatter?: PlainObject;
  /** The value of a JSON, YAML or TOML file. */
  readonly data?: PlainValue;
  readonly frontMatterError?: {
    readonly message: string;
    readonly line: number;
  };
}

/** Aliases repeat text. Real front matter has few of them. */
const LIMITS = { maxChars: 256 * 1024, maxRepeatedChars: 16 * 1024 };

/**
 * Returns the front matter at the start of a text, or its data if it has a data
 * format. A byte order mark may come first. A text has no front matter if the
 * opening or closing line is missing or if its YAML is not a mapping.
 */
export function readFrontMatter(
  text: string,
  format?: DataFormat,
): FrontMatter {
  const { fence, block } = splitFenced(text);
  if (fence === "" && format === undefined) return {};
  try {
    if (fence === "" && format !== undefined) {
      const whole = text.replace(/^\ufeff/, "");
      return { data: parseData(whole, { format, ...LIMITS }) };
    }
    const frontMatter = parseData(block, {
      format: fence === "---" ? "yaml" : "toml",
      ...LIMITS,
    });
    return isPlainObject(frontMatter) ? { frontMatter } : {};
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // The opening line is the first line of the file.
    const line = error.line + (fence === "" ? 0 : 1);
    return { frontMatterError: { message: error.message, line } };
  }
}
