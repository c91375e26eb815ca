// Renders Markdown outside the thread that serves requests. One file is rendered at a time, and its time and memory are
// bounded, so a hostile file delays the next one by at most its limit. The next file is one of the client that has used
// the least time. The queue is bounded for each client and for all.

import type { Clock } from "../clock.ts";
import type { RenderReply, RenderRequest } from "./render_thread.ts";
import type { Rendered, RenderError } from "./rendered.ts";

const MAX_BYTES = 1024 * 1024;
const LIMIT_MS = 2_000;
/** The thread stops a file itself. Past this time it is replaced: a thread that is out of memory does not answer. */
const GRACE_MS = 1_000;
const START_LIMIT_MS = 30_000;

/** What a waiting file counts beside its length, so that empty files are bounded too. */
const FILE_LENGTH = 16 * 1024;
/** A page of 100 files has at most 16 MiB. */
const MAX_CLIENT_LENGTH = 20 * 1024 * 1024;
const MAX_LENGTH = 4 * MAX_CLIENT_LENGTH;

/** A file to render. Ids are unique within a call. */
export interface MarkdownFile {
  id: string;
  /** With its extension, which tells whether it is MDX. */
  name: string;
  /** Without its front matter. */
  text: string;
}

/** Too many files wait; the request may be repeated in some seconds. */
export class RenderQueueFullError extends Error {}

/** Whether a file is Markdown by its name: `.md`, `.markdown` or `.mdx`. */
export function isMarkdown(name: string): boolean {
  return /\.(md|markdown|mdx)$/i.test(name);
}

/** Files whose results are awaited together. */
interface Job {
  readonly client: Client;
  readonly waiting: MarkdownFile[];
  readonly results: Map<string, Rendered | RenderError>;
  readonly end: (error: unknown) => void;
}

interface Client {
  readonly jobs: Set<Job>;
  usedMs: number;
  length: number;
}

/** Renders Markdown in a thread without permissions, which it starts when it is first needed. */
export class MarkdownRenderer {
  readonly #clock: Clock;
  readonly #limitMs: number;
  /** Clients with files in the queue; the time that a client has used is forgotten when it leaves the queue. */
  readonly #clients = new Map<unknown, Client>();
  #thread: RenderThread | null = null;
  #isWorking = false;
  #isClosed = false;

  constructor({ clock, limitMs = LIMIT_MS }: { clock: Clock; limitMs?: number }) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /**
   * Renders files; the results are keyed by their ids. `client` (the client's address, say) shares time fairly among
   * clients; without it each call is a client of its own. Files of a call whose signal aborts are dropped. An error that
   * is about time or memory depends on the machine's load too: cache errors for minutes, not for good.
   *
   * @throws {RenderQueueFullError} when too much waits already, of this client or of all.
   * @throws {Error} when the thread cannot be started, or the renderer is closed.
   */
  async render(
    files: readonly MarkdownFile[],
    { signal, client: key = {} }: { signal?: AbortSignal | undefined; client?: unknown } = {},
  ): Promise<Map<string, Rendered | RenderError>> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Error("Cannot render Markdown: the renderer is closed");
    const results = new Map<string, Rendered | RenderError>();
    const waiting: MarkdownFile[] = [];
    for (const file of files) {
      const message = refusal(file);
      if (message === null) waiting.push(file);
      else results.set(file.id, { message });
    }
    if (waiting.length === 0) return results;

    const client = this.#clients.get(key) ?? { jobs: new Set(), usedMs: 0, length: 0 };
    const length = waiting.reduce((sum, file) => sum + lengthOf(file), 0);
    const allLength = this.#clients.values().reduce((sum, { length }) => sum + length, 0);
    if (client.length + length > MAX_CLIENT_LENGTH || allLength + length > MAX_LENGTH) {
      throw new RenderQueueFullError("Cannot render Markdown: too many files wait");
    }
    client.length += length;
    this.#clients.set(key, client);

    const { promise, resolve, reject } = Promise.withResolvers<typeof results>();
    const abort = () => job.end(signal?.reason);
    const job: Job = {
      client,
      waiting,
      results,
      end: (error) => {
        signal?.removeEventListener("abort", abort);
        client.jobs.delete(job);
        client.length -= waiting.reduce((sum, file) => sum + lengthOf(file), 0);
        waiting.length = 0;
        if (client.jobs.size === 0) this.#clients.delete(key);
        if (error === undefined) resolve(results);
        else reject(error);
      },
    };
    client.jobs.add(job);
    signal?.addEventListener("abort", abort, { once: true });
    if (!this.#isWorking) this.#work();
    return await promise;
  }

