// The text of a file, and its parts: front matter between fences, and the body.

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

/** An opening line, the block, and its closing line; blanks after a fence do not count, as in Jekyll. */
const FENCED = /^\ufeff?(---|\+\+\+)[ \t]*\r?\n((?:[^]*?\n)??)\1[ \t]*(?:\r?\n|$)/;

/** The fence at the start of a text, and the block up to the closing fence; without both, all of the text is `body`. */
export function splitFenced(text: string) {
  const [whole = "", fence = "", block = ""] = FENCED.exec(text) ?? [];
  return { fence, block, body: text.slice(whole.length) };
}
