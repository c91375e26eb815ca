// The worker between the service and the content thread. A web worker can run
// without permissions. A Node worker can have a memory limit that ends the
// worker instead of the process. So this web worker may only read modules, once
// it has lowered its priority, and so may the Node workers that it runs. One of
// them is the content thread. A spare one takes its place at once, since a
// worker of a worker waits 0.5 s for a debugger before it starts (Deno 2.9.6,
// `wait_for_page_wait_for_debugger`).

import { getPriority, setPriority } from "node:os";
import { type MessagePort as NodePort, Worker } from "node:worker_threads";
import { MAX_HEAP_MB } from "./compute.ts";

/** Asks for the next thread with this number. Null only ends the last one. */
export type ThreadRequest = number | null;

/** Gives a thread, or says why it ended by itself. */
export type ThreadNews =
  | { readonly id: number; readonly port: MessagePort }
  | { readonly id: number; readonly why: string };

interface Thread {
  readonly worker: Worker;
  readonly port: NodePort;
  /** Zero for the spare thread. */
  id: number;
}

/**
 * The spare starts this long after the thread. At once it would take processor
 * time from the first requests to that thread.
 */
const SPARE_AFTER_MS = 10_000;

/**
 * How much lower the priority of the content threads is (setpriority(2)). Where
 * both need the same processor core, the serving thread gets nine tenths of it.
 */
const NICER = 10;
const MAX_NICE = 19;

const service = globalThis as unknown as {
  postMessage(news: ThreadNews, moved?: Transferable[]): void;
};
let thread: Thread | null = null;
let spare: Thread | null = null;
let spareTimer: ReturnType<typeof setTimeout> | undefined;

try {
  // On Linux this applies to this thread and to those that it starts. Elsewhere
  // it would apply to the whole process.
  if (Deno.build.os === "linux") {
    setPriority(Math.min(getPriority() + NICER, MAX_NICE));
  }
} catch {
  // The service also runs where this is not permitted.
}
Deno.permissions.revokeSync({ name: "sys" });

addEventListener("message", (event) => {
  const id = (event as MessageEvent<ThreadRequest>).data;
  const ended = thread?.worker.terminate();
  thread = null;
  if (id === null) return;
  thread = spare ?? start();
  spare = null;
  thread.id = id;
  const port = thread.port as unknown as MessagePort;
  service.postMessage({ id, port }, [port]);
  clearTimeout(spareTimer);
  spareTimer = setTimeout(async () => {
    await ended;
    spare ??= start();
  }, SPARE_AFTER_MS);
});

function start(): Thread {
  const { port1, port2 } = new MessageChannel();
  const nodePort = port1 as unknown as NodePort;
  const worker = new Worker(new URL("./thread.ts", import.meta.url), {
    // The constructor reads the environment if this is missing.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    // The first message to the worker would wait for a debugger as well.
    workerData: nodePort,
    transferList: [nodePort],
  });
  const started = { worker, port: port2 as unknown as NodePort, id: 0 };
  const report = (why: string) => {
    if (spare === started) spare = null;
    service.postMessage({ id: started.id, why });
  };
  worker.on("error", (error: Error) => report(error.message));
  worker.on("exit", (code: number) => report(`It ended with code ${code}`));
  return started;
}
