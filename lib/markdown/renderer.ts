// Renders Markdown outside the thread that serves requests. One file is rendered at a time, and its time and memory are
// bounded, so a hostile file delays the next one by at most its limit. The next file is one of the client that has used
// the least time. The queue is bounded for each client and for all.

import { type Clock, orAborted } from "../clock.ts";
import { serviceBusy } from "../errors.ts";
import type { RenderRequest } from "./render_thread.ts";
import type { Rendered, RenderError } from "./rendered.ts";

const MAX_BYTES = 1024 * 1024;
const LIMIT_MS = 2_000;
/** The thread stops a file itself. Past this time it is replaced: a thread that is out of memory does not answer. */
const GRACE_MS = 1_000;
const START_LIMIT_MS = 30_000;

/** What a waiting file counts beside its length, so that empty files are bounded too. */
const FILE_LENGTH = 16 * 1024;
const MAX_CLIENT_LENGTH = 20 * 1024 * 1024;
const MAX_LENGTH = 4 * MAX_CLIENT_LENGTH;

/** Whether a file is Markdown by its name: `.md`, `.markdown` or `.mdx`. */
export function isMarkdown(name: string): boolean {
  return /\.(md|markdown|mdx)$/i.test(name);
}

type Result = Rendered | RenderError;

interface Job extends PromiseWithResolvers<Result> {
  readonly text: string;
  readonly client: string;
  /** The time that its client has used; forgotten with the client's last job. */
  readonly account: { usedMs: number };
}

/** Renders Markdown in a thread without permissions, which it starts when it is first needed. */
export class MarkdownRenderer {
  /** What waits, and what is being rendered. */
  readonly #jobs = new Set<Job>();
  /** Being rendered, also after its call was aborted. */
  #current: Job | undefined;
  #thread: ReturnType<typeof startThread> | null = null;
  #isClosed = false;

  constructor(private readonly options: { readonly clock: Clock; readonly limitMs?: number }) {}

  /**
   * Renders a file without its front matter; its name tells whether it is MDX. Clients, named by `client`, share time
   * fairly. Errors depend on the machine's load too: cache them for minutes.
   * @throws {CollectionsError} service-busy when too much waits already, of this client or of all.
   * @throws {Error} when the thread cannot be started, or the renderer is closed.
   */
  async render(
    { name, text }: { readonly name: string; readonly text: string },
    { signal, client }: { readonly signal?: AbortSignal | undefined; readonly client: string },
  ): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Error("Cannot render Markdown: the renderer is closed");
    const message = refusal(name, text);
    if (message !== null) return { message };

    const jobs = [...this.#jobs];
    const ofClient = jobs.filter((other) => other.client === client);
    const [peer] = this.#current?.client === client ? [this.#current] : ofClient;
    const job: Job = {
      ...{ text, client, account: peer?.account ?? { usedMs: 0 } },
      ...Promise.withResolvers<Result>(),
    };
    const isFull = lengthOf([job, ...ofClient]) > MAX_CLIENT_LENGTH;
    if (isFull || lengthOf([job, ...jobs]) > MAX_LENGTH) throw serviceBusy();
    this.#jobs.add(job);
    try {
      if (this.#current === undefined) void this.#work();
      return await orAborted(job.promise, signal);
    } finally {
      this.#jobs.delete(job);
    }
  }

  /** Ends the thread and rejects what waits. */
  close(): void {
    this.#isClosed = true;
    this.#fail(new Error("Cannot render Markdown: the renderer was closed"));
  }

  async #work(): Promise<void> {
    const { clock } = this.options;
    for (let job = this.#next(); job !== undefined; job = this.#next()) {
      try {
        if (this.#thread === null) {
          this.#thread = startThread();
          await this.#within(START_LIMIT_MS, this.#thread.ready);
        }
        const startedAtMs = clock.monotonicMs();
        job.resolve(await this.#renderText(job.text));
        job.account.usedMs += clock.monotonicMs() - startedAtMs;
        this.#jobs.delete(job);
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  #next(): Job | undefined {
    this.#current = [...this.#jobs].sort((a, b) => a.account.usedMs - b.account.usedMs)[0];
    return this.#current;
  }

  async #renderText(text: string): Promise<Result> {
    const { limitMs = LIMIT_MS } = this.options;
    try {
      return await this.#within(limitMs + GRACE_MS, this.#thread!.render({ text, limitMs }));
    } catch {
      this.#stopThread();
      return { message: `The file takes longer than ${limitMs / 1000} s, or too much memory.` };
    }
  }

  /** Stops a thread that does not answer in time, which rejects the answer. */
  #within<T>(ms: number, answer: Promise<T>): Promise<T> {
    const cancel = this.options.clock.setTimer(ms, () => this.#thread?.stop("it does not answer"));
    return answer.finally(cancel);
  }

  #stopThread(): void {
    this.#thread?.stop("it is closed");
    this.#thread = null;
  }

  #fail(error: unknown): void {
    this.#stopThread();
    for (const job of this.#jobs) job.reject(error);
    this.#jobs.clear();
  }
}

/** Why a file is not rendered at all, or null. */
function refusal(name: string, text: string): string | null {
  if (/\.mdx$/i.test(name)) {
    return "MDX is a program, which this service does not execute; it has no HTML.";
  }
  const isLarge = text.length > MAX_BYTES ||
    (text.length > MAX_BYTES / 3 && new TextEncoder().encode(text).length > MAX_BYTES);
  return isLarge ? "Markdown over 1 MiB is not rendered." : null;
}

function lengthOf(jobs: readonly Job[]): number {
  return jobs.reduce((sum, { text }) => sum + text.length + FILE_LENGTH, 0);
}

/** Starts the worker, with a port to the thread inside it. Once stopped, it rejects everything. */
function startThread() {
  // Reading is for the modules of the thread inside.
  const read = [new URL(".", import.meta.url)];
  const none = { env: false, ffi: false, import: false, net: false, run: false, sys: false };
  const worker = new Worker(new URL("./render_sandbox.ts", import.meta.url), {
    type: "module",
    name: "markdown",
    deno: { permissions: { ...none, read, write: false } },
  });
  const { port1: port, port2 } = new MessageChannel();
  let answer = Promise.withResolvers<Result>();
  let fault: Error | null = null;
  const stop = (why: string) => {
    fault = new Error(`Cannot render Markdown: the thread was stopped: ${why}`);
    worker.terminate();
    port.close();
    answer.reject(fault);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    stop(event.message);
  };
  port.onmessage = ({ data }) => answer.resolve(data);
  worker.postMessage(port2, [port2]);
  return {
    /** Resolves when the thread can take a file. */
    ready: answer.promise,
    /** Renders one file; the next may be given when this one is done. */
    render(request: RenderRequest): Promise<Result> {
      answer = Promise.withResolvers();
      if (fault !== null) answer.reject(fault);
      else port.postMessage(request);
      return answer.promise;
    },
    stop,
  };
}
