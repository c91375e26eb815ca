// What is stored of refs over a restart and between processes: the last commit with its validators, or a tombstone: that
// the source said that a ref, or a whole repository, is not there. Freshness is never taken from here: each process
// checks refs itself, so that no other clock is trusted. A damaged record is none.

import { z } from "zod";
import type { CacheKey, KvTier } from "../cache/kv_tier.ts";
import type { RefName } from "./failure_backoff.ts";
import { repositoryKey } from "./source.ts";

/** For how long an older answer may be served while the source fails, in ms. */
export const STALE_FOR_MS = 24 * 3_600_000;

const recordSchema = z.object({
  commit: z.string(),
  rootTreeId: z.string(),
  validators: z.string(),
  checkedAtMs: z.number(),
});

/** What a source can say of a ref that is not there. */
export const TOMBSTONE_CODES = [
  "repository-not-found",
  "repository-not-allowed",
  "repository-empty",
  "repository-blocked",
  "branch-not-found",
] as const;

const tombstoneSchema = z.object({
  code: z.enum(TOMBSTONE_CODES),
  detail: z.string(),
  /** When the request was sent that found it, in ms since the epoch. */
  atMs: z.number(),
  /** False where the source failed before it had said all: what was known is over, and there may be something else. */
  isCertain: z.boolean(),
});

/** One state of a ref. */
export type RefRecord = z.infer<typeof recordSchema>;

/** When and how a source said that there is none. */
export type Tombstone = z.infer<typeof tombstoneSchema>;

const storedSchema = z.union([recordSchema, z.object({ tombstone: tombstoneSchema })]);

/** What the store has of a ref. */
export interface StoredRef {
  readonly record: RefRecord | null;
  /** The later one of the ref's own and its repository's. */
  readonly tombstone: Tombstone | null;
}

/** Reads and writes {@linkcode StoredRef}s. Never rejects. */
export class RefRecords {
  /** Null where there is no key-value store. */
  constructor(private readonly kv: KvTier | null) {}

  /** Everything that is stored of a ref, in one read. */
  async read(ref: RefName): Promise<StoredRef> {
    const stored = await this.kv?.get([keyOf(ref), repositoryKeyOf(ref)]) ?? [];
    const [own, repository] = [parse(stored[0] ?? null), parse(stored[1] ?? null)];
    const tombstones = [own, repository].flatMap((one) =>
      one !== null && "tombstone" in one ? [one.tombstone] : []
    );
    return {
      record: own !== null && "commit" in own ? own : null,
      tombstone: tombstones.toSorted((a, b) => b.atMs - a.atMs)[0] ?? null,
    };
  }

  /** Stores a state, in the background. */
  set(ref: RefName, record: RefRecord): void {
    this.write(keyOf(ref), record);
  }

  /** Stores tombstones; resolves when other processes can read them. */
  async setTombstone(
    ref: RefName,
    tombstone: Tombstone,
    covers: { readonly ref: boolean; readonly repository: boolean },
  ): Promise<void> {
    if (covers.ref) this.write(keyOf(ref), { tombstone });
    if (covers.repository) this.write(repositoryKeyOf(ref), { tombstone });
    if (covers.ref || covers.repository) await this.kv?.flush();
  }

  private write(key: CacheKey, value: z.infer<typeof storedSchema>): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    this.kv?.set(key, bytes, { ttlMs: STALE_FOR_MS, isEssential: true });
  }
}

function keyOf(ref: RefName): CacheKey {
  return ["ref", repositoryKey(ref), ref.branch];
}

function repositoryKeyOf(ref: RefName): CacheKey {
  return ["repository", repositoryKey(ref)];
}

function parse(bytes: Uint8Array | null): z.infer<typeof storedSchema> | null {
  if (bytes === null) return null;
  try {
    return storedSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}
