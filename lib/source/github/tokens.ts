// The tokens of one GitHub host: which to use next, which are out of quota or refused. A log line names a token by its
// place in the list; its characters go into the Authorization header and nowhere else. No wait is longer than GitHub's
// windows of an hour.

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { sourceRateLimited } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { MAX_WAIT_MS } from "../failure_backoff.ts";

/** GitHub counts the REST API and GraphQL separately, and the raw host limits addresses. */
export type Quota = "core" | "graphql" | "raw";

type TokenState = ReturnType<typeof newState>;
/** One token. `place` counts from 1; 0 stands for requests without a token. */
export type Token = TokenState["token"];

const UNKNOWN = Number.MAX_SAFE_INTEGER;

/** Chooses tokens by the quota that is left (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api). */
export class TokenPool {
  private readonly states: readonly TokenState[];
  private readonly anonymous = newState(null, -1);

  constructor(
    secrets: readonly string[],
    private readonly options: { readonly clock: Clock; readonly log: Log },
  ) {
    this.states = secrets.map(newState);
  }

  /** Whether one was given and not all are refused. */
  get hasToken(): boolean {
    return this.states.some(({ isRefused }) => !isRefused);
  }

  /**
   * The token with this fingerprint while it has quota, else the one with most quota left.
   * @throws {CollectionsError} source-rate-limited when the quota of the last is spent.
   */
  choose(quota: Quota, fingerprint?: string): Token {
    const now = this.now();
    const usable = this.usable(quota);
    const ready = usable.filter((state) => left(state, quota, now) > 0)
      .sort((a, b) => left(b, quota, now) - left(a, quota, now));
    const best = ready.find(({ token }) => token.fingerprint === fingerprint) ?? ready[0];
    if (best !== undefined) return best.token;
    const waitMs = Math.min(...usable.map(({ quotas }) => quotas[quota].resetAtMs)) - now;
    const message = `Cannot send a request to GitHub: the ${quota} quota is spent`;
    throw sourceRateLimited(message, Math.ceil(waitMs / 1000));
  }

  /** Records the `x-ratelimit-*` headers of an answer. */
  note(token: Token, quota: Quota, headers: Headers): void {
    const state = this.state(token).quotas[quota];
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
  limit(token: Token, waitMs: number, quota: Quota | "api"): void {
    const { quotas } = this.state(token);
    const untilMs = this.now() + bounded(waitMs);
    for (const state of quota === "api" ? [quotas.core, quotas.graphql] : [quotas[quota]]) {
      state.resetAtMs = Math.max(state.remaining === 0 ? state.resetAtMs : 0, untilMs);
      state.remaining = 0;
    }
    const seconds = Math.ceil(bounded(waitMs) / 1000);
    this.options.log.warn("token limited", { token: token.place, seconds });
  }

  /** Sets a token aside that GitHub refused (401), until the next start. */
  refuse(token: Token): void {
    const state = this.state(token);
    if (state.isRefused) return;
    state.isRefused = true;
    this.options.log.error("token refused", { token: token.place, of: this.states.length });
    if (!this.hasToken) this.options.log.error("all tokens refused, continuing without a token");
  }

  /** The quota left over all tokens in use, or null before the first answer that states it. */
  remaining(quota: Quota): number | null {
    const now = this.now();
    const known = this.usable(quota).map((state) => left(state, quota, now))
      .filter((count) => count !== UNKNOWN);
    return known.length === 0 ? null : known.reduce((sum, count) => sum + count);
  }

  private readonly now = () => this.options.clock.monotonicMs();

  private usable(quota: Quota): readonly TokenState[] {
    if (quota === "raw" || !this.hasToken) return [this.anonymous];
    return this.states.filter(({ isRefused }) => !isRefused);
  }

  private state(token: Token): TokenState {
    return this.states[token.place - 1] ?? this.anonymous;
  }
}

function newState(secret: string | null, index: number) {
  // Identifies the token of an ETag, across restarts, without revealing the token.
  const fingerprint = secret === null
    ? "none"
    : createHash("sha256").update(`validator of ${secret}`).digest("hex").slice(0, 12);
  const quota = () => ({
    remaining: UNKNOWN,
    /** By `clock.monotonicMs()`, so a jump of the wall clock changes no wait. */
    resetAtMs: 0,
  });
  const token = { place: index + 1, secret, fingerprint } as const;
  return { token, isRefused: false, quotas: { core: quota(), graphql: quota(), raw: quota() } };
}

const bounded = (waitMs: number) => Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);

function left({ quotas }: TokenState, quota: Quota, now: number): number {
  const { remaining, resetAtMs } = quotas[quota];
  return now >= resetAtMs ? UNKNOWN : remaining;
}
