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
  updateRef,
} from "./source.ts";

export interface RefChecksOptions {
  readonly source: Source;
  /** The store of refs and tombstones; null where there is none. */
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
const REFRESH_CLIENT = "refresh";

/** The errors that say a ref is missing, or its repository; the texts name that as the request spelled it. */
const DENIALS = {
  "repository-not-found": repositoryNotFound,
  "repository-not-allowed": repositoryNotAllowed,
  "repository-blocked": repositoryBlocked,
  "repository-empty": repositoryEmpty,
  "branch-not-found": null,
};
type DenialCode = keyof typeof DENIALS;

/** A stored ref: the last commit with its validators. Freshness is not shared, so that no other clock is trusted. */
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

/** A known ref: its live state, which every snapshot of it shares, and the source's validators. */
interface KnownRef {
  readonly name: RefName;
  readonly ref: RefState;
  validators: string;
  /** Whether this process checked it; a check of another process serves only while the source fails. */
  isCheckedHere: boolean;
  /** When a check last began, in ms since the epoch. */
  triedAtMs: number;
}

type Outcome = { known: KnownRef; freshness: Freshness } | { tombstone: Tombstone };

/** Resolves refs to snapshots by the rule above. */
export class RefChecks {
  private readonly known = new LRUCache<string, KnownRef>({ max: MAX_REFS });
  /** By ref, and by repository where the tombstone is about all of it. */
  private readonly tombstones = new LRUCache<string, Tombstone & { name: RefName }>({
    max: MAX_REFS,
  });
  /** Repositories that were found, of which something may be stored. */
  private readonly found = new LRUCache<string, true>({ max: MAX_REFS });
  private readonly loads = new SingleFlight<KnownRef | null>({ keepRunning: true });
  private readonly flights = new SingleFlight<Outcome>({ keepRunning: true });
  private readonly refreshSlots = pLimit(REFRESHED_AT_ONCE);
  /** Refs in {@linkcode refreshSlots}, or queued for them. */
  private readonly refreshing = new Set<KnownRef>();
  /** Refs that a webhook reported as changed: no earlier check counts. */
  private readonly mustCheck = new Set<string>();
  private readonly closing = new AbortController();

  constructor(private readonly options: RefChecksOptions) {}

  /** The snapshot of a ref, by the rule above. @throws {CollectionsError} as {@linkcode Source.resolve}. */
  async resolve(name: RefName, context: RequestContext): Promise<Snapshot> {
    const key = refKey(name);
    const now = this.options.clock.now();
    const tombstone = this.tombstones.get(key);
    if (tombstone?.isCertain && this.isRecent(tombstone.atMs)) throw errorOf(tombstone, name);
    const known = this.known.get(key) ?? await this.loads.run(key, () => this.load(name));
    if (known === null) context.recordMiss({ joined: this.flights.has(key) });
    const outcome: Outcome = known !== null && this.isFresh(known)
      ? { known, freshness: "hit" }
      : await this.flights.run(key, () => this.check(name, context.client), context.signal);
    if ("tombstone" in outcome) throw errorOf(outcome.tombstone, name);
    const { freshness, known: { ref, validators } } = outcome;
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
    const isDue = ({ name, ref, triedAtMs }: KnownRef) =>
      ref.wantedAtMs > triedAtMs && this.ageMs(ref.checkedAtMs) >= REFRESH_AFTER_MS &&
      this.options.backoff.refFailure(name) === null;
    const due = [...this.known.values()]
      .filter((known) => !this.refreshing.has(known) && isDue(known));
    await Promise.all(due.map((known) => {
      this.refreshing.add(known);
      return this.refreshSlots(async () => {
        const key = refKey(known.name);
        if (this.known.get(key) !== known || !isDue(known)) return;
        await this.flights.run(key, () => this.check(known.name, REFRESH_CLIENT)).catch(() => {});
      }).finally(() => this.refreshing.delete(known));
    }));
  }

