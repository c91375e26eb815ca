// Finds the commit that a ref names. A snapshot never relies on a check older
// than the fresh time unless the source has just failed. A ref with a tombstone
// is never served. Concurrent requests share a check so that at most one check
// per ref is under way. No client's disconnect aborts it.

import pLimit from "p-limit";
import type { KvTier } from "../cache/kv_tier.ts";
import { jsonCodec } from "../cache/object_cache.ts";
import { type Clock, orAborted, yieldToEventLoop } from "../work/clock.ts";
import { CollectionsError, problem } from "../errors.ts";
import { RecentMap } from "../work/recent_map.ts";
import { SingleFlight } from "../work/single_flight.ts";
import { consequencesOf, isCheckFailure } from "./source_failure.ts";
import type { SourceRetries } from "./source_retries.ts";
import {
  AHEAD_CLIENT,
  backgroundContext,
  FRESH_FOR_MS,
  type Freshness,
  HELD_FOR_MS,
  refKey,
  type RefName,
  type RefState,
  repositoryKey,
  type RepositoryName,
  type RequestContext,
  resolveCommit,
  type Snapshot,
  type Source,
} from "./source.ts";

/** How long an older state may be served while the source fails. */
const STALE_FOR_MS = 24 * 3_600_000;
const MAX_REFS = 20_000;
/** A ref in use is checked ahead of need after this share of its fresh time. */
const REFRESH_SHARE = 5 / 6;
/** Each check sends one to three requests at once. Their lane has 64 slots. */
const REFRESHED_AT_ONCE = 8;
/** To queue the checks of all refs in one turn would keep requests waiting. */
const CHECKS_A_TURN = 500;
const PUSH_CLIENT = "push";
/**
 * A check of a known ref costs its client this much processor time. That is a
 * quarter of a miss.
 */
const CHECK_MS = 25;

/**
 * Codes of errors about a missing ref or repository. The second pattern matches
 * those that concern a whole repository.
 */
const MISSING = /^(repository-|branch-not-found$)/;
const MISSING_REPOSITORY = /^repository-(not-found|not-allowed|blocked)$/;

/**
 * A stored ref with its last commit and validators. Freshness is not shared
 * because other clocks are not trusted.
 */
type RefRecord = { commit: string; validators: string; checkedAtMs: number };

/** The error with which the source reported a ref or its repository missing. */
interface Tombstone {
  name: RefName;
  code: CollectionsError["code"];
  detail: string;
  /** When the request that found this was sent, in ms since the epoch. */
  atMs: number;
  /**
   * False if the source failed before its response was complete. The known
   * state is then invalid but another may exist.
   */
  isCertain: boolean;
}

/**
 * A known ref. All snapshots of the ref share its live state. The validators
 * belong to the source.
 */
interface KnownRef {
  name: RefName;
  ref: RefState;
  validators: string;
  /**
   * Whether this process checked the ref since it was last reported as changed.
   * If not, the state is served only while the source fails.
   */
  isChecked: boolean;
  /** When a check last began, in ms since the epoch. */
  triedAtMs: number;
  /** Whether its repository was reported as changed since then. */
  isReported: boolean;
}

/** How long a response may be under way before a cache in front holds it. */
const UNDER_WAY_MS = 600_000;
/** Refs that only caches in front request are checked at most this fast. */
const HELD_CHECKS_A_TURN = 5;

/** Caches in front that hold responses for {@linkcode HELD_FOR_MS}. */
export interface Edge {
  /** How often a ref is checked that only such a cache requests. */
  readonly checkEveryMs: number;
  /** Whether the quota allows such a check now. */
  readonly mayCheck: (name: RefName) => boolean;
  /**
   * Called when a known ref moved or is missing. The branch is null if the
   * whole repository is. Processes that find the same change name it alike.
   */
  readonly onMove: (
    name: RepositoryName,
    branch: string | null,
    change?: string,
  ) => void;
}

type CheckedRef = { known: KnownRef; freshness: Freshness };

