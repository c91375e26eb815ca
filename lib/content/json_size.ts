// Sizes of JSON before it is made. Nothing stops `JSON.stringify()`.

import { Buffer } from "node:buffer";

/** The bytes of the longest escape of one character. */
const MAX_ESCAPE = 6;

/**
 * Returns whether the texts and keys in a value take more than `maxBytes` as
 * JSON. A text of control characters takes six times its size.
 */
export function areTextsOver(value: unknown, maxBytes: number): boolean {
  // Nearly all are so short that no escapes matter.
  return isOver(value, maxBytes / MAX_ESCAPE, ({ length }) => length) &&
    isOver(value, maxBytes, bytesOf);
}

/** Returns whether the sizes of all texts in a value exceed a maximum. */
function isOver(
  value: unknown,
  max: number,
  sizeOf: (text: string, left: number) => number,
): boolean {
  let left = max;
  const take = (value: unknown) => {
    if (typeof value === "string") left -= sizeOf(value, left);
    else if (typeof value === "object" && value !== null) {
      for (const each of Array.isArray(value) ? value : Object.entries(value)) {
        if (left < 0) return;
        take(each);
      }
    }
  };
  take(value);
  return left < 0;
}

/** Stops counting beyond `maxBytes`. */
function bytesOf(text: string, maxBytes: number): number {
  let bytes = Buffer.byteLength(text);
  for (let at = 0; at < text.length && bytes <= maxBytes; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x5c) bytes++;
    // Five control characters are escaped by a letter.
    else if (code < 0x20) {
      bytes += code >= 8 && code <= 13 && code !== 11 ? 1 : 5;
    }
  }
  return bytes;
}
