// Reads a response's body into memory, never more of it than was allowed.

import { joinBytes } from "../cache/join_bytes.ts";

/**
 * The body of a response, whole.
 * @throws {RangeError} where it is longer than `maxBytes`; the rest is not read.
 */
export async function readBounded(
  response: Response,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (response.body === null) return new Uint8Array(0);
  const announced = Number(response.headers.get("content-length") ?? 0);
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (announced <= maxBytes) {
      const { done, value } = await reader.read();
      if (done) return joinBytes(chunks);
      length += value.length;
      if (length > maxBytes) break;
      chunks.push(value);
    }
    throw new RangeError(`Cannot read "body": it is longer than ${maxBytes} bytes`);
  } finally {
    // Also after an error: the connection is of no use while a body waits on it.
    await reader.cancel().catch(() => {});
  }
}