  /** Ends the thread and rejects what waits. */
  close(): void {
    this.#isClosed = true;
    this.#stopThread();
    this.#endAll(new Error("Cannot render Markdown: the renderer was closed"));
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let job = this.#nextJob(); job !== undefined; job = this.#nextJob()) {
      try {
        await this.#startThread();
      } catch (error) {
        this.#stopThread();
        this.#endAll(error);
        break;
      }
      // The job may have been dropped meanwhile.
      const file = job.waiting.shift();
      if (file === undefined) continue;
      job.client.length -= lengthOf(file);
      const { result, usedMs } = await this.#renderFile(file.text);
      job.client.usedMs += usedMs;
      job.results.set(file.id, result);
      if (job.waiting.length === 0 && job.client.jobs.has(job)) job.end(undefined);
    }
    this.#isWorking = false;
  }

  #nextJob(): Job | undefined {
    const clients = [...this.#clients.values()];
    const [first] = clients.toSorted((a, b) => a.usedMs - b.usedMs);
    return first?.jobs.values().next().value;
  }

  async #startThread(): Promise<void> {
    if (this.#thread !== null) return;
    const thread = this.#thread = new RenderThread();
    const cancel = this.#clock.setTimer(START_LIMIT_MS, () => thread.stop("it took too long"));
    try {
      await thread.ready;
    } finally {
      cancel();
    }
  }

  async #renderFile(text: string): Promise<RenderReply> {
    const limitMs = this.#limitMs;
    const thread = this.#thread;
    const cancel = this.#clock.setTimer(
      limitMs + GRACE_MS,
      () => thread?.stop("it does not answer"),
    );
    try {
      if (thread === null) throw new Error("The thread was stopped");
      return await thread.render({ text, limitMs });
    } catch {
      this.#stopThread();
      const message = `The file takes longer than ${limitMs / 1000} s, or too much memory.`;
      return { result: { message }, usedMs: limitMs };
    } finally {
      cancel();
    }
  }

  #stopThread(): void {
    this.#thread?.stop("it is closed");
    this.#thread = null;
  }

  #endAll(error: unknown): void {
    for (const { jobs } of [...this.#clients.values()]) for (const job of [...jobs]) job.end(error);
  }
}

/** Why a file is not rendered at all, or null. */
function refusal({ name, text }: MarkdownFile): string | null {
  if (/\.mdx$/i.test(name)) {
    return "MDX is a program, which this service does not execute; it has no HTML.";
  }
  const isLarge = text.length > MAX_BYTES ||
    (text.length > MAX_BYTES / 3 && new TextEncoder().encode(text).length > MAX_BYTES);
  return isLarge ? "Markdown over 1 MiB is not rendered." : null;
}

function lengthOf({ text }: MarkdownFile): number {
  return text.length + FILE_LENGTH;
}

/** The worker with the port of the thread inside. Once stopped, it rejects everything. */
class RenderThread {
  /** Resolves when the thread can take a file. */
  readonly ready: Promise<void>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #worker: Worker;
  readonly #port: MessagePort;
  #reply: PromiseWithResolvers<RenderReply> | null = null;
  #fault: Error | null = null;

  constructor() {
    this.ready = this.#ready.promise;
    this.#worker = new Worker(new URL("./render_sandbox.ts", import.meta.url), {
      type: "module",
      name: "markdown",
      // Reading is for the modules of the thread inside.
      deno: {
        permissions: {
          env: false,
          ffi: false,
          import: false,
          net: false,
          read: [new URL(".", import.meta.url)],
          run: false,
          sys: false,
          write: false,
        },
      },
    });
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.stop(event.message);
    };
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }: MessageEvent<"ready" | RenderReply>) => {
      if (data === "ready") this.#ready.resolve();
      else this.#reply?.resolve(data);
    };
    this.#worker.postMessage(port2, [port2]);
  }

  /** Renders one file; the next may be given when this one is done. */
  render(request: RenderRequest): Promise<RenderReply> {
    if (this.#fault !== null) return Promise.reject(this.#fault);
    this.#reply = Promise.withResolvers();
    this.#port.postMessage(request);
    return this.#reply.promise;
  }

  stop(why: string): void {
    if (this.#fault !== null) return;
    this.#fault = new Error(`Cannot render Markdown: the thread was stopped: ${why}`);
    this.#worker.terminate();
    this.#port.close();
    this.#ready.reject(this.#fault);
    this.#reply?.reject(this.#fault);
  }
}
