// The tokens of one GitHub host: which to use next, which are out of quota or refused. A token is named by its place
// in the list; its characters go into the Authorization header and nowhere else.

import { createHash } from "node:crypto";
import { sourceRateLimited } from "../errors.ts";
import type { Log } from "../log.ts";

/** GitHub counts the REST API and GraphQL apart. */
export type Quota = "core" | "graphql";

/** One way to ask GitHub. `place` counts from 1; 0 is the way without a token. */
export interface Token {
  readonly place: number;
  readonly secret: string | null;
  /** Tells whose validator an ETag is, across restarts, without telling the token. */
  readonly fingerprint: string;
}

interface QuotaState {
  remaining: number;
  resetAtMs: number;
}

interface TokenState {
  readonly token: Token;
  readonly quotas: Record<Quota, QuotaState>;
  blockedUntilMs: number;
  refused: boolean;
}

const MAX_WAIT_MS = 24 * 3_600_000;
const UNKNOWN = Number.MAX_SAFE_INTEGER;

/** Chooses tokens by the quota that is left (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api). */
export class TokenPool {
  private readonly states: TokenState[];
  private readonly anonymous: TokenState;

  constructor(
    secrets: readonly string[],
    private readonly options: { now: () => number; log: Log },
  ) {
    this.states = secrets.map((secret, index) => newState(index + 1, secret));
    this.anonymous = newState(0, null);
  }

  /** Whether requests carry a token: one was given and not all are refused. */
  get hasToken(): boolean {
    return this.states.some((state) => !state.refused);
  }

  /**
   * The token to use: the one with this fingerprint while it has quota, else the one with most quota left.
   * @throws {CollectionsError} source-rate-limited when the quota of the last is spent.
   */
  choose(quota: Quota, fingerprint?: string): Token {
    const now = this.options.now();
    const usable = this.usable();
    let best: TokenState | null = null;
    for (const state of usable) {
      if (readyAtMs(state, quota, now) > now) continue;
      if (state.token.fingerprint === fingerprint) return state.token;
      if (best === null || left(state, quota, now) > left(best, quota, now)) best = state;
    }
    if (best !== null) return best.token;
    const waitMs = Math.min(...usable.map((state) => readyAtMs(state, quota, now))) - now;
    throw sourceRateLimited(
      `Cannot ask GitHub: the ${quota} quota is spent`,
      Math.ceil(waitMs / 1000),
    );
  }

  /** Takes over what an answer's `x-ratelimit-*` headers say. */
  note(token: Token, quota: Quota, headers: Headers): void {
    const remaining = Number(headers.get("x-ratelimit-remaining") ?? NaN);
    const resetAtMs = Number(headers.get("x-ratelimit-reset") ?? NaN) * 1000;
    if (!Number.isFinite(remaining) || !Number.isFinite(resetAtMs)) return;
    this.state(token).quotas[quota] = { remaining, resetAtMs: this.believed(resetAtMs) };
  }

  /** Stops one token until a time: for one quota, or for everything (a secondary limit). */
  limit(token: Token, until: number, quota?: Quota): void {
    const untilMs = this.believed(until);
    const state = this.state(token);
    if (quota === undefined) state.blockedUntilMs = Math.max(state.blockedUntilMs, untilMs);
    else state.quotas[quota] = { remaining: 0, resetAtMs: untilMs };
    this.options.log.warn("token limited", {
      token: token.place,
      seconds: this.secondsUntil(untilMs),
    });
  }

  /** Sets a token aside that GitHub refused (401), until the next start. */
  refuse(token: Token): void {
    const state = this.state(token);
    if (state.refused) return;
    state.refused = true;
    this.options.log.error("token refused", { token: token.place, of: this.states.length });
    if (!this.hasToken) this.options.log.error("all tokens refused, going on without a token");
  }

  /** The quota left over all tokens in use, or null while no answer has told it. */
  remaining(quota: Quota): number | null {
    const now = this.options.now();
    const known = this.usable().map((state) => left(state, quota, now)).filter((n) =>
      n !== UNKNOWN
    );
    return known.length === 0 ? null : known.reduce((sum, n) => sum + n, 0);
  }

  /** A time that a header gave, as far as it is believed. */
  private believed(atMs: number): number {
    return Math.min(atMs, this.options.now() + MAX_WAIT_MS);
  }

  private usable(): TokenState[] {
    const accepted = this.states.filter((state) => !state.refused);
    return accepted.length > 0 ? accepted : [this.anonymous];
  }

  private state(token: Token): TokenState {
    return token.place === 0 ? this.anonymous : this.states[token.place - 1]!;
  }

  private secondsUntil(ms: number): number {
    return Math.ceil((ms - this.options.now()) / 1000);
  }
}

function newState(place: number, secret: string | null): TokenState {
  const fingerprint = secret === null
    ? "none"
    : createHash("sha256").update(`validator of ${secret}`).digest("hex").slice(0, 12);
  const quota = () => ({ remaining: UNKNOWN, resetAtMs: 0 });
  return {
    token: { place, secret, fingerprint },
    quotas: { core: quota(), graphql: quota() },
    blockedUntilMs: 0,
    refused: false,
  };
}

function left(state: TokenState, quota: Quota, now: number): number {
  const { remaining, resetAtMs } = state.quotas[quota];
  return now >= resetAtMs ? UNKNOWN : remaining;
}

function readyAtMs(state: TokenState, quota: Quota, now: number): number {
  const { resetAtMs } = state.quotas[quota];
  return Math.max(state.blockedUntilMs, left(state, quota, now) > 0 ? 0 : resetAtMs);
}
