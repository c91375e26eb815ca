// The log: one JSON line an event, gathered and written in the background. Writing never delays a request: lines that a
// blocked pipe leaves pending are bounded, dropped past the bound, and counted. A line must never contain a secret:
// callers pass names and numbers, and texts from outside go through `describeError`.

import { type Clock, systemClock } from "./work/clock.ts";

/** From the most to the least verbose. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** How much is logged. */
export type LogLevel = typeof LOG_LEVELS[number];

/** Plain facts of an event. */
type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Where lines go; the next call waits until the promise of the last one resolves. */
export type LineSink = (bytes: Uint8Array) => void | Promise<void>;

const FLUSH_AFTER_MS = 100;
const FLUSH_AT_CHARACTERS = 65_536;
/** The most text that may be pending, in UTF-16 units. */
const MAX_PENDING_CHARACTERS = 1024 * 1024;
/** How long a stopping service waits for its last lines to be written. */
const MAX_CLOSE_MS = 1_000;

const encoder = new TextEncoder();

/** Writes to a file that may take less than all at once, such as a pipe, without blocking the thread. */
export function sinkTo(file: { write(bytes: Uint8Array): Promise<number> }): LineSink {
  return async (bytes) => {
    for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
  };
}

/** What writes events; `event` names what happened in a few words of lower case. */
export type Log = Pick<LineLog, "level" | "debug" | "info" | "warn" | "error">;

/** A log of JSON lines, gathered for at most 100 ms or 64 KiB. */
export class LineLog {
  readonly level: LogLevel;
  private readonly clock: Clock;
  private pending = "";
  /** Lines dropped since the last report. */
  private dropped = 0;
  private cancelTimer: (() => void) | null = null;
  private writing: Promise<void> | null = null;

  constructor(
    private readonly sink: LineSink,
    { level, clock = systemClock }: { readonly level: LogLevel; readonly clock?: Clock },
  ) {
    this.level = level;
    this.clock = clock;
  }

  readonly debug = this.writer("debug");
  readonly info = this.writer("info");
  readonly warn = this.writer("warn");
  readonly error = this.writer("error");

  /** Takes a line that is ready, without its end of line. */
  line(text: string): void {
    if (this.pending.length + text.length >= MAX_PENDING_CHARACTERS) return void this.dropped++;
    this.pending += text + "\n";
    if (this.writing !== null) return; // The next write takes it.
    if (this.pending.length > FLUSH_AT_CHARACTERS) void this.flush();
    else this.cancelTimer ??= this.clock.setTimer(FLUSH_AFTER_MS, () => void this.flush());
  }

  /** Resolves when all lines so far are written, or have failed to be. */
  async flush(): Promise<void> {
    this.cancelTimer?.();
    this.cancelTimer = null;
    if (this.pending !== "") this.writing ??= this.writePending();
    await this.writing;
  }

  /** Like {@linkcode LineLog.flush}, but gives up after a second, in case the pipe is not read. */
  async close(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancelTimer = this.clock.setTimer(MAX_CLOSE_MS, late.resolve);
    await Promise.race([this.flush(), late.promise]);
    cancelTimer();
  }

  private async writePending(): Promise<void> {
    while (this.pending !== "") {
      const bytes = encoder.encode(this.pending);
      const lines = this.dropped;
      this.pending = "";
      this.dropped = 0;
      if (lines > 0) this.warn("log lines dropped", { lines });
      // A log that cannot be written must not stop the service.
      await Promise.try(() => this.sink(bytes)).catch(() => {});
    }
    this.writing = null; // At once, since a line that comes later starts the next write.
  }

  private writer(level: LogLevel): (event: string, fields?: LogFields) => void {
    return (event, fields) => {
      if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(this.level)) return;
      const time = new Date(this.clock.now()).toISOString();
      this.line(JSON.stringify({ time, level, event, ...fields }));
    };
  }
}

/**
 * What a log line may say of an unexpected error: its class and the place in this project where it arose, as
 * `file.ts:line`. Its message and stack may quote paths, secrets or contents, so they stay out.
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
