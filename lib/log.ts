// The log has one JSON line for each event. Lines are gathered and written in
// the background, so logging never delays a request. Pending lines are limited
// in case a pipe blocks. Lines over the limit are dropped and counted. A line
// must never contain a secret. Callers pass names and numbers. Texts from
// outside go through `describeError`.

import { type Clock, systemClock } from "./work/clock.ts";

/** Ordered from the most to the least verbose. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** How the lines of requests name the client. */
export const LOG_CLIENTS = ["none", "hash", "address"] as const;

/** The least severe level that is logged. */
export type LogLevel = typeof LOG_LEVELS[number];

type LogFields = Readonly<
  Record<string, string | number | boolean | null | undefined>
>;

/**
 * Writes lines. The next call waits until the promise of the last call
 * resolves.
 */
type LineSink = (bytes: Uint8Array) => void | Promise<void>;

const FLUSH_AFTER_MS = 100;
const FLUSH_AT_CHARACTERS = 65_536;
/** Maximum pending text in UTF-16 units. */
const MAX_PENDING_CHARACTERS = 1024 * 1024;
/** Maximum wait for the last lines when the service stops. */
const MAX_CLOSE_MS = 1_000;

const encoder = new TextEncoder();

/**
 * Returns a sink that writes to a file without blocking the thread. One write
 * to a pipe may accept only part of the bytes.
 */
export function sinkTo(
  file: { write(bytes: Uint8Array): Promise<number> },
): LineSink {
  return async (bytes) => {
    for (let at = 0; at < bytes.length;) {
      at += await file.write(bytes.subarray(at));
    }
  };
}

/** Writes events. `event` names what happened in a few lowercase words. */
export type Log = Pick<LineLog, "level" | "debug" | "info" | "warn" | "error">;

/** A log of JSON lines that are gathered for at most 100 ms or 64 KiB. */
export class LineLog {
  readonly level: LogLevel;
  private readonly clock: Clock;
  private pending = "";
  /** Lines dropped since the last report. */
  private dropped = 0;
  /** The time of the last line. Under load many lines have the same. */
  private time = { ms: 0, text: "" };
  private cancelTimer: (() => void) | null = null;
  private writing: Promise<void> | null = null;

  constructor(
    private readonly sink: LineSink,
    { level, clock = systemClock }: {
      level: LogLevel;
      clock?: Clock;
    },
  ) {
    this.level = level;
    this.clock = clock;
  }

  readonly debug = this.writer("debug");
  readonly info = this.writer("info");
  readonly warn = this.writer("warn");
  readonly error = this.writer("error");

  /** Adds a line without its line break. */
  line(text: string): void {
    if (this.pending.length + text.length >= MAX_PENDING_CHARACTERS) {
      return void this.dropped++;
    }
    this.pending += text + "\n";
    // The current write continues with this line.
    if (this.writing !== null) return;
    if (this.pending.length > FLUSH_AT_CHARACTERS) void this.flush();
    else {this.cancelTimer ??= this.clock.setTimer(FLUSH_AFTER_MS, () =>
        void this.flush());}
  }

  /** Resolves when all lines so far are written or failed. */
  async flush(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    if (this.pending !== "") this.writing ??= this.writePending();
    await this.writing;
  }

  /**
   * Flushes the log but gives up after a second in case the pipe is not read.
   */
  async close(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancelTimer = this.clock.setTimer(MAX_CLOSE_MS, late.resolve);
    await Promise.race([this.flush(), late.promise]);
    cancelTimer();
  }

  private async writePending() {
    while (this.pending !== "") {
      const bytes = encoder.encode(this.pending);
      const lines = this.dropped;
      this.pending = "";
      this.dropped = 0;
      if (lines > 0) this.warn("log lines dropped", { lines });
      // A log that cannot be written must not stop the service.
      await Promise.try(() => this.sink(bytes)).catch(() => {});
    }
    // Reset in the same turn as the check above. A later line must start the
    // next write.
    this.writing = null;
  }

  private writer(level: LogLevel): (event: string, fields?: LogFields) => void {
    return (event, fields) => {
      if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(this.level)) return;
      const ms = this.clock.now();
      if (ms !== this.time.ms) {
        this.time = { ms, text: new Date(ms).toISOString() };
      }
      const { text: time } = this.time;
      this.line(JSON.stringify({ time, level, event, ...fields }));
    };
  }
}

/**
 * Returns what a log line may say about an unexpected error: its class and its
 * source position in this project as `file.ts:line`. The message and the stack
 * are omitted because they may quote paths, secrets or contents.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * equal(describeError(new TypeError("a secret")).error, "TypeError");
 * ```
 */
export function describeError(error: unknown): { error: string; at?: string } {
  if (!(error instanceof Error)) return { error: typeof error };
  const at = error.stack?.match(/\/([a-z0-9_]+\.ts:\d+)/)?.[1];
  return at === undefined ? { error: error.name } : { error: error.name, at };
}
