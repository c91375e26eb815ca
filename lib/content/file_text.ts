// Decodes the text of a file and splits it into front matter and body.

// `ignoreBOM` keeps the byte order mark in the text. Encoding the text again
// then gives the same bytes.
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the text of UTF-8 bytes without NUL, or null for other bytes. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * An opening fence, the block and a closing fence. Blanks after a fence are
 * ignored as in Jekyll.
 */
const FENCED =
  /^\ufeff?(---|\+\+\+)[ \t]*\r?\n((?:[^]*?\n)??)\1[ \t]*(?:\r?\n|$)/;

/**
 * Returns the opening fence, the block up to the closing fence, and the body.
 * The body is the whole text if a fence is missing.
 */
export function splitFenced(text: string) {
  const [whole = "", fence = "", block = ""] = FENCED.exec(text) ?? [];
  return { fence, block, body: text.slice(whole.length) };
}
