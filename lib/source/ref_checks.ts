// Finds which commit a ref is at. No snapshot rests on a check that is older than the fresh time, unless the source has
// just failed; a ref with a tombstone is never served. Concurrent requests share a check, which no client's disconnect
// aborts, so that at most one check per ref is under way.

import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { KvTier } from "../cache/kv_tier.ts";
import type { Clock } from "../clock.ts";
import type { CollectionsError } from "../errors.ts";
import { backgroundContext, type RequestContext, signalOf } from "../request_context.ts";
import { SingleFlight } from "../single_flight.ts";
import { type FailureBackoff, isCheckFailure, refKey, type RefName } from "./failure_backoff.ts";
import {
  RefRecords,
  STALE_FOR_MS,
  type Tombstone,
  tombstoneError,
  tombstoneOf,
} from "./ref_records.ts";
import {
  type Freshness,
  type RefQuery,
  type RefState,
  repositoryKey,
  type Snapshot,
  type Source,
  updateRef,
} from "./source.ts";

/** A known ref: its live state, which every snapshot of it shares, and the source's validators. */
interface KnownRefState {
  readonly name: RefName;
  readonly ref: RefState;
  rootTreeId: string;
  validators: string;
  /** Whether this process checked it; a check of another process serves only while the source fails. */
  isCheckedHere: boolean;
  /** When a check last began, in ms since the epoch. */
  triedAtMs: number;
}

type Outcome = { state: KnownRefState; freshness: Freshness } | { tombstone: Tombstone };

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

