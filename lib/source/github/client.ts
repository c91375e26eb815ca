// One request to GitHub over HTTP: token, time-out, bounded body, one retry, limits distinguished from refusals.
// Plain fetch and not @octokit/request, since that reads bodies without a bound, parses every JSON number by a BigInt
// parser (seconds for a large tree), throws on 304 and cannot be limited to one host when it is redirected.

import type { Clock } from "../../clock.ts";
import { CollectionsError, isSourceFailure, sourceFailed, sourceTimeout } from "../../errors.ts";
import { BodyReader } from "../../read_body.ts";
import type { RequestContext } from "../source.ts";
import { MAX_WAIT_MS } from "../failure_backoff.ts";
import { RequestQueue } from "../request_queue.ts";
import type { Quota, Token, TokenPool } from "./tokens.ts";

/** What is requested, as metrics and tests count it. */
export type RequestKind =
  | "repo"
  | "commit"
  | "tree"
  | "tree-recursive"
  | "blob"
  | "graphql"
  | "raw"
  | "ls-refs";

/** A validator, usable by the token that fetched it alone: GitHub's ETags depend on the token. */
export interface Validator {
  readonly etag: string;
  readonly fingerprint: string;
}

/** One request. */
export interface GitHubRequest {
  readonly kind: RequestKind;
  readonly url: string;
  readonly context: RequestContext;
  readonly accept?: string;
  readonly known?: Validator;
  /** The JSON body of a GraphQL query; such a request is a POST, yet reads only. */
  readonly json?: string;
  /** Bytes of body that are read at most. */
  readonly maxBytes: number;
}

/** An answer that says something about the repository: 2xx, 3xx, or a 4xx that is no limit. */
export interface GitHubAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly token: Token;
  /** Releases the memory that is reserved for `bytes`. To be called once they are parsed; calling again does nothing. */
  release(): void;
}

/** Called after each request that was sent; `result` is the status, or why there is none. */
export type RequestObserver = (
  event: {
    readonly kind: RequestKind;
    readonly result: number | "network" | "timeout" | "aborted";
    readonly durationMs: number;
  },
) => void;

/** Settings of a {@linkcode GitHubClient}. */
export interface GitHubClientOptions {
  readonly tokens: TokenPool;
  readonly clock: Clock;
  /** Time allowed for one request, its time in the queue aside, in ms. */
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly onRequest?: RequestObserver | undefined;
}

/** GitHub's secondary limit is 100 requests at once, which these two lanes share. */
const CHECKS = { concurrency: 64, maxQueued: 2048, maxQueuedPerClient: 512 };
const BULK = { concurrency: 32, maxQueued: 512, maxQueuedPerClient: 256 };
/** The raw host limits clients that look like robots. */
const RAW = { concurrency: 8, maxQueued: 512, maxQueuedPerClient: 256 };
const SECONDARY_WAIT_MS = 60_000;
const MIN_WAIT_MS = 1_000;
const LIMIT_MESSAGE = /rate limit|abuse detection/i;

/** Sends requests to GitHub's API and its raw host. */
export class GitHubClient {
  /** Refs are checked in a lane of their own, so that checks never wait behind bulk reads. */
  private readonly checks: RequestQueue;
  private readonly bulk: RequestQueue;
  private readonly raw: RequestQueue;
  private readonly bodies: BodyReader;

  constructor(private readonly options: GitHubClientOptions) {
    const { clock, timeoutMs } = options;
    const open = (bounds: typeof BULK) =>
      new RequestQueue({ ...bounds, maxWaitMs: timeoutMs, clock });
    this.checks = open(CHECKS);
    this.bulk = open(BULK);
    this.raw = open(RAW);
    this.bodies = new BodyReader({ maxWaitMs: timeoutMs, clock });
  }

  /**
   * Sends one request, with another token where one is refused or out of quota, and once more after a network error
   * or a 5xx, unless that says when to come back.
   * @throws {CollectionsError} source-failed, source-timeout, source-rate-limited, service-busy.
   * @throws the reason of the context's signal when that aborts.
   */
  async request(request: GitHubRequest): Promise<GitHubAnswer> {
    // The caller repeats a failed batch in halves.
    let retried = request.kind === "graphql";
    const pause = async () => {
      retried = true;
      // Of random length, so that requests that failed together do not repeat together.
      await this.options.clock.sleep(50 + Math.random() * 200, request.context.signal);
    };
    while (true) {
      let answer: GitHubAnswer | null;
      try {
        answer = await this.laneOf(request).run(() => this.attempt(request), request.context);
      } catch (error) {
        if (!isSourceFailure(error) || error.code !== "source-failed" || retried) throw error;
        await pause();
        continue;
      }
      if (answer === null) continue;
      if (answer.status >= 500) {
        answer.release();
        const { now } = this.options.clock;
        const restMs = Math.max(0, retryAfterMs(answer.headers, now()) ?? 0);
        if (!retried && restMs === 0) {
          await pause();
          continue;
        }
        throw sourceFailed(`Cannot read "${request.kind}": GitHub answered ${answer.status}`, {
          restMs: Math.min(restMs, MAX_WAIT_MS),
        });
      }
      // 304 is an answer only to a request with a validator.
      const unasked = answer.status === 304 &&
        request.known?.fingerprint !== answer.token.fingerprint;
      if (unasked || answer.status === 401 || answer.status === 400 || answer.status === 406) {
        answer.release();
        throw sourceFailed(`Cannot read "${request.kind}": GitHub answered ${answer.status}`);
      }
      return answer;
    }
  }

