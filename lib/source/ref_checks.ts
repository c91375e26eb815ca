// Finds which commit a ref is at. No snapshot rests on a check that is older than the fresh time, unless the source has
// just failed; a ref with a tombstone is never served. Concurrent requests share a check, which no client's disconnect
// aborts, so that at most one check per ref is under way.

import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { z } from "zod";
import type { CacheKey, KvTier } from "../cache/kv_tier.ts";
import type { Clock } from "../clock.ts";
import {
  CollectionsError,
  repositoryBlocked,
  repositoryEmpty,
  repositoryNotAllowed,
  repositoryNotFound,
} from "../errors.ts";
import { SingleFlight } from "../single_flight.ts";
import { type FailureBackoff, isCheckFailure } from "./failure_backoff.ts";
import {
  backgroundContext,
  type Freshness,
  refKey,
  type RefName,
  type RefState,
  repositoryKey,
  type RepositoryName,
  type RequestContext,
  type Snapshot,
  type Source,
} from "./source.ts";

/** What {@linkcode RefChecks} needs. */
export interface RefChecksOptions {
  readonly source: Source;
  /** The store of ref records; null where there is none. */
  readonly kv: KvTier | null;
  readonly backoff: FailureBackoff;
  readonly clock: Clock;
  /** How long a checked ref may be served without another check, in ms. */
  readonly freshForMs: number;
}

/** For how long an older answer may be served while the source fails, in ms. */
const STALE_FOR_MS = 24 * 3_600_000;
const MAX_REFS = 20_000;
/** A ref in use is checked ahead of need once its check is this old. */
const REFRESH_AFTER_MS = 50_000;
/** Each check is one to three requests at once, of the 64 in its lane. */
const REFRESHED_AT_ONCE = 8;
/** The client name under which checks ahead of need are queued. */
const REFRESH_CLIENT = "refresh";

/** A known ref: its live state, which every snapshot of it shares, and the source's validators. */
interface KnownRefState {
  readonly name: RefName;
  readonly ref: RefState;
  validators: string;
  /** Whether this process checked it; a check of another process serves only while the source fails. */
  isCheckedHere: boolean;
  /** When a check last began, in ms since the epoch. */
  triedAtMs: number;
}

type Outcome = { state: KnownRefState; freshness: Freshness } | { tombstone: Tombstone };

/** Resolves refs to snapshots by the rule above. */
export class RefChecks {
  private readonly known = new LRUCache<string, KnownRefState>({ max: MAX_REFS });
  private readonly records: RefRecords;
  private readonly loads = new SingleFlight<KnownRefState | null>({ keepRunning: true });
  private readonly flights = new SingleFlight<Outcome>({ keepRunning: true });
  private readonly refreshSlots = pLimit(REFRESHED_AT_ONCE);
  /** Refs that are being checked ahead of need, or are queued for it. */
  private readonly refreshing = new Set<KnownRefState>();
  /** Refs that a webhook reported as changed: no earlier check counts. */
  private readonly mustCheck = new Set<string>();
  private readonly closing = new AbortController();

  constructor(private readonly options: RefChecksOptions) {
    this.records = new RefRecords(options);
  }

  /** The snapshot of a ref, by the rule above. @throws {CollectionsError} as {@linkcode Source.resolve}. */
  async resolve(name: RefName, context: RequestContext): Promise<Snapshot> {
    const key = refKey(name);
    const now = this.now();
    const tombstone = this.records.recentTombstone(name);
    if (tombstone !== null) throw errorOf(tombstone, name);
    const state = this.known.get(key) ?? await this.loads.run(key, () => this.load(name));
    if (state === null) context.recordMiss({ joined: this.flights.has(key) });
    const outcome: Outcome = state !== null && this.isFresh(state)
      ? { state, freshness: "hit" }
      : await this.flights.run(key, () => this.check(name, context.client), context.signal);
    if ("tombstone" in outcome) throw errorOf(outcome.tombstone, name);
    const { freshness, state: { ref, validators } } = outcome;
    ref.wantedAtMs = now;
    const { commit, checkedAtMs } = ref;
    const { owner, repo, branch } = name;
    return { name: { owner, repo }, branch, commit, ref, checkedAtMs, freshness, validators };
  }

