// Joins the parts of a listing. Each part is in byte order already. So are the
// folders among the entries of a tree. The result is in order without sorting.

import {
  bytesFor,
  FileList,
  FileListBuilder,
  isListedPath,
} from "../source/file_list.ts";

/** GitHub uses this character in names that are not UTF-8. */
const NOT_UTF8 = "\uFFFD";

/**
 * The bytes of a list, or a tree whose folders were listed one by one.
 * `folders` is keyed by path with a trailing slash. It is null if only the
 * files of the tree itself are wanted.
 */
export type ListPart = Uint8Array | {
  readonly entries: Uint8Array;
  readonly folders: ReadonlyMap<string, ListPart> | null;
};

/** The prefixes of all levels are kept at once. Git has no limit for a path. */
const MAX_PREFIX_BYTES = 64 << 10;

type Visit = (list: FileList, index: number, prefix: Uint8Array) => void;

/**
 * Returns the bytes of one list of all files. The list may be long, so its size
 * is counted first and it is written into one buffer. Returns null if it takes
 * more than `maxBytes`: one long name may stand before very many paths. Also
 * returns null if the path of a folder has over 64 KiB.
 */
export function joinLists(
  { part, maxBytes }: { part: ListPart; maxBytes: number },
): Uint8Array | null {
  let [count, pathBytes] = [0, 0];
  const omitted = visitFiles(part, "", (list, index, prefix) => {
    count++;
    pathBytes += prefix.length + list.pathBytes(index).length;
  });
  if (omitted === null) return null;
  if (bytesFor(count, pathBytes) > maxBytes) return null;
  const builder = new FileListBuilder({ count, pathBytes });
  visitFiles(
    part,
    "",
    (list, index, prefix) => builder.addFrom(list, index, prefix),
  );
  builder.omit(omitted);
  return builder.build().bytes;
}

/**
 * Calls `visit` for each file in byte order of path. Returns how many files are
 * omitted, or null if a prefix is too long.
 */
function visitFiles(
  part: ListPart,
  prefix: string,
  visit: Visit,
): number | null {
  const prefixBytes = new TextEncoder().encode(prefix);
  if (prefixBytes.length > MAX_PREFIX_BYTES) return null;
  const list = new FileList(part instanceof Uint8Array ? part : part.entries);
  if (part instanceof Uint8Array) {
    for (let index = 0; index < list.length; index++) {
      visit(list, index, prefixBytes);
    }
    return list.omitted;
  }
  let omitted = 0;
  for (let index = 0; index < list.length; index++) {
    const kind = list.kindAt(index);
    if (kind !== "file" && (kind !== "folder" || part.folders === null)) {
      continue;
    }
    const path = list.pathAt(index);
    if (!isListedPath(path)) continue;
    if (path.includes(NOT_UTF8)) omitted++;
    else if (kind === "file") visit(list, index, prefixBytes);
    else {
      const below = part.folders?.get(path);
      if (below !== undefined) {
        const others = visitFiles(below, prefix + path, visit);
        if (others === null) return null;
        omitted += others;
      }
    }
  }
  return omitted;
}
