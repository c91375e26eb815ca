// The worker between the service and the rendering thread. A web worker can run without permissions, and a Node worker
// can have a memory bound, past which it ends instead of the process. So this web worker drops the permissions and
// starts a Node worker, which inherits the lack of them.

import { type MessagePort, Worker } from "node:worker_threads";

/** Nearly all hostile files of 1 MiB reach their limit of 2 s before this one. */
const MAX_HEAP_MB = 256;

addEventListener("message", (event) => {
  const port = (event as MessageEvent<MessagePort>).data;
  const thread = new Worker(new URL("./render_thread.ts", import.meta.url), {
    // Without it, the constructor reads the environment.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  // What is thrown here reaches the service as this worker's `error` event.
  thread.on("error", (error: unknown) => {
    throw error;
  });
  thread.on("exit", (code: number) => {
    throw new Error(`The thread ended with code ${code}`);
  });
  thread.postMessage(port, [port]);
});
