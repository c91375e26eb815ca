// Parses one large tree answer on a thread of its own, which has no permissions. It says "ready", is sent the bytes, and
// sends back a `TreeReply`.

import { CollectionsError } from "../../errors.ts";
import { parseFolder, type TreeReply } from "./trees.ts";

const thread = globalThis as unknown as {
  onmessage: (event: MessageEvent<Uint8Array<ArrayBuffer>>) => Promise<void>;
  postMessage(message: TreeReply | "ready", transfer?: Transferable[]): void;
};

thread.onmessage = async ({ data }) => {
  try {
    const folder = await parseFolder(data);
    if (folder === null) return thread.postMessage(null);
    const { treeId, files: { bytes } } = folder;
    thread.postMessage({ treeId, files: bytes }, [bytes.buffer]);
  } catch (error) {
    // Anything else is a fault of this program, which the worker's `error` event tells.
    if (!(error instanceof CollectionsError)) throw error;
    thread.postMessage({ failure: error.message });
  }
};
thread.postMessage("ready");
