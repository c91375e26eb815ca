// Bytes of a tree answer -> entries or a list of files. Entries come by the hundred thousand, so a plain loop checks
// them. This module makes no requests, so that it can run anywhere.

import { sourceFailed } from "../../errors.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../../yield.ts";
import { type FileList, FileListBuilder, isListedPath } from "../file_list.ts";
import type { EntryKind, TreeEntry } from "../source.ts";
import { OBJECT_ID, parseJson } from "./answers.ts";

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

/**
 * The entries of one folder, in the order of the answer.
 * @throws {CollectionsError} source-failed where the answer is no whole tree of single names.
 */
export function parseTree(bytes: Uint8Array<ArrayBuffer>): TreeEntry[] {
  const { tree, truncated } = treeOf(parseJson(bytes));
  if (truncated) throw sourceFailed(`Cannot read "tree": a plain answer says that it is truncated`);
  return tree.map((raw) => {
    const entry = entryOf(raw);
    if (entry.path.includes("/")) throw unusable();
    return { name: entry.path, kind: entry.kind, id: entry.id, size: entry.size };
  });
}

/**
 * The listed files of a recursive answer; null where it is truncated.
 * @throws {CollectionsError} source-failed where the answer is no tree of plain paths.
 */
export async function parseRecursiveTree(bytes: Uint8Array<ArrayBuffer>): Promise<FileList | null> {
  const { tree, truncated } = treeOf(parseJson(bytes));
  if (truncated) return null;
  const files = new FileListBuilder();
  for (const [index, raw] of tree.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    const { path, kind, id, size } = entryOf(raw);
    if (kind !== "file" || !isListedPath(path)) continue;
    // GitHub writes U+FFFD for bytes that are not UTF-8: such a path names no file.
    if (path.includes("\uFFFD")) files.omit();
    else files.add({ path, id, size });
  }
  return files.build();
}

function treeOf(value: unknown): { tree: unknown[]; truncated: boolean } {
  if (typeof value === "object" && value !== null && "tree" in value && Array.isArray(value.tree)) {
    return { tree: value.tree, truncated: "truncated" in value && value.truncated === true };
  }
  throw sourceFailed(`Cannot read "tree": the answer has none`);
}

function entryOf(raw: unknown): { path: string; kind: EntryKind; id: string; size: number } {
  if (typeof raw === "object" && raw !== null) {
    const { path, mode, sha, size } = raw as Record<string, unknown>;
    const kind = KINDS.get(mode);
    if (
      typeof path === "string" && path.isWellFormed() && kind !== undefined &&
      typeof sha === "string" && OBJECT_ID.test(sha) &&
      (kind !== "file" || (Number.isSafeInteger(size) && size as number >= 0))
    ) {
      if (UNUSABLE_PATH.test(path)) throw unusable();
      return { path, kind, id: sha, size: kind === "file" ? size as number : 0 };
    }
  }
  throw sourceFailed(`Cannot read "tree": an entry has another shape`);
}

function unusable() {
  return sourceFailed(`Cannot read "tree": an entry has no usable path`);
}
