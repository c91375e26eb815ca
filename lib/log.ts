// The log: one JSON line an event, gathered and written in one go. It must never hold a secret: whoever logs
// passes names and numbers, and texts from outside go through `describeError`.

/** From the most to the least talkative. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** How much is logged. */
export type LogLevel = typeof LOG_LEVELS[number];

/** Plain facts of an event. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Takes events; `event` names what happened in a few words of lower case. */
export interface Log {
  readonly level: LogLevel;
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

/** Where lines go; synchronous, so that nothing is lost at exit. */
export type LineSink = (bytes: Uint8Array) => void;

const encoder = new TextEncoder();

/** Writes to a file descriptor that may take less than all at once, such as a pipe. */
export function sinkTo(file: { writeSync(bytes: Uint8Array): number }): LineSink {
  return (bytes) => {
    for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
  };
}

/** A {@linkcode Log} of JSON lines, held for at most `flushAfterMs` (100 by default) or 64 KiB. */
export class LineLog implements Log {
  readonly level: LogLevel;
  private readonly rank: number;
  private readonly now: () => number;
  private readonly flushAfterMs: number;
  private pending = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly sink: LineSink,
    options: { level: LogLevel; now?: () => number; flushAfterMs?: number },
  ) {
    this.level = options.level;
    this.rank = LOG_LEVELS.indexOf(options.level);
    this.now = options.now ?? Date.now;
    this.flushAfterMs = options.flushAfterMs ?? 100;
  }

  debug(event: string, fields?: LogFields): void {
    if (this.rank <= 0) this.write("debug", event, fields);
  }
  info(event: string, fields?: LogFields): void {
    if (this.rank <= 1) this.write("info", event, fields);
  }
  warn(event: string, fields?: LogFields): void {
    if (this.rank <= 2) this.write("warn", event, fields);
  }
  error(event: string, fields?: LogFields): void {
    if (this.rank <= 3) this.write("error", event, fields);
  }

  /** Takes a line that is ready, without its end of line. */
  line(text: string): void {
    this.pending += text + "\n";
    if (this.pending.length > 65_536) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), this.flushAfterMs);
  }

  /** Writes what is held. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.pending === "") return;
    const bytes = encoder.encode(this.pending);
    this.pending = "";
    try {
      this.sink(bytes);
    } catch {
      // A log that cannot be written must not stop the service.
    }
  }

  private write(level: LogLevel, event: string, fields: LogFields = {}): void {
    this.line(
      JSON.stringify({ time: new Date(this.now()).toISOString(), level, event, ...fields }),
    );
  }
}

/**
 * What a log line may say of an unexpected error: its class and the place in this project where it arose, as
 * `file.ts:line`. Its message and stack may quote paths, secrets or contents, so they stay out.
 */
export function describeError(error: unknown): { error: string; at?: string } {
  if (!(error instanceof Error)) return { error: typeof error };
  const at = error.stack?.match(/\/([a-z0-9_]+\.ts:\d+)/)?.[1];
  return at === undefined ? { error: error.name } : { error: error.name, at };
}