/** Resolves refs to snapshots. */
export class RefChecks {
  private readonly known = new RecentMap<KnownRef>(MAX_REFS, {
    dispose: ({ name, ref }, _key, reason) => {
      const { edge } = this.options;
      if (!edge || reason !== "evict" || !this.isHeld(ref)) return;
      // Nothing checks the ref any more.
      ref.checkedAtMs = 0;
      edge.onMove(name, name.branch);
    },
  });
  private readonly tombstones = new RecentMap<Tombstone>(MAX_REFS);
  /** Repositories that were found. The store may have records of them. */
  private readonly found = new RecentMap<true>(MAX_REFS);
  /** How often each repository was reported as changed. */
  private readonly changes = new RecentMap<number>(MAX_REFS);
  /** Commits that checks found, with their repositories. */
  private readonly commits = new RecentMap<true>(MAX_REFS);
  private readonly flights = new SingleFlight<CheckedRef>();
  private readonly refreshSlots = pLimit(REFRESHED_AT_ONCE);
  private readonly closing = new AbortController();

  constructor(
    private readonly options: {
      source: Source;
      /** The store of refs and tombstones, or null. */
      kv: KvTier | null;
      retries: SourceRetries;
      clock: Clock;
      /** Whether clients may request commits by their ids. */
      commitIds: boolean;
      /** The caches in front that are purged or null. */
      edge: Edge | null;
    },
  ) {}

  /**
   * Returns the snapshot of a ref.
   * @throws {CollectionsError} what {@linkcode Source.resolve} throws.
   */
  async resolve(name: RefName, context: RequestContext): Promise<Snapshot> {
    const { owner, repo, branch } = name;
    const key = refKey(name);
    const now = this.options.clock.now();
    const requireFound = () => {
      const tombstone = this.tombstones.get(key);
      if (tombstone?.isCertain && this.isRecent(tombstone.atMs)) {
        throw errorOf(tombstone, name);
      }
    };
    requireFound();
    let known = this.known.get(key);
    let freshness: Freshness = "fresh";
    if (known === undefined || !this.isFresh(known)) {
      if (!this.flights.has(key)) {
        context.requireMiss();
        // Most checks send nothing while the source fails.
        if (this.options.retries.refFailure(name) === null) {
          context.charge(CHECK_MS);
        }
      }
      ({ known, freshness } = await this.checked(name, context).catch(
        (error) => {
          // The check may belong to another request that spelled the name
          // otherwise.
          requireFound();
          throw error;
        },
      ));
    }
    const { ref, validators } = known;
    ref.wantedAtMs = now;
    const { commit, checkedAtMs } = ref;
    return {
      name: { owner, repo },
      branch,
      commit,
      ref,
      checkedAtMs,
      freshness,
      validators,
    };
  }

  /**
   * Returns the snapshot of an earlier commit. A commit that a check of the
   * repository found needs no check of its own.
   * @throws {CollectionsError} what {@linkcode Source.resolve} throws.
   */
  readonly at: Source["at"] = async (snapshot, commit, context) => {
    if (this.commits.has(`${repositoryKey(snapshot.name)}\n${commit}`)) {
      return { ...snapshot, commit };
    }
    if (!this.options.commitIds) return null;
    const resolve: Source["resolve"] = ({ owner, repo }) =>
      this.resolve({ owner, repo, branch: commit }, context);
    return await resolveCommit(resolve, snapshot, commit, context);
  };

  /**
   * Checks due refs ahead of need if `mayCheck` allows it. A ref is due if it
   * was requested since its last check began. Refs that caches in front hold
   * are due more seldom. A few checks run at once so that requests do not wait
   * behind very many refs. Never throws.
   */
  async refreshDue(mayCheck: (name: RefName) => boolean): Promise<void> {
    // The refs that are still queued come first.
    if (this.refreshSlots.pendingCount > 0) return;
    const due = this.known.values().filter((known) =>
      known.ref.wantedAtMs > known.triedAtMs && !this.isEarly(known) &&
      this.options.retries.refFailure(known.name) === null &&
      !this.flights.has(refKey(known.name)) &&
      mayCheck(known.name)
    ).take(CHECKS_A_TURN);
    // The refs that were checked least recently come first.
    const held = this.known.rvalues().filter((known) =>
      known !== undefined && this.isHeldDue(known)
    ).take(HELD_CHECKS_A_TURN) as IteratorObject<KnownRef>;
    await this.refreshSlots.map(
      new Set([...due, ...held]),
      ({ name }) => this.checkAhead(name),
    );
  }

