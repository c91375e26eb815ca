// One question to GitHub over HTTP: token, time-out, bounded body, one retry, limits told apart from refusals.
// Plain fetch and not @octokit/request, since that reads bodies without a bound, parses every JSON number by a BigInt
// parser (seconds for a large tree), throws on 304 and cannot be held to one host when it is redirected.

import { isSourceFailure, sourceFailed, sourceRateLimited, sourceTimeout } from "../errors.ts";
import type { Clock } from "../clock.ts";
import type { Gate } from "./gate.ts";
import type { Quota, Token, TokenPool } from "./github_tokens.ts";
import { readBounded } from "./read_bounded.ts";

/** What is asked, as metrics and tests count it. */
export type RequestKind =
  | "repo"
  | "commit"
  | "tree"
  | "tree-recursive"
  | "blob"
  | "graphql"
  | "raw";

/** A validator, usable by the token that fetched it alone: GitHub's ETags depend on who asked. */
export interface Validator {
  readonly etag: string;
  readonly fingerprint: string;
}

/** One question. */
export interface GitHubRequest {
  readonly kind: RequestKind;
  readonly url: string;
  readonly accept?: string;
  readonly known?: Validator;
  /** The JSON body of a GraphQL query; such a request is a POST, yet reads only. */
  readonly json?: string;
  /** Bytes of body that are read at most. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** An answer that says something about the repository: 2xx, 3xx, or a 4xx that is no limit. */
export interface GitHubAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly token: Token;
}

/** Told of each request that was sent; `result` is the status, or why there is none. */
export type RequestObserver = (
  event: {
    kind: RequestKind;
    result: number | "network" | "timeout" | "aborted";
    durationMs: number;
  },
) => void;

/** Settings of a {@linkcode GitHubClient}. */
export interface GitHubClientOptions {
  readonly tokens: TokenPool;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly onRequest?: RequestObserver;
}

const USER_AGENT = "repo-collections";
const MAX_WAIT_MS = 24 * 3_600_000;
const SECONDARY_WAIT_MS = 60_000;
const LIMIT_MESSAGE = /rate limit|abuse detection/i;

/** Asks GitHub's API and its raw host. */
export class GitHubClient {
  private rawBlockedUntilMs = 0;

  constructor(private readonly options: GitHubClientOptions) {}

  /**
   * Sends one question, with another token where one is refused or out of quota, and once more after a network error
   * or a 5xx, unless that says when to come back.
   * @throws {CollectionsError} source-failed, source-timeout, source-rate-limited, service-busy.
   * @throws the signal's reason when that aborts.
   */
  async ask(request: GitHubRequest): Promise<GitHubAnswer> {
    // A failed batch is retried in halves by who asked for it.
    let retried = request.kind === "graphql";
    while (true) {
      request.signal?.throwIfAborted();
      let answer: GitHubAnswer;
      let useless = false;
      try {
        // The token is chosen when its turn comes: a limit that is met meanwhile stops those who wait, too.
        answer = await this.options.gate.run(async () => {
          const answer = await this.send(request, this.chooseToken(request));
          useless = this.learn(request, answer);
          return answer;
        }, request.signal);
      } catch (error) {
        if (!isSourceFailure(error) || error.code !== "source-failed" || retried) throw error;
        retried = true;
        await this.pause(request.signal);
        continue;
      }
      if (useless) continue;
      if (answer.status >= 500) {
        const restMs = boundedWaitMs(retryAfterMs(answer.headers, this.options.clock.now()) ?? 0);
        if (retried || restMs > 0) {
          throw sourceFailed(`Cannot read "${request.kind}": GitHub answered ${answer.status}`, {
            restMs,
          });
        }
        retried = true;
        await this.pause(request.signal);
        continue;
      }
      // 304 is an answer only to who sent a validator.
      const unasked = answer.status === 304 &&
        request.known?.fingerprint !== answer.token.fingerprint;
      if (unasked || answer.status === 401 || answer.status === 400 || answer.status === 406) {
        throw sourceFailed(`Cannot read "${request.kind}": GitHub answered ${answer.status}`);
      }
      return answer;
    }
  }

  private chooseToken(request: GitHubRequest): Token {
    if (request.kind === "raw") {
      const waitMs = this.rawBlockedUntilMs - this.options.clock.now();
      if (waitMs > 0) {
        throw sourceRateLimited("Cannot ask the raw host: limited", Math.ceil(waitMs / 1000));
      }
      return NO_TOKEN;
    }
    // GitHub answers no GraphQL without a token, and each try would cost quota.
    if (request.kind === "graphql" && !this.options.tokens.hasToken) {
      throw sourceFailed(`Cannot read "graphql": there is no token`);
    }
    return this.options.tokens.choose(quotaOf(request), request.known?.fingerprint);
  }

