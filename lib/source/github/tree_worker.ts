// Parses one large tree answer on a thread of its own, which has no permissions. It says "ready", is sent the bytes, and
// sends back a `TreeReply`.

import { CollectionsError } from "../../errors.ts";
import { parseRecursiveTree } from "./trees.ts";

/** The list as `FileList.toBytes()` gives it, or that the answer is truncated, or what is wrong with it. */
export type TreeReply =
  | { readonly files: Uint8Array<ArrayBuffer> | null }
  | { readonly failure: string };

interface Thread {
  onmessage: ((event: MessageEvent<Uint8Array<ArrayBuffer>>) => void) | null;
  postMessage(message: TreeReply | "ready", transfer?: Transferable[]): void;
}

const thread = globalThis as unknown as Thread;

thread.onmessage = async ({ data }) => {
  try {
    const files = (await parseRecursiveTree(data))?.toBytes() ?? null;
    thread.postMessage({ files }, files === null ? [] : [files.buffer]);
  } catch (error) {
    // Anything else is a fault of this program, which the worker's `error` event tells.
    if (!(error instanceof CollectionsError)) throw error;
    thread.postMessage({ failure: error.message });
  }
};
thread.postMessage("ready");