  /**
   * Checks every ref of a repository that is in use. Earlier results do not
   * matter and missing refs are included. `repository` is the repository's key.
   * The pushed branch comes first, then the refs requested most recently.
   * A check under way does not count. Calls during a check cause one more check
   * after it. Never throws.
   */
  async recheck(repository: string, pushed: string | null): Promise<void> {
    const change = (this.changes.get(repository) ?? 0) + 1;
    this.changes.set(repository, change);
    const inUse = this.knownIn(repository)
      .filter((known) =>
        this.isRecent(known.ref.wantedAtMs) || this.isFresh(known)
      );
    for (const known of inUse) known.isChecked = false;
    const missing = this.tombstones.values().toArray()
      .filter(({ name, atMs }) =>
        repositoryKey(name) === repository && this.isRecent(atMs)
      );
    const wanted = new Set(inUse.filter(({ ref }) => ref.wantedAtMs > 0));
    // A repository may have very many refs in caches in front. The other ones
    // are due, a few at once.
    for (const known of this.knownIn(repository)) {
      if (!this.isHeld(known.ref)) continue;
      if (known.name.branch === pushed) wanted.add(known);
      else known.isReported = true;
    }
    const rank = ({ name, ref }: KnownRef) =>
      name.branch === pushed ? Infinity : ref.wantedAtMs;
    const first = [...wanted].sort((a, b) => rank(b) - rank(a) || 0);
    // Few at once, because requests for the pushed branch come meanwhile. The
    // next report checks all of them again.
    await pLimit(REFRESHED_AT_ONCE).map(
      [...first, ...missing],
      async ({ name }) => {
        if (change === this.changes.get(repository)) {
          await this.checkAhead(name, PUSH_CLIENT);
        }
      },
    );
  }

  /** Aborts the checks under way. Resolves when they have ended. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.settled();
  }

  readonly settled = () => this.flights.settled();

  private readonly ageMs = (atMs: number) => this.options.clock.now() - atMs;

  private isRecent(atMs: number, share = 1): boolean {
    const ageMs = this.ageMs(atMs);
    // A negative age means that the clock was set back.
    return ageMs >= 0 && ageMs < FRESH_FOR_MS * share;
  }

  private readonly isFresh = ({ isChecked, ref }: KnownRef, share?: number) =>
    isChecked && this.isRecent(ref.checkedAtMs, share);

  /** Whether a cache in front may still hold responses for a ref. */
  private readonly isHeld = ({ wantedAtMs }: RefState) =>
    this.options.edge !== null &&
    this.ageMs(wantedAtMs) < HELD_FOR_MS + UNDER_WAY_MS;

  private readonly isHeldDue = (known: KnownRef) => {
    const { edge, retries } = this.options;
    const { isReported, name, ref, triedAtMs } = known;
    return edge !== null && this.isHeld(ref) &&
      (isReported || this.ageMs(triedAtMs) >= edge.checkEveryMs) &&
      retries.refFailure(name) === null && !this.flights.has(refKey(name)) &&
      edge.mayCheck(name);
  };

  /** Whether another check would be too soon. */
  private readonly isEarly = (known: KnownRef) =>
    this.isFresh(known, REFRESH_SHARE);

  private knownIn(repository: string): KnownRef[] {
    return this.known.values().filter(({ name }) =>
      repositoryKey(name) === repository
    ).toArray();
  }

  private async load(name: RefName): Promise<KnownRef | null> {
    const { record } = await this.readStore(name);
    const known = this.known.get(refKey(name));
    if (known !== undefined || record === null) return known ?? null;
    this.addCommit(name, record, false);
    return this.add(name, record);
  }

