// What the source says is not there, or not any more. The rule: that a ref is gone is believed for the fresh time, and
// what was known of it before never comes back, in no process, however long the source then fails.

import { LRUCache } from "lru-cache";
import {
  CollectionsError,
  repositoryBlocked,
  repositoryEmpty,
  repositoryNotFound,
} from "../errors.ts";
import { GONE_CODES, type GoneCode, type GoneRecord, type RefStore } from "./ref_store.ts";
import { repositoryKey, type RepositoryName } from "./repository.ts";
import { refKey, type RefName } from "./ref_key.ts";

const MAX_KEYS = 20_000;
/** These are about the repository, and so about all of its refs. */
const OF_REPOSITORY: ReadonlySet<GoneCode> = new Set([
  "repository-not-found",
  "repository-blocked",
]);

/** Remembers withdrawals, in this process and in the store. */
export class Withdrawals {
  /** By ref and, where it is about the repository, by that too. */
  private readonly gone = new LRUCache<string, GoneRecord>({ max: MAX_KEYS });
  /** Repositories that were found, of which something may be kept. */
  private readonly served = new LRUCache<string, true>({ max: MAX_KEYS });

  constructor(
    private readonly options: { store: RefStore; freshMs: number; now: () => number },
  ) {}

  /** What a question about a ref has just met, or null where it is to be asked. */
  recent(ref: RefName): GoneRecord | null {
    const gone = this.gone.get(refKey(ref));
    if (gone === undefined || !gone.isCertain) return null;
    const ageMs = this.options.now() - gone.goneAtMs;
    return ageMs >= 0 && ageMs < this.options.freshMs ? gone : null;
  }

  /**
   * Takes that the source said that a ref is not there; `wasKnown` if it was until then. Resolves when the other
   * processes can know it.
   */
  async note(
    ref: RefName,
    { gone, wasKnown }: { gone: GoneRecord; wasKnown: boolean },
  ): Promise<void> {
    const { store } = this.options;
    const repository = repositoryKey(ref);
    const ofRepository = OF_REPOSITORY.has(gone.code);
    this.gone.set(refKey(ref), gone);
    if (ofRepository) this.gone.set(repository, gone);
    // Nothing is written for what was never there, so that a scan of names fills no disk.
    const wasServed = wasKnown || this.served.has(repository);
    await Promise.all([
      wasKnown ? store.set(repository, ref.branch, gone) : null,
      wasServed && ofRepository ? store.setGone(repository, gone) : null,
    ]);
  }

  /** Takes that the source has found a ref. */
  forget(ref: RefName): void {
    const repository = repositoryKey(ref);
    this.served.set(repository, true);
    this.gone.delete(refKey(ref));
    this.gone.delete(repository);
  }

  /** A withdrawal later than `knownAtMs`, seen by any process, or null. */
  async since(ref: RefName, knownAtMs: number): Promise<GoneRecord | null> {
    const repository = repositoryKey(ref);
    for (const key of [refKey(ref), repository]) {
      const gone = this.gone.get(key);
      if (gone !== undefined && gone.goneAtMs > knownAtMs) return gone;
    }
    const stored = await this.options.store.gone(repository, ref.branch);
    return stored !== null && stored.goneAtMs > knownAtMs ? stored : null;
  }
}

/** What is kept of an error that is an answer of the source; null for a failure. The error itself holds a stack. */
export function goneRecord(
  error: unknown,
  { goneAtMs, isCertain }: Pick<GoneRecord, "goneAtMs" | "isCertain">,
): GoneRecord | null {
  if (!(error instanceof CollectionsError)) return null;
  const code = GONE_CODES.find((code) => code === error.code);
  return code === undefined ? null : { goneAtMs, code, detail: error.detail, isCertain };
}

/** The error for a caller, who may spell the name in his own way: a body echoes it. */
export function goneError(
  { code, detail }: GoneRecord,
  { owner, repo }: RepositoryName,
): CollectionsError {
  if (code === "branch-not-found") return new CollectionsError(code, detail);
  if (code === "repository-empty") return repositoryEmpty(owner, repo);
  if (code === "repository-blocked") return repositoryBlocked(owner, repo);
  return repositoryNotFound(owner, repo);
}
