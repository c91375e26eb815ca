// Finds which commit a ref is at. No snapshot rests on a check that is older than the fresh time, unless the source has
// just failed; a ref with a tombstone is never served. Concurrent requests share a check, which no client's disconnect
// aborts, so that at most one check per ref is under way.

import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { KvTier } from "../cache/kv_tier.ts";
import type { Bytes } from "../cache/kv_value.ts";
import { jsonCodec } from "../cache/object_cache.ts";
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

/** For how long an older answer may be served while the source fails, in ms. */
const STALE_FOR_MS = 24 * 3_600_000;
const MAX_REFS = 20_000;
/** GitHub's quota without a token lets at most so many commits be read in its window of an hour. */
const MAX_PREVIOUS = 60;
/** A ref in use is checked ahead of need once its check has this share of its fresh time behind it. */
const REFRESH_SHARE = 5 / 6;
/** Each check is one to three requests at once, of the 64 in its lane. */
const REFRESHED_AT_ONCE = 8;
const REFRESH_CLIENT = "refresh";
/** A check of a known ref costs its client as much as so much processor time: a quarter of a miss. */
const CHECK_MS = 25;

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
type RefRecord = { commit: string; validators: string; checkedAtMs: number };

/** When and with which error the source reported a ref or its repository missing. */
interface Tombstone {
  readonly name: RefName;
  readonly code: DenialCode;
  readonly detail: string;
  /** When the request was sent that found it, in ms since the epoch. */
  readonly atMs: number;
  /** False where the source failed before its answer was complete: the known state is invalid, and another may exist. */
  readonly isCertain: boolean;
}

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

type FoundRef = { known: KnownRef; freshness: Freshness };

/** Resolves refs to snapshots by the rule above. */
export class RefChecks {
  private readonly known = new LRUCache<string, KnownRef>({ max: MAX_REFS });
  /** By ref, and by repository where the tombstone is about all of it. */
  private readonly tombstones = new LRUCache<string, Tombstone>({ max: MAX_REFS });
  /** Repositories that were found, of which something may be stored. */
  private readonly found = new LRUCache<string, true>({ max: MAX_REFS });
  private readonly loads = new SingleFlight<KnownRef | null>({ keepRunning: true });
  private readonly flights = new SingleFlight<FoundRef>({ keepRunning: true });
  private readonly refreshSlots = pLimit(REFRESHED_AT_ONCE);
  /** The refs of the checks under way. */
  private readonly checking = new Set<RefName>();
  /** Refs that a webhook reported as changed: no earlier check counts. */
  private readonly mustCheck = new Set<string>();
  private readonly closing = new AbortController();

  constructor(
    private readonly options: {
      readonly source: Source;
      /** The store of refs and tombstones; null where there is none. */
      readonly kv: KvTier | null;
      readonly backoff: FailureBackoff;
      readonly clock: Clock;
      /** How long a checked ref may be served without another check, in ms. */
      readonly freshForMs: number;
    },
  ) {}

  /** The snapshot of a ref, by the rule above. @throws {CollectionsError} as {@linkcode Source.resolve}. */
  async resolve(name: RefName, context: RequestContext): Promise<Snapshot> {
    const { owner, repo, branch } = name;
    const key = refKey(name);
    const now = this.options.clock.now();
    const denied = this.tombstones.get(key);
    if (denied?.isCertain && this.isRecent(denied.atMs)) throw errorOf(denied, name);
    let loaded = this.known.get(key) ?? null;
    let uncharged = 0;
    if (loaded === null || !this.isFresh(loaded)) {
      if (!this.loads.has(key) && !this.flights.has(key)) {
        context.requireMiss();
        // While the source fails, most checks send nothing.
        if (this.options.backoff.refFailure(name) === null) context.charge(CHECK_MS);
        else uncharged = CHECK_MS;
      }
      loaded ??= await this.loads.run(key, () => this.load(name));
    }
    if (loaded === null) context.recordMiss({ joined: this.flights.has(key) });
    const { known, freshness } = loaded !== null && this.isFresh(loaded)
      ? { known: loaded, freshness: "hit" as const }
      : await this.flights.run(key, () => this.check(name, context.client), context.signal)
        .catch((error) => {
          const tombstone = tombstoneOf(error, name, now);
          throw tombstone?.isCertain ? errorOf(tombstone, name) : error;
        });
    const { ref, validators } = known;
    if (freshness !== "stale") context.charge(uncharged);
    ref.wantedAtMs = now;
    const { commit, checkedAtMs } = ref;
    return { name: { owner, repo }, branch, commit, ref, checkedAtMs, freshness, validators };
  }

