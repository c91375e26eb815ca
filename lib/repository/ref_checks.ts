// Which commit is this ref at? The one question that is asked again and again. The rule: no answer rests on a check
// that is older than its fresh time, unless the source has just failed; what the source withdrew is never given.

import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import { SingleFlight } from "../single_flight.ts";
import { type CollectionsError, isSourceFailure } from "../errors.ts";
import type { Backoff } from "./backoff.ts";
import { type GoneRecord, type RefState, type RefStore, STALE_FOR_MS } from "./ref_store.ts";
import { refKey, type RefName } from "./ref_key.ts";
import {
  type Caller,
  type Freshness,
  type RefCheck,
  type Repository,
  repositoryKey,
  type Snapshot,
} from "./repository.ts";
import { goneError, goneRecord, Withdrawals } from "./withdrawals.ts";

/** A ref that is known: its live check, which every snapshot of it shares, and what the source needs again. */
interface KnownState {
  readonly ref: RefName;
  readonly check: RefCheck;
  rootTreeId: string;
  memo: string;
  previous: RefState | undefined;
  /** Whether this process checked it; what another one checked is good only for when the source fails. */
  checkedHere: boolean;
  /** When it was last asked for, well or not, in ms since the epoch. */
  triedAtMs: number;
}

type Outcome = { state: KnownState; freshness: Freshness } | { gone: GoneRecord };

/** What {@linkcode RefChecks} stands on. */
export interface RefChecksOptions {
  readonly source: Repository;
  readonly store: RefStore;
  readonly backoff: Backoff;
  readonly now: () => number;
  readonly freshMs: number;
  /** How old a check is when a wanted ref is checked ahead of need. */
  readonly refreshAfterMs: number;
}

const MAX_REFS = 20_000;
/** Each check is one to three questions at once, of the 32 that there may be. */
const REFRESHED_AT_ONCE = 8;

/** Checks refs, at most once per fresh time each, and tells what is known in between. */
export class RefChecks {
  private readonly known = new LRUCache<string, KnownState>({ max: MAX_REFS });
  private readonly withdrawals: Withdrawals;
  private readonly flights = new SingleFlight<Outcome>();
  private readonly refreshSlots = pLimit(REFRESHED_AT_ONCE);
  /** Those that are checked ahead of need, or wait for their turn. */
  private readonly refreshing = new Set<KnownState>();

  constructor(private readonly options: RefChecksOptions) {
    this.withdrawals = new Withdrawals(options);
  }

  /** The snapshot of a ref, by the rule above. @throws {CollectionsError} as {@linkcode Repository.resolve}. */
  async resolve(ref: RefName, caller: Caller): Promise<Snapshot> {
    const key = refKey(ref);
    const now = this.now();
    const gone = this.withdrawals.recent(ref);
    if (gone !== null) throw goneError(gone, ref);
    const state = this.known.get(key) ?? await this.load(ref);
    if (state === null) caller.miss({ joined: this.flights.has(key) });
    else if (this.isFresh(state)) {
      state.check.wantedAtMs = now;
      return this.snapshot(state, { ref, freshness: "hit" });
    }
    const outcome = await this.flights.run(key, (signal) => this.check(ref, signal), caller);
    if ("gone" in outcome) throw goneError(outcome.gone, ref);
    outcome.state.check.wantedAtMs = Math.max(now, outcome.state.check.wantedAtMs);
    return this.snapshot(outcome.state, { ref, freshness: outcome.freshness });
  }

  /**
   * Checks, ahead of need, every ref that was wanted since it was last asked for and is due: a few at once, so that
   * those who wait for an answer are not behind very many who do not. Never throws.
   */
  async refreshDue(): Promise<void> {
    const due = [...this.known.values()].filter((state) =>
      !this.refreshing.has(state) && this.isToRefresh(state)
    );
    await Promise.all(due.map((state) => {
      this.refreshing.add(state);
      return this.refreshSlots(async () => {
        const key = refKey(state.ref);
        if (this.known.get(key) !== state || !this.isToRefresh(state)) return;
        await this.flights.run(key, (signal) => this.check(state.ref, signal)).catch(() => {});
      }).finally(() => this.refreshing.delete(state));
    }));
  }

  private isToRefresh(state: KnownState): boolean {
    return state.check.wantedAtMs > state.triedAtMs && this.isDue(state) &&
      this.options.backoff.remembered(repositoryKey(state.ref)) === null;
  }

  private isFresh(state: KnownState): boolean {
    const ageMs = this.now() - state.check.askedAtMs;
    // A negative age is that of a clock that was set back, and says nothing.
    return state.checkedHere && ageMs >= 0 && ageMs < this.options.freshMs;
  }

  private isDue(state: KnownState): boolean {
    return this.now() - state.check.askedAtMs >= this.options.refreshAfterMs;
  }

  private async load(ref: RefName): Promise<KnownState | null> {
    const record = await this.options.store.get(repositoryKey(ref), ref.branch);
    const present = this.known.get(refKey(ref));
    if (present !== undefined || record === null || "goneAtMs" in record) return present ?? null;
    const state: KnownState = {
      ref,
      check: {
        commit: record.commit,
        askedAtMs: record.askedAtMs,
        freshMs: this.options.freshMs,
        wantedAtMs: 0,
      },
      rootTreeId: record.rootTreeId,
      memo: record.memo,
      previous: record.previous,
      checkedHere: false,
      triedAtMs: 0,
    };
    this.known.set(refKey(ref), state);
    return state;
  }

