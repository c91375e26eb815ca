// Bytes that do not compress, so that their size is the stored size.

/** Random bytes; `getRandomValues` gives at most 65,536 at once. */
export function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  }
  return bytes;
}
