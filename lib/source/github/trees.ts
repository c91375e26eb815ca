// Bytes of a tree answer -> entries or a list of files. Entries come by the hundred thousand, so a plain loop checks
// them. This module makes no requests, so that it can run anywhere.

import { sourceFailed } from "../../errors.ts";
import { STEPS_PER_YIELD, yieldToEventLoop } from "../../yield.ts";
import { FileListBuilder, isListedPath } from "../file_list.ts";
import { type GitMode, treeId, type TreeObjectEntry } from "../git_object_id.ts";
import type { EntryKind, FolderFiles, TreeEntry } from "../source.ts";
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
 * The listed files of a recursive answer; null where it is truncated. The result has the folder's id where `withId` is
 * set and the entries prove it; else the id is "".
 * @throws {CollectionsError} source-failed where the answer is no tree of plain paths.
 */
export async function parseFolder(
  bytes: Uint8Array<ArrayBuffer>,
  { withId = false } = {},
): Promise<FolderFiles | null> {
  const { tree, truncated, sha } = treeOf(parseJson(bytes));
  if (truncated) return null;
  const files = new FileListBuilder();
  const entries: TreeObjectEntry[] = [];
  for (const [index, raw] of tree.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    const { path, mode, kind, id, size } = entryOf(raw);
    if (withId && !path.includes("/")) {
      entries.push({ name: path, mode: mode.replace(/^0/, "") as GitMode, id });
    }
    if (kind !== "file" || !isListedPath(path)) continue;
    // GitHub writes U+FFFD for bytes that are not UTF-8: such a path names no file.
    if (path.includes("\uFFFD")) files.omit();
    else files.add({ path, id, size });
  }
  const isProved = withId && treeId(entries) === sha;
  return { treeId: isProved ? sha : "", files: files.build() };
}

function treeOf(value: unknown): { tree: unknown[]; truncated: boolean; sha: string } {
  if (typeof value === "object" && value !== null && "tree" in value && Array.isArray(value.tree)) {
    const { tree, truncated, sha } = value as {
      tree: unknown[];
      truncated?: unknown;
      sha?: unknown;
    };
    return { tree, truncated: truncated === true, sha: String(sha) };
  }
  throw sourceFailed(`Cannot read "tree": the answer has none`);
}

interface RawEntry {
  readonly path: string;
  readonly mode: string;
  readonly kind: EntryKind;
  readonly id: string;
  readonly size: number;
}

function entryOf(raw: unknown): RawEntry {
  if (typeof raw === "object" && raw !== null) {
    const { path, mode, sha, size } = raw as Record<string, unknown>;
    const kind = KINDS.get(mode);
    if (
      typeof path === "string" && path.isWellFormed() && typeof mode === "string" &&
      kind !== undefined &&
      typeof sha === "string" && OBJECT_ID.test(sha) &&
      (kind !== "file" || (Number.isSafeInteger(size) && size as number >= 0))
    ) {
      if (UNUSABLE_PATH.test(path)) throw unusable();
      return { path, mode, kind, id: sha, size: kind === "file" ? size as number : 0 };
    }
  }
  throw sourceFailed(`Cannot read "tree": an entry has another shape`);
}

function unusable() {
  return sourceFailed(`Cannot read "tree": an entry has no usable path`);
}
