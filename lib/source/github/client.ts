// Sends requests to GitHub over HTTP with a token, a time-out, a bounded body
// and one retry. Distinguishes limits from refusals. This uses plain fetch
// because @octokit/request reads bodies without a bound, throws on 304 and
// cannot restrict redirects to one host. It also parses every JSON number with
// a BigInt parser (seconds for a large tree).

import type { Clock } from "../../work/clock.ts";
import {
  codeOf,
  CollectionsError,
  sourceFailed,
  sourceTimeout,
} from "../../errors.ts";
import type { Log } from "../../log.ts";
import { FairQueue } from "../../work/fair_queue.ts";
import {
  type Body,
  type BodyMemory,
  bodyMemory,
  readBody,
} from "../../work/read_body.ts";
import type { RequestContext } from "../source.ts";
import { MAX_WAIT_MS, SourceFailure } from "../source_failure.ts";
import type { Quota, SendAsApp, Token, TokenPool } from "./tokens.ts";

/**
 * GitHub's secondary limit is 100 requests at once. The first two lanes share
 * it so that checks of refs never wait behind bulk requests. The raw host
 * limits clients that behave like robots.
 */
const LANES = {
  checks: { capacity: 64, maxWaiting: 2048 },
  bulk: { capacity: 32, maxWaiting: 1024 },
  raw: { capacity: 8, maxWaiting: 1024 },
  // A request of another lane may wait for a token that is requested here.
  app: { capacity: 8, maxWaiting: 1024 },
};
/** The lane of each kind of request. Metrics and tests count by kind. */
const LANE_OF = {
  "repo": "checks",
  "commit": "checks",
  "ls-refs": "checks",
  "tree": "bulk",
  "tree-recursive": "bulk",
  "blob": "bulk",
  "graphql": "bulk",
  "raw": "raw",
  "app": "app",
  "lfs-batch": "bulk",
  "lfs": "raw",
} as const;
/** Quotas other than that of the REST API. */
const QUOTA_OF: { readonly [Kind in keyof typeof LANE_OF]?: Quota } = {
  "graphql": "graphql",
  "raw": "raw",
  "lfs-batch": "lfs",
};

/**
 * Usable only with the token that fetched it. GitHub's ETags depend on the
 * token.
 */
export type Validator = { readonly etag: string; readonly fingerprint: string };

/** One request. It is a POST if it has a body but still only reads data. */
export interface GitHubRequest {
  kind: keyof typeof LANE_OF;
  url: string;
  /** The owner of the repository. An owner may not accept a token. */
  owner: string;
  /**
   * The account whose App installation sends the request. Set if it is another
   * name of the owner.
   */
  account?: string;
  context: RequestContext;
  accept?: string;
  known?: Validator | null;
  body?: string | undefined;
  maxBytes: number;
  /** Returns whether the bytes received so far are enough. */
  isEnough?: (bytes: Uint8Array, response: Response) => boolean;
}

/** `release` must be called after its bytes are parsed. */
type HttpAnswer = Body & { status: number; headers: Headers };

/**
 * A response that says something about the repository. It is 2xx, 3xx or a 4xx
 * that concerns neither a limit nor a token.
 */
export type GitHubAnswer = HttpAnswer & { readonly token: Token };

export interface GitHubClientOptions {
  tokens: TokenPool;
  clock: Clock;
  log: Log;
  /** If omitted, the host uses its own default. */
  apiVersion?: string | undefined;
  /** Limit for one request without its time in the queue. */
  timeoutMs: number;
  userAgent: string;
  /**
   * Number of isolates that share GitHub's concurrency limit. The default is 1.
   */
  isolates?: () => number;
  /** Returns whether the process has little memory left. */
  isMemoryShort?: () => boolean;
  /**
   * Called after each request with its status or the reason why it has none.
   */
  onRequest?: (
    sent: Pick<GitHubRequest, "kind"> & { readonly result: Result },
  ) => void;
}

type Result = number | "network" | "timeout" | "aborted";

