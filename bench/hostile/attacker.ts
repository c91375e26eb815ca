// A client that attacks: it sends requests from one address, counts the
// answers, and says which of them the contract does not allow.

import { pause } from "../processes.ts";
import { type Http1Answer, type Http1Request, sendHttp1 } from "./http1.ts";

/** What came back. */
export interface Tally {
  /** Answers by status and code, and `no answer` where none came. */
  readonly answers: Record<string, number>;
  /** Answers that the contract does not allow, in words. */
  readonly wrong: string[];
  /** What else is worth knowing. */
  readonly notes: string[];
  /** What another client was kept from. */
  readonly failures: string[];
}

/** The problems of the contract, by code. */
const PROBLEMS: Readonly<Record<string, number>> = {
  "invalid-parameters": 400,
  "signature-invalid": 401,
  "repository-not-allowed": 403,
  "repository-not-found": 404,
  "branch-not-found": 404,
  "collection-not-found": 404,
  "item-not-found": 404,
  "route-not-found": 404,
  "method-not-allowed": 405,
  "repository-empty": 409,
  "slug-ambiguous": 409,
  "body-too-large": 413,
  "item-too-large": 422,
  "collection-too-large": 422,
  "query-too-expensive": 422,
  "too-many-requests": 429,
  "repository-blocked": 451,
  "source-failed": 502,
  "source-rate-limited": 503,
  "service-busy": 503,
  "collection-not-ready": 503,
  "source-timeout": 504,
};
const SUCCESSES = [200, 202, 204, 304];
/** The HTTP server refuses longer heads by itself. */
const MAX_HEAD_BYTES = 60_000;
/** Of each kind of remark. */
const MAX_REMARKS = 20;
/** How soon a client tries again that does not look at `Retry-After`. */
const RETRY_MS = 1_000;
/** How soon one tries again at the earliest that does. */
const MIN_RETRY_MS = 500;

export function newTally(): Tally {
  return { answers: {}, wrong: [], notes: [], failures: [] };
}

/** Adds one tally to another. */
export function addTally(to: Tally, from: Tally): void {
  for (const [answer, count] of Object.entries(from.answers)) {
    to.answers[answer] = (to.answers[answer] ?? 0) + count;
  }
  for (const kind of ["wrong", "notes", "failures"] as const) {
    to[kind].push(...from[kind].slice(0, MAX_REMARKS - to[kind].length));
  }
}

/** A client at one address. */
export class Attacker {
  constructor(
    readonly options: {
      readonly port: number;
      /** Three numbers of an IPv4 address; the fourth is `host`. */
      readonly network: string;
      readonly host?: number;
      readonly signal: AbortSignal;
      readonly tally: Tally;
    },
  ) {}

  get signal(): AbortSignal {
    return this.options.signal;
  }

  get port(): number {
    return this.options.port;
  }

  /**
   * The header by which the service, which trusts its proxy, knows the client.
   */
  get address(): Readonly<Record<string, string>> {
    const { network, host = 1 } = this.options;
    return { "x-forwarded-for": `${network}.${host}` };
  }

  /** The same attacker at another address: `host` is from 1 to 254. */
  from(host: number): Attacker {
    return new Attacker({ ...this.options, host });
  }

