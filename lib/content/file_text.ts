// The text of a file.

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
