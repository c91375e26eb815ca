// The tokens of one GitHub host. Chooses the next token and knows which are out
// of quota, refused or not accepted by an owner. Requests go without a token if
// none can be used. A log line names a token by its number in the list. Its
// characters go into the Authorization header and nowhere else. One request
// goes first after a wait. The others wait for its response.

import { createHash } from "node:crypto";
import { type Clock, orAborted } from "../../work/clock.ts";
import {
  type CollectionsError,
  sourceFailed,
  sourceRateLimited,
} from "../../errors.ts";
import type { Log } from "../../log.ts";
import { RetryTable } from "../../work/retry.ts";
import { MAX_WAIT_MS } from "../source_failure.ts";
import { AHEAD_CLIENT, type RequestContext } from "../source.ts";

/**
 * GitHub counts the REST API, GraphQL and Git LFS separately. The raw host
 * limits addresses.
 */
export type Quota = "core" | "graphql" | "lfs" | "raw";

/**
 * One token with its remaining quotas. One with a null `secret` stands for
 * requests without a token.
 */
export type Token = ReturnType<typeof newToken>;

/**
 * Sends one request to GitHub's API in the name of a GitHub App. It is a POST
 * if it has a body.
 */
export type SendAsApp = (
  request: {
    readonly url: string;
    readonly jwt: string;
    readonly body: string | undefined;
  },
  context: RequestContext,
) => Promise<
  Pick<Response, "status" | "headers"> & { readonly bytes: Uint8Array }
>;

/** A supply of tokens. */
export interface TokenSupply {
  /**
   * Returns the current tokens for an owner's repositories. Returns all tokens
   * for the empty owner.
   */
  tokensFor(owner: string): readonly Token[];
  /**
   * Returns whether an owner may have a token now or later. The default is
   * whether any token from `tokensFor` is not refused.
   */
  mayHave?(owner: string): boolean;
  /**
   * Updates the tokens for an owner.
   * @throws only the context's abort reason.
   */
  renew?(
    owner: string,
    send: SendAsApp,
    context: RequestContext,
  ): Promise<void>;
}

const UNKNOWN = Number.MAX_SAFE_INTEGER;
/**
 * GitHub allows 900 points a minute for one token. Each request costs one point
 * and is followed by this pause. Requests may run ahead by one minute of
 * pauses. Bulk requests keep some of that for checks, and checks ahead of need
 * keep some for both. At most 881 requests are sent in any minute.
 */
const POINT_MS = 60_000 / 440;
const MAX_AHEAD_MS = { checks: 60_000, bulk: 53_000, ahead: 46_000 };
/**
 * A request that has waited for this long counts as a check. Otherwise checks
 * of many branches could keep it from its turn.
 */
const PATIENCE_MS = 5_000;
/**
 * GitHub's largest quota an hour. A host that states a larger one is not
 * github.com and has no such limit.
 */
const MAX_PACED_QUOTA = 15_000;
/** A limit soon after another one lasts twice as long. This is the maximum. */
const MAX_REPEATED_LIMIT_MS = 900_000;
/**
 * The owner may have accepted the token by then. A lock on logins may have
 * ended.
 */
const SET_ASIDE_MS = 600_000;
const MAX_MESSAGE_CHARS = 300;
const DAY_MS = 86_400_000;
/** The log and the health report name a token when it expires this soon. */
const END_NOTICE_MS = 14 * DAY_MS;

/** Returns a supply of fixed tokens. */
export function tokenList(secrets: readonly string[]): TokenSupply {
  const tokens = secrets.map((secret, index) => newToken(secret, index + 1));
  return { tokensFor: () => tokens };
}

/**
 * Chooses tokens by their remaining quota
 * (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
 */
export class TokenPool {
  private readonly anonymous = newToken(null, 0);
  /** Quotas of tokens that are spent or limited. */
  private readonly limits: RetryTable<true>;
  /** Tokens that one owner or all owners did not accept. */
  private readonly setAside: RetryTable<true>;

  constructor(
    readonly supply: TokenSupply,
    private readonly options: {
      clock: Clock;
      log: Log;
      /** Number of isolates that share each token's pace. The default is 1. */
      isolates?: () => number;
    },
  ) {
    const { clock } = options;
    this.limits = new RetryTable(clock, {
      firstMs: 1_000,
      maxMs: MAX_REPEATED_LIMIT_MS,
    });
    this.setAside = new RetryTable(clock);
  }

  /**
   * Returns whether an owner's repositories may be requested with a token now
   * or after a wait. A refused token does not count.
   */
  mayHave(owner: string): boolean {
    const { supply } = this;
    return supply.mayHave?.(owner) ??
      supply.tokensFor(owner).some(({ isRefused }) => !isRefused);
  }

  /**
   * Returns whether a token can be used now. The empty owner means any owner.
   */
  isReady(quota: Quota, owner = ""): boolean {
    return this.accepted(quota, owner).some((token) =>
      this.quotaLeft(token, quota) > 0
    );
  }

