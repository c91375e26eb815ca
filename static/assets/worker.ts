/// <reference lib="dom" />
// The worker: it computes over the content of files, so that no file can keep
// the page from answering. `work.ts` starts it, gives it one piece of work at a
// time, and ends it when that takes too long.

import { type CodeBlock, convert, type Job } from "./convert.ts";
import { ConvertError, type Tree } from "./tree.ts";

/**
 * What the worker says: that it has begun to compute, and then what came of it.
 */
export type Report =
  | { readonly state: "started" }
  | { readonly state: "done"; readonly tree: Tree }
  | { readonly state: "failed"; readonly message: string };

const scope = globalThis as unknown as {
  postMessage(report: Report): void;
  addEventListener(
    type: "message",
    listener: (event: MessageEvent<Job>) => void,
  ): void;
};

// deno-lint-ignore no-explicit-any
const grammars = new Map<string, Promise<any>>();

/**
 * The highlighter with a language, each of them loaded when it is first needed.
 */
function highlighterFor(language: string) {
  if (!grammars.has(language)) {
    const parts = ["highlight", `highlight-${language}`].map((name) =>
      import(`./${name}.js`)
    );
    grammars.set(
      language,
      Promise.all(parts).then(
        ([{ default: highlighter }, { default: grammar }]) => {
          highlighter.registerLanguage(language, grammar);
          return highlighter;
        },
      ),
    );
  }
  return grammars.get(language)!;
}

// What is reported here reaches the page as an error of the worker.
scope.addEventListener(
  "message",
  ({ data: job }) => void answer(job).catch(reportError),
);

async function answer(job: Job): Promise<void> {
  const blocks = job.kind === "code" ? job.blocks : [];
  const [highlighter] = await Promise.all(
    blocks.map(({ language }) => highlighterFor(language)),
  );
  const highlight = ({ text, language }: CodeBlock): string =>
    highlighter.highlight(text, { language, ignoreIllegals: true }).value;
  scope.postMessage({ state: "started" });
  try {
    scope.postMessage({ state: "done", tree: convert(job, highlight) });
  } catch (error) {
    const message = error instanceof ConvertError
      ? error.message
      : "It is not as a file of its kind should be.";
    scope.postMessage({ state: "failed", message });
  }
}
