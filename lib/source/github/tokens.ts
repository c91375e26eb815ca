// The tokens of one GitHub host: which to use next, which are out of quota, refused or not accepted by an owner. Where
// none can be used, requests go without a token. A log line names a token by its place in the list; its characters go
// into the Authorization header and nowhere else. No wait is longer than GitHub's windows of an hour, and the first
// request after a wait goes alone: the others wait for its answer.

import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../clock.ts";
import { type CollectionsError, sourceFailed, sourceRateLimited } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { MAX_WAIT_MS } from "../failure_backoff.ts";
import type { RequestContext } from "../source.ts";

/** GitHub counts the REST API, GraphQL and Git LFS separately, and the raw host limits addresses. */
export type Quota = "core" | "graphql" | "lfs" | "raw";

/** One token, or none, with what is left of its quotas. */
export type Token = ReturnType<typeof newToken>;

/** Sends one request to GitHub's API, a POST where it has a body, in the name of a GitHub App. */
export type SendAsApp = (
  request: { readonly url: string; readonly jwt: string; readonly body?: string },
  context: RequestContext,
) => Promise<{
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}>;

/** Tokens that change while the service runs, in place of a fixed list. */
export interface TokenSupply {
  /** The tokens for an owner's repositories as they are now, or all tokens for "". */
  tokensFor(owner: string): readonly Token[];
  /** Whether there may be one for an owner. */
  mayHave(owner: string): boolean;
  /** Brings the tokens for an owner up to date. @throws the reason of the context's signal, nothing else. */
  renew(owner: string, send: SendAsApp, context: RequestContext): Promise<void>;
}

const UNKNOWN = Number.MAX_SAFE_INTEGER;
/**
 * GitHub allows 900 points a minute for one token, and a read costs one. Each is followed by such a pause; of a minute's
 * pauses a request may be ahead, but bulk reads leave some to the others: 881 at most in any minute.
 */
const POINT_MS = 60_000 / 440;
const MAX_AHEAD_MS = { checks: 60_000, bulk: 53_000 };
/** GitHub's largest quota an hour: a host that states a larger one is another, and has no such limit. */
const MAX_PACED_QUOTA = 15_000;
/** A limit within this time after another one lasts twice as long as that, up to this. */
const MAX_REPEATED_LIMIT_MS = 900_000;
/** Then the owner may have accepted the token, or a lock on logins ended. */
const SET_ASIDE_MS = 600_000;
const MAX_SET_ASIDE = 10_000;
const MAX_MESSAGE_CHARS = 300;
const DAY_MS = 86_400_000;
/** From this time before the end of a token on, the log and the health report name it. */
const END_NOTICE_MS = 14 * DAY_MS;

/** Chooses tokens by the quota that is left (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api). */
export class TokenPool {
  private readonly tokens: readonly Token[];
  private readonly anonymous = newToken(null, 0);
  /** Until when a token is set aside for an owner, or for all owners. */
  private readonly setAside = new LRUCache<string, number>({ max: MAX_SET_ASIDE });

  constructor(
    secrets: readonly string[],
    private readonly options: {
      readonly clock: Clock;
      readonly log: Log;
      /** How many isolates share each token's pace; 1 where it is left out. */
      readonly isolates?: () => number;
      /** In place of `secrets`. */
      readonly supply?: TokenSupply | null;
    },
  ) {
    this.tokens = secrets.map((secret, index) => newToken(secret, index + 1));
  }

  /** Whether one was given and not all are refused. */
  get hasToken(): boolean {
    return this.mayHave("");
  }

  /** Whether an owner's repositories may be requested with a token, now or after a wait. */
  mayHave(owner: string): boolean {
    return this.options.supply?.mayHave(owner) ?? this.tokens.some(({ isRefused }) => !isRefused);
  }

  /** Brings the tokens for an owner up to date. @throws the reason of the context's signal. */
  async renew(owner: string, send: SendAsApp, context: RequestContext): Promise<void> {
    await this.options.supply?.renew(owner, send, context);
  }

  /** Whether a token can be used now: for any owner where none is named. */
  isReady(quota: Quota, owner = ""): boolean {
    const now = this.now();
    return this.accepted(quota, owner).some(({ quotas }) => left(quotas[quota], now) > 0);
  }

  /** The tokens that end within 14 days, with the time that GitHub states. */
  expiring(): { readonly token: number; readonly expiresAt: string }[] {
    return this.tokensFor("")
      .filter(({ isRefused, expiresAtMs }) =>
        !isRefused && expiresAtMs - this.options.clock.now() <= END_NOTICE_MS
      )
      .map(({ place, expiresAtMs }) => ({
        token: place,
        expiresAt: new Date(expiresAtMs).toISOString(),
      }));
  }

