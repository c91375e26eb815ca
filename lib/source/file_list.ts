// Every entry below one folder in byte order of path. The list is one block of
// bytes: 100,000 files take about 10 MB. A page is cut without touching other
// entries. The bytes in memory are those that are stored. The block is shared
// memory so that both threads read the same list.

import { Buffer } from "node:buffer";
import type { ObjectKind } from "../cache/object_cache.ts";
import { countShared, freeBuffer } from "../work/memory.ts";
import { ID_BYTES } from "./git_object_id.ts";

const encoder = new TextEncoder();
// A path may begin with a byte order mark.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
let scratch = new Uint8Array(4096);

/**
 * Kinds of entries by Git's modes (gitdatamodel): 100644 or 100755, 040000,
 * 120000, 160000.
 */
const ENTRY_KINDS = [
  "file",
  "folder",
  "symbolic link",
  "submodule",
] as const;
export type EntryKind = typeof ENTRY_KINDS[number];

/**
 * A file in a list. `path` starts from the folder of the list. `id` is the blob
 * id in 40 hex digits. `size` is in bytes.
 */
export interface ListedFile {
  readonly path: string;
  readonly id: string;
  readonly size: number;
}

/**
 * Returns whether a path below a collection is listed. No segment of such a
 * path begins with a dot.
 */
export function isListedPath(path: string): boolean {
  return !path.startsWith(".") && !path.includes("/.");
}

type Columns = ReturnType<typeof columnsOf>;

function columnsOf({ buffer, byteOffset, length }: Uint8Array, count: number) {
  const offsetsAt = 8 + count * 8;
  const idsAt = offsetsAt + (count + 1) * 4;
  const kindsAt = idsAt + count * ID_BYTES;
  const pathsAt = kindsAt + count;
  return {
    sizes: new Float64Array(buffer, byteOffset + 8, count),
    offsets: new Uint32Array(buffer, byteOffset + offsetsAt, count + 1),
    ids: new Uint8Array(buffer, byteOffset + idsAt, count * ID_BYTES),
    kinds: new Uint8Array(buffer, byteOffset + kindsAt, count),
    paths: new Uint8Array(buffer, byteOffset + pathsAt, length - pathsAt),
  };
}

/** A list is in memory twice while it is assembled. */
export const MAX_LIST_BYTES = 80 << 20;

/** Returns the length of a list of so many files and bytes of paths. */
export const bytesFor = (count: number, pathBytes: number): number =>
  8 + count * 8 + (count + 1) * 4 + count * (ID_BYTES + 1) + pathBytes;

/**
 * An immutable sorted list of files. Use {@linkcode FileListBuilder} to build
 * one. Indices run from 0 to length - 1. The bytes are little-endian: the
 * number of files, the number of omitted files, sizes, path offsets, ids,
 * kinds, paths. One more offset marks the end of the last path.
 */
export class FileList {
  readonly length: number;
  /** Number of files that were omitted because their names are not UTF-8. */
  readonly omitted: number;
  private readonly columns: Columns;

  /**
   * Creates a view of the bytes of a list.
   * @throws {RangeError} if the bytes cannot be a list.
   */
  constructor(readonly bytes: Uint8Array) {
    if (bytes.buffer instanceof SharedArrayBuffer) countShared(bytes.length);
    // Typed arrays need aligned bytes. Others are copied once.
    const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
    const [count = 0, omitted = 0] = new Uint32Array(
      aligned.buffer,
      aligned.byteOffset,
      2,
    );
    // Throws if the columns do not fit into the bytes.
    this.columns = columnsOf(aligned, count);
    const { offsets, paths } = this.columns;
    if (offsets[count] !== paths.length) {
      throw new RangeError("not a file list");
    }
    this.length = count;
    this.omitted = omitted;
  }

  at(index: number): ListedFile {
    return {
      path: this.pathAt(index),
      id: this.idAt(index),
      size: this.sizeAt(index),
    };
  }

  pathAt(index: number): string {
    // Decoding from shared memory copies all of it each time (Deno 2.9.6).
    const bytes = this.pathBytes(index);
    if (bytes.length > scratch.length) {
      scratch = new Uint8Array(bytes.length * 2);
    }
    scratch.set(bytes);
    return decoder.decode(scratch.subarray(0, bytes.length));
  }

  /** Returns the path in UTF-8. */
  pathBytes(index: number): Uint8Array {
    const { offsets, paths } = this.columns;
    return paths.subarray(offsets[index], offsets[index + 1]);
  }

  idAt(index: number): string {
    return this.columns.ids.subarray(index * ID_BYTES, (index + 1) * ID_BYTES)
      .toHex();
  }

  sizeAt(index: number): number {
    return this.columns.sizes[index]!;
  }

  kindAt(index: number): EntryKind {
    return ENTRY_KINDS[this.columns.kinds[index]!]!;
  }

  /**
   * Returns the index of a path in logarithmic time. Returns -1 if the path is
   * not listed.
   */
  indexOf(path: string): number {
    const index = this.lowerBound(path);
    return index < this.length && this.pathAt(index) === path ? index : -1;
  }

  /**
   * Returns the indices of the first file below a folder and of the first file
   * after it. The empty path is all files. Takes logarithmic time.
   */
  rangeOf(folder: string): readonly [start: number, end: number] {
    if (folder === "") return [0, this.length];
    // `0` comes directly after the slash.
    return [this.lowerBound(`${folder}/`), this.lowerBound(`${folder}0`)];
  }

