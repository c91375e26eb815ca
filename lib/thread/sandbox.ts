// The worker between the service and the content thread. A web worker can run
// without permissions. A Node worker can have a memory limit that ends the
// worker instead of the process. So this web worker drops the permissions and
// runs one Node worker at a time. That worker does not have the permissions
// either.

import { type MessagePort as NodePort, Worker } from "node:worker_threads";

/** Asks for a thread that ends the last one. Null ends it only. */
export interface ThreadStart {
  readonly port: MessagePort;
  readonly maxHeapMb: number;
  readonly id: number;
}

/** Says why a thread ended by itself. */
export interface ThreadEnd {
  readonly id: number;
  readonly why: string;
}

const service = globalThis as unknown as { postMessage(end: ThreadEnd): void };
let last: Promise<Worker | null> = Promise.resolve(null);

addEventListener("message", (event) => {
  const request = (event as MessageEvent<ThreadStart | null>).data;
  last = last.then(async (thread) => {
    // Its memory is free before another thread takes any.
    await thread?.terminate();
    return request && start(request);
  });
});

function start({ port, maxHeapMb, id }: ThreadStart): Worker {
  const thread = new Worker(new URL("./thread.ts", import.meta.url), {
    // The constructor reads the environment if this is missing.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const report = (why: string) => service.postMessage({ id, why });
  thread.on("error", (error: Error) => report(error.message));
  thread.on("exit", (code: number) => report(`It ended with code ${code}`));
  const nodePort = port as unknown as NodePort;
  thread.postMessage(nodePort, [nodePort]);
  return thread;
}
