// Git LFS pointers (git-lfs, docs/spec.md, "The Pointer"): the text that Git has in the place of a file. One with
// extensions is none here, since the file that it stands for takes their programs to make.

import { textOf } from "./file_text.ts";

/** What a pointer says of its file: the SHA-256 of the bytes, and their number. */
export interface LfsPointer {
  readonly oid: string;
  readonly size: number;
}

const MAX_BYTES = 1024;
const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\noid sha256:([0-9a-f]{64})\nsize (0|[1-9][0-9]{0,14})\n$/;

/** The pointer that bytes are, or null. */
export function parseLfsPointer(bytes: Uint8Array): LfsPointer | null {
  if (bytes.length > MAX_BYTES) return null;
  const [, oid, size] = POINTER.exec(textOf(bytes) ?? "") ?? [];
  return oid === undefined ? null : { oid, size: Number(size) };
}
