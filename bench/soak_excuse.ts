// When an answer of the soak may lack its source: while a fault lasts, and then for the rest that the service gives a
// source that failed. The rule: no longer than the contract's back-off allows after so many faults, and never longer
// than the process that remembers them.

import { pause } from "./processes.ts";

/** A time in which the source failed, in ms since the epoch; `toMs` is Infinity while it does. */
export interface FailingTime {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The back-off of the service: doubled with each failure in a row. */
const FIRST_REST_MS = 5_000;
const MAX_REST_MS = 60_000;
const LOOK_EVERY_MS = 100;

/** What {@linkcode SoakExcuse} stands on. */
export interface SoakExcuseOptions {
  /** Oldest first; each shorter than the first rest, so that a fault doubles no rest more than once. */
  readonly failing: readonly FailingTime[];
  /** How long after a fault's end what was on its way then may still fail. */
  readonly onItsWayMs: number;
  /** When the process that answers was started, in ms since the epoch. */
  readonly startedMs: () => number;
}

/** Tells when a source problem is allowed, and keeps for how much of the time it was. */
export class SoakExcuse {
  /** The longest that the time after a fault's end was allowed for so far. */
  longestRestMs = 0;
  /** The longest time without a fault or the rest after one. */
  longestWithoutMs = 0;
  private looks = 0;
  private looksWithin = 0;

  constructor(private readonly options: SoakExcuseOptions) {}

  /** The part of the time for which {@linkcode watch} found a problem allowed, from 0 to 1. */
  get share(): number {
    return this.looks === 0 ? 0 : this.looksWithin / this.looks;
  }

  /** Whether an answer that was made in this time may lack its source. */
  covers(fromMs: number, toMs: number): boolean {
    // A repository may have been asked for in the faults alone, so that each of them doubled its rest.
    return this.remembered().some((fault, before) =>
      fault.fromMs <= toMs && fault.toMs + this.restMs(before) >= fromMs
    );
  }

  /** When the last fault ended, -Infinity where there was none; Infinity while one lasts. */
  lastEndMs(): number {
    return this.options.failing.at(-1)?.toMs ?? -Infinity;
  }

  /** Looks until `endMs` whether a problem is allowed. */
  async watch(endMs: number): Promise<void> {
    let withoutSinceMs = Date.now();
    for (let now = withoutSinceMs; now < endMs; now = Date.now()) {
      this.looks++;
      if (this.covers(now, now)) {
        this.looksWithin++;
        withoutSinceMs = now;
        this.longestRestMs = Math.max(
          this.longestRestMs,
          this.restMs(this.remembered().length - 1),
        );
      }
      this.longestWithoutMs = Math.max(this.longestWithoutMs, now - withoutSinceMs);
      await pause(LOOK_EVERY_MS);
    }
  }

  /** The faults that the process of now has seen. */
  private remembered(): readonly FailingTime[] {
    const startedMs = this.options.startedMs();
    return this.options.failing.filter(({ toMs }) => toMs >= startedMs);
  }

  private restMs(faultsBefore: number): number {
    return Math.min(FIRST_REST_MS * 2 ** faultsBefore, MAX_REST_MS) + this.options.onItsWayMs;
  }
}