  /**
   * Checks, ahead of need, every due ref that was requested since its last check began: a few at once, so that requests
   * do not wait behind very many refs. Never throws.
   */
  async refreshDue(): Promise<void> {
    const isDue = (state: KnownRefState) =>
      state.ref.wantedAtMs > state.triedAtMs && this.ageMs(state) >= REFRESH_AFTER_MS &&
      this.options.backoff.refFailure(state.name) === null;
    const due = [...this.known.values()]
      .filter((state) => !this.refreshing.has(state) && isDue(state));
    await Promise.all(due.map((state) => {
      this.refreshing.add(state);
      return this.refreshSlots(async () => {
        const key = refKey(state.name);
        if (this.known.get(key) !== state || !isDue(state)) return;
        await this.flights.run(key, () => this.check(state.name, REFRESH_CLIENT)).catch(() => {});
      }).finally(() => this.refreshing.delete(state));
    }));
  }

  /**
   * Checks every ref of a repository, by its key, that is in use, missing ones included, whatever earlier checks found.
   * A check under way does not count; calls during a check cause one more after it. Never throws.
   */
  async recheck(repository: string): Promise<void> {
    const now = this.now();
    const inUse = [...this.known.values()].filter((state) =>
      repositoryKey(state.name) === repository &&
      (now - state.ref.wantedAtMs < this.options.freshForMs || this.isFresh(state))
    );
    const missing = this.records.recentTombstones(repository);
    await Promise.all([...inUse, ...missing].map(async ({ name }) => {
      const key = refKey(name);
      this.mustCheck.add(key);
      while (this.mustCheck.has(key)) {
        await this.flights.run(key, () => this.check(name, REFRESH_CLIENT)).catch(() => {});
      }
    }));
  }

  /** Aborts the checks under way, and resolves when they have ended. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.settled();
  }

  /** Resolves when the checks under way have ended. */
  settled(): Promise<void> {
    return this.flights.settled();
  }

  private now(): number {
    return this.options.clock.now();
  }

  private ageMs({ ref }: KnownRefState): number {
    return this.now() - ref.checkedAtMs;
  }

  private isFresh(state: KnownRefState): boolean {
    // A negative age comes from a clock that was set back, and means nothing.
    const ageMs = this.ageMs(state);
    return state.isCheckedHere && ageMs >= 0 && ageMs < this.options.freshForMs;
  }

  private async load(name: RefName): Promise<KnownRefState | null> {
    const { record } = await this.records.read(name);
    return this.known.get(refKey(name)) ?? (record && this.add(name, record));
  }

  private add(name: RefName, { commit, checkedAtMs, validators }: RefRecord): KnownRefState {
    const { freshForMs } = this.options;
    const ref = { commit, checkedAtMs, freshForMs, wantedAtMs: 0 };
    const state = { name, ref, validators, isCheckedHere: false, triedAtMs: checkedAtMs };
    this.known.set(refKey(name), state);
    return state;
  }

  private async check(name: RefName, client: string): Promise<Outcome> {
    const { backoff, source } = this.options;
    const key = refKey(name);
    const state = this.known.get(key);
    // Requests that came while the previous check was under way find its result here.
    const mustCheck = this.mustCheck.delete(key);
    if (!mustCheck && state && this.isFresh(state) && this.ageMs(state) < REFRESH_AFTER_MS) {
      return { state, freshness: "hit" };
    }
    const failure = backoff.refFailure(name);
    const checkedAtMs = this.now();
    if (state !== undefined && failure === null) state.triedAtMs = checkedAtMs;
    const resolve = () =>
      source.resolve({
        ...name,
        ...state && { known: { commit: state.ref.commit, validators: state.validators } },
        ...failure && { failure },
      }, backgroundContext(client, this.closing.signal));
    try {
      // A result by one protocol says nothing about the other one, which failed.
      const { commit, validators = "" } =
        await (failure === null ? backoff.check(name, state !== undefined, resolve) : resolve());
      return this.found(name, state, { commit, validators, checkedAtMs });
    } catch (error) {
      const tombstone = error === failure ? null : tombstoneOf(error, checkedAtMs);
      if (tombstone === null) {
        if (!isCheckFailure(error)) throw error;
        return await this.staleFallback(state, name, error);
      }
      this.known.delete(key);
      // Cached responses refer to this state, which now forbids sending them.
      if (state !== undefined) state.ref.checkedAtMs = 0;
      await this.records.recordMissing(name, tombstone, state !== undefined);
      if (!tombstone.isCertain) throw error;
      return { tombstone };
    }
  }

