// Remembers what failed and for how long not to ask it again, so that an outage costs the source little and callers no
// waiting. A key is a repository, or one object of it; the whole source counts as down only when several owners'
// repositories could not be reached in a row, so that one bad repository never stops the others.

import { LRUCache } from "lru-cache";
import type { CollectionsError } from "../errors.ts";

const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 60_000;
const MAX_KEYS = 10_000;
const DOWN_AFTER_FAILURES = 5;
const DOWN_AFTER_OWNERS = 3;

interface Failure {
  readonly error: CollectionsError;
  readonly waitMs: number;
  readonly untilMs: number;
}

/** Waits of 5 s, doubled with each further failure up to 60 s; longer where the source asked for it. */
export class Backoff {
  private readonly failures = new LRUCache<string, Failure>({ max: MAX_KEYS });
  private unreachedInARow = 0;
  private readonly unreachedOwners = new Set<string>();
  private down: Failure | null = null;

  constructor(private readonly now: () => number) {}

  /** The failure for which a key is not to be asked yet, or null where it may be. */
  remembered(key: string): CollectionsError | null {
    const now = this.now();
    if (this.down !== null && now < this.down.untilMs) return this.down.error;
    const failure = this.failures.get(key);
    return failure !== undefined && now < failure.untilMs ? failure.error : null;
  }

  /** Takes a failure. With `owner`, it was the ref question, and counts toward the whole source being down. */
  failed(key: string, error: CollectionsError, options: { owner?: string } = {}): void {
    this.failures.set(key, this.next(this.failures.get(key), error));
    if (options.owner === undefined) return;
    if (!error.unreachable) return this.reached();
    this.unreachedInARow++;
    this.unreachedOwners.add(options.owner.toLowerCase());
    if (
      this.unreachedInARow >= DOWN_AFTER_FAILURES && this.unreachedOwners.size >= DOWN_AFTER_OWNERS
    ) this.down = this.next(this.down ?? undefined, error);
  }

  /** Forgets a key's failures; with `source`, the ref question was answered, so the source is up. */
  succeeded(key: string, options: { source?: boolean } = {}): void {
    this.failures.delete(key);
    if (options.source) this.reached();
  }

  private reached(): void {
    this.unreachedInARow = 0;
    this.unreachedOwners.clear();
    this.down = null;
  }

  private next(before: Failure | undefined, error: CollectionsError): Failure {
    const now = this.now();
    // Questions that were under way together fail together, and make one wait.
    if (before !== undefined && now < before.untilMs) {
      return { ...before, untilMs: Math.max(before.untilMs, now + error.restMs) };
    }
    const waitMs = before === undefined ? FIRST_WAIT_MS : Math.min(before.waitMs * 2, MAX_WAIT_MS);
    return { error, waitMs, untilMs: now + Math.max(waitMs, error.restMs) };
  }
}
