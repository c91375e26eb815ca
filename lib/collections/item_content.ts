// A file's bytes as JSON can carry them, and what its front matter says. Decoding `content` gives the exact bytes.

import { mayHaveFrontMatter } from "./content_type.ts";
import { type FrontMatterError, readFrontMatter } from "./front_matter.ts";
import type { PlainObject } from "./plain_data.ts";

/** Content in one of two encodings, with what front matter there is; `body` is left out of list items. */
export interface ItemContent {
  readonly encoding: "utf-8" | "base64";
  readonly content: string;
  readonly frontMatter?: PlainObject;
  readonly frontMatterError?: FrontMatterError;
  readonly body?: string;
}

/**
 * Bytes of memory that an answer may take for each byte of a file in it: its text, and its JSON, where a control
 * character becomes six bytes; an item beside a list has its text twice.
 */
export const GROWTH = { listed: 8, alone: 16 };

// With ignoreBOM the mark stays in the text, so that encoding it again gives the same bytes.
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of bytes that are UTF-8 without a NUL, else null. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return null;
  }
}

/** The content of a file of this type, with front matter where it has one. */
export async function itemContent(bytes: Uint8Array, contentType: string): Promise<ItemContent> {
  const text = textOf(bytes);
  if (text === null) return { encoding: "base64", content: bytes.toBase64() };
  const read = mayHaveFrontMatter(contentType) ? await readFrontMatter(text) : null;
  return { encoding: "utf-8", content: text, ...read ?? {} };
}