/** Memory for the bodies that are read at once, in bytes. */
const BODIES = {
  firstBytes: 4 << 20,
  first: 16 << 20,
  rest: 36 << 20,
  maxShare: 1 / 2,
};
const SECONDARY_WAIT_MS = 60_000;
const MIN_WAIT_MS = 1_000;
const LIMIT_MESSAGE = /rate limit|abuse detection/i;
/**
 * GraphQL also reports limits with status 200. File texts never match because
 * JSON escapes their quotes.
 */
const GRAPHQL_LIMIT =
  /"type"\s*:\s*"RATE_LIMIT|"message"\s*:\s*"[^"\\]*rate limit/i;
/**
 * GitHub then locks valid tokens too. The lock applies whoever owns the
 * repository.
 */
const LOCKED_MESSAGE = /login attempts? exceeded/i;
/** Enough of an error response to include its message. */
const ERROR_HEAD_BYTES = 4096;
const APP_ANSWER_MAX_BYTES = 128 << 10;
/** The API may accept a token that Git LFS refuses. */
const LFS_PAUSE_MS = 600_000;

/** A client for GitHub's API and for its raw and Git hosts. */
export class GitHubClient {
  private readonly lanes: Record<keyof typeof LANES, FairQueue>;
  private readonly memory: BodyMemory;
  private isEndLogged = false;

  constructor(private readonly options: GitHubClientOptions) {
    const waits = { maxWaitMs: options.timeoutMs, clock: options.clock };
    const isShort = options.isMemoryShort;
    const open = (lane: keyof typeof LANES, more = {}) =>
      new FairQueue({
        ...LANES[lane],
        ...waits,
        ...more,
        get capacity() {
          return Math.max(
            1,
            Math.floor(LANES[lane].capacity / (options.isolates?.() ?? 1)),
          );
        },
      });
    this.lanes = {
      checks: open("checks"),
      // Their bodies of up to 1 MiB reserve no memory.
      bulk: open("bulk", { isShort }),
      raw: open("raw", { isShort }),
      app: open("app"),
    };
    this.memory = bodyMemory({ ...BODIES, ...waits, isShort });
  }

  /**
   * Sends one request. If a token is refused, not accepted or out of quota, the
   * request is sent with another token or without one. It is sent once more
   * after a network error or a 5xx. A 5xx that says when to come back is not
   * repeated.
   * @throws {CollectionsError} a source failure.
   * @throws what {@linkcode FairQueue.acquire} throws.
   */
  async request(request: GitHubRequest): Promise<GitHubAnswer> {
    const { kind, context, known } = request;
    const { clock } = this.options;
    // The files of a failed batch are read one by one instead.
    let mayRetry = kind !== "graphql";
    while (true) {
      try {
        const answer = await this.attempt(request);
        if (answer === null) continue;
        const { status, headers, token } = answer;
        // The request is at fault. This says nothing about the repository. A
        // 304 is valid only for a validator that was sent.
        const isFault = [400, 401, 406, 410].includes(status) ||
          status === 304 && known?.fingerprint !== token.fingerprint;
        if (status < 500 && !isFault) return answer;
        answer.release();
        const waitMs = isFault ? 0 : retryAfterMs(headers, clock.now()) ?? 0;
        mayRetry &&= !isFault && waitMs === 0;
        const failure = sourceFailed(
          `Cannot read "${kind}": GitHub answered ${status}`,
        );
        throw new SourceFailure(failure, { waitMs });
      } catch (error) {
        if (codeOf(error) !== "source-failed" || !mayRetry) throw error;
      }
      mayRetry = false;
      // Requests that failed together should not repeat together.
      await clock.sleep(50 + Math.random() * 200, context.signal);
    }
  }

  /**
   * Updates the tokens for an owner so that the pool can tell whether one is
   * ready.
   */
  async renewTokens(owner: string, context: RequestContext): Promise<void> {
    await this.options.tokens.supply.renew?.(owner, this.sendAsApp, context);
  }

  private readonly sendAsApp: SendAsApp = async (
    { url, jwt, body },
    context,
  ) => {
    using _slot = await this.lanes.app.acquire(context);
    const accept = "application/vnd.github+json";
    const maxBytes = APP_ANSWER_MAX_BYTES;
    const request = {
      kind: "app",
      url,
      owner: "",
      accept,
      body,
      maxBytes,
      context,
    } as const;
    const headers = this.headersOf(request, { secret: jwt, fingerprint: "" });
    const answer = await this.send(request, headers);
    answer.release();
    return answer;
  };

  /**
   * Sends one request to the Git host or for a Git LFS object. It uses no
   * token, no limits and no retry.
   */
  async requestGit(
    request: GitHubRequest,
    headers: Record<string, string>,
  ): Promise<HttpAnswer> {
    using _slot = await this.lanes[LANE_OF[request.kind]].acquire(
      request.context,
    );
    // GitHub serves Git's protocol to clients with such a name
    // (jelmer/dulwich#562, isomorphic-git#247).
    const named = {
      ...headers,
      "user-agent": `git/2 (${this.options.userAgent})`,
    };
    return await this.send(request, named);
  }

  /**
   * Returns one response. Returns null if its token was refused, limited or not
   * accepted and another may be used.
   */
  private async attempt(request: GitHubRequest): Promise<GitHubAnswer | null> {
    const { tokens } = this.options;
    const { kind, owner, account = owner, context } = request;
    using _slot = await this.lanes[LANE_OF[kind]].acquire(context);
    const quota = QUOTA_OF[kind] ?? "core";
    if (quota !== "raw") await this.renewTokens(account, context);
    const token = await tokens.choose(quota, {
      ...request,
      isBulk: LANE_OF[kind] === "bulk",
    });
    let isOver = false;
    try {
      const answer = await this.send(request, this.headersOf(request, token));
      if (kind !== "raw") this.logEnd(answer.headers);
      const limit = this.limitOf(kind, answer);
      isOver = limit === null;
      if (limit === null) {
        if (quota !== "lfs") tokens.note(token, quota, answer.headers);
        const { status } = answer;
        const text = status === 403 ? headOf(answer) : "";
        // Blocked by GitHub's terms for everyone.
        if (/"block"\s*:\s*\{/.test(text)) {
          return { ...answer, status: 451, token };
        }
        if (status !== 401) token.isAccepted = true;
        const isRefusal = status === 401 || status === 403 && quota !== "lfs";
        if (token.secret === null || !isRefusal) return { ...answer, token };
        if (quota === "lfs") tokens.limit(token, LFS_PAUSE_MS, quota);
        else if (status === 401) tokens.refuse(token);
        else {
          const message =
            /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? "";
          tokens.deny(
            token,
            LOCKED_MESSAGE.test(message) ? "*" : owner,
            message,
          );
        }
      } else {
        const isApart = limit.isQuota || quota === "raw" || quota === "lfs";
        tokens.limit(token, limit.waitMs, isApart ? quota : "api");
      }
      answer.release();
      return null;
    } catch (error) {
      // A missing response does not show that the limit lasts. A second wait
      // would take as long.
      isOver = error instanceof CollectionsError;
      throw error;
    } finally {
      tokens.release(token, quota, isOver);
    }
  }

  /**
   * Returns how long a rate limit lasts and whether it applies to one quota.
   * Returns null for refusals (403) and for any other response.
   */
  private limitOf(kind: GitHubRequest["kind"], answer: HttpAnswer) {
    const { status, headers } = answer;
    const isSpent = headers.get("x-ratelimit-remaining") === "0";
    const isStated = headers.has("retry-after");
    const isLimit = status === 429 ||
      status === 403 &&
        (isSpent || isStated || LIMIT_MESSAGE.test(headOf(answer))) ||
      status === 200 && kind === "graphql" &&
        (isStated || GRAPHQL_LIMIT.test(headOf(answer)));
    if (!isLimit) return null;
    const now = this.options.clock.now();
    // A stated time to retry overrides the reset time of the quota.
    const statedMs = retryAfterMs(headers, now);
    const resetMs = Number(headers.get("x-ratelimit-reset")) * 1000 - now;
    const waitMs = statedMs ??
      (isSpent && resetMs > 0 ? resetMs : SECONDARY_WAIT_MS);
    return {
      isQuota: isSpent && statedMs === null,
      waitMs: Math.max(waitMs, MIN_WAIT_MS),
    };
  }

  private headersOf(
    { kind, accept, known }: GitHubRequest,
    token: Pick<Token, "secret" | "fingerprint">,
  ): Headers {
    const { apiVersion, userAgent } = this.options;
    const headers = new Headers({ "user-agent": userAgent });
    const isLfs = kind === "lfs-batch";
    if (accept !== undefined) headers.set("accept", accept);
    if (kind !== "raw" && !isLfs && apiVersion !== undefined) {
      headers.set("x-github-api-version", apiVersion);
    }
    if (kind === "graphql" || isLfs) headers.set("content-type", accept!);
    if (token.secret !== null) {
      // The Git host takes a token as a password.
      const credentials = isLfs
        ? `Basic ${btoa(`x-access-token:${token.secret}`)}`
        : `Bearer ${token.secret}`;
      headers.set("authorization", credentials);
    }
    if (known?.fingerprint === token.fingerprint) {
      headers.set("if-none-match", known.etag);
    }
    return headers;
  }

  /**
   * Logs once that GitHub announces the end of the API version. GitHub returns
   * 410 after that.
   */
  private logEnd(headers: Headers) {
    const [deprecation, sunset] = [
      headers.get("deprecation"),
      headers.get("sunset"),
    ];
    if (this.isEndLogged || deprecation === null && sunset === null) return;
    this.isEndLogged = true;
    this.options.log.warn("API version ends", { deprecation, sunset });
  }

  private async send(
    request: GitHubRequest,
    headers: HeadersInit,
  ): Promise<HttpAnswer> {
    const {
      kind,
      url,
      body,
      maxBytes,
      isEnough,
      context: { client, signal: leaving },
    } = request;
    const { clock, timeoutMs, onRequest } = this.options;
    const timeout = new AbortController();
    const startTimer = () => clock.setTimer(timeoutMs, () => timeout.abort());
    let cancelTimer = startTimer();
    const signal = leaving === undefined
      ? timeout.signal
      : AbortSignal.any([timeout.signal, leaving]);
    let result: Result = "network";
    try {
      const response = await fetch(url, {
        method: body === undefined ? "GET" : "POST",
        headers,
        body: body ?? null,
        // Redirects are followed by hand and only on the same host. They must
        // not carry the token away.
        redirect: "manual",
        signal,
      });
      const onWait = (isWaiting: boolean) => {
        cancelTimer();
        if (!isWaiting) cancelTimer = startTimer();
      };
      const { bytes, release } = await readBody(response, {
        memory: this.memory,
        client,
        maxBytes,
        isEnough: isEnough && ((bytes) => isEnough(bytes, response)),
        // The content thread parses these.
        isGrowable: /^(tree|graphql)/.test(kind),
        signal,
        onWait,
      });
      result = response.status;
      return {
        status: response.status,
        headers: response.headers,
        bytes,
        release,
      };
    } catch (error) {
      if (leaving?.aborted) {
        result = "aborted";
        throw leaving.reason;
      }
      if (timeout.signal.aborted) {
        result = "timeout";
        const failure = sourceTimeout(
          `Cannot read "${kind}": no answer in ${timeoutMs} ms`,
        );
        throw new SourceFailure(failure, { isUnreached: true });
      }
      if (error instanceof CollectionsError) throw error;
      if (error instanceof RangeError) {
        const message = `Cannot read "${kind}": the answer is too long`;
        throw sourceFailed(message, { cause: error });
      }
      const message = `Cannot read "${kind}": the connection failed`;
      throw new SourceFailure(sourceFailed(message, { cause: error }), {
        isUnreached: true,
      });
    } finally {
      cancelTimer();
      onRequest?.({ kind, result });
    }
  }
}

const headOf = ({ bytes }: HttpAnswer) =>
  new TextDecoder().decode(bytes.subarray(0, ERROR_HEAD_BYTES));

/**
 * Returns `Retry-After` (RFC 9110, 10.2.3) in ms, at most an hour. The header
 * holds seconds or a date. Returns null if it is missing or invalid.
 */
export function retryAfterMs(headers: Headers, now: number): number | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_WAIT_MS) : null;
}
