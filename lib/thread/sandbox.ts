// The worker between the service and the content thread. A web worker can run without permissions, and a Node worker can
// have a memory bound, past which it ends instead of the process. So this web worker drops the permissions and starts a
// Node worker, which inherits the lack of them.

import { type MessagePort, Worker } from "node:worker_threads";

addEventListener("message", (event) => {
  const { port, maxHeapMb } =
    (event as MessageEvent<{ port: MessagePort; maxHeapMb: number }>).data;
  const thread = new Worker(new URL("./thread.ts", import.meta.url), {
    // Without it, the constructor reads the environment.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
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