  private async check(ref: RefName, signal: AbortSignal): Promise<Outcome> {
    const { source, backoff } = this.options;
    const repository = repositoryKey(ref);
    const state = this.known.get(refKey(ref));
    // Who came while the check before was on its way finds its answer here.
    if (state !== undefined && this.isFresh(state) && !this.isDue(state)) {
      return { state, freshness: "hit" };
    }
    const remembered = backoff.remembered(repository);
    if (remembered !== null) return await this.standIn(state, { ref, failure: remembered });
    const askedAtMs = this.now();
    if (state !== undefined) state.triedAtMs = askedAtMs;
    let denied: GoneRecord | null = null;
    try {
      const found = await source.resolve({
        ...ref,
        ...(state === undefined ? {} : { known: { commit: state.check.commit, memo: state.memo } }),
        denied: (error) => {
          denied = goneRecord(error, { goneAtMs: askedAtMs, isCertain: false });
        },
      }, { signal, miss() {} });
      backoff.succeeded(repository, { source: true });
      return this.take(found, { ref, state, askedAtMs });
    } catch (error) {
      const gone = goneRecord(error, { goneAtMs: askedAtMs, isCertain: true });
      if (gone !== null) {
        backoff.succeeded(repository, { source: true });
        await this.withdraw(state, { ref, gone });
        return { gone };
      }
      if (denied !== null) await this.withdraw(state, { ref, gone: denied });
      if (!isSourceFailure(error)) throw error;
      // A spent quota is remembered where tokens are chosen, with its own time.
      if (error.code !== "source-rate-limited") {
        backoff.failed(repository, error, { owner: ref.owner });
      }
      if (denied !== null) throw error;
      return await this.standIn(state, { ref, failure: error });
    }
  }

  private take(
    found: Snapshot,
    { ref, state, askedAtMs }: { ref: RefName; state: KnownState | undefined; askedAtMs: number },
  ): Outcome {
    const freshness = state === undefined
      ? "miss"
      : found.commit === state.check.commit
      ? "revalidated"
      : "moved";
    const next: KnownState = state ?? {
      ref,
      check: {
        commit: found.commit,
        askedAtMs,
        freshMs: this.options.freshMs,
        wantedAtMs: askedAtMs,
      },
      rootTreeId: found.rootTreeId,
      memo: found.memo ?? "",
      previous: undefined,
      checkedHere: true,
      triedAtMs: askedAtMs,
    };
    if (freshness === "moved") next.previous = stateOf(next);
    next.check.commit = found.commit;
    next.check.askedAtMs = askedAtMs;
    next.checkedHere = true;
    next.rootTreeId = found.rootTreeId;
    next.memo = found.memo ?? "";
    this.known.set(refKey(ref), next);
    this.withdrawals.forget(ref);
    this.options.store.set(repositoryKey(ref), ref.branch, {
      ...stateOf(next),
      ...(next.previous === undefined ? {} : { previous: next.previous }),
    });
    return { state: next, freshness };
  }

  private async withdraw(
    state: KnownState | undefined,
    { ref, gone }: { ref: RefName; gone: GoneRecord },
  ): Promise<void> {
    this.known.delete(refKey(ref));
    // What was made from this ref and is looked up by its check must see that it is over.
    if (state !== undefined) state.check.askedAtMs = 0;
    await this.withdrawals.note(ref, { gone, wasKnown: state !== undefined });
  }

  /** The older answer for a failing source, or the failure where there is none that may be given. */
  private async standIn(
    state: KnownState | undefined,
    { ref, failure }: { ref: RefName; failure: CollectionsError },
  ): Promise<Outcome> {
    if (state === undefined || !this.mayStandIn(state.check)) throw failure;
    const gone = await this.withdrawals.since(ref, state.check.askedAtMs);
    if (gone === null) return { state, freshness: "stale" };
    if (!gone.isCertain) throw failure;
    return { gone };
  }

  private mayStandIn({ askedAtMs }: { readonly askedAtMs: number }): boolean {
    return this.now() - askedAtMs < STALE_FOR_MS;
  }

  private snapshot(
    state: KnownState,
    { ref, freshness }: { ref: RefName; freshness: Freshness },
  ): Snapshot {
    const common = { name: { owner: ref.owner, repo: ref.repo }, branch: ref.branch };
    const { previous } = state;
    const now: Snapshot = { ...common, ...stateOf(state), check: state.check, freshness };
    if (previous === undefined || !this.mayStandIn(previous)) return now;
    const check = { ...state.check, commit: previous.commit, askedAtMs: previous.askedAtMs };
    return { ...now, previous: { ...common, ...previous, check, freshness: "stale" } };
  }

  private now(): number {
    return this.options.now();
  }
}

function stateOf(state: KnownState): RefState {
  return {
    commit: state.check.commit,
    rootTreeId: state.rootTreeId,
    askedAtMs: state.check.askedAtMs,
    memo: state.memo,
  };
}