  /**
   * Checks every ref of a repository, by its key, that is in use, missing ones included, whatever earlier checks found.
   * A check under way does not count; calls during a check cause one more after it. Never throws.
   */
  async recheck(repository: string): Promise<void> {
    const inUse = [...this.known.values()].filter((known) =>
      this.ageMs(known.ref.wantedAtMs) < this.options.freshForMs || this.isFresh(known)
    );
    const missing = [...this.tombstones.values()].filter(({ atMs }) => this.isRecent(atMs));
    const names = [...inUse, ...missing].map(({ name }) => name)
      .filter((name) => repositoryKey(name) === repository);
    await Promise.all(names.map(async (name) => {
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

  readonly settled = () => this.flights.settled();

  private readonly ageMs = (atMs: number) => this.options.clock.now() - atMs;

  private isRecent(atMs: number): boolean {
    // A negative age comes from a clock that was set back, and means nothing.
    return this.ageMs(atMs) >= 0 && this.ageMs(atMs) < this.options.freshForMs;
  }

  private readonly isFresh = ({ isCheckedHere, ref }: KnownRef) =>
    isCheckedHere && this.isRecent(ref.checkedAtMs);

  private async load(name: RefName): Promise<KnownRef | null> {
    const { record } = await this.readStore(name);
    return this.known.get(refKey(name)) ?? (record && this.add(name, record));
  }

  private add(name: RefName, { commit, checkedAtMs, validators }: RefRecord): KnownRef {
    const { freshForMs } = this.options;
    const ref = { commit, checkedAtMs, freshForMs, wantedAtMs: 0, previous: [] };
    const known = { name, ref, validators, isCheckedHere: false, triedAtMs: checkedAtMs };
    this.known.set(refKey(name), known);
    return known;
  }

  private async check(name: RefName, client: string): Promise<Outcome> {
    const { backoff, clock, source } = this.options;
    const key = refKey(name);
    const known = this.known.get(key);
    // Requests that came while the previous check was under way find its result here.
    const mustCheck = this.mustCheck.delete(key);
    const isEarly = known && this.isFresh(known) &&
      this.ageMs(known.ref.checkedAtMs) < REFRESH_AFTER_MS;
    if (isEarly && !mustCheck) return { known, freshness: "hit" };
    const failure = backoff.refFailure(name);
    const checkedAtMs = clock.now();
    if (known !== undefined && failure === null) known.triedAtMs = checkedAtMs;
    const query = {
      ...name,
      ...known && { known: { commit: known.ref.commit, validators: known.validators } },
      ...failure && { failure },
    };
    const resolve = () => source.resolve(query, backgroundContext(client, this.closing.signal));
    try {
      // A result by one protocol says nothing about the other one, which failed.
      const { commit, validators = "" } =
        await (failure === null ? backoff.check(name, known !== undefined, resolve) : resolve());
      return this.recordFound(name, known, { commit, validators, checkedAtMs });
    } catch (error) {
      const tombstone = error === failure ? null : tombstoneOf(error, checkedAtMs);
      if (tombstone !== null) {
        await this.recordMissing(name, known, tombstone);
        if (tombstone.isCertain) return { tombstone };
      } else if (isCheckFailure(error)) {
        return await this.staleFallback(name, known, error);
      }
      throw error;
    }
  }

  private recordFound(name: RefName, before: KnownRef | undefined, record: RefRecord): Outcome {
    const { commit, validators, checkedAtMs } = record;
    const changed = before?.ref.commit === commit ? "revalidated" : "moved";
    const known = before ?? this.add(name, record);
    updateRef(known.ref, commit, checkedAtMs);
    Object.assign(known, { validators, isCheckedHere: true });
    this.known.set(refKey(name), known);
    this.found.set(repositoryKey(name), true);
    this.tombstones.delete(refKey(name));
    this.tombstones.delete(repositoryKey(name));
    this.write(storeKeys(name)[0], record);
    return { known, freshness: before === undefined ? "miss" : changed };
  }

  /** Resolves when other processes can read the tombstone. */
  private async recordMissing(
    name: RefName,
    known: KnownRef | undefined,
    tombstone: Tombstone,
  ): Promise<void> {
    this.known.delete(refKey(name));
    // Cached responses refer to this state, which now forbids sending them.
    if (known !== undefined) known.ref.checkedAtMs = 0;
    const isOfRepository = !["branch-not-found", "repository-empty"].includes(tombstone.code);
    this.tombstones.set(refKey(name), { ...tombstone, name });
    if (isOfRepository) this.tombstones.set(repositoryKey(name), { ...tombstone, name });
    // Nothing is written for a ref that never existed, so that a scan of names fills no disk.
    if (known === undefined && !this.found.has(repositoryKey(name))) return;
    const [, ofRef, ofRepository] = storeKeys(name);
    if (known !== undefined) this.write(ofRef, tombstone);
    if (isOfRepository) this.write(ofRepository, tombstone);
    await this.options.kv?.flush();
  }

  /** The older answer for a failing source. @throws the failure where there is none that may be served. */
  private async staleFallback(
    name: RefName,
    known: KnownRef | undefined,
    failure: CollectionsError,
  ): Promise<Outcome> {
    if (known === undefined) throw failure;
    const { checkedAtMs } = known.ref;
    if (this.ageMs(checkedAtMs) >= STALE_FOR_MS) throw failure;
    // A later tombstone of this process or of another one.
    const isLater = (tombstone: Tombstone | null | undefined) =>
      tombstone && tombstone.atMs > checkedAtMs ? tombstone : null;
    const tombstone = isLater(this.tombstones.get(refKey(name))) ??
      isLater(this.tombstones.get(repositoryKey(name))) ??
      isLater((await this.readStore(name)).tombstone);
    if (tombstone === null) return { known, freshness: "stale" };
    if (tombstone.isCertain) return { tombstone };
    throw failure;
  }

  /**
   * The stored state of a ref, and the latest stored tombstone that covers it, in one read. A tombstone has a key of its
   * own, so that a process whose check was earlier never overwrites it; it hides the states before it.
   */
  private async readStore(name: RefName) {
    const [stored = null, ...more] = await this.options.kv?.get(storeKeys(name)) ?? [];
    const [tombstone = null] = more.flatMap((bytes) => parse(tombstoneSchema, bytes) ?? [])
      .sort((a, b) => b.atMs - a.atMs);
    const record = parse(recordSchema, stored);
    const isHidden = record !== null && tombstone !== null && tombstone.atMs > record.checkedAtMs;
    return { record: isHidden ? null : record, tombstone };
  }

  private write(key: CacheKey, value: RefRecord | Tombstone): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    this.options.kv?.set(key, bytes, { ttlMs: STALE_FOR_MS, isEssential: true });
  }
}

function storeKeys(name: RefName): [record: CacheKey, ofRef: CacheKey, ofRepository: CacheKey] {
  const ofRepository = ["tombstone", repositoryKey(name)];
  return [["ref", repositoryKey(name), name.branch], [...ofRepository, name.branch], ofRepository];
}

/** A damaged record counts as absent. */
function parse<T>(schema: z.ZodType<T>, bytes: Uint8Array | null): T | null {
  try {
    return bytes && schema.parse(JSON.parse(new TextDecoder().decode(bytes)));
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

function errorOf({ code, detail }: Tombstone, { owner, repo }: RepositoryName): CollectionsError {
  return DENIALS[code]?.(owner, repo) ?? new CollectionsError(code, detail);
}
