// That the source said that a ref, or its repository, is not there. It is believed for the fresh time, and what was
// known before it is never served again, in no process, however long the source then fails.

import { LRUCache } from "lru-cache";
import {
  CollectionsError,
  repositoryBlocked,
  repositoryEmpty,
  repositoryNotAllowed,
  repositoryNotFound,
} from "../errors.ts";
import { refKey, type RefName } from "./failure_backoff.ts";
import { type RefRecords, type Tombstone, TOMBSTONE_CODES } from "./ref_records.ts";
import { repositoryKey, type RepositoryName } from "./source.ts";

const MAX_KEYS = 20_000;
/** These are about the repository, and so about all of its refs. */
const OF_REPOSITORY: ReadonlySet<Tombstone["code"]> = new Set([
  "repository-not-found",
  "repository-not-allowed",
  "repository-blocked",
]);

/** Remembers tombstones, in this process and in the store. */
export class Tombstones {
  private readonly ofRefs = new LRUCache<string, { ref: RefName; tombstone: Tombstone }>({
    max: MAX_KEYS,
  });
  private readonly ofRepositories = new LRUCache<string, Tombstone>({ max: MAX_KEYS });
  /** Repositories that were found, of which something may be stored. */
  private readonly found = new LRUCache<string, true>({ max: MAX_KEYS });

  constructor(
    private readonly options: {
      readonly records: RefRecords;
      readonly freshForMs: number;
      readonly now: () => number;
    },
  ) {}

  /** What a check of a ref has just found, or null where a check is due. */
  recent(ref: RefName): Tombstone | null {
    const tombstone = this.ofRefs.get(refKey(ref))?.tombstone;
    return tombstone !== undefined && tombstone.isCertain && this.isRecent(tombstone)
      ? tombstone
      : null;
  }

  /** The refs of a repository that were recently found to be gone. */
  recentRefs(repository: string): RefName[] {
    return [...this.ofRefs.values()].flatMap(({ ref, tombstone }) =>
      repositoryKey(ref) === repository && this.isRecent(tombstone) ? [ref] : []
    );
  }

  /**
   * Takes that a ref is not there; `wasKnown` if it was until then. Resolves when other processes can know it.
   */
  async add(ref: RefName, tombstone: Tombstone, wasKnown: boolean): Promise<void> {
    const repository = repositoryKey(ref);
    const isOfRepository = OF_REPOSITORY.has(tombstone.code);
    this.ofRefs.set(refKey(ref), { ref, tombstone });
    if (isOfRepository) this.ofRepositories.set(repository, tombstone);
    // Nothing is written for what was never there, so that a scan of names fills no disk.
    await this.options.records.setTombstone(ref, tombstone, {
      ref: wasKnown,
      repository: isOfRepository && (wasKnown || this.found.has(repository)),
    });
  }

  /** Takes that the source has found a ref. */
  remove(ref: RefName): void {
    const repository = repositoryKey(ref);
    this.found.set(repository, true);
    this.ofRefs.delete(refKey(ref));
    this.ofRepositories.delete(repository);
  }

  /** A tombstone later than `knownAtMs`, added by any process, or null. */
  async since(ref: RefName, knownAtMs: number): Promise<Tombstone | null> {
    const here = [
      this.ofRefs.get(refKey(ref))?.tombstone,
      this.ofRepositories.get(repositoryKey(ref)),
    ].find((tombstone) => tombstone !== undefined && tombstone.atMs > knownAtMs);
    if (here !== undefined) return here;
    const { tombstone } = await this.options.records.read(ref);
    return tombstone !== null && tombstone.atMs > knownAtMs ? tombstone : null;
  }

  private isRecent({ atMs }: Tombstone): boolean {
    const ageMs = this.options.now() - atMs;
    return ageMs >= 0 && ageMs < this.options.freshForMs;
  }
}

/** The tombstone that an error means, at the time of its request; null for an error that says nothing of the kind. */
export function tombstoneOf(error: unknown, atMs: number): Tombstone | null {
  if (!(error instanceof CollectionsError)) return null;
  const said = error.denial ?? error;
  const code = TOMBSTONE_CODES.find((code) => code === said.code);
  if (code === undefined) return null;
  return { code, detail: said.detail, atMs, isCertain: error.denial === undefined };
}

/** The error for a caller, which echoes the name as the caller spelled it. */
export function tombstoneError(
  { code, detail }: Tombstone,
  { owner, repo }: RepositoryName,
): CollectionsError {
  if (code === "branch-not-found") return new CollectionsError(code, detail);
  if (code === "repository-empty") return repositoryEmpty(owner, repo);
  if (code === "repository-blocked") return repositoryBlocked(owner, repo);
  if (code === "repository-not-allowed") return repositoryNotAllowed(owner, repo);
  return repositoryNotFound(owner, repo);
}
