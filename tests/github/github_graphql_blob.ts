// What GraphQL says of a blob: `text` is cut at 512,000 bytes, null for binaries, and lossy where
// the bytes are not UTF-8.

/** More bytes in one query than the double is set to give. */
export class GraphqlBudgetSpent extends Error {}

const maxTextBytes = 512_000;
const sniffedBytes = 8000;

/** The fields of GitHub's `Blob` type. */
export function blobFields(bytes: Uint8Array, stripsBom: boolean): Record<string, unknown> {
  const isBinary = bytes.subarray(0, sniffedBytes).includes(0);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: !stripsBom });
  return {
    byteSize: bytes.length,
    isBinary,
    isTruncated: bytes.length > maxTextBytes,
    text: isBinary ? null : decoder.decode(bytes.subarray(0, maxTextBytes)),
  };
}