  /**
   * Checks, ahead of need, every due ref that was requested since its last check began: a few at once, so that requests
   * do not wait behind very many refs. Never throws.
   */
  async refreshDue(mayCheck: (name: RefName) => boolean = () => true): Promise<void> {
    // Those that are queued are still due.
    if (this.refreshSlots.pendingCount > 0) return;
    const isDue = ({ name, ref, triedAtMs }: KnownRef) =>
      ref.wantedAtMs > triedAtMs && this.ageMs(ref.checkedAtMs) >= this.refreshAfterMs &&
      this.options.backoff.refFailure(name) === null && !this.flights.has(refKey(name)) &&
      mayCheck(name);
    const due = this.known.values().filter(isDue).toArray();
    await Promise.all(due.map((known) =>
      this.refreshSlots(async () => {
        if (isDue(known) && this.known.get(refKey(known.name)) === known) {
          await this.checkAhead(known.name);
        }
      })
    ));
  }

  /**
   * Checks every ref of a repository, by its key, that is in use, missing ones included, whatever earlier checks found.
   * A check under way does not count; calls during a check cause one more after it. Never throws.
   */
  async recheck(repository: string): Promise<void> {
    const isInUse = (known: KnownRef) => this.isRecent(known.ref.wantedAtMs) || this.isFresh(known);
    const inUse = [
      ...this.known.values().filter(isInUse).map(({ name }) => name),
      ...this.tombstones.values().filter(({ atMs }) => this.isRecent(atMs)).map(({ name }) => name),
      ...this.checking,
    ].filter((name) => repositoryKey(name) === repository);
    await Promise.all(inUse.map(async (name) => {
      const key = refKey(name);
      this.mustCheck.add(key);
      while (this.mustCheck.has(key)) await this.checkAhead(name);
    }));
  }

  /** Aborts the checks under way, and resolves when they have ended. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.settled();
  }

  readonly settled = () => this.flights.settled();

  private get refreshAfterMs(): number {
    return this.options.freshForMs * REFRESH_SHARE;
  }

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

  /** Joins the check under way, or starts one. Never throws. */
  private async checkAhead(name: RefName): Promise<void> {
    await this.flights.run(refKey(name), () => this.check(name, REFRESH_CLIENT)).catch(() => {});
  }

  private async check(name: RefName, client: string): Promise<FoundRef> {
    const { backoff, clock, source } = this.options;
    const key = refKey(name);
    const known = this.known.get(key);
    // Requests that came while the previous check was under way find its result here.
    const mustCheck = this.mustCheck.delete(key);
    const isEarly = known && this.isFresh(known) &&
      this.ageMs(known.ref.checkedAtMs) < this.refreshAfterMs;
    if (isEarly && !mustCheck) return { known, freshness: "hit" };
    const failure = backoff.refFailure(name);
    const checkedAtMs = clock.now();
    this.checking.add(name);
    if (known !== undefined && failure === null) known.triedAtMs = checkedAtMs;
    const query = {
      ...name,
      ...known && { known: { commit: known.ref.commit, validators: known.validators } },
      ...failure && { failure },
    };
    const resolve = () => source.resolve(query, backgroundContext(client, this.closing.signal));
    try {
      // A result by one protocol says nothing about the other one, which failed.
      const { commit, validators } =
        await (failure === null ? backoff.check(name, known !== undefined, resolve) : resolve());
      return this.recordFound(name, known, { commit, validators, checkedAtMs });
    } catch (error) {
      const tombstone = error === failure ? null : tombstoneOf(error, name, checkedAtMs);
      if (tombstone !== null) await this.recordMissing(known, tombstone);
      else if (known && isCheckFailure(error)) return await this.staleFallback(known, error);
      throw error;
    } finally {
      this.checking.delete(name);
    }
  }

