// Remembers failures and for how long not to repeat the request, so that an outage costs the source few requests and
// clients no time. A wait is of an object, a ref, a repository of which several known refs fail, or the whole source; a
// ref that always fails blocks no siblings for long. When a wait is over, one request at a time probes.

import { LRUCache } from "lru-cache";
import type { Clock } from "../work/clock.ts";
import { CollectionsError, isSourceFailure } from "../errors.ts";
import { refKey, type RefName, repositoryKey } from "./source.ts";

/** GitHub's quota windows last an hour: no wait is longer, whatever a header says. */
export const MAX_WAIT_MS = 3_600_000;

const FIRST_WAIT_MS = 5_000;
const MAX_DOUBLED_WAIT_MS = 60_000;
const MAX_KEYS = 10_000;
const SOURCE = "";

/** Counts failures in a row: a host is down after five that concern three owners. */
export class FailuresInARow {
  private count = 0;
  private readonly owners = new Set<string>();

  /** Whether the host is down with this one. */
  add(owner: string): boolean {
    this.owners.add(owner.toLowerCase());
    return ++this.count >= 5 && this.owners.size >= 3;
  }

  end(): void {
    this.count = 0;
    this.owners.clear();
  }
}

/** `untilMs` is by `clock.monotonicMs()`. */
type Wait = { readonly error: CollectionsError; readonly waitMs: number; readonly untilMs: number };

/** Waits of 5 s, doubled with each further failure up to 60 s; longer where the source requests it. */
export class FailureBackoff {
  private readonly waits = new LRUCache<string, Wait>({ max: MAX_KEYS });
  /** Keys whose wait is over, with a request under way. */
  private readonly probed = new Set<string>();
  /** The known refs of a repository that failed since one of its refs last succeeded. */
  private readonly failedRefs = new LRUCache<string, Set<string>>({ max: MAX_KEYS });
  /** Those in which the source could not be reached. */
  private readonly unreached = new FailuresInARow();

  constructor(private readonly clock: Clock) {}

  /** The failure for which a ref is not checked now, or null. */
  refFailure = (ref: RefName) => this.failureOf(keysOf(ref));

  /**
   * Runs a check of a ref and takes its outcome; to be called where {@linkcode FailureBackoff.refFailure} is null.
   * `isKnown`: whether the ref was found before; failures of names that were never found do not count for the repository.
   * @throws what the check throws.
   */
  async check<T>(ref: RefName, isKnown: boolean, work: () => Promise<T>): Promise<T> {
    const probed = keysOf(ref).filter((key) => this.waits.has(key));
    for (const key of probed) this.probed.add(key);
    try {
      const value = await work();
      this.refSucceeded(ref);
      return value;
    } catch (error) {
      if (isWorthAWait(error)) this.refFailed(ref, isKnown, error);
      // An answer that a ref or a repository is missing is an answer; a full queue is none.
      else if (error instanceof CollectionsError && !isCheckFailure(error)) this.refSucceeded(ref);
      throw error;
    } finally {
      for (const key of probed) this.probed.delete(key);
    }
  }

  /** The failure for which an object is not requested now, or null. */
  objectFailure = (repository: string, id: string) =>
    this.failureOf([SOURCE, repository, objectKey(repository, id)]);

  /** Takes the outcome of a request for an object; null for a success. */
  objectOutcome(repository: string, id: string, error: unknown): void {
    if (error === null) this.waits.delete(objectKey(repository, id));
    else if (isWorthAWait(error)) this.extend(objectKey(repository, id), error);
  }

  private failureOf(keys: readonly string[]): CollectionsError | null {
    const now = this.clock.monotonicMs();
    for (const key of keys) {
      const wait = this.waits.get(key);
      if (wait !== undefined && (now < wait.untilMs || this.probed.has(key))) return wait.error;
    }
    return null;
  }

  private refSucceeded(ref: RefName): void {
    for (const key of keysOf(ref)) this.waits.delete(key);
    this.failedRefs.delete(repositoryKey(ref));
    this.unreached.end();
  }

  private refFailed(ref: RefName, isKnown: boolean, error: CollectionsError): void {
    const [key, repository] = [refKey(ref), repositoryKey(ref)];
    this.extend(key, error);
    if (isKnown) {
      const failed = this.failedRefs.get(repository) ?? new Set();
      // A repeated failure of the same ref adds nothing: only another one makes the others wait.
      if (!failed.has(key) && failed.size > 0) this.extend(repository, error);
      this.failedRefs.set(repository, failed.add(key));
    }
    if (!error.unreachable) {
      this.unreached.end();
      this.waits.delete(SOURCE);
    } else if (this.unreached.add(ref.owner)) this.extend(SOURCE, error);
  }

  private extend(key: string, failure: CollectionsError): void {
    // A denial of one ref says nothing about the others.
    const error = withDenial(failure, undefined);
    const now = this.clock.monotonicMs();
    const before = this.waits.get(key);
    const restUntilMs = now + Math.min(error.restMs, MAX_WAIT_MS);
    // Requests that were under way together fail together, and make one wait.
    if (before !== undefined && now < before.untilMs) {
      this.waits.set(key, { ...before, untilMs: Math.max(before.untilMs, restUntilMs) });
      return;
    }
    const waitMs = before ? Math.min(before.waitMs * 2, MAX_DOUBLED_WAIT_MS) : FIRST_WAIT_MS;
    this.waits.set(key, { error, waitMs, untilMs: Math.max(now + waitMs, restUntilMs) });
  }
}

const keysOf = (ref: RefName) => [SOURCE, repositoryKey(ref), refKey(ref)];
const objectKey = (repository: string, id: string) => `${repository}\n\n${id}`;

/** The same failure with another denial, or none. */
export function withDenial(
  error: CollectionsError,
  denial: CollectionsError | undefined,
): CollectionsError {
  if (error.denial === denial) return error;
  const { code, detail, facts, message, cause, unreachable, restMs } = error;
  const options = { ...facts, message, cause, unreachable, restMs, ...denial && { denial } };
  return new CollectionsError(code, detail, options);
}

/** A spent quota is remembered with its token, which has its own wait. */
function isWorthAWait(error: unknown): error is CollectionsError {
  return isSourceFailure(error) && error.code !== "source-rate-limited";
}

/** Whether a check had no result: the source failed, or the queue to it is full. An older answer may then be served. */
export function isCheckFailure(error: unknown): error is CollectionsError {
  return error instanceof CollectionsError &&
    (error.code === "service-busy" || isSourceFailure(error));
}