  /** Runs a check that is sent by other means, in the lane of the checks. @throws {CollectionsError} service-busy. */
  runCheck<T>(task: () => Promise<T>, context: RequestContext): Promise<T> {
    return this.checks.run(task, context);
  }

  private laneOf({ kind }: GitHubRequest): RequestQueue {
    if (kind === "raw") return this.raw;
    return kind === "commit" || kind === "repo" ? this.checks : this.bulk;
  }

  /** One answer, or null where its token was refused or limited and another may be used. */
  private async attempt(request: GitHubRequest): Promise<GitHubAnswer | null> {
    const { tokens } = this.options;
    const quota = quotaOf(request);
    // GitHub answers no GraphQL without a token, and each try would cost quota.
    if (quota === "graphql" && !tokens.hasToken) {
      throw sourceFailed(`Cannot read "graphql": there is no token`);
    }
    const token = await tokens.choose(quota, request.known?.fingerprint);
    let answered = false;
    try {
      const answer = await this.send(request, token);
      const limit = this.limitOf(answer);
      if (limit !== null) {
        answer.release();
        tokens.limit(token, limit.waitMs, limit.isQuota || quota === "raw" ? quota : "api");
        return null;
      }
      tokens.note(token, quota, answer.headers);
      answered = true;
      if (answer.status !== 401 || token.secret === null) return answer;
      answer.release();
      tokens.refuse(token);
      return null;
    } finally {
      tokens.release(token, quota, { answered });
    }
  }

  /** How long a rate limit lasts and what it covers; null where the answer is none. */
  private limitOf(answer: GitHubAnswer) {
    if (!isRateLimit(answer)) return null;
    const now = this.options.clock.now();
    const isSpent = answer.headers.get("x-ratelimit-remaining") === "0";
    const askedMs = retryAfterMs(answer.headers, now);
    const resetMs = Number(answer.headers.get("x-ratelimit-reset") ?? NaN) * 1000 - now;
    const waitMs = askedMs ?? (isSpent && resetMs > 0 ? resetMs : SECONDARY_WAIT_MS);
    // A stated time to retry goes before the quota's own time.
    return { isQuota: isSpent && askedMs === null, waitMs: Math.max(waitMs, MIN_WAIT_MS) };
  }

  private async send(request: GitHubRequest, token: Token): Promise<GitHubAnswer> {
    const { clock, timeoutMs, onRequest, userAgent } = this.options;
    const startedAtMs = clock.monotonicMs();
    const timeout = new AbortController();
    const startTimer = () => clock.setTimer(timeoutMs, () => timeout.abort());
    let cancelTimer = startTimer();
    const { signal: left } = request.context;
    const signal = left === undefined ? timeout.signal : AbortSignal.any([timeout.signal, left]);
    let result: number | "network" | "timeout" | "aborted" = "network";
    try {
      const response = await fetch(request.url, {
        method: request.json === undefined ? "GET" : "POST",
        headers: headersOf(request, token, userAgent),
        body: request.json ?? null,
        // Followed by hand and on the same host only: a redirect must not carry the token away.
        redirect: "manual",
        signal,
      });
      const { bytes, release } = await this.bodies.read(response, {
        maxBytes: request.maxBytes,
        signal,
        onWait(isWaiting) {
          cancelTimer();
          if (!isWaiting) cancelTimer = startTimer();
        },
      });
      result = response.status;
      return { status: response.status, headers: response.headers, bytes, token, release };
    } catch (error) {
      if (left?.aborted) {
        result = "aborted";
        throw left.reason;
      }
      if (timeout.signal.aborted) {
        result = "timeout";
        throw sourceTimeout(`Cannot read "${request.kind}": no answer in ${timeoutMs} ms`);
      }
      if (error instanceof RangeError) {
        throw sourceFailed(`Cannot read "${request.kind}": the answer is too long`);
      }
      if (error instanceof CollectionsError) throw error;
      throw sourceFailed(`Cannot read "${request.kind}": the connection failed`, {
        cause: error,
        unreachable: true,
      });
    } finally {
      cancelTimer();
      onRequest?.({
        kind: request.kind,
        result,
        durationMs: clock.monotonicMs() - startedAtMs,
      });
    }
  }
}

function headersOf(request: GitHubRequest, token: Token, userAgent: string): Headers {
  const headers = new Headers({ "user-agent": userAgent });
  if (request.accept !== undefined) headers.set("accept", request.accept);
  if (request.kind === "raw") return headers;
  headers.set("x-github-api-version", "2022-11-28");
  if (token.secret !== null) headers.set("authorization", `Bearer ${token.secret}`);
  if (request.known?.fingerprint === token.fingerprint) {
    headers.set("if-none-match", request.known.etag);
  }
  if (request.json !== undefined) headers.set("content-type", "application/json");
  return headers;
}

function quotaOf({ kind }: GitHubRequest): Quota {
  return kind === "graphql" || kind === "raw" ? kind : "core";
}

/** Tells a limit (403 or 429) from a refusal; a 429 is never anything else. */
function isRateLimit(answer: GitHubAnswer): boolean {
  if (answer.status === 429) return true;
  return answer.status === 403 &&
    (answer.headers.has("retry-after") || answer.headers.get("x-ratelimit-remaining") === "0" ||
      LIMIT_MESSAGE.test(new TextDecoder().decode(answer.bytes.subarray(0, 4096))));
}

/** `Retry-After` (RFC 9110, 10.2.3) in ms: seconds or a date; null where there is none. */
function retryAfterMs(headers: Headers, now: number): number | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? ms : null;
}
