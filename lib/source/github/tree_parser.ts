// Large tree answers are parsed in a worker, since `JSON.parse` of 30 MB blocks everything else for half a second. A
// worker serves one answer and ends, so that the memory of a parsed answer goes with it. Where no worker starts (Deno
// Deploy), answers are parsed on the main thread.

import type { Clock } from "../../clock.ts";
import { sourceFailed } from "../../errors.ts";
import { FileList } from "../file_list.ts";
import type { FolderFiles } from "../source.ts";
import type { TreeReply, TreeTask } from "./tree_worker.ts";
import { parseFolder } from "./trees.ts";

/** What {@linkcode parseInWorker} needs of a worker. */
export type TreeWorker = Pick<Worker, "onmessage" | "onerror" | "postMessage" | "terminate">;

const START_WITHIN_MS = 5_000;

/** Starts tree_worker.ts without permissions. */
function startTreeWorker(): TreeWorker {
  return new Worker(new URL("./tree_worker.ts", import.meta.url), {
    type: "module",
    name: "tree",
    deno: { permissions: "none" },
  });
}

/**
 * As {@linkcode parseFolder}, in a worker where one starts within 5 s. The bytes cannot be used afterwards.
 * @throws {CollectionsError} source-failed likewise, or where the worker ends before its reply, for want of memory, say.
 */
export async function parseInWorker(
  bytes: Uint8Array<ArrayBuffer>,
  { clock, withId = false, start = startTreeWorker }: {
    clock: Clock;
    withId?: boolean;
    start?: () => TreeWorker;
  },
): Promise<FolderFiles | null> {
  let worker: TreeWorker | null = null;
  try {
    try {
      worker = start();
      await ready(worker, clock);
    } catch {
      return await parseFolder(bytes, { withId });
    }
    const reply = nextMessage(worker);
    const task: TreeTask = { bytes, withId };
    worker.postMessage(task, [bytes.buffer]);
    const answer = await reply as TreeReply;
    if ("failure" in answer) throw sourceFailed(answer.failure);
    const { folder } = answer;
    const files = folder && FileList.fromBytes(folder.files);
    return folder && files && { treeId: folder.treeId, files };
  } finally {
    worker?.terminate();
  }
}

async function ready(worker: TreeWorker, clock: Clock): Promise<void> {
  const late = Promise.withResolvers<never>();
  const cancelTimer = clock.setTimer(
    START_WITHIN_MS,
    () => late.reject(new Error("The worker does not start")),
  );
  try {
    await Promise.race([nextMessage(worker), late.promise]);
  } finally {
    cancelTimer();
  }
}

/** What the worker sends next. @throws {CollectionsError} source-failed where it ends instead. */
function nextMessage(worker: TreeWorker): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => {
    // Or it would end the process.
    event.preventDefault();
    reject(sourceFailed(`Cannot read "tree": the worker ended: ${event.message}`));
  };
  return promise;
}
