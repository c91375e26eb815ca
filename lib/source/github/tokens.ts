// The tokens of one GitHub host: which to use next, which are out of quota or refused. A log line names a token by its
// place in the list; its characters go into the Authorization header and nowhere else. No wait is longer than GitHub's
// windows of an hour, and the first request after a wait goes alone: the others wait for its answer.

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { sourceRateLimited } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { MAX_WAIT_MS } from "../failure_backoff.ts";

/** GitHub counts the REST API and GraphQL separately, and the raw host limits addresses. */
export type Quota = "core" | "graphql" | "raw";

/** One token, or none, with what is left of its quotas. */
export type Token = ReturnType<typeof newToken>;

const UNKNOWN = Number.MAX_SAFE_INTEGER;

/** Chooses tokens by the quota that is left (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api). */
export class TokenPool {
  private readonly tokens: readonly Token[];
  private readonly anonymous = newToken(null, -1);

  constructor(
    secrets: readonly string[],
    private readonly options: { readonly clock: Clock; readonly log: Log },
  ) {
    this.tokens = secrets.map(newToken);
  }

  /** Whether one was given and not all are refused. */
  get hasToken(): boolean {
    return this.tokens.some(({ isRefused }) => !isRefused);
  }

  /**
   * The token with this fingerprint while it has quota, else the one with most quota left; to be given back by `release`.
   * @throws {CollectionsError} source-rate-limited when the quota of the last is spent.
   */
  async choose(quota: Quota, fingerprint?: string): Promise<Token> {
    while (true) {
      const now = this.now();
      const usable = this.usable(quota);
      const ready = usable.filter((token) => left(token, quota, now) > 0);
      if (ready.length === 0) {
        const waitMs = Math.min(...usable.map(({ quotas }) => quotas[quota].resetAtMs)) - now;
        const message = `Cannot send a request to GitHub: the ${quota} quota is spent`;
        throw sourceRateLimited(message, Math.ceil(waitMs / 1000));
      }
      const free = ready.filter(({ quotas }) => quotas[quota].probe === null);
      const best = free.find((token) => token.fingerprint === fingerprint) ??
        free.toSorted((a, b) => left(b, quota, now) - left(a, quota, now))[0];
      if (best !== undefined) {
        const state = best.quotas[quota];
        if (state.remaining === 0) state.probe = Promise.withResolvers();
        return best;
      }
      await ready[0]!.quotas[quota].probe?.promise;
    }
  }

  /** Returns a chosen token. `isOver`: whether the wait is over, and what waits for this request is sent. */
  release(token: Token, quota: Quota, isOver: boolean): void {
    const state = token.quotas[quota];
    if (state.probe === null) return;
    if (isOver && this.now() >= state.resetAtMs) state.remaining = UNKNOWN;
    state.probe.resolve();
    state.probe = null;
  }

  /** Records the `x-ratelimit-*` headers of an answer. */
  note(token: Token, quota: Quota, headers: Headers): void {
    const state = token.quotas[quota];
    const number = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
    const remaining = number("remaining");
    const resetMs = number("reset") * 1000 - this.options.clock.now();
    // An answer that was under way when a limit came does not lift it.
    const isStopped = state.remaining === 0 && this.now() < state.resetAtMs;
    if (isStopped || !Number.isFinite(remaining) || !Number.isFinite(resetMs)) return;
    state.remaining = remaining;
    state.resetAtMs = this.now() + bounded(resetMs);
  }

  /** Stops one token for a time, at most an hour: for one quota, or for the whole API (a secondary limit). */
  limit({ place, quotas }: Token, waitMs: number, quota: Quota | "api"): void {
    const untilMs = this.now() + bounded(waitMs);
    for (const state of quota === "api" ? [quotas.core, quotas.graphql] : [quotas[quota]]) {
      state.resetAtMs = Math.max(state.remaining === 0 ? state.resetAtMs : 0, untilMs);
      state.remaining = 0;
    }
    const seconds = Math.ceil(bounded(waitMs) / 1000);
    this.options.log.warn("token limited", { token: place, seconds });
  }

  /** Sets a token aside that GitHub refused (401), until the next start. */
  refuse(token: Token): void {
    const { log } = this.options;
    if (token.isRefused) return;
    token.isRefused = true;
    log.error("token refused", { token: token.place, of: this.tokens.length });
    if (!this.hasToken) log.error("all tokens refused, continuing without a token");
  }

  /** The quota left over all tokens in use, or null before the first answer that states it. */
  remaining(quota: Quota): number | null {
    const now = this.now();
    const known = this.usable(quota).map((token) => left(token, quota, now))
      .filter((count) => count !== UNKNOWN);
    return known.length === 0 ? null : known.reduce((sum, count) => sum + count);
  }

  private now(): number {
    return this.options.clock.monotonicMs();
  }

  private usable(quota: Quota): readonly Token[] {
    if (quota === "raw" || !this.hasToken) return [this.anonymous];
    return this.tokens.filter(({ isRefused }) => !isRefused);
  }
}

function newToken(secret: string | null, index: number) {
  const fingerprint = secret === null
    ? "none"
    : createHash("sha256").update(`validator of ${secret}`).digest("hex").slice(0, 12);
  const quota = () => ({
    /** 0 until a request after the wait is answered. */
    remaining: UNKNOWN,
    /** By `clock.monotonicMs()`, so a jump of the wall clock changes no wait. */
    resetAtMs: 0,
    /** The first request after the wait. */
    probe: null as PromiseWithResolvers<void> | null,
  });
  return {
    /** Counts from 1; 0 stands for requests without a token. */
    place: index + 1,
    secret,
    /** Identifies the token of an ETag, across restarts, without revealing the token. */
    fingerprint,
    isRefused: false,
    quotas: { core: quota(), graphql: quota(), raw: quota() },
  };
}

function bounded(waitMs: number): number {
  return Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);
}

function left({ quotas }: Token, quota: Quota, now: number): number {
  const { remaining, resetAtMs } = quotas[quota];
  return now >= resetAtMs ? UNKNOWN : remaining;
}
