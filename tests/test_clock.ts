// A clock that a test moves, so that an hour passes without waiting.

import type { Clock } from "../lib/work/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Stands still until a test advances it. */
export class TestClock implements Clock {
  private elapsedMs = 0;
  private readonly timers = new Set<Timer>();
  /** Called whenever a timer is set or canceled. */
  onTimer: () => void = () => {};

  constructor(private wallMs = Date.UTC(2026, 0, 1)) {}

  readonly now = (): number => this.wallMs;

  readonly monotonicMs = (): number => this.elapsedMs;

  /**
   * Lets `ms` milliseconds pass, and calls what comes due meanwhile, in the
   * order of time.
   */
  advance(ms: number): void {
    const endMs = this.elapsedMs + ms;
    while (true) {
      const [next] = [...this.timers].sort((a, b) => a.dueMs - b.dueMs);
      const untilMs = Math.min(next?.dueMs ?? endMs, endMs);
      this.wallMs += untilMs - this.elapsedMs;
      this.elapsedMs = untilMs;
      if (next === undefined || next.dueMs > endMs) return;
      this.timers.delete(next);
      next.callback();
    }
  }

  /** Sets the wall clock, forward or back, while no time passes. */
  setWallClock(ms: number): void {
    this.wallMs = ms;
  }

  /**
   * Sleeping takes no time here: other work continues, and the clock stays
   * where it is.
   */
  async sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await turns();
    signal?.throwIfAborted();
  }

  /** Calls `callback` when {@linkcode TestClock.advance} reaches its time. */
  setTimer(ms: number, callback: () => void): () => void {
    const timer = { dueMs: this.elapsedMs + Math.max(0, ms), callback };
    this.timers.add(timer);
    this.onTimer();
    return () => {
      if (this.timers.delete(timer)) this.onTimer();
    };
  }

  /** How many timers are set. */
  get timerCount(): number {
    return this.timers.size;
  }
}

/** Lets everything run that needs no timer of a test's clock. */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}
