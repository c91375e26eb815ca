// Which commit is this ref at? The one question that is asked again and again. The rule: no answer rests on a check
// that is older than its fresh time, unless the source has just failed; what the source withdrew is never given.

import { LRUCache } from "lru-cache";
import { SingleFlight } from "../cache/single_flight.ts";
import {
  CollectionsError,
  isSourceFailure,
  repositoryBlocked,
  repositoryEmpty,
  repositoryNotFound,
} from "../errors.ts";
import type { Backoff } from "./backoff.ts";
import { type RefState, type RefStore, STALE_FOR_MS } from "./ref_store.ts";
import type {
  Caller,
  Freshness,
  RefCheck,
  RefQuestion,
  Repository,
  RepositoryName,
  Snapshot,
} from "./repository.ts";

/** A ref that is known: its live check, which every snapshot of it shares, and what the source needs again. */
interface KnownState {
  readonly name: RepositoryName;
  readonly branch: string;
  readonly check: RefCheck;
  rootTreeId: string;
  memo: string;
  previous: RefState | undefined;
  /** Whether this process checked it; what another one checked is good only for when the source fails. */
  checkedHere: boolean;
}

interface Gone {
  readonly error: CollectionsError;
  readonly askedAtMs: number;
}

type Outcome = { state: KnownState; freshness: Freshness } | { gone: CollectionsError };

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
/** Fewer, since each holds an error with its stack. */
const MAX_GONE = 5_000;
/** The codes that are answers of the source and not failures of it. */
const ANSWERS: ReadonlySet<string> = new Set([
  "repository-not-found",
  "repository-empty",
  "repository-blocked",
  "branch-not-found",
]);
const WITHDRAWN: ReadonlySet<string> = new Set(["repository-not-found", "repository-blocked"]);

/** The key of a repository in every cache: names compare without case. */
export function repositoryKey(name: RepositoryName): string {
  return `${name.owner}/${name.repo}`.toLowerCase();
}

/** Checks refs, at most once per fresh time each, and tells what is known in between. */
export class RefChecks {
  private readonly known = new LRUCache<string, KnownState>({ max: MAX_REFS });
  private readonly gone = new LRUCache<string, Gone>({ max: MAX_GONE });
  private readonly flights = new SingleFlight<Outcome>();

  constructor(private readonly options: RefChecksOptions) {}

  /** The snapshot of a ref, by the rule above. @throws {CollectionsError} as {@linkcode Repository.resolve}. */
  async resolve(
    question: RefQuestion & { readonly branch: string },
    caller: Caller,
  ): Promise<Snapshot> {
    const repository = repositoryKey(question);
    const key = `${repository}\n${question.branch}`;
    const now = this.now();
    const gone = this.gone.get(key);
    if (gone !== undefined && now - gone.askedAtMs < this.options.freshMs) {
      throw echoed(gone.error, question);
    }
    const state = this.known.get(key) ?? await this.load(key, question);
    if (state === null) caller.miss({ joined: this.flights.has(key) });
    else if (this.isFresh(state)) {
      state.check.wantedAtMs = now;
      return snapshotOf(state, question, "hit");
    }
    const outcome = await this.flights.run(
      key,
      (signal) => this.check(key, question, signal),
      caller,
    );
    if ("gone" in outcome) throw echoed(outcome.gone, question);
    outcome.state.check.wantedAtMs = Math.max(now, outcome.state.check.wantedAtMs);
    return snapshotOf(outcome.state, question, outcome.freshness);
  }

  /** Checks, ahead of need, every ref that was wanted since its last check and is due. Never throws. */
  async refreshDue(): Promise<void> {
    const due: Promise<unknown>[] = [];
    for (const [key, state] of this.known.entries()) {
      if (state.check.wantedAtMs <= state.check.askedAtMs || !this.isDue(state)) continue;
      if (this.options.backoff.remembered(repositoryKey(state.name)) !== null) continue;
      const question = { ...state.name, branch: state.branch };
      due.push(
        this.flights.run(key, (signal) => this.check(key, question, signal)).catch(() => {}),
      );
    }
    await Promise.all(due);
  }

  private isFresh(state: KnownState): boolean {
    const ageMs = this.now() - state.check.askedAtMs;
    // A negative age is that of a clock that was set back, and says nothing.
    return state.checkedHere && ageMs >= 0 && ageMs < this.options.freshMs;
  }

  private isDue(state: KnownState): boolean {
    return this.now() - state.check.askedAtMs >= this.options.refreshAfterMs;
  }

  private async load(
    key: string,
    question: RefQuestion & { branch: string },
  ): Promise<KnownState | null> {
    const record = await this.options.store.get(repositoryKey(question), question.branch);
    const present = this.known.get(key);
    if (present !== undefined || record === null || "goneAtMs" in record) return present ?? null;
    const state: KnownState = {
      name: { owner: question.owner, repo: question.repo },
      branch: question.branch,
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
    };
    this.known.set(key, state);
    return state;
  }