  private found(name: RefName, before: KnownRefState | undefined, record: RefRecord): Outcome {
    const { commit, validators, checkedAtMs } = record;
    const hasMoved = before?.ref.commit !== commit;
    const state = before ?? this.add(name, record);
    Object.assign(state.ref, { commit, checkedAtMs });
    Object.assign(state, { validators, isCheckedHere: true });
    this.known.set(refKey(name), state);
    this.records.recordFound(name, record);
    if (before === undefined) return { state, freshness: "miss" };
    return { state, freshness: hasMoved ? "moved" : "revalidated" };
  }

  /** The older answer for a failing source. @throws the failure where there is none that may be served. */
  private async staleFallback(
    state: KnownRefState | undefined,
    name: RefName,
    failure: CollectionsError,
  ): Promise<Outcome> {
    if (state === undefined || this.ageMs(state) >= STALE_FOR_MS) throw failure;
    const tombstone = await this.records.tombstoneSince(name, state.ref.checkedAtMs);
    if (tombstone === null) return { state, freshness: "stale" };
    if (!tombstone.isCertain) throw failure;
    return { tombstone };
  }
}

/** The errors that say a ref is missing, or its repository; the texts name that as the request spelled it. */
const DENIALS = {
  "repository-not-found": repositoryNotFound,
  "repository-not-allowed": repositoryNotAllowed,
  "repository-blocked": repositoryBlocked,
  "repository-empty": repositoryEmpty,
  "branch-not-found": null,
};
type DenialCode = keyof typeof DENIALS;

const recordSchema = z.object({
  commit: z.string(),
  validators: z.string(),
  checkedAtMs: z.number(),
});
type RefRecord = z.infer<typeof recordSchema>;

/** When and with which error the source reported a ref or its repository missing. */
const tombstoneSchema = z.object({
  code: z.enum(Object.keys(DENIALS) as DenialCode[]),
  detail: z.string(),
  /** When the request was sent that found it, in ms since the epoch. */
  atMs: z.number(),
  /** False where the source failed before its answer was complete: the known state is invalid, and another may exist. */
  isCertain: z.boolean(),
});
type Tombstone = z.infer<typeof tombstoneSchema>;

/**
 * What is known of refs over time: the last commit with its validators, or a tombstone. Both outlive the process and are
 * shared; freshness is not: each process checks refs itself, so that no other clock is trusted. A damaged record counts
 * as absent. No method rejects.
 */
class RefRecords {
  /** By ref, and by repository where the tombstone is about all of it. */
  private readonly tombstones = new LRUCache<string, Tombstone & { readonly name: RefName }>({
    max: MAX_REFS,
  });
  /** Repositories that were found, of which something may be stored. */
  private readonly found = new LRUCache<string, true>({ max: MAX_REFS });

  constructor(private readonly options: Pick<RefChecksOptions, "kv" | "clock" | "freshForMs">) {}

  /**
   * The stored state of a ref, and the latest stored tombstone that covers it, in one read. A tombstone has a key of its
   * own, so that a process whose check was earlier never overwrites it; it hides the states before it.
   */
  async read(name: RefName): Promise<{ record: RefRecord | null; tombstone: Tombstone | null }> {
    const [stored = null, ...more] = await this.options.kv?.get(kvKeys(name)) ?? [];
    const [tombstone = null] = more.flatMap((bytes) => parse(tombstoneSchema, bytes) ?? [])
      .sort((a, b) => b.atMs - a.atMs);
    const record = parse(recordSchema, stored);
    const isHidden = record !== null && tombstone !== null && tombstone.atMs > record.checkedAtMs;
    return { record: isHidden ? null : record, tombstone };
  }

