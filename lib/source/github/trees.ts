// Parses the bytes of a tree response into a list. A plain loop checks the
// entries because there may be hundreds of thousands. Large responses are
// parsed on the content thread.

import { sourceFailed } from "../../errors.ts";
import { type Pace, type Task, whole } from "../../thread/compute.ts";
import { type EntryKind, FileListBuilder, isListedPath } from "../file_list.ts";
import {
  type GitMode,
  treeId,
  type TreeObjectEntry,
} from "../git_object_id.ts";
import { addEntry } from "../tree_entries.ts";
import { freeBuffer } from "../../work/memory.ts";
import { OBJECT_ID, parseJson } from "./json.ts";

const KINDS: ReadonlyMap<unknown, EntryKind> = new Map([
  ["100644", "file"],
  ["100755", "file"],
  ["100664", "file"],
  ["040000", "folder"],
  ["120000", "symbolic link"],
  ["160000", "submodule"],
]);

/**
 * A NUL or a segment that is empty, `.` or `..`. Git has no such paths and they
 * could lead elsewhere.
 */
const UNUSABLE_PATH = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

/**
 * An entry has seven in at least 100 bytes. GitHub gives at most 100,000
 * entries. More would fill the heap of the content thread.
 */
const MAX_VALUES = { all: 3_000_000, perByte: 0.1 };

interface TreeAnswer {
  /**
   * The id of the folder if a recursive response proves it. Empty otherwise.
   */
  treeId: string;
  /** The bytes of a `FileList`. */
  bytes: Uint8Array;
}

/**
 * Parses one response into the entries of one folder. With `isRecursive` the
 * result is the listed files below it. It is null if that response is
 * truncated.
 */
export const readTreeTask: Task<
  { answer: Uint8Array<ArrayBuffer>; isRecursive: boolean },
  TreeAnswer | null
> = {
  ...whole("read-tree", () => Promise.resolve(readTree)),
  moveInput: ({ answer }) => [answer.buffer],
};

/**
 * @throws {CollectionsError} source-failed if the response is not a tree of
 * plain paths or if a plain response is truncated.
 */
function readTree(
  { answer, isRecursive }: { answer: Uint8Array; isRecursive: boolean },
  { isLast }: Pace,
): TreeAnswer | null {
  const { all, perByte } = MAX_VALUES;
  const maxValues = Math.min(all, 100 + perByte * answer.length);
  const parsed = parseJson(answer, maxValues, () => {
    // The text takes as much memory again.
    if (isLast) freeBuffer(answer.buffer);
  });
  const { tree, truncated, sha } = (parsed ?? {}) as Record<string, unknown>;
  if (!Array.isArray(tree)) throw unusable("the answer has none");
  if (truncated === true && isRecursive) return null;
  if (truncated === true) {
    throw unusable("a plain answer says that it is truncated");
  }
  const list = new FileListBuilder();
  const entries: TreeObjectEntry[] = [];
  for (const raw of tree) {
    const { path, mode, kind, id, size } = entryOf(raw);
    const isBelow = path.includes("/");
    if (!isRecursive) {
      if (isBelow) throw unusable("an entry has no usable path");
      addEntry(list, { name: path, kind, id, size });
      continue;
    }
    if (!isBelow) {
      entries.push({ name: path, mode: mode.replace(/^0/, "") as GitMode, id });
    }
    if (kind !== "file" || !isListedPath(path)) continue;
    // GitHub writes U+FFFD for bytes that are not UTF-8. Such a path names no
    // file.
    if (path.includes("\uFFFD")) list.omit();
    else list.add({ path, id, size });
  }
  const isProven = isRecursive && treeId(entries) === sha;
  return { treeId: isProven ? sha as string : "", bytes: list.build().bytes };
}

function entryOf(raw: unknown) {
  const { path, mode, sha, size: bytes } = (raw ?? {}) as Record<
    string,
    unknown
  >;
  const kind = KINDS.get(mode);
  const size = kind === "file" ? bytes : 0;
  if (
    typeof path !== "string" || !path.isWellFormed() ||
    typeof mode !== "string" ||
    kind === undefined || typeof sha !== "string" || !OBJECT_ID.test(sha) ||
    typeof size !== "number" || !Number.isSafeInteger(size) || size < 0
  ) {
    throw unusable("an entry has another shape");
  }
  if (UNUSABLE_PATH.test(path)) throw unusable("an entry has no usable path");
  return { path, mode, kind, id: sha, size };
}

const unusable = (state: string) =>
  sourceFailed(`Cannot read "tree": ${state}`);