  /** Takes what an answer says of its token; true where it says nothing else, and another is to be asked. */
  private learn(request: GitHubRequest, answer: GitHubAnswer): boolean {
    const { token, status, headers } = answer;
    // A limit that says when to come back goes before the quota's own time.
    const saysWhen = isRateLimit(answer) && headers.has("retry-after");
    if (request.kind !== "raw" && !saysWhen) {
      this.options.tokens.note(token, quotaOf(request), headers);
    }
    if (status !== 401 || token.secret === null) return this.noteLimit(request, answer);
    this.options.tokens.refuse(token);
    return true;
  }

  /** Whether the answer is a rate limit; what it stops is stopped then, and another token may go on. */
  private noteLimit(request: GitHubRequest, answer: GitHubAnswer): boolean {
    if (!isRateLimit(answer)) return false;
    const now = this.options.clock.now();
    const spent = answer.headers.get("x-ratelimit-remaining") === "0";
    const asked = retryAfterMs(answer.headers, now);
    const resetMs = Number(answer.headers.get("x-ratelimit-reset") ?? NaN) * 1000 - now;
    const waitMs = asked ?? (spent && resetMs > 0 ? resetMs : SECONDARY_WAIT_MS);
    const untilMs = now + Math.max(boundedWaitMs(waitMs), 1000);
    if (request.kind === "raw") this.rawBlockedUntilMs = untilMs;
    else {
      const quota = spent && asked === null ? quotaOf(request) : undefined;
      this.options.tokens.limit(answer.token, untilMs, quota);
    }
    return true;
  }

  /** A moment of random length, so that many who failed together do not come back together. */
  private pause(signal: AbortSignal | undefined): Promise<void> {
    return this.options.clock.sleep(50 + Math.random() * 200, signal);
  }

  private async send(request: GitHubRequest, token: Token): Promise<GitHubAnswer> {
    const started = performance.now();
    const timeout = new AbortController();
    const { clock, timeoutMs } = this.options;
    const callOff = clock.alarm(timeoutMs, () => timeout.abort());
    const signal = request.signal === undefined
      ? timeout.signal
      : AbortSignal.any([timeout.signal, request.signal]);
    let result: number | "network" | "timeout" | "aborted" = "network";
    try {
      const response = await fetch(request.url, {
        method: request.json === undefined ? "GET" : "POST",
        headers: headersOf(request, token),
        body: request.json ?? null,
        // Followed by hand and on the same host only: a redirect must not carry the token away.
        redirect: "manual",
        signal,
      });
      const bytes = await readBounded(response, request.maxBytes);
      result = response.status;
      return { status: response.status, headers: response.headers, bytes, token };
    } catch (error) {
      if (request.signal?.aborted) {
        result = "aborted";
        throw request.signal.reason;
      }
      if (timeout.signal.aborted) {
        result = "timeout";
        throw sourceTimeout(`Cannot read "${request.kind}": no answer in ${timeoutMs} ms`);
      }
      throw error instanceof RangeError
        ? sourceFailed(`Cannot read "${request.kind}": the answer is too long`)
        : sourceFailed(`Cannot read "${request.kind}": the connection failed`, {
          cause: error,
          unreachable: true,
        });
    } finally {
      callOff();
      this.options.onRequest?.({
        kind: request.kind,
        result,
        durationMs: performance.now() - started,
      });
    }
  }
}

const NO_TOKEN: Token = { place: 0, secret: null, fingerprint: "none" };

function headersOf(request: GitHubRequest, token: Token): Headers {
  const headers = new Headers({ "user-agent": USER_AGENT });
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

function quotaOf(request: GitHubRequest): Quota {
  return request.kind === "graphql" ? "graphql" : "core";
}

/** Tells a limit (403 or 429) from a refusal; a 429 is never anything else. */
function isRateLimit(answer: GitHubAnswer): boolean {
  if (answer.status === 429) return true;
  return answer.status === 403 &&
    (answer.headers.has("retry-after") || answer.headers.get("x-ratelimit-remaining") === "0" ||
      LIMIT_MESSAGE.test(new TextDecoder().decode(answer.bytes.subarray(0, 4096))));
}

/** A wait that a header asked for, as far as it is believed. */
function boundedWaitMs(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_WAIT_MS);
}

/** `Retry-After` (RFC 9110, 10.2.3) in ms: seconds or a date; null where there is none. */
function retryAfterMs(headers: Headers, now: number): number | null {
  const text = headers.get("retry-after");
  if (text === null) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? ms : null;
}