  private recordFound(name: RefName, before: KnownRef | undefined, record: RefRecord): FoundRef {
    const { commit, validators, checkedAtMs } = record;
    const [key, repository] = keysOf(name);
    const known = before ?? this.add(name, record);
    const { ref } = known;
    const isMoved = ref.commit !== commit;
    if (isMoved) {
      const last = { commit: ref.commit, checkedAtMs: ref.checkedAtMs };
      ref.previous = [last, ...ref.previous].slice(0, MAX_PREVIOUS);
    }
    Object.assign(ref, { commit, checkedAtMs });
    Object.assign(known, { validators, isCheckedHere: true });
    this.known.set(key, known);
    this.found.set(repository, true);
    this.tombstones.delete(key);
    this.tombstones.delete(repository);
    this.write(["ref", key], record);
    if (before === undefined) return { known, freshness: "miss" };
    return { known, freshness: isMoved ? "moved" : "revalidated" };
  }

  /** Resolves when other processes can read the tombstone. */
  private async recordMissing(known: KnownRef | undefined, tombstone: Tombstone): Promise<void> {
    const [key, repository] = keysOf(tombstone.name);
    this.known.delete(key);
    // Cached responses refer to this state, which now forbids sending them.
    if (known !== undefined) known.ref.checkedAtMs = 0;
    const isOfRepository = !["branch-not-found", "repository-empty"].includes(tombstone.code);
    this.tombstones.set(key, tombstone);
    if (isOfRepository) this.tombstones.set(repository, tombstone);
    // Nothing is written for a ref that never existed, so that a scan of names fills no disk.
    if (known === undefined && !this.found.has(repository)) return;
    if (known !== undefined) this.write(["tombstone", key], tombstone);
    if (isOfRepository) this.write(["tombstone", repository], tombstone);
    await this.options.kv?.flush();
  }

  /** The older answer for a failing source. @throws the failure where there is none that may be served. */
  private async staleFallback(known: KnownRef, failure: CollectionsError): Promise<FoundRef> {
    const { name, ref: { checkedAtMs } } = known;
    if (this.ageMs(checkedAtMs) >= STALE_FOR_MS) throw failure;
    // Of this process or of another one.
    const tombstones = keysOf(name).flatMap((key) => this.tombstones.get(key) ?? [])
      .concat((await this.readStore(name)).tombstones);
    const [latest] = tombstones.filter(({ atMs }) => atMs > checkedAtMs)
      .sort((a, b) => b.atMs - a.atMs);
    if (latest === undefined) return { known, freshness: "stale" };
    throw latest.isCertain ? errorOf(latest, name) : failure;
  }

  /**
   * The stored state of a ref and the stored tombstones that cover it, in one read. A tombstone has a key of its own, so
   * that a process whose check was earlier never overwrites it; it hides the states before it.
   */
  private async readStore(name: RefName) {
    const [key, repository] = keysOf(name);
    const keys = [["ref", key], ["tombstone", key], ["tombstone", repository]];
    const [stored = null, ...more] = await this.options.kv?.get(keys) ?? [];
    const record = decode<RefRecord>(stored);
    const tombstones = more.flatMap((bytes) => decode<Tombstone>(bytes) ?? []);
    const isHidden = record && tombstones.some(({ atMs }) => atMs > record.checkedAtMs);
    return { record: isHidden ? null : record, tombstones };
  }

  private write(key: string[], value: RefRecord | Tombstone): void {
    this.options.kv?.set(key, jsonCodec.encode(value), { ttlMs: STALE_FOR_MS, isEssential: true });
  }
}

/** The key of a ref, and that of its repository. */
const keysOf = (name: RefName) => [refKey(name), repositoryKey(name)] as const;

/** What `write` stored; null for other bytes. */
function decode<T>(bytes: Bytes | null): T | null {
  try {
    return bytes && jsonCodec.decode(bytes);
  } catch {
    return null;
  }
}

/** The tombstone for an error, at the time of its request; null for an error that is no denial. */
function tombstoneOf(error: unknown, name: RefName, atMs: number): Tombstone | null {
  if (!(error instanceof CollectionsError)) return null;
  const { code, detail } = error.denial ?? error;
  if (!Object.hasOwn(DENIALS, code)) return null;
  return { name, code: code as DenialCode, detail, atMs, isCertain: error.denial === undefined };
}

function errorOf({ code, detail }: Tombstone, { owner, repo }: RepositoryName): CollectionsError {
  return DENIALS[code]?.(owner, repo) ?? new CollectionsError(code, detail);
}
