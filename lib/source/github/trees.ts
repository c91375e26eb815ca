// Bytes of a tree answer -> a list, checked by a plain loop, since entries come by the hundred thousand. Large answers are
// read on the content thread.

import { sourceFailed } from "../../errors.ts";
import type { Task } from "../../thread/compute.ts";
import { type EntryKind, FileListBuilder, isListedPath } from "../file_list.ts";
import { type GitMode, treeId, type TreeObjectEntry } from "../git_object_id.ts";
import { TreeEntries } from "../tree_entries.ts";
import { OBJECT_ID, parseJson } from "./json.ts";

const KINDS: ReadonlyMap<unknown, EntryKind> = new Map([
  ["100644", "file"],
  ["100755", "file"],
  ["100664", "file"],
  ["040000", "folder"],
  ["120000", "symbolic link"],
  ["160000", "submodule"],
]);

/** A segment that is empty, `.` or `..`, or a NUL: no path of Git, and one that could lead elsewhere. */
const UNUSABLE_PATH = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

/** A list, and the id of the folder where the entries prove it, else "". */
interface ReadTree {
  readonly treeId: string;
  readonly bytes: Uint8Array;
}

/** Reads one answer: the entries of one folder, or with `isRecursive` the listed files below it. Null where it is truncated. */
export const readTreeTask: Task<{ answer: Uint8Array; isRecursive: boolean }, ReadTree | null> = {
  name: "read-tree",
  load: () =>
    Promise.resolve(({ answer, isRecursive }, pace) =>
      pace.within(() =>
        isRecursive ? readFolder(answer) : { treeId: "", bytes: readTree(answer).list.bytes }
      )
    ),
};

/** The entries of one folder. @throws {CollectionsError} source-failed where the answer is no whole tree of single names. */
export function readTree(answer: Uint8Array): TreeEntries {
  const { tree, truncated } = treeOf(answer);
  if (truncated === true) throw unusable("a plain answer says that it is truncated");
  return TreeEntries.of(tree.map((raw) => {
    const { path, kind, id, size } = entryOf(raw);
    if (path.includes("/")) throw unusable("an entry has no usable path");
    return { name: path, kind, id, size };
  }));
}

/** The listed files of a recursive answer. @throws {CollectionsError} source-failed where it is no tree of plain paths. */
function readFolder(answer: Uint8Array): ReadTree | null {
  const { tree, truncated, sha } = treeOf(answer);
  if (truncated === true) return null;
  const files = new FileListBuilder();
  const entries: TreeObjectEntry[] = [];
  for (const raw of tree) {
    const { path, mode, kind, id, size } = entryOf(raw);
    if (!path.includes("/")) {
      entries.push({ name: path, mode: mode.replace(/^0/, "") as GitMode, id });
    }
    if (kind !== "file" || !isListedPath(path)) continue;
    // GitHub writes U+FFFD for bytes that are not UTF-8: such a path names no file.
    if (path.includes("\uFFFD")) files.omit();
    else files.add({ path, id, size });
  }
  return { treeId: treeId(entries) === sha ? sha : "", bytes: files.build().bytes };
}

function treeOf(answer: Uint8Array) {
  const { tree, truncated, sha } = (parseJson(answer) ?? {}) as Record<string, unknown>;
  if (!Array.isArray(tree)) throw unusable("the answer has none");
  return { tree: tree as unknown[], truncated, sha: String(sha) };
}

function entryOf(raw: unknown) {
  const { path, mode, sha, size: bytes } = (raw ?? {}) as Record<string, unknown>;
  const kind = KINDS.get(mode);
  const size = kind === "file" ? bytes : 0;
  if (
    typeof path !== "string" || !path.isWellFormed() || typeof mode !== "string" ||
    kind === undefined || typeof sha !== "string" || !OBJECT_ID.test(sha) ||
    typeof size !== "number" || !Number.isSafeInteger(size) || size < 0
  ) {
    throw unusable("an entry has another shape");
  }
  if (UNUSABLE_PATH.test(path)) throw unusable("an entry has no usable path");
  return { path, mode, kind, id: sha, size };
}

const unusable = (state: string) => sourceFailed(`Cannot read "tree": ${state}`);