  /** Records that the source found a ref; stored in the background. */
  recordFound(name: RefName, record: RefRecord): void {
    this.found.set(repositoryKey(name), true);
    this.tombstones.delete(refKey(name));
    this.tombstones.delete(repositoryKey(name));
    this.write(kvKeys(name)[0], record);
  }

  /** Records that a ref is missing; `wasKnown` if it was known until then. Resolves when other processes can read it. */
  async recordMissing(name: RefName, tombstone: Tombstone, wasKnown: boolean): Promise<void> {
    const [, ofRef, ofRepository] = kvKeys(name);
    const isOfRepository = !["branch-not-found", "repository-empty"].includes(tombstone.code);
    this.tombstones.set(refKey(name), { ...tombstone, name });
    if (isOfRepository) this.tombstones.set(repositoryKey(name), { ...tombstone, name });
    // Nothing is written for a ref that never existed, so that a scan of names fills no disk.
    if (!wasKnown && !this.found.has(repositoryKey(name))) return;
    if (wasKnown) this.write(ofRef, tombstone);
    if (isOfRepository) this.write(ofRepository, tombstone);
    await this.options.kv?.flush();
  }

  /** The result of the last check of a ref, or null where a check is due. */
  recentTombstone(name: RefName): Tombstone | null {
    const tombstone = this.tombstones.get(refKey(name));
    return tombstone?.isCertain && this.isRecent(tombstone) ? tombstone : null;
  }

  /** A tombstone that covers a ref and is later than `knownAtMs`, of any process, or null. */
  async tombstoneSince(name: RefName, knownAtMs: number): Promise<Tombstone | null> {
    const isSince = (tombstone: Tombstone | null | undefined) =>
      tombstone && tombstone.atMs > knownAtMs ? tombstone : null;
    return isSince(this.tombstones.get(refKey(name))) ??
      isSince(this.tombstones.get(repositoryKey(name))) ??
      isSince((await this.read(name)).tombstone);
  }

  /** The refs of a repository that have a recent tombstone. */
  recentTombstones(repository: string): { readonly name: RefName }[] {
    return [...this.tombstones.entries()].filter(([key, tombstone]) =>
      key === refKey(tombstone.name) && repositoryKey(tombstone.name) === repository &&
      this.isRecent(tombstone)
    ).map(([, tombstone]) => tombstone);
  }

  private isRecent({ atMs }: Tombstone): boolean {
    const ageMs = this.options.clock.now() - atMs;
    return ageMs >= 0 && ageMs < this.options.freshForMs;
  }

  private write(key: CacheKey, value: RefRecord | Tombstone): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    this.options.kv?.set(key, bytes, { ttlMs: STALE_FOR_MS, isEssential: true });
  }
}

/** The keys of a ref's record, of its tombstone, and of its repository's. */
function kvKeys(name: RefName): [record: CacheKey, ofRef: CacheKey, ofRepository: CacheKey] {
  const ofRepository = ["tombstone", repositoryKey(name)];
  return [["ref", repositoryKey(name), name.branch], [...ofRepository, name.branch], ofRepository];
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
function tombstoneOf(error: unknown, atMs: number): Tombstone | null {
  if (!(error instanceof CollectionsError)) return null;
  const { code, detail } = error.denial ?? error;
  if (!Object.hasOwn(DENIALS, code)) return null;
  return { code: code as DenialCode, detail, atMs, isCertain: error.denial === undefined };
}

/** The error for a request, with the name as the request spelled it. */
function errorOf({ code, detail }: Tombstone, { owner, repo }: RepositoryName): CollectionsError {
  return DENIALS[code]?.(owner, repo) ?? new CollectionsError(code, detail);
}
