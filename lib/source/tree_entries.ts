// The entries of one folder as a list. The path of a folder ends in a slash.
// This gives the order of Git's own trees.

import type { ObjectKind } from "../cache/object_cache.ts";
import {
  type EntryKind,
  FileList,
  FileListBuilder,
  shared,
} from "./file_list.ts";

/**
 * One entry of one folder. `name` is a single path segment. `size` is in bytes
 * and applies only to files.
 */
export interface TreeEntry {
  readonly name: string;
  readonly kind: EntryKind;
  readonly id: string;
  readonly size: number;
}

export function addEntry(
  builder: FileListBuilder,
  { name, kind, id, size }: TreeEntry,
): void {
  builder.add({ path: kind === "folder" ? `${name}/` : name, id, size }, kind);
}

/** The entries of one folder in Git's order. */
export class TreeEntries {
  constructor(readonly list: FileList) {}

  static of(entries: Iterable<TreeEntry>): TreeEntries {
    const builder = new FileListBuilder();
    for (const entry of entries) addEntry(builder, entry);
    return new TreeEntries(builder.build());
  }

  get length(): number {
    return this.list.length;
  }

  at(index: number): TreeEntry {
    const { path, id, size } = this.list.at(index);
    const kind = this.list.kindAt(index);
    return {
      name: kind === "folder" ? path.slice(0, -1) : path,
      kind,
      id,
      size,
    };
  }

  /** Returns the entry of this name in logarithmic time, or undefined. */
  find(name: string): TreeEntry | undefined {
    const found = [name, `${name}/`].map((path) => this.list.indexOf(path));
    const index = found.find((index) => index >= 0);
    return index === undefined ? undefined : this.at(index);
  }

  *[Symbol.iterator](): Generator<TreeEntry> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  /** Returns the number of entries of one kind. */
  count(kind: EntryKind): number {
    let count = 0;
    for (let index = 0; index < this.length; index++) {
      if (this.list.kindAt(index) === kind) count++;
    }
    return count;
  }

  /** Yields the entries of one kind. The others are not decoded. */
  *ofKind(kind: EntryKind): Generator<TreeEntry> {
    for (let index = 0; index < this.length; index++) {
      if (this.list.kindAt(index) === kind) yield this.at(index);
    }
  }
}

export const treeKind: ObjectKind<TreeEntries> = {
  name: "tree-entries",
  sizeOf: ({ list }) => list.bytes.length,
  codec: {
    encode: ({ list }) => list.bytes,
    decode: (bytes) => new TreeEntries(new FileList(shared(bytes))),
  },
};
