// Tar archives in the ustar format (POSIX.1-1988).

const BLOCK_BYTES = 512;
const encoder = new TextEncoder();

/**
 * Returns an archive of text files. Equal files give equal bytes. Paths are
 * ASCII of at most 100 characters.
 */
export function packTar(
  files: Iterable<readonly [path: string, text: string]>,
): Blob {
  const parts = [...files].flatMap(([path, text]) => {
    const bytes = encoder.encode(text);
    const padding = new Uint8Array(-bytes.length & (BLOCK_BYTES - 1));
    return [headerOf(path, bytes.length), bytes, padding];
  });
  return new Blob([...parts, new Uint8Array(2 * BLOCK_BYTES)]);
}

function headerOf(path: string, size: number) {
  const header = new Uint8Array(BLOCK_BYTES);
  const put = (at: number, text: string) =>
    encoder.encodeInto(text, header.subarray(at));
  const octal = (value: number, digits: number) =>
    value.toString(8).padStart(digits, "0");
  put(0, path);
  put(100, octal(0o644, 7));
  put(124, octal(size, 11));
  put(136, octal(0, 11));
  // The checksum counts its own field as spaces.
  put(148, " ".repeat(8));
  put(156, "0");
  put(257, "ustar\x0000");
  put(148, `${octal(header.reduce((sum, byte) => sum + byte), 6)}\0`);
  return header;
}
