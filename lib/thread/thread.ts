// The content thread. It runs one task after the other and each piece of work
// within its time limit.

import { getHeapStatistics } from "node:v8";
import { workerData } from "node:worker_threads";
import { CollectionsError } from "../errors.ts";
import { forgetTask, warmUpTask } from "../content/tasks.ts";
import { LIMIT_MS, TimeLimitError } from "./compute.ts";
import { paceOf } from "./pace.ts";
import { systemClock } from "../work/clock.ts";
import { freeBuffer, releasePages } from "../work/memory.ts";
import { TASKS } from "./tasks.ts";

/** A message to the thread. Null has it load all modules. */
export interface TaskRequest {
  task: string;
  input: unknown;
  /** Zero only loads the modules of the task. */
  limitMs: number;
}

type Failure = Pick<CollectionsError, "code" | "detail" | "message" | "facts">;

/** A reply of the thread. "ready" answers null instead. */
export type TaskReply =
  | { readonly output: unknown }
  /**
   * A moved input comes back for another try. Null for long work, which is not
   * tried again.
   */
  | { readonly overLimit: unknown }
  /** The thread has to be replaced. */
  | { readonly isHeapFull: true }
  | { readonly failure: Failure }
  | { readonly fault: string };

/**
 * V8 doubles the limit of a full heap so that the thread can end. Deno 2.9.6
 * only stops what runs. The thread stays, and so does its limit.
 */
const heapLimit = getHeapStatistics().heap_size_limit;
const isHeapFull = () => getHeapStatistics().heap_size_limit > heapLimit;

/** Forgotten objects of more than this are collected at once. */
const FORGOTTEN_BYTES = 2 << 20;

/**
 * V8 compiles a function once it has run for some time. Sorted lists soon after
 * the start should not have to wait for that. More runs gain little.
 */
const WARM_UPS = 5;

function replyOf(error: unknown): TaskReply {
  if (error instanceof TimeLimitError) return { overLimit: null };
  if (error instanceof CollectionsError) {
    const { code, detail, message, facts } = error;
    return { failure: { code, detail, message, facts } };
  }
  return {
    fault: error instanceof Error
      ? error.stack ?? error.message
      : String(error),
  };
}

// Deno walks every byte of a message before it calls a listener of Node's
// `on("message")`.
const service = workerData as globalThis.MessagePort;
service.onmessage = async ({ data }: MessageEvent<TaskRequest | null>) => {
  const reply = (value: TaskReply, moved: ArrayBuffer[] = []) =>
    service.postMessage(value, moved);
  if (data === null) {
    service.postMessage("ready");
    // The first requests need not wait for modules. One is loaded after the
    // other so that a task waits for one module at most.
    for (const { load } of TASKS.values()) await load();
    const warmUp = await warmUpTask.load();
    for (let count = 0; count < WARM_UPS; count++) {
      // Tasks that have come in meanwhile run first.
      await systemClock.sleep(0);
      warmUp();
    }
    return;
  }
  const { load, moveInput, moveOutput } = TASKS.get(data.task)!;
  const input = data.input as never;
  let moved: ArrayBuffer[] = [];
  let forgottenBytes = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const run = await load();
    if (data.limitMs === 0) return reply({ output: null });
    moved = moveInput?.(input) ?? [];
    // A full heap stops this function without an error.
    timer = setTimeout(() => reply({ isHeapFull: true }));
    const output = run(input, paceOf(data.limitMs));
    if (data.task === forgetTask.name) forgottenBytes = Number(output);
    if (isHeapFull()) return reply({ isHeapFull: true });
    reply({ output }, moveOutput?.(output));
  } catch (error) {
    if (isHeapFull()) return reply({ isHeapFull: true });
    const isFirst = data.limitMs !== LIMIT_MS.long;
    if (error instanceof TimeLimitError && isFirst) {
      reply({ overLimit: moveInput ? input : null }, moved);
    } else reply(replyOf(error));
  } finally {
    clearTimeout(timer);
  }
  freeBytes(input);
  releasePages(forgottenBytes > FORGOTTEN_BYTES);
};

/** Frees the bytes of an input. No task keeps them. */
function freeBytes(value: unknown): void {
  if (ArrayBuffer.isView(value)) freeBuffer(value.buffer);
  else if (Array.isArray(value) || value instanceof Map) {
    value.forEach((each) => freeBytes(each));
  } else if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(freeBytes);
  }
}
