/// <reference lib="dom" />
// Work over the content of files, in a worker that is started when it is first
// needed. One piece of work is done at a time, each within its deadline: past
// it, the worker is ended, and the next piece gets a new one.

import type { Job } from "./convert.ts";
import type { Tree } from "./tree.ts";
import type { Report } from "./worker.ts";

/**
 * For the worker to compute a preview, and again for the page to lay it out.
 */
export const DEADLINE_MS = 1_000;

/** Work that came to nothing, with the reason as a sentence for the reader. */
export class WorkError extends Error {}

const TOO_LONG = `This takes longer than ${DEADLINE_MS / 1000} s to prepare.`;

interface PolicyFactory {
  createPolicy(
    name: string,
    rules: { createScriptURL(): string },
  ): { createScriptURL(input: string): string };
}

const ADDRESS = new URL("./worker.ts", import.meta.url).href;
/**
 * Gives this address alone. Browsers without Trusted Types have no such
 * factory.
 */
const policy = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes
  ?.createPolicy("worker", { createScriptURL: () => ADDRESS });

let worker: Worker | null = null;
let last: Promise<unknown> = Promise.resolve();

/**
 * What the worker makes of a piece of work, after the pieces before it.
 * @throws {WorkError} past the deadline, for a file that is not as its kind
 * should be, and where no worker can be loaded.
 * @throws when the signal aborts.
 */
export function work(job: Job, signal: AbortSignal): Promise<Tree> {
  const tree = last.then(() => run(job, signal));
  last = tree.catch(() => {});
  return tree;
}

function run(job: Job, signal: AbortSignal): Promise<Tree> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Tree>();
  const used = worker ??= new Worker(policy?.createScriptURL("") ?? ADDRESS, {
    type: "module",
  });
  let deadline: ReturnType<typeof setTimeout> | undefined;
  const stop = (reason: unknown) => {
    used.terminate();
    worker = null;
    reject(reason);
  };
  const abort = () => stop(signal.reason);
  signal.addEventListener("abort", abort);
  used.onerror = () =>
    stop(new WorkError("A part of this page cannot be loaded."));
  used.onmessage = ({ data: report }: MessageEvent<Report>) => {
    if (report.state === "done") resolve(report.tree);
    else if (report.state === "failed") reject(new WorkError(report.message));
    // To load a grammar may take longer.
    else {deadline = setTimeout(() =>
        stop(new WorkError(TOO_LONG)), DEADLINE_MS);}
  };
  used.postMessage(job);
  return promise.finally(() => {
    clearTimeout(deadline);
    signal.removeEventListener("abort", abort);
  });
}
