// Renders one file after the other, each within its time. `Worker.terminate()` does not stop a loop (Deno 2.9.6,
// github.com/denoland/deno/pull/35657); the time-out of `vm.Script` does, and leaves the thread usable.

import { Script } from "node:vm";
import { type MessagePort, parentPort } from "node:worker_threads";
import { RenderFailure } from "./growth.ts";
import { renderMarkdown } from "./render.ts";
import type { Rendered, RenderError } from "./rendered.ts";

/** The message to the thread, which answers with a result; its first message is "ready". */
export interface RenderRequest {
  text: string;
  limitMs: number;
}

let text = "";
Object.assign(globalThis, { renderText: () => renderMarkdown(text) });
const script = new Script("renderText()");

function render(limitMs: number): Rendered | RenderError {
  try {
    return script.runInThisContext({ timeout: limitMs });
  } catch (error) {
    if (error instanceof RenderFailure) return { message: error.message };
    if (error instanceof RangeError) {
      return { message: "The file is nested too deeply, or its HTML is too large." };
    }
    if ((error as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      return { message: `The file takes longer than ${limitMs / 1000} s to render.` };
    }
    throw error;
  }
}

parentPort?.once("message", (port: MessagePort) => {
  port.on("message", (request: RenderRequest) => {
    text = request.text;
    port.postMessage(render(request.limitMs));
  });
  port.postMessage("ready");
});
