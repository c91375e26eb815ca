// How Git objects are cached: folders, lists of the files below a folder, and file contents, each under its id.

import type { ObjectKind } from "../cache/object_cache.ts";
import { FileList } from "./file_list.ts";
import type { TreeEntry } from "./source.ts";

/** What an entry of a folder takes as an object, measured. */
const ENTRY_BYTES = 200;
const MAX_STORED_TREE_BYTES = 16 << 20;
/** Larger values are not queued for writing. */
const MAX_STORED_LIST_BYTES = 64 << 20;
/** Larger files are not worth the space on disk. */
const MAX_STORED_BLOB_BYTES = 1 << 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The entries of one folder, under its tree id. */
export const treeKind: ObjectKind<readonly TreeEntry[]> = {
  name: "tree",
  sizeOf: (entries) => (entries.length + 1) * ENTRY_BYTES,
  codec: {
    encode: (entries) => encoder.encode(JSON.stringify(entries)),
    decode(bytes) {
      try {
        const entries = JSON.parse(decoder.decode(bytes));
        return Array.isArray(entries) ? entries : null;
      } catch {
        return null;
      }
    },
    maxBytes: MAX_STORED_TREE_BYTES,
  },
};

/**
 * The files below a folder, under its tree id, or a mark that the source cannot list them in one answer. A list that was
 * assembled from several answers replaces that mark.
 */
export const fileListKind: ObjectKind<FileList | "truncated"> = {
  name: "files",
  sizeOf: (files) => files === "truncated" ? 0 : files.byteLength,
  codec: {
    encode: (files) => files === "truncated" ? new Uint8Array(0) : files.toBytes(),
    decode: (bytes) => bytes.length === 0 ? "truncated" : FileList.fromBytes(bytes),
    maxBytes: MAX_STORED_LIST_BYTES,
  },
};

/** The bytes of a file, under its blob id. */
export const blobKind: ObjectKind<Uint8Array<ArrayBuffer>> = {
  name: "blob",
  sizeOf: (bytes) => bytes.length,
  codec: {
    encode: (bytes) => bytes,
    decode: (bytes) => bytes,
    maxBytes: MAX_STORED_BLOB_BYTES,
  },
};