  /**
   * Makes the commit of a ref known by its id. A client that continues with
   * that id then needs no other check.
   */
  private addCommit(name: RefName, record: RefRecord, isChecked: boolean) {
    const { commit, checkedAtMs } = record;
    this.commits.set(`${repositoryKey(name)}\n${commit}`, true);
    if (!this.options.commitIds || name.branch === commit) return;
    const byId = { ...name, branch: commit };
    const key = refKey(byId);
    const known = this.known.get(key) ?? this.add(byId, record);
    if (!isChecked) return;
    known.ref.checkedAtMs = Math.max(known.ref.checkedAtMs, checkedAtMs);
    known.isChecked = true;
    this.tombstones.delete(key);
  }

  private add(
    name: RefName,
    { commit, checkedAtMs, validators }: RefRecord,
  ): KnownRef {
    const ref = {
      commit,
      checkedAtMs,
      freshForMs: FRESH_FOR_MS,
      wantedAtMs: 0,
    };
    const known = {
      name,
      ref,
      validators,
      isChecked: false,
      triedAtMs: checkedAtMs,
      isReported: false,
    };
    this.known.set(refKey(name), known);
    return known;
  }

  /** Never throws. */
  private async checkAhead(name: RefName, client = AHEAD_CLIENT) {
    await this.checked(name, backgroundContext(client)).catch(() => {});
  }

  /**
   * Joins the check under way or starts one. Repeats the check if the
   * repository changed during it.
   */
  private async checked(
    name: RefName,
    context: RequestContext,
  ): Promise<CheckedRef> {
    const { client, signal } = context;
    const [key, repository] = keysOf(name);
    let refusal: unknown = null;
    // No client's disconnect aborts a check.
    const shared = this.flights.run(key, async () => {
      const known = this.known.get(key) ?? await this.load(name);
      // Requests that came during the previous check find its result here.
      if (known && this.isEarly(known)) return { known, freshness: "fresh" };
      try {
        if (known === null) context.recordMiss();
      } catch (error) {
        // Other clients may wait for this check too.
        refusal = error;
      }
      for (;;) {
        const changes = this.changes.get(repository);
        const [outcome] = await Promise.allSettled([this.check(name, client)]);
        if (changes !== this.changes.get(repository)) continue;
        if (outcome.status === "fulfilled") return outcome.value;
        throw outcome.reason;
      }
    });
    const checked = await orAborted(shared, signal);
    if (refusal !== null) throw refusal;
    return checked;
  }

  private async check(name: RefName, client: string): Promise<CheckedRef> {
    const { retries, clock, source } = this.options;
    const known = this.known.get(refKey(name));
    const failure = retries.refFailure(name);
    const checkedAtMs = clock.now();
    if (known !== undefined && failure === null) {
      Object.assign(known, { triedAtMs: checkedAtMs, isReported: false });
    }
    const query = {
      ...name,
      ...known &&
        { known: { commit: known.ref.commit, validators: known.validators } },
      ...failure && { failure },
    };
    const resolve = () =>
      source.resolve(query, backgroundContext(client, this.closing.signal));
    try {
      const { commit, validators } = await retries.check(
        name,
        known !== undefined,
        resolve,
      );
      return this.recordFound(name, known, { commit, validators, checkedAtMs });
    } catch (error) {
      const { missing = error } = consequencesOf(error);
      if (
        error !== failure && missing instanceof CollectionsError &&
        MISSING.test(missing.code)
      ) {
        const { code, detail } = missing;
        const isCertain = missing === error;
        await this.recordMissing({
          name,
          code,
          detail,
          atMs: checkedAtMs,
          isCertain,
        });
      } else if (known && isCheckFailure(error)) {
        return await this.staleFallback(known, error);
      }
      throw error;
    }
  }

