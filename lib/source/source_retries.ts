// Decides which failed requests to a source are not repeated yet. A wait
// applies to an object, a ref, a repository or the whole source. A repository
// waits only if several of its known refs fail. A ref that always fails
// therefore does not stop its siblings for long.

import type { Clock } from "../work/clock.ts";
import { CollectionsError } from "../errors.ts";
import { RecentMap } from "../work/recent_map.ts";
import { RetryTable } from "../work/retry.ts";
import {
  consequencesOf,
  FailuresInARow,
  isCheckFailure,
} from "./source_failure.ts";
import { refKey, type RefName, repositoryKey } from "./source.ts";

const MAX_REPOSITORIES = 10_000;
const SOURCE = "";

/**
 * Waits are 5 s at first. Each further failure doubles them up to 60 s. They
 * are longer if the source requests it.
 */
export class SourceRetries {
  private readonly table: RetryTable<CollectionsError>;
  /**
   * The known refs of a repository that failed since one of its refs last
   * succeeded.
   */
  private readonly failedRefs = new RecentMap<Set<string>>(MAX_REPOSITORIES);
  private readonly unreached = new FailuresInARow();

  constructor(clock: Clock) {
    this.table = new RetryTable(clock, { firstMs: 5_000, maxMs: 60_000 });
  }

  /** Returns the failure that keeps a ref from being checked now, or null. */
  refFailure = (ref: RefName) => this.table.failureOf(...keysOf(ref));

  /**
   * Returns the failure that keeps an object from being requested now, or null.
   */
  objectFailure = (repository: string, key: string) =>
    this.table.failureOf(SOURCE, repository, key);

  /**
   * Records the outcome of a request for an object. It is a value or an error.
   */
  objectOutcome(key: string, outcome: unknown): void {
    if (!(outcome instanceof Error)) this.table.succeeded(key);
    else if (isRemembered(outcome)) {
      this.table.failed(key, outcome, consequencesOf(outcome).waitMs);
    }
  }

  /**
   * Runs a check of a ref and records its outcome. Nothing is recorded while
   * the ref waits because another protocol then answers. `isKnown` says whether
   * the ref was found before. Names that were never found do not count against
   * the repository.
   * @throws what the check throws.
   */
  async check<T>(
    ref: RefName,
    isKnown: boolean,
    work: () => Promise<T>,
  ): Promise<T> {
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
        // The others wait only if a second ref fails. A repeated failure of the
        // same ref adds nothing.
        if (isKnown && failed.size > 0 && !failed.has(key)) {
          table.failed(repository, error, waitMs);
        }
        if (isKnown) this.failedRefs.set(repository, failed.add(key));
        if (!isUnreached) {
          unreached.end();
          table.succeeded(SOURCE);
        } else if (unreached.add(ref.owner)) table.failed(SOURCE, error);
        // A report that a ref or a repository is missing is a valid response.
      } else if (error instanceof CollectionsError && !isCheckFailure(error)) {
        answered();
      }
      throw error;
    } finally {
      for (const key of keys) table.endProbe(key);
    }
  }
}

const keysOf = (ref: RefName) =>
  [SOURCE, repositoryKey(ref), refKey(ref)] as const;

/**
 * A full queue says nothing about the source. A spent quota is remembered with
 * its token.
 */
const isRemembered = (error: unknown): error is CollectionsError =>
  isCheckFailure(error) &&
  !["service-busy", "source-rate-limited"].includes(error.code);
