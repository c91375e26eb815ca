// Bytes of a tree answer -> entries or a list of files, checked by a plain loop, since entries come by the hundred
// thousand. `JSON.parse` of 30 MB blocks everything else for half a second, so large answers are parsed in a worker. It
// serves one answer and ends, so that the memory of a parsed answer goes with it.

import { type Clock, STEPS_PER_YIELD, yieldToEventLoop } from "../../clock.ts";
import { sourceFailed } from "../../errors.ts";
import { FileList, FileListBuilder, isListedPath } from "../file_list.ts";
import { type GitMode, treeId, type TreeObjectEntry } from "../git_object_id.ts";
import type { FolderFiles, TreeEntry } from "../source.ts";
import { OBJECT_ID, parseJson } from "./host.ts";

const KINDS: ReadonlyMap<unknown, TreeEntry["kind"]> = new Map([
  ["100644", "file"],
  ["100755", "file"],
  ["100664", "file"],
  ["040000", "folder"],
  ["120000", "symbolic link"],
  ["160000", "submodule"],
]);

/** A segment that is empty, `.` or `..`, or a NUL: no path of Git, and one that could lead elsewhere. */
const UNUSABLE_PATH = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

/** The entries of one folder. @throws {CollectionsError} source-failed where the answer is no whole tree of single names. */
export function parseTree(bytes: Uint8Array<ArrayBuffer>): TreeEntry[] {
  const { tree, truncated } = treeOf(bytes);
  if (truncated === true) throw unusable("a plain answer says that it is truncated");
  return tree.map((raw) => {
    const { path, kind, id, size } = entryOf(raw);
    if (path.includes("/")) throw unusable("an entry has no usable path");
    return { name: path, kind, id, size };
  });
}

/**
 * The listed files of a recursive answer; null where it is truncated. `treeId` is "" unless the entries prove it.
 * @throws {CollectionsError} source-failed where the answer is no tree of plain paths.
 */
export async function parseFolder(bytes: Uint8Array<ArrayBuffer>): Promise<FolderFiles | null> {
  const { tree, truncated, sha } = treeOf(bytes);
  if (truncated === true) return null;
  const files = new FileListBuilder();
  const entries: TreeObjectEntry[] = [];
  for (const [index, raw] of tree.entries()) {
    if (index % STEPS_PER_YIELD === 0) await yieldToEventLoop();
    const { path, mode, kind, id, size } = entryOf(raw);
    if (!path.includes("/")) {
      entries.push({ name: path, mode: mode.replace(/^0/, "") as GitMode, id });
    }
    if (kind !== "file" || !isListedPath(path)) continue;
    // GitHub writes U+FFFD for bytes that are not UTF-8: such a path names no file.
    if (path.includes("\uFFFD")) files.omit();
    else files.add({ path, id, size });
  }
  return { treeId: treeId(entries) === sha ? sha : "", files: files.build() };
}

function treeOf(bytes: Uint8Array<ArrayBuffer>) {
  const { tree, truncated, sha } = (parseJson(bytes) ?? {}) as Record<string, unknown>;
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

/** The folder's id and the bytes of its list; null for a truncated answer; or what is wrong with it. */
export type TreeReply =
  | { readonly treeId: string; readonly files: Uint8Array<ArrayBuffer> }
  | { readonly failure: string }
  | null;

const WORKER_OPTIONS = { type: "module", name: "tree", deno: { permissions: "none" } } as const;
const START_WITHIN_MS = 5_000;

/**
 * As {@linkcode parseFolder}, in a worker where one starts within 5 s (on Deno Deploy none does). The bytes cannot be
 * used afterwards. @throws {CollectionsError} source-failed likewise, or where the worker ends before its reply.
 */
export async function parseInWorker(
  bytes: Uint8Array<ArrayBuffer>,
  clock: Clock,
): Promise<FolderFiles | null> {
  let worker: Worker | null = null;
  const late = Promise.withResolvers<never>();
  const cancelTimer = clock.setTimer(START_WITHIN_MS, () => late.reject(new Error("too late")));
  late.promise.catch(() => {}); // Nothing waits for it where no worker can be made.
  try {
    try {
      worker = new Worker(new URL("./tree_worker.ts", import.meta.url), WORKER_OPTIONS);
      await Promise.race([nextMessage(worker), late.promise]);
    } catch {
      return await parseFolder(bytes);
    } finally {
      cancelTimer();
    }
    const reply = nextMessage(worker);
    worker.postMessage(bytes, [bytes.buffer]);
    const folder = await reply as TreeReply;
    if (folder === null) return null;
    if ("failure" in folder) throw sourceFailed(folder.failure);
    return { ...folder, files: new FileList(folder.files) };
  } finally {
    worker?.terminate();
  }
}

/** What the worker sends next. @throws {CollectionsError} source-failed where it ends instead. */
function nextMessage(worker: Worker): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => {
    // Or it would end the process.
    event.preventDefault();
    reject(unusable(`the worker ended: ${event.message}`));
  };
  return promise;
}
