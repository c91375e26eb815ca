// The longest wait of a client that polls `/api/health` on a kept connection,
// which is how long the service stops for everybody. A thread of its own polls,
// so that no work of the bench is counted. The thread runs this file too.

import { Buffer } from "node:buffer";
import { setTimeout as pause } from "node:timers/promises";
import { writeAll } from "./http1.ts";

/** What the polls of one period gave. Times are in ms. */
export interface Polls {
  readonly count: number;
  /**
   * The longest wait for an answer; one that had not come by the end counts for
   * as long as it took until then.
   */
  readonly longestMs: number;
  /** Polls that waited for longer than anybody should. */
  readonly slow: number;
  /**
   * By how much the thread's own timer was late at most: what is due to the
   * machine and not to the service.
   */
  readonly lateMs: number;
  /** Connections that failed. */
  readonly failures: number;
}

/**
 * What the thread is told. `stop` answers with the polls, and waits so long for
 * an answer that has not come.
 */
type Message =
  | { readonly name: "start"; readonly port: number }
  | { readonly name: "waiting" }
  | { readonly name: "stop"; readonly graceMs: number };

/** How long anybody should wait at most. */
export const MOST_MS = 50;
const POLL_EVERY_MS = 5;
const RETRY_MS = 50;

/** A thread that polls one service at a time. */
export class HealthPoller implements Disposable {
  private readonly worker = new Worker(import.meta.url, {
    type: "module",
    name: "health",
  });

  /** Starts a period. */
  async start(port: number): Promise<void> {
    await this.send({ name: "start", port });
  }

  /** How long the present poll has waited, in ms. */
  async waitingMs(): Promise<number> {
    return await this.send({ name: "waiting" }) as number;
  }

  /** Ends the period; waits at most so long for the answer to the last poll. */
  async stop(graceMs = 0): Promise<Polls> {
    return await this.send({ name: "stop", graceMs }) as Polls;
  }

  [Symbol.dispose](): void {
    this.worker.terminate();
  }

  private send(message: Message): Promise<unknown> {
    const { port1, port2 } = new MessageChannel();
    this.worker.postMessage(message, [port2]);
    return new Promise((resolve) => {
      port1.onmessage = ({ data }) => {
        port1.close();
        resolve(data);
      };
    });
  }
}

/** One period. */
class Period {
  private polls: Polls = {
    count: 0,
    longestMs: 0,
    slow: 0,
    lateMs: 0,
    failures: 0,
  };
  private askedAtMs: number | null = null;
  private isOver = false;
  private readonly ended: Promise<void>;
  private connection: Deno.Conn | null = null;

  constructor(private readonly port: number) {
    this.ended = this.run();
  }

  get waitingMs(): number {
    return this.askedAtMs === null ? 0 : performance.now() - this.askedAtMs;
  }

  async stop(graceMs: number): Promise<Polls> {
    this.isOver = true;
    await Promise.race([this.ended, pause(graceMs)]);
    const { longestMs, slow } = this.polls;
    const waitingMs = this.waitingMs;
    const polls = {
      ...this.polls,
      longestMs: Math.max(longestMs, waitingMs),
      slow: slow + (waitingMs > MOST_MS ? 1 : 0),
    };
    this.connection?.[Symbol.dispose]();
    return polls;
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      const startedMs = performance.now();
      // A connection that takes long is a wait as well.
      this.askedAtMs = startedMs;
      const isAnswered = await this.poll().then(() => true, () => false);
      const endedMs = performance.now();
      this.askedAtMs = null;
      const { count, longestMs, slow, lateMs, failures } = this.polls;
      const waitedMs = endedMs - startedMs;
      this.polls = {
        count: count + 1,
        longestMs: Math.max(longestMs, waitedMs),
        slow: slow + (waitedMs > MOST_MS ? 1 : 0),
        lateMs,
        failures: failures + (isAnswered ? 0 : 1),
      };
      const pauseMs = isAnswered ? POLL_EVERY_MS : RETRY_MS;
      await pause(pauseMs);
      const late = performance.now() - endedMs - pauseMs;
      this.polls = { ...this.polls, lateMs: Math.max(lateMs, late) };
    }
  }

  private async poll(): Promise<void> {
    const { port } = this;
    try {
      this.connection ??= await Deno.connect({ hostname: "127.0.0.1", port });
      await writeAll(
        this.connection,
        Buffer.from(`GET /api/health HTTP/1.1\r\nhost: a\r\n\r\n`),
      );
      await readAnswer(this.connection);
    } catch (error) {
      this.connection?.[Symbol.dispose]();
      this.connection = null;
      throw error;
    }
  }
}

/**
 * Reads one answer with a `Content-Length`. @throws {Error} where the
 * connection ends before that.
 */
async function readAnswer(connection: Deno.Conn): Promise<void> {
  let text = "";
  const buffer = new Uint8Array(4096);
  for (;;) {
    const count = await connection.read(buffer);
    if (count === null) {
      throw new Error("Cannot read an answer: the connection ended early");
    }
    text += Buffer.from(buffer.subarray(0, count)).toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0);
    if (end >= 0 && text.length >= end + 4 + length) return;
  }
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  let period: Period | null = null;
  addEventListener("message", async (event) => {
    const { data, ports: [port] } = event as MessageEvent<Message>;
    if (data.name === "start") {
      // One whose end nobody waited for, since its row failed.
      period?.stop(0);
      period = new Period(data.port);
    }
    const answer = data.name === "stop"
      ? await period!.stop(data.graceMs)
      : data.name === "waiting"
      ? period?.waitingMs ?? 0
      : null;
    port!.postMessage(answer);
  });
}
