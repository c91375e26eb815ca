// The tokens of one GitHub host: which to use next, which are out of quota, refused or not accepted by an owner. Where
// none can be used, requests go without a token. A log line names a token by its place in the list; its characters go
// into the Authorization header and nowhere else. The first request after a wait goes alone: the others wait for its
// answer.

import { createHash } from "node:crypto";
import type { Clock } from "../../work/clock.ts";
import { type CollectionsError, sourceFailed, sourceRateLimited } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { RetryTable } from "../../work/retry.ts";
import { MAX_WAIT_MS } from "../source_failure.ts";
import type { RequestContext } from "../source.ts";

/** GitHub counts the REST API, GraphQL and Git LFS separately, and the raw host limits addresses. */
export type Quota = "core" | "graphql" | "lfs" | "raw";

/** One token, or none, with what is left of its quotas. */
export type Token = ReturnType<typeof newToken>;

/** Sends one request to GitHub's API, a POST where it has a body, in the name of a GitHub App. */
export type SendAsApp = (
  request: { readonly url: string; readonly jwt: string; readonly body: string | undefined },
  context: RequestContext,
) => Promise<Pick<Response, "status" | "headers"> & { readonly bytes: Uint8Array }>;

/** Where tokens come from. */
export interface TokenSupply {
  /** The tokens for an owner's repositories as they are now, or all tokens for "". */
  tokensFor(owner: string): readonly Token[];
  /** Whether there may be one for an owner, now or later: where one of those above is not refused, if left out. */
  mayHave?(owner: string): boolean;
  /** Brings the tokens for an owner up to date. @throws the reason of the context's signal, nothing else. */
  renew?(owner: string, send: SendAsApp, context: RequestContext): Promise<void>;
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
/** A limit soon after another one lasts twice as long as that, up to this. */
const MAX_REPEATED_LIMIT_MS = 900_000;
/** Then the owner may have accepted the token, or a lock on logins ended. */
const SET_ASIDE_MS = 600_000;
const MAX_MESSAGE_CHARS = 300;
const DAY_MS = 86_400_000;
/** From this time before the end of a token on, the log and the health report name it. */
const END_NOTICE_MS = 14 * DAY_MS;

/** Tokens that stay as they are. */
export function tokenList(secrets: readonly string[]): TokenSupply {
  const tokens = secrets.map((secret, index) => newToken(secret, index + 1));
  return { tokensFor: () => tokens };
}

/** Chooses tokens by the quota that is left (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api). */
export class TokenPool {
  private readonly anonymous = newToken(null, 0);
  /** Quotas of tokens that are spent or limited. */
  private readonly limits: RetryTable<true>;
  /** Tokens that an owner, or all owners, did not accept. */
  private readonly setAside: RetryTable<true>;

  constructor(
    readonly supply: TokenSupply,
    private readonly options: {
      readonly clock: Clock;
      readonly log: Log;
      /** How many isolates share each token's pace; 1 where it is left out. */
      readonly isolates?: () => number;
    },
  ) {
    const { clock } = options;
    this.limits = new RetryTable(clock, { firstMs: 1_000, maxMs: MAX_REPEATED_LIMIT_MS });
    this.setAside = new RetryTable(clock);
  }

  /** Whether an owner's repositories may be requested with a token, now or after a wait: not all are refused. */
  mayHave(owner: string): boolean {
    const { supply } = this;
    return supply.mayHave?.(owner) ??
      supply.tokensFor(owner).some(({ isRefused }) => !isRefused);
  }

  /** Whether a token can be used now: for any owner where none is named. */
  isReady(quota: Quota, owner = ""): boolean {
    return this.accepted(quota, owner).some((token) => this.quotaLeft(token, quota) > 0);
  }

  /** The tokens that end within 14 days, with the time that GitHub states. */
  expiring() {
    const soon = this.options.clock.now() + END_NOTICE_MS;
    return this.supply.tokensFor("")
      .filter(({ isRefused, expiresAtMs }) => !isRefused && expiresAtMs <= soon)
      .map(({ place: token, expiresAtMs }) => ({ token, expiresAt: isoTime(expiresAtMs) }));
  }

