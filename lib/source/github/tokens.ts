// The tokens of one GitHub host: which to use next, which are out of quota or refused. A log line names a token by its
// place in the list; its characters go into the Authorization header and nowhere else.

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { sourceRateLimited } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { MAX_WAIT_MS } from "../failure_backoff.ts";

/** GitHub counts the REST API and GraphQL separately. */
export type Quota = "core" | "graphql";

/** One way to send requests to GitHub. `place` counts from 1; 0 is the way without a token. */
export interface Token {
  readonly place: number;
  readonly secret: string | null;
  /** Tells which token an ETag belongs to, across restarts, without telling the token. */
  readonly fingerprint: string;
}

/** All times are by `clock.monotonicMs()`, so a jump of the wall clock changes no wait. */
interface QuotaState {
  remaining: number;
  resetAtMs: number;
}

interface TokenState {
  readonly token: Token;
  readonly quotas: Record<Quota, QuotaState>;
  blockedUntilMs: number;
  /** Whether a limit was met since the last answer: then the first request after the wait goes alone. */
  needsProbe: boolean;
  /** Ends with that request; the others wait for it. */
  probe: PromiseWithResolvers<void> | null;
  refused: boolean;
}

const UNKNOWN = Number.MAX_SAFE_INTEGER;

/** Chooses tokens by the quota that is left (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api). */
export class TokenPool {
  private readonly states: TokenState[];
  private readonly anonymous: TokenState;

  constructor(
    secrets: readonly string[],
    private readonly options: { readonly clock: Clock; readonly log: Log },
  ) {
    this.states = secrets.map((secret, index) => newState(index + 1, secret));
    this.anonymous = newState(0, null);
  }

  /** Whether requests carry a token: one was given and not all are refused. */
  get hasToken(): boolean {
    return this.states.some((state) => !state.refused);
  }

  /**
   * The token to use: the one with this fingerprint while it has quota, else the one with most quota left. Every
   * chosen token must be given back with {@linkcode TokenPool.release}.
   * @throws {CollectionsError} source-rate-limited when the quota of the last is spent.
   */
  async choose(quota: Quota, fingerprint?: string): Promise<Token> {
    while (true) {
      const now = this.now();
      const usable = this.usable();
      const ready = usable.filter((state) => readyAtMs(state, quota, now) <= now);
      if (ready.length === 0) {
        const waitMs = Math.min(...usable.map((state) => readyAtMs(state, quota, now))) - now;
        throw sourceRateLimited(
          `Cannot send a request to GitHub: the ${quota} quota is spent`,
          Math.ceil(waitMs / 1000),
        );
      }
      const free = ready.filter((state) => state.probe === null);
      const best = free.find((state) => state.token.fingerprint === fingerprint) ??
        free.toSorted((a, b) => left(b, quota, now) - left(a, quota, now))[0];
      if (best !== undefined) {
        if (best.needsProbe) best.probe = Promise.withResolvers();
        return best.token;
      }
      await ready[0]!.probe?.promise;
    }
  }

  /** Gives a chosen token back. `answered`: GitHub answered, and not with a limit. */
  release(token: Token, { answered }: { readonly answered: boolean }): void {
    const state = this.state(token);
    if (state.probe === null) return;
    if (answered) state.needsProbe = false;
    state.probe.resolve();
    state.probe = null;
  }

  /** Takes over what an answer's `x-ratelimit-*` headers say. */
  note(token: Token, quota: Quota, headers: Headers): void {
    const remaining = Number(headers.get("x-ratelimit-remaining") ?? NaN);
    const resetMs = Number(headers.get("x-ratelimit-reset") ?? NaN) * 1000 -
      this.options.clock.now();
    if (!Number.isFinite(remaining) || !Number.isFinite(resetMs)) return;
    const state = this.state(token);
    state.quotas[quota] = { remaining, resetAtMs: this.now() + bounded(resetMs) };
    if (remaining === 0) state.needsProbe = true;
  }

  /** Stops one token for a time, at most an hour: for one quota, or for everything (a secondary limit). */
  limit(token: Token, waitMs: number, quota?: Quota): void {
    const untilMs = this.now() + bounded(waitMs);
    const state = this.state(token);
    if (quota === undefined) state.blockedUntilMs = Math.max(state.blockedUntilMs, untilMs);
    else state.quotas[quota] = { remaining: 0, resetAtMs: untilMs };
    state.needsProbe = true;
    this.options.log.warn("token limited", {
      token: token.place,
      seconds: Math.ceil(bounded(waitMs) / 1000),
    });
  }

  /** Sets a token aside that GitHub refused (401), until the next start. */
  refuse(token: Token): void {
    const state = this.state(token);
    if (state.refused) return;
    state.refused = true;
    this.options.log.error("token refused", { token: token.place, of: this.states.length });
    if (!this.hasToken) {
      this.options.log.error("all tokens refused, continuing without a token");
    }
  }

  /** The quota left over all tokens in use, or null while no answer has told it. */
  remaining(quota: Quota): number | null {
    const now = this.now();
    const known = this.usable().map((state) => left(state, quota, now)).filter((n) =>
      n !== UNKNOWN
    );
    return known.length === 0 ? null : known.reduce((sum, n) => sum + n, 0);
  }

  private now(): number {
    return this.options.clock.monotonicMs();
  }

  private usable(): TokenState[] {
    const accepted = this.states.filter((state) => !state.refused);
    return accepted.length > 0 ? accepted : [this.anonymous];
  }

  private state(token: Token): TokenState {
    return token.place === 0 ? this.anonymous : this.states[token.place - 1]!;
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
    needsProbe: false,
    probe: null,
    refused: false,
  };
}

function bounded(waitMs: number): number {
  return Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);
}

function left(state: TokenState, quota: Quota, now: number): number {
  const { remaining, resetAtMs } = state.quotas[quota];
  return now >= resetAtMs ? UNKNOWN : remaining;
}

function readyAtMs(state: TokenState, quota: Quota, now: number): number {
  const { resetAtMs } = state.quotas[quota];
  return Math.max(state.blockedUntilMs, left(state, quota, now) > 0 ? 0 : resetAtMs);
}
