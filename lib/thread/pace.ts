// Runs pieces of work within their time limits. `Worker.terminate()` does not
// stop a loop (Deno 2.9.6, github.com/denoland/deno/pull/35657). The timeout of
// `vm.Script` stops it and the thread stays usable.

import process from "node:process";
import { Script } from "node:vm";
import { serviceBusy } from "../errors.ts";
import { LIMIT_MS, type Pace, TimeLimitError, TURN_MS } from "./compute.ts";

/**
 * Work that had less processor time than this part of its limit was kept from
 * running. Other processes or the serving thread then need the machine.
 */
const LEAST_SHARE = 0.25;

const idle = () => {};
let work: () => unknown = idle;
Object.assign(globalThis, { runWork: () => work() });
/**
 * V8 notices that the time is up when a function begins. After native code at
 * the end of the work that is the empty one. Otherwise the limit would stop the
 * caller of the script instead, and with it the thread.
 */
const script = new Script(
  "{ const result = runWork(); (() => {})(); result; }",
);

/** Returns the processor time of this thread in ms. */
function processorMs(): number {
  // Elsewhere all time counts as processor time.
  if (Deno.build.os !== "linux") return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * Returns the pace of a task. `within()` throws a `TimeLimitError` for a piece
 * that takes longer than `limitMs`. If a last try had hardly any processor time,
 * it throws `service-busy` instead because that says nothing about the work.
 */
export function paceOf(limitMs: number): Pace {
  const endsAtMs = performance.now() + TURN_MS;
  const isLast = limitMs === LIMIT_MS.long;
  return {
    isOver: () => performance.now() >= endsAtMs,
    isLast,
    within<T>(piece: () => T): T {
      // The serving thread waits as long for all pieces of a task as for a piece
      // that begins at the end of the turn.
      const leftMs = Math.ceil(endsAtMs + limitMs - performance.now());
      const timeout = Math.min(limitMs, leftMs);
      if (timeout <= 0) throw new TimeLimitError("The pieces take too long");
      const startedAtMs = processorMs();
      work = piece;
      try {
        return script.runInThisContext({ timeout });
      } catch (error) {
        const { code } = error as { code?: string };
        if (code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
        const usedMs = processorMs() - startedAtMs;
        if (isLast && usedMs < LEAST_SHARE * timeout) {
          throw serviceBusy("Cannot finish the work: the machine is too busy");
        }
        throw new TimeLimitError(`The work takes longer than ${timeout} ms`);
      } finally {
        // It refers to the whole input.
        work = idle;
      }
    },
  };
}