  /**
   * Returns the index of the first file whose path is not before this one.
   * Takes logarithmic time.
   */
  lowerBound(path: string): number {
    const wanted = encoder.encode(path);
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Buffer.compare(this.pathBytes(middle), wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Collects files without one object for each because there may be a million.
 * Files that come in order are not sorted again. The list is built in place if
 * its exact size is given.
 */
export class FileListBuilder {
  /** Number of entries added so far. */
  length = 0;
  private block: Uint8Array;
  private columns: Columns;
  private isSorted = true;
  private omitted = 0;

  constructor(exact?: { count: number; pathBytes: number }) {
    const { count, pathBytes } = exact ?? { count: 128, pathBytes: 4096 };
    const size = bytesFor(count, pathBytes);
    this.block = new Uint8Array(
      exact ? new SharedArrayBuffer(size) : new ArrayBuffer(size),
    );
    this.columns = columnsOf(this.block, count);
  }

  add({ path, id, size }: ListedFile, kind: EntryKind = "file"): void {
    const start = this.reserve(path.length * 3);
    const end = start +
      encoder.encodeInto(path, this.columns.paths.subarray(start)).written;
    this.columns.ids.subarray(this.length * ID_BYTES).setFromHex(id);
    this.finish(end, { size, kind });
  }

  /** Counts files that are omitted because their names are not UTF-8. */
  omit(count = 1): void {
    this.omitted += count;
  }

  /**
   * Adds one entry of another list below a prefix in UTF-8. The prefix is empty
   * or ends in a slash.
   */
  addFrom(list: FileList, index: number, prefix: Uint8Array): void {
    const path = list.pathBytes(index);
    const start = this.reserve(prefix.length + path.length);
    this.columns.paths.set(prefix, start);
    this.columns.paths.set(path, start + prefix.length);
    this.columns.ids.subarray(this.length * ID_BYTES).setFromHex(
      list.idAt(index),
    );
    const entry = { size: list.sizeAt(index), kind: list.kindAt(index) };
    this.finish(start + prefix.length + path.length, entry);
  }

  /** Returns the list of all added entries in byte order of path. */
  build(): FileList {
    const { length, omitted } = this;
    const pathBytes = this.columns.offsets[length]!;
    this.resize(length, pathBytes, this.isSorted);
    new Uint32Array(this.block.buffer, 0, 2).set([length, omitted]);
    const list = new FileList(this.block);
    if (this.isSorted) return list;
    const order = Uint32Array.from({ length }, (_, index) => index)
      .sort((a, b) => Buffer.compare(list.pathBytes(a), list.pathBytes(b)));
    const sorted = new FileListBuilder({ count: length, pathBytes });
    const noPrefix = new Uint8Array();
    for (const index of order) sorted.addFrom(list, index, noPrefix);
    sorted.omit(omitted);
    freeBuffer(this.block.buffer);
    return sorted.build();
  }

  /** Makes room for one more path. Returns the offset of its start. */
  private reserve(pathBytes: number): number {
    const { sizes, offsets, paths } = this.columns;
    const start = offsets[this.length]!;
    const end = start + pathBytes;
    if (this.length === sizes.length || end > paths.length) {
      this.resize(2 * sizes.length, Math.max(end, 2 * paths.length));
    }
    return start;
  }

  private resize(count: number, pathBytes: number, isShared = false) {
    const { length, columns: before, block } = this;
    const size = bytesFor(count, pathBytes);
    if (
      count === before.sizes.length && pathBytes === before.paths.length &&
      (!isShared || block.buffer instanceof SharedArrayBuffer)
    ) {
      return;
    }
    this.block = new Uint8Array(
      isShared ? new SharedArrayBuffer(size) : new ArrayBuffer(size),
    );
    this.columns = columnsOf(this.block, count);
    const { sizes, offsets, ids, kinds, paths } = this.columns;
    sizes.set(before.sizes.subarray(0, length));
    offsets.set(before.offsets.subarray(0, length + 1));
    ids.set(before.ids.subarray(0, length * ID_BYTES));
    kinds.set(before.kinds.subarray(0, length));
    paths.set(before.paths.subarray(0, before.offsets[length]));
    freeBuffer(block.buffer);
  }

  private finish(
    end: number,
    { size, kind }: { size: number; kind: EntryKind },
  ) {
    const { sizes, offsets, kinds, paths } = this.columns;
    const { length } = this;
    if (this.isSorted && length > 0) {
      const start = offsets[length]!;
      const before = paths.subarray(offsets[length - 1], start);
      this.isSorted = Buffer.compare(before, paths.subarray(start, end)) <= 0;
    }
    sizes[length] = size;
    kinds[length] = ENTRY_KINDS.indexOf(kind);
    offsets[++this.length] = end;
  }
}

/** Sorts files in the byte order of lists. Strings would compare by UTF-16. */
export function inPathOrder<T extends { path: string }>(
  files: readonly T[],
): T[] {
  // The engine compares bytes much faster than this code compares characters.
  return files.map((file) => ({ file, bytes: Buffer.from(file.path) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ file }) => file);
}

/** Returns the bytes of a list in memory that both threads can read. */
export function shared(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer) return bytes;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/**
 * The files below a folder by tree id. "truncated" means that the source cannot
 * list them in one response. A list that was assembled from several responses
 * replaces that mark.
 */
export const fileListKind: ObjectKind<FileList | "truncated"> = {
  name: "file-list",
  sizeOf: (files) => files === "truncated" ? 0 : files.bytes.length,
  codec: {
    encode: (files) => files === "truncated" ? new Uint8Array(0) : files.bytes,
    decode: (bytes) =>
      bytes.length === 0 ? "truncated" : new FileList(shared(bytes)),
  },
};
