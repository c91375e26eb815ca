// Parses one large tree answer on a thread of its own, which has no permissions. It says "ready", is sent the bytes, and
// sends back a `TreeReply`.

import { CollectionsError } from "../../errors.ts";
import { parseFolder } from "./trees.ts";

/** What the worker is sent; the bytes are transferred. */
export interface TreeTask {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly withId: boolean;
}

/** The folder, its list as `FileList.toBytes()` gives it; null for a truncated answer; or what is wrong with it. */
export type TreeReply =
  | { readonly folder: { readonly treeId: string; readonly files: Uint8Array<ArrayBuffer> } | null }
  | { readonly failure: string };

interface Thread {
  onmessage: ((event: MessageEvent<TreeTask>) => void) | null;
  postMessage(message: TreeReply | "ready", transfer?: Transferable[]): void;
}

const thread = globalThis as unknown as Thread;

thread.onmessage = async ({ data }) => {
  try {
    const folder = await parseFolder(data.bytes, data);
    if (folder === null) return thread.postMessage({ folder });
    const files = folder.files.toBytes();
    thread.postMessage({ folder: { treeId: folder.treeId, files } }, [files.buffer]);
  } catch (error) {
    // Anything else is a fault of this program, which the worker's `error` event tells.
    if (!(error instanceof CollectionsError)) throw error;
    thread.postMessage({ failure: error.message });
  }
};
thread.postMessage("ready");