  private recordFound(
    name: RefName,
    before: KnownRef | undefined,
    record: RefRecord,
  ): CheckedRef {
    const { commit, validators, checkedAtMs } = record;
    const [key, repository] = keysOf(name);
    const known = before ?? this.add(name, record);
    const isMoved = known.ref.commit !== commit;
    if (isMoved) this.options.edge?.onMove(name, name.branch, commit);
    Object.assign(known.ref, { commit, checkedAtMs });
    Object.assign(known, { validators, isChecked: true });
    this.known.set(key, known);
    this.addCommit(name, record, true);
    this.found.set(repository, true);
    this.tombstones.delete(key);
    this.write(["ref", key], record);
    if (before === undefined) return { known, freshness: "new" };
    return { known, freshness: isMoved ? "moved" : "unchanged" };
  }

  /** Resolves when other processes can read the tombstone. */
  private async recordMissing(tombstone: Tombstone) {
    const [key, repository] = keysOf(tombstone.name);
    const known = this.known.get(key);
    const isOfRepository = MISSING_REPOSITORY.test(tombstone.code);
    this.tombstones.set(key, tombstone);
    // Nothing is written for refs that never existed. A scan of names therefore
    // cannot fill the disk.
    if (known === undefined && !this.found.has(repository)) return;
    const lost = isOfRepository
      ? this.knownIn(repository)
      : [known].filter((ref) => ref !== undefined);
    const { edge } = this.options;
    if (isOfRepository && lost.length > 0) {
      edge?.onMove(tombstone.name, null, tombstone.code);
    }
    // Cached responses refer to these states. They now forbid sending them.
    for (const { ref } of lost) ref.checkedAtMs = 0;
    for (const { name, ref } of lost) {
      await yieldToEventLoop();
      // A check may have found it again meanwhile.
      if (ref.checkedAtMs !== 0) continue;
      if (!isOfRepository) edge?.onMove(name, name.branch, tombstone.code);
      this.known.delete(refKey(name));
      this.tombstones.set(refKey(name), { ...tombstone, name });
    }
    if (known !== undefined) this.write(["tombstone", key], tombstone);
    if (isOfRepository) this.write(["tombstone", repository], tombstone);
    await this.options.kv?.flush();
  }

  /**
   * Returns the older state while the source fails.
   * @throws the failure if no older state may be served.
   */
  private async staleFallback(
    known: KnownRef,
    failure: CollectionsError,
  ): Promise<CheckedRef> {
    const { name, ref: { checkedAtMs } } = known;
    if (this.ageMs(checkedAtMs) >= STALE_FOR_MS) throw failure;
    // Another process may have found that the ref is missing.
    const { tombstone } = await this.readStore(name);
    if (tombstone === undefined || tombstone.atMs <= checkedAtMs) {
      return { known, freshness: "stale" };
    }
    throw tombstone.isCertain ? errorOf(tombstone, name) : failure;
  }

  /**
   * Reads the stored state of a ref and its last tombstone at once. A tombstone
   * has its own key so that a process whose check was earlier never overwrites
   * it. It hides older states.
   */
  private async readStore(name: RefName) {
    const [key, repository] = keysOf(name);
    const keys = [["ref", key], ["tombstone", key], ["tombstone", repository]];
    const [stored = null, ...more] = await this.options.kv?.get(keys) ?? [];
    const record: RefRecord | null = stored && jsonCodec.decode(stored);
    const [tombstone] = more.flatMap((bytes): Tombstone[] =>
      bytes && jsonCodec.decode(bytes) || []
    )
      .sort((a, b) => b.atMs - a.atMs);
    const isHidden = record && tombstone && tombstone.atMs > record.checkedAtMs;
    return { record: isHidden ? null : record, tombstone };
  }

  private write(key: string[], value: RefRecord | Tombstone) {
    this.options.kv?.set(key, jsonCodec.encode(value), {
      ttlMs: STALE_FOR_MS,
      isEssential: true,
    });
  }
}

/** Returns the key of a ref and the key of its repository. */
const keysOf = (name: RefName) => [refKey(name), repositoryKey(name)] as const;

/** The error names the repository as the request spelled it. */
const errorOf = ({ code, detail }: Tombstone, { owner, repo }: RefName) =>
  code === "branch-not-found"
    ? new CollectionsError(code, detail)
    : problem(code as "repository-empty", { owner, repo });