const MAX_REFS = 20_000;
/** A ref in use is checked ahead of need once its check is this old. */
const REFRESH_AFTER_MS = 50_000;
/** Each check is one to three requests at once, of the 64 in its lane. */
const REFRESHED_AT_ONCE = 8;
/** The client name under which checks ahead of need are queued. */
const REFRESH_CLIENT = "refresh";

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
    const { clock, freshForMs, kv } = options;
    this.records = new RefRecords(kv, { freshForMs, now: clock.now });
  }

  /** The snapshot of a ref, by the rule above. @throws {CollectionsError} as {@linkcode Source.resolve}. */
  async resolve(name: RefName, context: RequestContext): Promise<Snapshot> {
    const key = refKey(name);
    const now = this.now();
    const tombstone = this.records.recentTombstone(name);
    if (tombstone !== null) throw tombstoneError(tombstone, name);
    const state = this.known.get(key) ?? await this.loads.run(key, () => this.load(name));
    if (state === null) context.recordMiss({ joined: this.flights.has(key) });
    else if (this.isFresh(state)) {
      state.ref.wantedAtMs = now;
      return snapshotOf(state, name, "hit");
    }
    const check = () => this.check(name, context.client);
    const outcome = await this.flights.run(key, check, signalOf(context));
    if ("tombstone" in outcome) throw tombstoneError(outcome.tombstone, name);
    outcome.state.ref.wantedAtMs = Math.max(now, outcome.state.ref.wantedAtMs);
    return snapshotOf(outcome.state, name, outcome.freshness);
  }

  /**
   * Checks, ahead of need, every due ref that was requested since its last check began: a few at once, so that requests
   * do not wait behind very many refs. Never throws.
   */
  async refreshDue(): Promise<void> {
    const due = [...this.known.values()].filter((state) =>
      !this.refreshing.has(state) && this.isToRefresh(state)
    );
    await Promise.all(due.map((state) => {
      this.refreshing.add(state);
      return this.refreshSlots(async () => {
        const key = refKey(state.name);
        if (this.known.get(key) !== state || !this.isToRefresh(state)) return;
        await this.flights.run(key, () => this.check(state.name, REFRESH_CLIENT)).catch(() => {});
      }).finally(() => this.refreshing.delete(state));
    }));
  }

  /**
   * Checks every ref of a repository that is in use, missing ones included, whatever earlier checks found. A check
   * under way does not count; calls during a check cause one more after it. Never throws.
   */
  async recheck(repository: string): Promise<void> {
    const now = this.now();
    const inUse = [...this.known.values()].filter((state) =>
      repositoryKey(state.name) === repository &&
      (now - state.ref.wantedAtMs < this.options.freshForMs || this.isFresh(state))
    ).map(({ name }) => name);
    await Promise.all([...inUse, ...this.records.recentTombstones(repository)].map(async (name) => {
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
    await this.flights.settled();
  }

  /** Resolves when the checks under way have ended. */
  settled(): Promise<void> {
    return this.flights.settled();
  }

  private isToRefresh(state: KnownRefState): boolean {
    return state.ref.wantedAtMs > state.triedAtMs && this.isDue(state) &&
      this.options.backoff.refFailure(state.name) === null;
  }

  private isFresh({ isCheckedHere, ref }: KnownRefState): boolean {
    const ageMs = this.now() - ref.checkedAtMs;
    // A negative age comes from a clock that was set back, and means nothing.
    return isCheckedHere && ageMs >= 0 && ageMs < this.options.freshForMs;
  }

  private isDue({ ref }: KnownRefState): boolean {
    return this.now() - ref.checkedAtMs >= REFRESH_AFTER_MS;
  }

  private async load(name: RefName): Promise<KnownRefState | null> {
    const { record } = await this.records.read(name);
    const present = this.known.get(refKey(name));
    if (present !== undefined || record === null) return present ?? null;
    const { commit, checkedAtMs, rootTreeId, validators } = record;
    const state: KnownRefState = {
      name,
      ref: this.newRef(commit, checkedAtMs),
      rootTreeId,
      validators,
      isCheckedHere: false,
      triedAtMs: 0,
    };
    this.known.set(refKey(name), state);
    return state;
  }

  private newRef(commit: string, checkedAtMs: number): RefState {
    const { freshForMs } = this.options;
    return { commit, checkedAtMs, freshForMs, wantedAtMs: 0, previous: [] };
  }

  private async check(name: RefName, client: string): Promise<Outcome> {
    const { backoff, source } = this.options;
    const key = refKey(name);
    const state = this.known.get(key);
    // Requests that came while the previous check was under way find its result here.
    const mustCheck = this.mustCheck.delete(key);
    if (!mustCheck && state !== undefined && this.isFresh(state) && !this.isDue(state)) {
      return { state, freshness: "hit" };
    }
    const failure = backoff.refFailure(name);
    const checkedAtMs = this.now();
    if (state !== undefined && failure === null) state.triedAtMs = checkedAtMs;
    try {
      const query: RefQuery = {
        ...name,
        ...state && { known: { commit: state.ref.commit, validators: state.validators } },
        ...failure && { failure },
      };
      const resolve = () => source.resolve(query, backgroundContext(client, this.closing.signal));
      // A result by one protocol says nothing about the other one, which failed.
      const found =
        await (failure === null ? backoff.check(name, state !== undefined, resolve) : resolve());
      return this.take(found, { name, state, checkedAtMs });
    } catch (error) {
      if (failure !== null && error === failure) {
        return await this.staleFallback(state, name, failure);
      }
      const tombstone = tombstoneOf(error, checkedAtMs);
      if (tombstone === null) {
        if (!isCheckFailure(error)) throw error;
        return await this.staleFallback(state, name, error);
      }
      await this.recordTombstone(state, name, tombstone);
      if (!tombstone.isCertain) throw error;
      return { tombstone };
    }
  }

  private take(
    found: Snapshot,
    { name, state, checkedAtMs }: {
      name: RefName;
      state: KnownRefState | undefined;
      checkedAtMs: number;
    },
  ): Outcome {
    const { commit, rootTreeId, validators = "" } = found;
    const freshness = state === undefined
      ? "miss"
      : commit === state.ref.commit
      ? "revalidated"
      : "moved";
    const next = state ?? {
      name,
      ref: this.newRef(commit, checkedAtMs),
      rootTreeId,
      validators,
      isCheckedHere: true,
      triedAtMs: checkedAtMs,
    };
    const { ref } = next;
    updateRef(ref, commit, checkedAtMs);
    Object.assign(next, { rootTreeId, validators, isCheckedHere: true });
    this.known.set(refKey(name), next);
    this.records.add(name, { commit, rootTreeId, validators, checkedAtMs });
    return { state: next, freshness };
  }

  private async recordTombstone(
    state: KnownRefState | undefined,
    name: RefName,
    tombstone: Tombstone,
  ): Promise<void> {
    this.known.delete(refKey(name));
    // Cached responses refer to this state, which now forbids sending them.
    if (state !== undefined) state.ref.checkedAtMs = 0;
    await this.records.recordMissing(name, tombstone, state !== undefined);
  }

  /** The older answer for a failing source. @throws the failure where there is none that may be served. */
  private async staleFallback(
    state: KnownRefState | undefined,
    name: RefName,
    failure: CollectionsError,
  ): Promise<Outcome> {
    if (state === undefined || this.now() - state.ref.checkedAtMs >= STALE_FOR_MS) throw failure;
    const tombstone = await this.records.tombstoneSince(name, state.ref.checkedAtMs);
    if (tombstone === null) return { state, freshness: "stale" };
    if (!tombstone.isCertain) throw failure;
    return { tombstone };
  }

  private now(): number {
    return this.options.clock.now();
  }
}

function snapshotOf(
  { ref, rootTreeId, validators }: KnownRefState,
  { owner, repo, branch }: RefName,
  freshness: Freshness,
): Snapshot {
  const { commit, checkedAtMs } = ref;
  return {
    name: { owner, repo },
    branch,
    commit,
    rootTreeId,
    ref,
    checkedAtMs,
    freshness,
    validators,
  };
}