  /**
   * The token that a request's validator came from while it has quota, else the one with most quota left, else none; to be
   * given back by `release`. Waits for the pace. @throws {CollectionsError} as {@linkcode TokenPool.unavailable} says.
   * @throws the reason of the context's signal.
   */
  async choose(
    quota: Quota,
    { owner, account, known, context, isBulk }: {
      readonly owner: string;
      /** Whose tokens are used, where that is another name of the owner. */
      readonly account?: string;
      readonly known?: { readonly fingerprint: string } | null;
      readonly context: RequestContext;
      readonly isBulk: boolean;
    },
  ): Promise<Token> {
    // GitHub answers no GraphQL without a token.
    const others = quota === "graphql" ? [] : [this.anonymous];
    while (true) {
      const now = this.options.clock.monotonicMs();
      const ready = [this.accepted(quota, owner, account), others]
        .map((tokens) => tokens.filter((token) => this.quotaLeft(token, quota) > 0))
        .find(({ length }) => length > 0);
      if (ready === undefined) throw this.unavailable(quota, owner, account, others);
      const rank = (token: Token) =>
        token.fingerprint === known?.fingerprint ? Infinity : this.quotaLeft(token, quota);
      const free = ready.filter((token) => this.limits.probeOf(keyOf(token, quota)) === null);
      const waits: number[] = [];
      for (const token of free.toSorted((a, b) => rank(b) - rank(a))) {
        const aheadMs = Math.max(0, token.pacedUntilMs - now);
        const waitMs = aheadMs - MAX_AHEAD_MS[isBulk ? "bulk" : "checks"];
        waits.push(waitMs);
        if (waitMs > 0) continue;
        token.pacedUntilMs = now + aheadMs + token.pointMs * (this.options.isolates?.() ?? 1);
        this.limits.probe(keyOf(token, quota));
        return token;
      }
      if (waits.length > 0) await this.options.clock.sleep(Math.min(...waits), context.signal);
      else await this.limits.probeOf(keyOf(ready[0]!, quota));
    }
  }

  /** Returns a chosen token. `isOver`: whether the wait is over, and what waits for this request is sent. */
  release(token: Token, quota: Quota, isOver: boolean): void {
    const key = keyOf(token, quota);
    if (isOver && this.limits.waitMs(key) === 0) this.limits.succeeded(key);
    else this.limits.endProbe(key);
  }

  /** Records the `x-ratelimit-*` headers of an answer, and when the token ends. */
  note(token: Token, quota: Quota, headers: Headers): void {
    this.noteEnd(token, Date.parse(headers.get("github-authentication-token-expiration") ?? ""));
    const number = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
    const remaining = number("remaining");
    if (number("limit") > MAX_PACED_QUOTA) token.pointMs = 0;
    const resetMs = bounded(number("reset") * 1000 - this.options.clock.now());
    if (!Number.isFinite(remaining) || !Number.isFinite(resetMs)) return;
    const resetAtMs = this.options.clock.monotonicMs() + resetMs;
    token.quotas[quota] = { remaining, resetAtMs };
    if (remaining === 0) this.limits.failed(keyOf(token, quota), true, resetMs);
  }

  /**
   * Stops one token for a time, at most an hour: for one quota, or for the whole API (a secondary limit). Limits that
   * follow each other last longer each time.
   */
  limit(token: Token, waitMs: number, quota: Quota | "api"): void {
    const keys = (quota === "api" ? ["core", "graphql"] as const : [quota])
      .map((quota) => keyOf(token, quota));
    const isNew = keys.map((key) => this.limits.failed(key, true, bounded(waitMs))).some(Boolean);
    const seconds = Math.ceil(this.limits.waitMs(keys[0]!) / 1000);
    if (isNew) this.options.log.warn("token limited", { token: token.place, seconds });
  }

