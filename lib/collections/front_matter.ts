// The front matter of a text file, by one function for every operation: `---` opens YAML, `+++` TOML, and nothing is
// front matter without its closing line. What the file holds is hostile.

import { DataError } from "./data_error.ts";
import { parseData } from "./parse_data.ts";
import { isPlainObject, type PlainObject } from "./plain_data.ts";

/** Why front matter does not parse, in one short line; `line` counts from 1 in the file. */
export interface FrontMatterError {
  readonly message: string;
  readonly line: number;
}

/** What a file's front matter says and the text after its closing line, or why it cannot be read. */
export type FrontMatter =
  | { readonly frontMatter: PlainObject; readonly body: string }
  | { readonly frontMatterError: FrontMatterError };

/** The same without the text; empty for a file that has no front matter. */
export interface FileFrontMatter {
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: FrontMatterError;
}

/** What one file may cost. Aliases are few in real front matter, and a page holds up to 1,000 files. */
const LIMITS = { maxChars: 256 * 1024, maxTokens: 12_000, maxRepeatedChars: 16 * 1024 };

/**
 * Reads the front matter at the start of a text, or after its byte order mark. Null when there is none: no opening
 * line, no closing one, or YAML that is not a mapping. Spaces and tabs after a fence do not count, as in Jekyll.
 */
export async function readFrontMatter(text: string): Promise<FrontMatter | null> {
  const parts = split(text);
  if (parts === null) return null;
  try {
    const format = parts.fence === "---" ? "yaml" : "toml";
    const frontMatter = await parseData(parts.block, { format, ...LIMITS });
    return isPlainObject(frontMatter) ? { frontMatter, body: parts.body } : null;
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    // The opening line is the file's first.
    return { frontMatterError: { message: error.message, line: error.line + 1 } };
  }
}

interface Parts {
  readonly fence: string;
  readonly block: string;
  readonly body: string;
}

function split(text: string): Parts | null {
  const start = text.startsWith("\ufeff") ? 1 : 0;
  const fence = text.slice(start, start + 3);
  if (fence !== "---" && fence !== "+++") return null;
  const blockStart = endOfLine(text, start + 3);
  if (blockStart === null) return null;
  let line = blockStart;
  while (line < text.length) {
    if (text.startsWith(fence, line)) {
      const bodyStart = endOfLine(text, line + 3);
      if (bodyStart !== null) {
        return { fence, block: text.slice(blockStart, line), body: text.slice(bodyStart) };
      }
    }
    const newline = text.indexOf("\n", line);
    if (newline === -1) return null;
    line = newline + 1;
  }
  return null;
}

/** Where the next line begins if nothing but blanks is left of this one, else null. */
function endOfLine(text: string, from: number): number | null {
  let at = from;
  while (text[at] === " " || text[at] === "\t") at++;
  if (text[at] === "\r" && text[at + 1] === "\n") at++;
  return at === text.length ? at : text[at] === "\n" ? at + 1 : null;
}