  /** Waits, and ends early when the attack is over. */
  async wait(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.signal }).catch(() => {});
  }

  note(text: string): void {
    remark(this.options.tally.notes, text);
  }

  /** Another client did not get what it should. */
  fail(text: string): void {
    remark(this.options.tally.failures, text);
  }

  /** Counts an answer, or what came in the place of one. */
  count(answer: string, times = 1): void {
    const { answers } = this.options.tally;
    answers[answer] = (answers[answer] ?? 0) + times;
  }

  /** Sends one request and counts its answer; null where none came. */
  async send(request: string | Http1Request): Promise<Http1Answer | null> {
    const whole = typeof request === "string" ? { target: request } : request;
    const headers = { ...this.address, ...whole.headers };
    const answer = await sendHttp1(
      this.port,
      { ...whole, headers },
      this.signal,
    )
      .catch(() => null);
    this.count(classOf(answer));
    const wrong = answer === null
      ? null
      : problemWith(answer, { ...whole, headers });
    if (wrong !== null) {
      const { method = "GET", target } = whole;
      remark(
        this.options.tally.wrong,
        `${wrong}: ${method} ${target.slice(0, 200)}`,
      );
    }
    return answer;
  }

  /** Sends all of these requests at once. */
  async all(paths: readonly (string | Http1Request)[]): Promise<void> {
    await Promise.all(paths.map((path) => this.send(path)));
  }

  /**
   * Sends requests, so many at once, until all are sent or the attack is over.
   */
  async flood(
    { times, atOnce }: { readonly times: number; readonly atOnce: number },
    make: (n: number) => string | Http1Request,
  ): Promise<void> {
    let sent = 0;
    await Promise.all(
      Array.from({ length: Math.min(atOnce, times) }, async () => {
        while (sent < times && !this.signal.aborted) {
          await this.send(make(sent++));
        }
      }),
    );
  }

  /**
   * Sends a request again until it is answered for good, as a client does that
   * comes back.
   */
  async sendUntilReady(path: string, tries = 30): Promise<Http1Answer | null> {
    for (let left = tries;; left--) {
      const answer = await this.send(path);
      const mayBeReady = answer !== null && [429, 503].includes(answer.status);
      if (!mayBeReady || left <= 1 || this.signal.aborted) return answer;
      await this.wait(RETRY_MS);
    }
  }

  /**
   * What another client gets, which comes back as the service tells it to: it
   * must have a 2xx within so much time. Its answers are not counted among the
   * attack's.
   */
  async bystander(
    name: string,
    request: string | Http1Request,
    { withinMs, host = 250 }: {
      readonly withinMs: number;
      readonly host?: number;
    },
  ): Promise<void> {
    const other = new Attacker({ ...this.options, host, tally: newTally() });
    const startedMs = performance.now();
    const passedMs = () => Math.round(performance.now() - startedMs);
    for (;;) {
      const answer = await other.send(request);
      const what = classOf(answer);
      if (answer !== null && answer.status < 300 && passedMs() <= withinMs) {
        return this.note(`${name}: ${what} after ${passedMs()} ms`);
      }
      if (this.signal.aborted || passedMs() > withinMs) {
        return this.fail(
          `${name}: ${what} after ${passedMs()} ms, wanted within ${withinMs} ms`,
        );
      }
      const retryMs = 1000 * Number(answer?.headers.get("retry-after") ?? 0);
      await this.wait(Math.max(retryMs, MIN_RETRY_MS));
    }
  }
}

function remark(remarks: string[], text: string): void {
  if (remarks.length < MAX_REMARKS) remarks.push(text);
}

/** How an answer is counted. */
export function classOf(answer: Http1Answer | null): string {
  if (answer === null) return "no answer";
  const code = codeOf(answer);
  const name = code === null ? `${answer.status}` : `${answer.status} ${code}`;
  return answer.isWhole ? name : `${name}, cut off`;
}

function codeOf({ headers, start }: Http1Answer): string | null {
  if (headers.get("content-type") !== "application/problem+json") return null;
  return /"code":"([a-z-]+)"/.exec(new TextDecoder().decode(start))?.[1] ??
    null;
}

/** Why the contract does not allow an answer, or null where it does. */
export function problemWith(
  answer: Http1Answer,
  request: Http1Request,
): string | null {
  const { status, headers, start, length, isWhole } = answer;
  const what = classOf(answer);
  const fields = Object.entries(request.headers ?? {}).flat().join("");
  const isRefused = !headers.has("x-request-id") && status >= 400 &&
    status < 500;
  // The server's own answer, before the service has seen the request.
  if (isRefused && request.target.length + fields.length > MAX_HEAD_BYTES) {
    return null;
  }
  if (headers.get("access-control-allow-origin") !== "*") {
    return `${what} without CORS`;
  }
  if (!headers.has("x-request-id")) return `${what} without an id`;
  if (status >= 400) {
    const code = codeOf(answer);
    const isAllowed = request.method === "HEAD" ||
      PROBLEMS[code ?? ""] === status;
    return isAllowed ? null : `${what} is no problem of the contract`;
  }
  if (!SUCCESSES.includes(status)) {
    return `${what} is no status of the contract`;
  }
  const isJson = headers.get("content-type")?.startsWith("application/json") ??
    false;
  // Of a longer body only the start is kept.
  const isPlain = !headers.has("content-encoding") && isWhole &&
    start.length === length;
  if (!isJson || !isPlain || length === 0) return null;
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(start));
    return null;
  } catch {
    return `${what} with a body that is no JSON`;
  }
}