  /** Returns the tokens that expire within 14 days and when they do. */
  expiring() {
    const soon = this.options.clock.now() + END_NOTICE_MS;
    return this.supply.tokensFor("")
      .filter(({ isRefused, expiresAtMs }) => !isRefused && expiresAtMs <= soon)
      .map(({ label: token, expiresAtMs }) => ({
        token,
        expiresAt: isoTime(expiresAtMs),
      }));
  }

  /**
   * Returns the token for a request. The token that a validator came from is
   * preferred while it has quota. Otherwise the token with the most quota is
   * used. Without a usable token the anonymous one is returned. Waits for the
   * pace. The caller must give the token back with `release`.
   * @throws {CollectionsError} what {@linkcode TokenPool.unavailable} returns.
   * @throws the context's abort reason.
   */
  async choose(
    quota: Quota,
    { owner, account, known, context, isBulk }: {
      owner: string;
      /**
       * The account whose tokens are used. Set if it is another name of the
       * owner.
       */
      account?: string;
      known?: { fingerprint: string } | null;
      context: RequestContext;
      isBulk: boolean;
    },
  ): Promise<Token> {
    // GitHub answers no GraphQL without a token.
    const others = quota === "graphql" ? [] : [this.anonymous];
    const { clock } = this.options;
    const lane = isBulk
      ? "bulk"
      : context.client === AHEAD_CLIENT
      ? "ahead"
      : "checks";
    const patientUntilMs = clock.monotonicMs() + PATIENCE_MS;
    while (true) {
      const now = clock.monotonicMs();
      const patienceMs = patientUntilMs - now;
      const maxAheadMs = MAX_AHEAD_MS[patienceMs > 0 ? lane : "checks"];
      const ready = [this.accepted(quota, owner, account), others]
        .map((tokens) =>
          tokens.filter((token) => this.quotaLeft(token, quota) > 0)
        )
        .find(({ length }) => length > 0);
      if (ready === undefined) {
        throw this.unavailable(quota, owner, account, others);
      }
      const rank = (token: Token) =>
        token.fingerprint === known?.fingerprint
          ? Infinity
          : this.quotaLeft(token, quota);
      const free = ready.filter((token) =>
        this.limits.probeOf(keyOf(token, quota)) === null
      );
      const waits: number[] = [];
      for (const token of free.toSorted((a, b) => rank(b) - rank(a))) {
        const aheadMs = Math.max(0, token.pacedUntilMs - now);
        const waitMs = aheadMs - maxAheadMs;
        waits.push(waitMs);
        if (waitMs > 0) continue;
        token.pacedUntilMs = now + aheadMs +
          token.pointMs * (this.options.isolates?.() ?? 1);
        this.limits.probe(keyOf(token, quota));
        return token;
      }
      if (waits.length > 0) {
        if (patienceMs > 0) waits.push(patienceMs);
        await clock.sleep(Math.min(...waits), context.signal);
      } else {
        const probe = this.limits.probeOf(keyOf(ready[0]!, quota))!;
        await orAborted(probe, context.signal);
      }
    }
  }

  /**
   * Takes a chosen token back. `isOver` says whether the wait is over. Requests
   * that wait for this one are then sent.
   */
  release(token: Token, quota: Quota, isOver: boolean): void {
    const key = keyOf(token, quota);
    if (isOver && this.limits.waitMs(key) === 0) this.limits.succeeded(key);
    else this.limits.endProbe(key);
  }

  /**
   * Records the `x-ratelimit-*` headers of a response and when the token
   * expires.
   */
  note(token: Token, quota: Quota, headers: Headers): void {
    this.noteEnd(
      token,
      Date.parse(headers.get("github-authentication-token-expiration") ?? ""),
    );
    const number = (name: string) =>
      Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
    const remaining = number("remaining");
    if (number("limit") > MAX_PACED_QUOTA) token.pointMs = 0;
    const resetMs = bounded(number("reset") * 1000 - this.options.clock.now());
    if (!Number.isFinite(remaining) || !Number.isFinite(resetMs)) return;
    const resetAtMs = this.options.clock.monotonicMs() + resetMs;
    token.quotas[quota] = { remaining, resetAtMs };
    if (remaining === 0) this.limits.failed(keyOf(token, quota), true, resetMs);
  }

  /**
   * Stops one token for at most an hour. This applies to one quota or to the
   * whole API (a secondary limit). Consecutive limits last longer each time.
   */
  limit(token: Token, waitMs: number, quota: Quota | "api"): void {
    const keys = (quota === "api" ? ["core", "graphql"] as const : [quota])
      .map((quota) => keyOf(token, quota));
    const isNew = keys.map((key) =>
      this.limits.failed(key, true, bounded(waitMs))
    ).some(Boolean);
    const seconds = Math.ceil(this.limits.waitMs(keys[0]!) / 1000);
    if (isNew) {
      this.options.log.warn("token limited", { token: token.label, seconds });
    }
  }