  private async check(
    key: string,
    question: RefQuestion & { branch: string },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { source, backoff } = this.options;
    const repository = repositoryKey(question);
    const state = this.known.get(key);
    // Who came while the check before was on its way finds its answer here.
    if (state !== undefined && this.isFresh(state) && !this.isDue(state)) {
      return { state, freshness: "hit" };
    }
    const remembered = backoff.remembered(repository);
    if (remembered !== null) return await this.standIn(state, question, remembered);
    const askedAtMs = this.now();
    try {
      const found = await source.resolve({
        ...question,
        ...(state === undefined ? {} : { known: { commit: state.check.commit, memo: state.memo } }),
      }, { signal, miss() {} });
      backoff.succeeded(repository, { source: true });
      return this.take(key, question, { found, state, askedAtMs });
    } catch (error) {
      if (error instanceof CollectionsError && ANSWERS.has(error.code)) {
        backoff.succeeded(repository, { source: true });
        this.withdraw(key, question, { error, askedAtMs });
        return { gone: error };
      }
      if (!isSourceFailure(error)) throw error;
      // A spent quota is remembered where tokens are chosen, with its own time.
      if (error.code !== "source-rate-limited") {
        backoff.failed(repository, error, { owner: question.owner });
      }
      return await this.standIn(state, question, error);
    }
  }

  private take(
    key: string,
    question: RefQuestion & { branch: string },
    { found, state, askedAtMs }: {
      found: Snapshot;
      state: KnownState | undefined;
      askedAtMs: number;
    },
  ): Outcome {
    const freshness = state === undefined
      ? "miss"
      : found.commit === state.check.commit
      ? "revalidated"
      : "moved";
    const next: KnownState = state ?? {
      name: { owner: question.owner, repo: question.repo },
      branch: question.branch,
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
    };
    if (freshness === "moved") next.previous = stateOf(next);
    next.check.commit = found.commit;
    next.check.askedAtMs = askedAtMs;
    next.checkedHere = true;
    next.rootTreeId = found.rootTreeId;
    next.memo = found.memo ?? "";
    this.known.set(key, next);
    this.gone.delete(key);
    this.options.store.set(repositoryKey(question), question.branch, {
      ...stateOf(next),
      ...(next.previous === undefined ? {} : { previous: next.previous }),
    });
    return { state: next, freshness };
  }

  private withdraw(
    key: string,
    question: RefQuestion & { branch: string },
    gone: Gone,
  ): void {
    const repository = repositoryKey(question);
    const wasKnown = this.known.get(key);
    this.known.delete(key);
    this.gone.set(key, gone);
    // Nothing is written for what was never there, so that a scan of names fills no disk.
    if (wasKnown === undefined) return;
    // What was made from this ref and is looked up by its check must see that it is over.
    wasKnown.check.askedAtMs = 0;
    this.options.store.set(repository, question.branch, { goneAtMs: gone.askedAtMs });
    if (WITHDRAWN.has(gone.error.code)) this.options.store.setGone(repository, gone.askedAtMs);
  }

  /** The older answer for a failing source, or the failure where there is none that may be given. */
  private async standIn(
    state: KnownState | undefined,
    question: RefQuestion & { branch: string },
    failure: CollectionsError,
  ): Promise<Outcome> {
    if (state === undefined || this.now() - state.check.askedAtMs >= STALE_FOR_MS) throw failure;
    const goneAtMs = await this.options.store.goneAtMs(repositoryKey(question), question.branch);
    if (goneAtMs !== null && goneAtMs > state.check.askedAtMs) {
      return { gone: repositoryNotFound(question.owner, question.repo) };
    }
    return { state, freshness: "stale" };
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

function snapshotOf(
  state: KnownState,
  question: RefQuestion & { branch: string },
  freshness: Freshness,
): Snapshot {
  const common = { name: { owner: question.owner, repo: question.repo }, branch: question.branch };
  const { previous } = state;
  const now: Snapshot = {
    ...common,
    ...stateOf(state),
    check: state.check,
    freshness,
  };
  if (previous === undefined) return now;
  const check = { ...state.check, commit: previous.commit, askedAtMs: previous.askedAtMs };
  return { ...now, previous: { ...common, ...previous, check, freshness: "stale" } };
}

/** The same error for someone who spelled the name in another way: a body echoes its own caller. */
function echoed(error: CollectionsError, { owner, repo }: RepositoryName): CollectionsError {
  if (error.code === "repository-not-found") return repositoryNotFound(owner, repo);
  if (error.code === "repository-empty") return repositoryEmpty(owner, repo);
  if (error.code === "repository-blocked") return repositoryBlocked(owner, repo);
  return error;
}
