// Parses Git LFS pointers (git-lfs, docs/spec.md, "The Pointer"). Git stores
// this text instead of the file. A pointer with extensions is treated as an
// ordinary file because only the programs of the extensions can make its file.

import { textOf } from "./file_text.ts";

/** The SHA-256 of the file and its size in bytes. */
export interface LfsPointer {
  readonly oid: string;
  readonly size: number;
}

/** Larger files are not pointers. */
export const MAX_POINTER_BYTES = 1024;
const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\noid sha256:([0-9a-f]{64})\nsize (0|[1-9][0-9]{0,14})\n$/;

/** Returns the pointer, or null if the bytes are not a pointer. */
export function parseLfsPointer(bytes: Uint8Array): LfsPointer | null {
  if (bytes.length > MAX_POINTER_BYTES) return null;
  const [, oid, size] = POINTER.exec(textOf(bytes) ?? "") ?? [];
  return oid === undefined ? null : { oid, size: Number(size) };
}