  /** Sets a token aside that GitHub refused (401), until it is replaced. */
  refuse(token: Token): void {
    const { log } = this.options;
    if (token.isRefused) return;
    token.isRefused = true;
    log.error("token refused", { token: token.place, of: this.supply.tokensFor("").length });
    if (!this.mayHave("")) log.error("all tokens refused, continuing without a token");
  }

  /** Sets a token aside for a while that GitHub did not accept (403): for one owner, or for all ("*"). */
  deny(token: Token, owner: string, text: string): void {
    const message = text.slice(0, MAX_MESSAGE_CHARS);
    const isNew = this.setAside.failed(keyOf(token, owner), true, SET_ASIDE_MS);
    if (isNew) this.options.log.warn("token set aside", { token: token.place, owner, message });
  }

  /** The quota left over all tokens in use, or null before the first answer that states it. */
  remaining(quota: Quota): number | null {
    const tokens = this.accepted(quota, "");
    const known = (tokens.length > 0 ? tokens : [this.anonymous])
      .map((token) => this.quotaLeft(token, quota)).filter((count) => count !== UNKNOWN);
    return known.length === 0 ? null : known.reduce((sum, count) => sum + count);
  }

  /** Why none of an owner's tokens, and none of these, can be used: until when the first waits, or that none is accepted. */
  unavailable(
    quota: Quota,
    owner: string,
    account?: string,
    others: readonly Token[] = [],
  ): CollectionsError {
    const waits = [...this.accepted(quota, owner, account), ...others]
      .map((token) => this.limits.waitMs(keyOf(token, quota)));
    if (waits.length === 0) return sourceFailed(`Cannot use a token: "${owner}" accepts none`);
    const seconds = Math.max(1, Math.ceil(Math.min(...waits) / 1000));
    return sourceRateLimited(
      `Cannot send a request to GitHub: the ${quota} quota is spent`,
      seconds,
    );
  }

  private quotaLeft(token: Token, quota: Quota): number {
    if (this.limits.waitMs(keyOf(token, quota)) > 0) return 0;
    const { remaining, resetAtMs } = token.quotas[quota];
    return this.options.clock.monotonicMs() >= resetAtMs ? UNKNOWN : remaining;
  }

  private accepted(quota: Quota, owner: string, account = owner): readonly Token[] {
    if (quota === "raw") return [];
    return this.supply.tokensFor(account).filter((token) =>
      !token.isRefused && this.options.clock.monotonicMs() < token.endsAtMs &&
      this.setAside.failureOf(keyOf(token, "*"), keyOf(token, owner)) === null
    );
  }

  /** Takes when GitHub says that a token ends, and logs it once a day in the last 14 days. */
  private noteEnd(token: Token, expiresAtMs: number): void {
    if (Number.isNaN(expiresAtMs) || token.endsAtMs < Infinity) return;
    token.expiresAtMs = expiresAtMs;
    const leftMs = expiresAtMs - this.options.clock.now();
    const days = Math.floor(leftMs / DAY_MS);
    if (leftMs > END_NOTICE_MS || token.noticeDays === days) return;
    token.noticeDays = days;
    const expiresAt = isoTime(expiresAtMs);
    this.options.log.warn("token expires", { token: token.place, expiresAt });
  }
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/** The key of a token for a quota, or for an owner. */
const keyOf = ({ fingerprint }: Token, of: string) => `${fingerprint} ${of.toLowerCase()}`;

/** `place` is how the log names it. Tokens of one `identity` have the same limits. */
export function newToken(secret: string | null, place: number, identity = secret) {
  const fingerprint = identity === null
    ? "none"
    : createHash("sha256").update(`validator of ${identity}`).digest("hex").slice(0, 12);
  /** As the last answer stated it; the time is by `clock.monotonicMs()`. */
  const unknown = { remaining: UNKNOWN, resetAtMs: 0 };
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
    quotas: { core: unknown, graphql: unknown, lfs: unknown, raw: unknown },
  };
}

const bounded = (waitMs: number) => Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);
