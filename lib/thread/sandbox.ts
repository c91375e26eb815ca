// The worker between the service and the content thread. A web worker can run
// without permissions. A Node worker can have a memory limit that ends the
// worker instead of the process. So this web worker drops the permissions and
// starts a Node worker. That worker does not have the permissions either.

import { type MessagePort, Worker } from "node:worker_threads";

addEventListener("message", (event) => {
  const { port, maxHeapMb } =
    (event as MessageEvent<{ port: MessagePort; maxHeapMb: number }>).data;
  const thread = new Worker(new URL("./thread.ts", import.meta.url), {
    // The constructor reads the environment if this is missing.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  // Errors thrown here reach the service as this worker's `error` event.
  thread.on("error", (error: unknown) => {
    throw error;
  });
  thread.on("exit", (code: number) => {
    throw new Error(`The thread ended with code ${code}`);
  });
  thread.postMessage(port, [port]);
});
