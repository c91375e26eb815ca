// The worker between the service and the thread that renders. A web worker can be without permissions, and a Node worker
// can have a bound of memory, past which it ends instead of the process. So this web worker gives up the permissions,
// and starts a Node worker, which has no more than it has.

import { type MessagePort, Worker } from "node:worker_threads";

/** Hostile files of 1 MiB run out of their 2 s before this, but for a few. */
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
