// A clock that a test moves, so that an hour passes without waiting.

import type { Clock } from "../lib/clock.ts";

/** Stands still until it is told to advance; who sleeps has slept at once. */
export class TestClock implements Clock {
  readonly #alarms = new Set<() => void>();
  /** Told whenever an alarm is set or called off. */
  onAlarm: () => void = () => {};

  constructor(private nowMs = Date.UTC(2026, 0, 1)) {}

  readonly now = (): number => this.nowMs;

  /** Lets `ms` milliseconds pass. */
  advance(ms: number): void {
    this.nowMs += ms;
  }

  /** Sleeping takes no time here, and the clock stays where it is: only the test moves it. */
  sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    return Promise.resolve();
  }

  /** Rings when the test says so. */
  alarm(_ms: number, ring: () => void): () => void {
    this.#alarms.add(ring);
    this.onAlarm();
    return () => {
      if (this.#alarms.delete(ring)) this.onAlarm();
    };
  }

  /** How many alarms are set. */
  get alarms(): number {
    return this.#alarms.size;
  }

  /** Rings all that are set. */
  ring(): void {
    const alarms = [...this.#alarms];
    this.#alarms.clear();
    for (const ring of alarms) ring();
  }
}
