// What is kept of a ref over a restart and between processes: its last commit with the validator, or that it is gone.
// Freshness is never taken from here: each process asks its own question, so that no other clock is believed.

import { z } from "zod";
import type { Cache, CacheKey } from "../cache/cache.ts";

/** For how long an answer may stand in while the source fails, in ms. */
export const STALE_FOR_MS = 24 * 3_600_000;

const stateSchema = z.object({
  commit: z.string(),
  rootTreeId: z.string(),
  memo: z.string(),
  askedAtMs: z.number(),
});

/** What a source can say of a ref that is not there. */
export const GONE_CODES = [
  "repository-not-found",
  "repository-empty",
  "repository-blocked",
  "branch-not-found",
] as const;

/** One of {@linkcode GONE_CODES}. */
export type GoneCode = typeof GONE_CODES[number];

const goneSchema = z.object({
  goneAtMs: z.number(),
  code: z.enum(GONE_CODES),
  detail: z.string(),
  /** False where the source failed before it had said all: what was known is over, and there may be something else. */
  isCertain: z.boolean().default(true),
});

const recordSchema = z.union([
  stateSchema.extend({ previous: stateSchema.optional() }),
  goneSchema,
]);

/** One state that a ref had. */
export type RefState = z.infer<typeof stateSchema>;

/** When and how a source said that there is none. */
export type GoneRecord = z.infer<typeof goneSchema>;

/** A ref's state and the one before, or when its source said that there is none. */
export type RefRecord = z.infer<typeof recordSchema>;

/** Keeps {@linkcode RefRecord}s in a cache; a damaged one is none. */
export class RefStore {
  private readonly pending = new Set<Promise<void>>();

  constructor(private readonly cache: Cache) {}

  /** The record of a ref, or null. */
  async get(repository: string, branch: string): Promise<RefRecord | null> {
    return await this.read(["ref", repository, branch]);
  }

  /** Keeps a record; nobody has to wait for it. Never rejects. */
  set(repository: string, branch: string, record: RefRecord): Promise<void> {
    return this.write(["ref", repository, branch], record);
  }

  /** Notes that a whole repository is withdrawn, so that none of its refs stands in from before. */
  setGone(repository: string, record: GoneRecord): Promise<void> {
    return this.write(["gone", repository], record);
  }

  /** How a ref, or its whole repository, was last found to be gone; null where it was not. */
  async gone(repository: string, branch: string): Promise<GoneRecord | null> {
    const records = await Promise.all([
      this.get(repository, branch),
      this.read(["gone", repository]),
    ]);
    const found = records.filter((record) => record !== null && "goneAtMs" in record);
    return found.toSorted((a, b) => b.goneAtMs - a.goneAtMs)[0] ?? null;
  }

  /** Resolves when all that was to be kept is. */
  async settled(): Promise<void> {
    await Promise.all(this.pending);
  }

  private async read(key: CacheKey): Promise<RefRecord | null> {
    const entry = await this.cache.get(key);
    if (entry === null) return null;
    try {
      return recordSchema.parse(JSON.parse(new TextDecoder().decode(entry.value)));
    } catch {
      return null;
    }
  }

  private async write(key: CacheKey, record: RefRecord): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify(record));
    const written = this.cache.set(key, bytes, { ttlMs: STALE_FOR_MS });
    this.pending.add(written);
    await written.finally(() => this.pending.delete(written));
  }
}