  /** Sets a token aside that GitHub refused (401) until it is replaced. */
  refuse(token: Token): void {
    const { log } = this.options;
    if (token.isRefused) return;
    token.isRefused = true;
    log.error("token refused", {
      token: token.label,
      of: this.supply.tokensFor("").length,
    });
    if (!this.mayHave("")) {
      log.error("all tokens refused, continuing without a token");
    }
  }

  /**
   * Sets a token aside for a while that GitHub did not accept (403). This
   * applies to one owner or to all ("*").
   */
  deny(token: Token, owner: string, text: string): void {
    const message = text.slice(0, MAX_MESSAGE_CHARS);
    const isNew = this.setAside.failed(keyOf(token, owner), true, SET_ASIDE_MS);
    if (isNew) {
      this.options.log.warn("token set aside", {
        token: token.label,
        owner,
        message,
      });
    }
  }

  /**
   * Returns the remaining quota over all tokens in use. Returns null before the
   * first response that states it.
   */
  remaining(quota: Quota): number | null {
    const tokens = this.accepted(quota, "");
    const known = (tokens.length > 0 ? tokens : [this.anonymous])
      .map((token) => this.quotaLeft(token, quota)).filter((count) =>
        count !== UNKNOWN
      );
    return known.length === 0
      ? null
      : known.reduce((sum, count) => sum + count);
  }

  /**
   * Returns why neither an owner's tokens nor `others` can be used. The error
   * says how long the shortest wait is or that the owner accepts no token.
   */
  unavailable(
    quota: Quota,
    owner: string,
    account?: string,
    others: readonly Token[] = [],
  ): CollectionsError {
    const waits = [...this.accepted(quota, owner, account), ...others]
      .map((token) => this.limits.waitMs(keyOf(token, quota)));
    if (waits.length === 0) {
      return sourceFailed(`Cannot use a token: "${owner}" accepts none`);
    }
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

  private accepted(
    quota: Quota,
    owner: string,
    account = owner,
  ): readonly Token[] {
    if (quota === "raw") return [];
    return this.supply.tokensFor(account).filter((token) =>
      !token.isRefused && this.options.clock.monotonicMs() < token.endsAtMs &&
      this.setAside.failureOf(keyOf(token, "*"), keyOf(token, owner)) === null
    );
  }

  /**
   * Records when GitHub says that a token expires. Logs it once a day in the
   * last 14 days.
   */
  private noteEnd(token: Token, expiresAtMs: number) {
    if (Number.isNaN(expiresAtMs) || token.endsAtMs < Infinity) return;
    token.expiresAtMs = expiresAtMs;
    const remainingMs = expiresAtMs - this.options.clock.now();
    const days = Math.floor(remainingMs / DAY_MS);
    if (remainingMs > END_NOTICE_MS || token.noticeDays === days) return;
    token.noticeDays = days;
    const expiresAt = isoTime(expiresAtMs);
    this.options.log.warn("token expires", { token: token.label, expiresAt });
  }
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/** Returns the key of a token for a quota or for an owner. */
const keyOf = ({ fingerprint }: Token, of: string) =>
  `${fingerprint} ${of.toLowerCase()}`;

/**
 * Creates a token. The log names it by `label`. Tokens of one `identity` have
 * the same limits.
 */
export function newToken(
  secret: string | null,
  label: number,
  identity = secret,
) {
  const fingerprint = identity === null
    ? "none"
    : createHash("sha256").update(`validator of ${identity}`).digest("hex")
      .slice(0, 12);
  /**
   * Replaced by what responses state. `resetAtMs` is by `clock.monotonicMs()`.
   */
  const unknown = { remaining: UNKNOWN, resetAtMs: 0 };
  return {
    /**
     * Counts from 1 or is the id of a GitHub App's installation. 0 stands for
     * requests without a token.
     */
    label,
    secret,
    /**
     * Identifies the token of an ETag across restarts without revealing the
     * token.
     */
    fingerprint,
    isRefused: false,
    /** Whether GitHub ever answered it with a status other than 401. */
    isAccepted: false,
    /** The token is not used after this time by `clock.monotonicMs()`. */
    endsAtMs: Infinity,
    /**
     * When GitHub says that the token expires, in ms since the epoch.
     * `noticeDays` is how many days remained when this was last logged.
     */
    expiresAtMs: Infinity,
    noticeDays: Infinity,
    /**
     * The pause after each request. There is none without a token because that
     * quota is small. The pauses so far end at `pacedUntilMs`.
     */
    pointMs: secret === null ? 0 : POINT_MS,
    pacedUntilMs: 0,
    quotas: { core: unknown, graphql: unknown, lfs: unknown, raw: unknown },
  };
}

const bounded = (waitMs: number) => Math.min(Math.max(waitMs, 0), MAX_WAIT_MS);