  /**
   * The token that a request's validator came from while it has quota, else the one with most quota left, else none; to be
   * given back by `release`. Waits for the pace. @throws {CollectionsError} as {@linkcode TokenPool.unavailable} says.
   * @throws the reason of the context's signal.
   */
  async choose(
    quota: Quota,
    { owner, account = owner, known, context, isBulk }: {
      readonly owner: string;
      /** Whose tokens are used, where that is another name of the owner. */
      readonly account?: string | undefined;
      readonly known?: { readonly fingerprint: string } | null;
      readonly context: RequestContext;
      readonly isBulk: boolean;
    },
  ): Promise<Token> {
    // GitHub answers no GraphQL without a token.
    const others = quota === "graphql" ? [] : [this.anonymous];
    while (true) {
      const now = this.now();
      const quotaLeft = ({ quotas }: Token) => left(quotas[quota], now);
      const accepted = this.accepted(quota, owner, account);
      const ready = [accepted, others]
        .map((tokens) => tokens.filter((token) => quotaLeft(token) > 0))
        .find(({ length }) => length > 0);
      if (ready === undefined) throw this.unavailable(quota, owner, [...accepted, ...others]);
      const rank = (token: Token) =>
        token.fingerprint === known?.fingerprint ? Infinity : quotaLeft(token);
      const free = ready.filter(({ quotas }) => quotas[quota].probe === null);
      const waits: number[] = [];
      for (const token of free.toSorted((a, b) => rank(b) - rank(a))) {
        const aheadMs = Math.max(0, token.pacedUntilMs - now);
        const waitMs = aheadMs - MAX_AHEAD_MS[isBulk ? "bulk" : "checks"];
        waits.push(waitMs);
        if (waitMs > 0) continue;
        token.pacedUntilMs = now + aheadMs + token.pointMs * (this.options.isolates?.() ?? 1);
        const state = token.quotas[quota];
        if (state.remaining === 0) state.probe = Promise.withResolvers();
        return token;
      }
      if (waits.length > 0) await this.options.clock.sleep(Math.min(...waits), context.signal);
      else await ready[0]!.quotas[quota].probe?.promise;
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

  /** Records the `x-ratelimit-*` headers of an answer, and when the token ends. */
  note(token: Token, quota: Quota, headers: Headers): void {
    this.noteEnd(token, headers.get("github-authentication-token-expiration"));
    const state = token.quotas[quota];
    const number = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
    const remaining = number("remaining");
    if (number("limit") > MAX_PACED_QUOTA) token.pointMs = 0;
    const resetMs = number("reset") * 1000 - this.options.clock.now();
    // An answer that was under way when a limit came does not lift it.
    const isStopped = left(state, this.now()) === 0;
    if (isStopped || !Number.isFinite(remaining) || !Number.isFinite(resetMs)) {
      return;
    }
    state.remaining = remaining;
    state.resetAtMs = this.now() + bounded(resetMs);
  }

  /**
   * Stops one token for a time, at most an hour: for one quota, or for the whole API (a secondary limit). Limits that
   * follow each other last longer each time; a spent quota lasts longer than that by itself.
   */
  limit({ place, quotas }: Token, waitMs: number, quota: Quota | "api"): void {
    const now = this.now();
    const states = quota === "api" ? [quotas.core, quotas.graphql] : [quotas[quota]];
    // Requests that were under way together meet one limit.
    const isNew = states.some((state) => left(state, now) > 0);
    if (isNew) {
      const { lastLimit } = states[0]!;
      const isRepeated = now < lastLimit.untilMs + MAX_REPEATED_LIMIT_MS;
      const leastMs = isRepeated ? Math.min(lastLimit.waitMs * 2, MAX_REPEATED_LIMIT_MS) : 0;
      waitMs = Math.max(waitMs, leastMs);
      Object.assign(lastLimit, { waitMs, untilMs: now + waitMs });
    }
    for (const state of states) {
      state.resetAtMs = Math.max(
        state.remaining === 0 ? state.resetAtMs : 0,
        now + bounded(waitMs),
      );
      state.remaining = 0;
    }
    const seconds = Math.ceil(bounded(waitMs) / 1000);
    if (isNew) this.options.log.warn("token limited", { token: place, seconds });
  }

  /** Sets a token aside that GitHub refused (401), until it is replaced. */
  refuse(token: Token): void {
    const { log } = this.options;
    if (token.isRefused) return;
    token.isRefused = true;
    log.error("token refused", { token: token.place, of: this.tokensFor("").length });
    if (!this.hasToken) log.error("all tokens refused, continuing without a token");
  }

  /** Sets a token aside for a while that GitHub did not accept (403): for one owner, or for all ("*"). */
  deny(token: Token, owner: string, text: string): void {
    const key = setAsideKey(token, owner);
    const message = text.slice(0, MAX_MESSAGE_CHARS);
    if (!this.setAside.has(key)) {
      this.options.log.warn("token set aside", { token: token.place, owner, message });
    }
    this.setAside.set(key, this.now() + SET_ASIDE_MS);
  }

  /** The quota left over all tokens in use, or null before the first answer that states it. */
  remaining(quota: Quota): number | null {
    const now = this.now();
    const tokens = this.accepted(quota, "");
    const known = (tokens.length > 0 ? tokens : [this.anonymous])
      .map(({ quotas }) => left(quotas[quota], now)).filter((count) => count !== UNKNOWN);
    return known.length === 0 ? null : known.reduce((sum, count) => sum + count);
  }

  /** Why none of an owner's tokens can be used: until when the first waits, or that none is accepted. */
  unavailable(
    quota: Quota,
    owner: string,
    tokens: readonly Token[] = this.accepted(quota, owner),
  ): CollectionsError {
    const waits = tokens.map(({ quotas }) => quotas[quota].resetAtMs - this.now());
    if (waits.length === 0) return sourceFailed(`Cannot use a token: "${owner}" accepts none`);
    const seconds = Math.max(1, Math.ceil(Math.min(...waits) / 1000));
    return sourceRateLimited(
      `Cannot send a request to GitHub: the ${quota} quota is spent`,
      seconds,
    );
  }

  private now(): number {
    return this.options.clock.monotonicMs();
  }

  private tokensFor(owner: string): readonly Token[] {
    return this.options.supply?.tokensFor(owner) ?? this.tokens;
  }

  private accepted(quota: Quota, owner: string, account = owner): readonly Token[] {
    if (quota === "raw") return [];
    const now = this.now();
    return this.tokensFor(account).filter((token) =>
      !token.isRefused && now < token.endsAtMs &&
      ["*", owner].every((owner) => now >= (this.setAside.get(setAsideKey(token, owner)) ?? 0))
    );
  }

  /** Takes when GitHub says that a token ends, and logs it once a day in the last 14 days. */
  private noteEnd(token: Token, text: string | null): void {
    const expiresAtMs = Date.parse(text ?? "");
    if (Number.isNaN(expiresAtMs) || token.endsAtMs < Infinity) return;
    token.expiresAtMs = expiresAtMs;
    const leftMs = expiresAtMs - this.options.clock.now();
    const days = Math.floor(leftMs / DAY_MS);
    if (leftMs > END_NOTICE_MS || token.noticeDays === days) return;
    token.noticeDays = days;
    const expiresAt = new Date(expiresAtMs).toISOString();
    this.options.log.warn("token expires", { token: token.place, expiresAt });
  }
}

const setAsideKey = ({ fingerprint }: Token, owner: string) =>
  `${fingerprint} ${owner.toLowerCase()}`;

/** `place` is how the log names it. */
export function newToken(secret: string | null, place: number) {
  const fingerprint = secret === null
    ? "none"
    : createHash("sha256").update(`validator of ${secret}`).digest("hex").slice(0, 12);
  const quota = () => ({
    /** 0 until a request after the wait is answered. */
    remaining: UNKNOWN,
    /** By `clock.monotonicMs()`, so a jump of the wall clock changes no wait. */
    resetAtMs: 0,
    lastLimit: { waitMs: 0, untilMs: -Infinity },
    /** The first request after the wait. */
    probe: null as PromiseWithResolvers<void> | null,
  });
  return {
    /** Counts from 1, or the id of a GitHub App's installation; 0 stands for requests without a token. */
    place,
    secret,
    /** Identifies the token of an ETag, across restarts, without revealing the token. */
    fingerprint,
    isRefused: false,
    /** Whether GitHub ever answered it otherwise than with 401. */
    isAccepted: false,
    /** By `clock.monotonicMs()`; it is not used after that. */
    endsAtMs: Infinity,
    /** When GitHub says that it ends, in ms since the epoch; and the days before that when it was last logged. */
    expiresAtMs: Infinity,
    noticeDays: Infinity,
    /** The pause after each request, none without a token, whose quota is small; and when the pauses so far end. */
    pointMs: secret === null ? 0 : POINT_MS,
    pacedUntilMs: 0,
    quotas: { core: quota(), graphql: quota(), lfs: quota(), raw: quota() },
  };
}

function bounded(waitMs: number): number {
  return Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);
}

function left({ remaining, resetAtMs }: Token["quotas"][Quota], now: number): number {
  return now >= resetAtMs ? UNKNOWN : remaining;
}
