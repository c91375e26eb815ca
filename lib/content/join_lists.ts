// Joins the answers of which a listing was assembled. Each is in byte order already, and so are the folders among the
// entries of a tree, so that the whole is in order without being sorted.

import { FileList, FileListBuilder, isListedPath } from "../source/file_list.ts";

/** GitHub shows names that are not UTF-8 with this character. */
const NOT_UTF8 = "\uFFFD";

/**
 * The bytes of a list, or a tree whose folders were listed one by one, by the path of each with its slash; null where only
 * the files of the tree itself are wanted.
 */
export type ListPart = Uint8Array | {
  readonly entries: Uint8Array;
  readonly folders: ReadonlyMap<string, ListPart> | null;
};

/** The bytes of one list of all files. */
export function joinLists(part: ListPart): Uint8Array {
  const builder = new FileListBuilder();
  addPart(part, "", builder);
  return builder.build().bytes;
}

function addPart(part: ListPart, prefix: string, builder: FileListBuilder): void {
  const prefixBytes = new TextEncoder().encode(prefix);
  const list = new FileList(part instanceof Uint8Array ? part : part.entries);
  if (part instanceof Uint8Array) {
    for (let index = 0; index < list.length; index++) builder.addFrom(list, index, prefixBytes);
    builder.omit(list.omitted);
    return;
  }
  for (let index = 0; index < list.length; index++) {
    const kind = list.kindAt(index);
    if (kind !== "file" && (kind !== "folder" || part.folders === null)) continue;
    const path = list.pathAt(index);
    if (!isListedPath(path)) continue;
    if (path.includes(NOT_UTF8)) builder.omit();
    else if (kind === "file") builder.addFrom(list, index, prefixBytes);
    else {
      const below = part.folders?.get(path);
      if (below !== undefined) addPart(below, prefix + path, builder);
    }
  }
}
