// Which requests to a source are not repeated now, because they failed. A wait is of an object, a ref, a repository of
// which several known refs fail, or the whole source; a ref that always fails stops no siblings for long.

import { LRUCache } from "lru-cache";
import type { Clock } from "../work/clock.ts";
import { CollectionsError } from "../errors.ts";
import { RetryTable } from "../work/retry.ts";
import { consequencesOf, FailuresInARow, isCheckFailure } from "./source_failure.ts";
import { refKey, type RefName, repositoryKey } from "./source.ts";

const MAX_REPOSITORIES = 10_000;
const SOURCE = "";

/** Waits of 5 s, doubled with each further failure up to 60 s; longer where the source requests it. */
export class SourceRetries {
  private readonly table: RetryTable<CollectionsError>;
  /** The known refs of a repository that failed since one of its refs last succeeded. */
  private readonly failedRefs = new LRUCache<string, Set<string>>({ max: MAX_REPOSITORIES });
  private readonly unreached = new FailuresInARow();

  constructor(clock: Clock) {
    this.table = new RetryTable(clock, { firstMs: 5_000, maxMs: 60_000 });
  }

  /** The failure for which a ref is not checked now, or null. */
  refFailure = (ref: RefName) => this.table.failureOf(...keysOf(ref));

  /** The failure for which an object is not requested now, or null. */
  objectFailure = (repository: string, key: string) =>
    this.table.failureOf(SOURCE, repository, key);

  /** Takes the outcome of a request for an object: a value, or why there is none. */
  objectOutcome(key: string, outcome: unknown): void {
    if (!(outcome instanceof Error)) this.table.succeeded(key);
    else if (isRemembered(outcome)) this.table.failed(key, outcome, consequencesOf(outcome).waitMs);
  }

  /**
   * Runs a check of a ref and takes its outcome, unless the ref waits: then another protocol gives it. `isKnown`: whether the ref was found before; failures of names that were never found do not count for the repository.
   * @throws what the check throws.
   */
  async check<T>(ref: RefName, isKnown: boolean, work: () => Promise<T>): Promise<T> {
    if (this.refFailure(ref) !== null) return await work();
    const { table, unreached } = this;
    const keys = keysOf(ref);
    const [, repository, key] = keys;
    const answered = () => {
      for (const key of keys) table.succeeded(key);
      this.failedRefs.delete(repository);
      unreached.end();
    };
    for (const key of keys) table.probe(key);
    try {
      const value = await work();
      answered();
      return value;
    } catch (error) {
      if (isRemembered(error)) {
        const { isUnreached, waitMs } = consequencesOf(error);
        table.failed(key, error, waitMs);
        const failed = this.failedRefs.get(repository) ?? new Set();
        // A repeated failure of the same ref adds nothing: only another one makes the others wait.
        if (isKnown && failed.size > 0 && !failed.has(key)) table.failed(repository, error, waitMs);
        if (isKnown) this.failedRefs.set(repository, failed.add(key));
        if (!isUnreached) {
          unreached.end();
          table.succeeded(SOURCE);
        } else if (unreached.add(ref.owner)) table.failed(SOURCE, error);
        // That a ref or a repository is missing is an answer.
      } else if (error instanceof CollectionsError && !isCheckFailure(error)) answered();
      throw error;
    } finally {
      for (const key of keys) table.endProbe(key);
    }
  }
}

const keysOf = (ref: RefName) => [SOURCE, repositoryKey(ref), refKey(ref)] as const;

/** A full queue says nothing about the source, and a spent quota is remembered with its token. */
const isRemembered = (error: unknown): error is CollectionsError =>
  isCheckFailure(error) && !["service-busy", "source-rate-limited"].includes(error.code);
