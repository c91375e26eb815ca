// Bytes to measure caches with.

/** Bytes that do not compress, the same every time. */
export function noise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = 1;
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

/** Markdown-like text that compresses as such text does, to about a third. */
export function prose(length: number): Uint8Array<ArrayBuffer> {
  const random = noise(length);
  const letters = "eeeetttaaooinshrdlucmfw   ";
  let text = "";
  for (let index = 0; text.length < length; index++) {
    text += index % 80 === 79 ? "\n" : letters[random[index % length]! % letters.length];
    if (index % 400 === 0) text += "the words that come again and again in any text ";
  }
  return new TextEncoder().encode(text.slice(0, length));
}
