// What is known of refs over time: the last commit with its validators, or a tombstone, that is, when and with which
// error the source reported a ref or its repository missing. Both outlive the process and are shared; freshness is not:
// each process checks refs itself, so that no other clock is trusted. A damaged record counts as absent.

import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { CacheKey, KvTier } from "../cache/kv_tier.ts";
import {
  CollectionsError,
  repositoryBlocked,
  repositoryEmpty,
  repositoryNotAllowed,
  repositoryNotFound,
} from "../errors.ts";
import { refKey, type RefName } from "./failure_backoff.ts";
import { repositoryKey, type RepositoryName } from "./source.ts";

/** For how long an older answer may be served while the source fails, in ms. */
export const STALE_FOR_MS = 24 * 3_600_000;

const MAX_KEYS = 20_000;
const CODES = [
  "repository-not-found",
  "repository-not-allowed",
  "repository-empty",
  "repository-blocked",
  "branch-not-found",
] as const;
/** These apply to all refs of the repository. */
const OF_REPOSITORY: ReadonlySet<string> = new Set(CODES.slice(0, 2).concat("repository-blocked"));

const recordSchema = z.object({
  commit: z.string(),
  rootTreeId: z.string(),
  validators: z.string(),
  checkedAtMs: z.number(),
});

const tombstoneSchema = z.object({
  code: z.enum(CODES),
  detail: z.string(),
  /** When the request was sent that found it, in ms since the epoch. */
  atMs: z.number(),
  /** False where the source failed before its answer was complete: the known state is invalid, and another may exist. */
  isCertain: z.boolean(),
});

/** One state of a ref. */
export type RefRecord = z.infer<typeof recordSchema>;

/** A record that a ref is missing. */
export type Tombstone = z.infer<typeof tombstoneSchema>;

/** Stores the records of refs. No method rejects. */
export class RefRecords {
  /** By ref, and by repository where the tombstone is about all of it. */
  private readonly tombstones = new LRUCache<string, { name: RefName; tombstone: Tombstone }>({
    max: MAX_KEYS,
  });
  /** Repositories that were found, of which something may be stored. */
  private readonly found = new LRUCache<string, true>({ max: MAX_KEYS });

  /** `kv` is null where there is no key-value store. */
  constructor(
    private readonly kv: KvTier | null,
    private readonly options: { readonly freshForMs: number; readonly now: () => number },
  ) {}

  /**
   * The stored state of a ref, and the latest stored tombstone that covers it, in one read. A tombstone has a key of its
   * own, so that a process whose check was earlier never overwrites it; it hides the states before it.
   */
  async read(name: RefName): Promise<{ record: RefRecord | null; tombstone: Tombstone | null }> {
    const keys = [refStoreKey(name), ...tombstoneKeys(name)];
    const [stored = null, ...storedTombstones] = await this.kv?.get(keys) ?? [];
    const tombstones = storedTombstones.flatMap((bytes) => parse(tombstoneSchema, bytes) ?? []);
    const tombstone = tombstones.toSorted((a, b) => b.atMs - a.atMs)[0] ?? null;
    const record = parse(recordSchema, stored);
    const isHidden = record !== null && tombstone !== null && tombstone.atMs > record.checkedAtMs;
    return { record: isHidden ? null : record, tombstone };
  }

  /** Records that the source found a ref; stored in the background. */
  add(name: RefName, record: RefRecord): void {
    this.found.set(repositoryKey(name), true);
    this.tombstones.delete(refKey(name));
    this.tombstones.delete(repositoryKey(name));
    this.write(refStoreKey(name), record);
  }

  /** Records that a ref is missing; `wasKnown` if it was known until then. Resolves when other processes can read it. */
  async recordMissing(name: RefName, tombstone: Tombstone, wasKnown: boolean): Promise<void> {
    const isOfRepository = OF_REPOSITORY.has(tombstone.code);
    this.tombstones.set(refKey(name), { name, tombstone });
    if (isOfRepository) this.tombstones.set(repositoryKey(name), { name, tombstone });
    // Nothing is written for a ref that never existed, so that a scan of names fills no disk.
    if (!wasKnown && !this.found.has(repositoryKey(name))) return;
    const [ofRef, ofRepository] = tombstoneKeys(name);
    if (wasKnown) this.write(ofRef, tombstone);
    if (isOfRepository) this.write(ofRepository, tombstone);
    await this.kv?.flush();
  }

  /** The result of the last check of a ref, or null where a check is due. */
  recentTombstone(name: RefName): Tombstone | null {
    const tombstone = this.tombstones.get(refKey(name))?.tombstone ?? null;
    return tombstone?.isCertain && this.isRecent(tombstone) ? tombstone : null;
  }

  /** A tombstone that covers a ref and is later than `knownAtMs`, of any process, or null. */
  async tombstoneSince(name: RefName, knownAtMs: number): Promise<Tombstone | null> {
    for (const key of [refKey(name), repositoryKey(name)]) {
      const tombstone = this.tombstones.get(key)?.tombstone;
      if (tombstone !== undefined && tombstone.atMs > knownAtMs) return tombstone;
    }
    const { tombstone } = await this.read(name);
    return tombstone !== null && tombstone.atMs > knownAtMs ? tombstone : null;
  }

  /** The refs of a repository that have a recent tombstone. */
  recentTombstones(repository: string): RefName[] {
    return [...this.tombstones.entries()].flatMap(([key, { name, tombstone }]) =>
      key !== repository && repositoryKey(name) === repository && this.isRecent(tombstone)
        ? [name]
        : []
    );
  }

  private isRecent({ atMs }: Tombstone): boolean {
    const ageMs = this.options.now() - atMs;
    return ageMs >= 0 && ageMs < this.options.freshForMs;
  }

  private write(key: CacheKey, value: RefRecord | Tombstone): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    this.kv?.set(key, bytes, { ttlMs: STALE_FOR_MS, isEssential: true });
  }
}

function refStoreKey(name: RefName): CacheKey {
  return ["ref", repositoryKey(name), name.branch];
}

function tombstoneKeys(name: RefName): [ofRef: CacheKey, ofRepository: CacheKey] {
  const ofRepository = ["tombstone", repositoryKey(name)];
  return [[...ofRepository, name.branch], ofRepository];
}

function parse<T>(schema: z.ZodType<T>, bytes: Uint8Array | null): T | null {
  if (bytes === null) return null;
  try {
    return schema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}

/** The tombstone for an error, at the time of its request; null for an error that is no denial. */
export function tombstoneOf(error: unknown, atMs: number): Tombstone | null {
  if (!(error instanceof CollectionsError)) return null;
  const said = error.denial ?? error;
  const code = CODES.find((code) => code === said.code);
  if (code === undefined) return null;
  return { code, detail: said.detail, atMs, isCertain: error.denial === undefined };
}

/** The error for a request, with the name as the request spelled it. */
export function tombstoneError(
  { code, detail }: Tombstone,
  { owner, repo }: RepositoryName,
): CollectionsError {
  if (code === "branch-not-found") return new CollectionsError(code, detail);
  return TOMBSTONE_ERRORS[code](owner, repo);
}

const TOMBSTONE_ERRORS = {
  "repository-empty": repositoryEmpty,
  "repository-blocked": repositoryBlocked,
  "repository-not-allowed": repositoryNotAllowed,
  "repository-not-found": repositoryNotFound,
};
