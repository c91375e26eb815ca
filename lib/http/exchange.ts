// One request and its answer, as the log and the limits see it.

import type { Caller } from "../repository/repository.ts";
import type { RateLimit } from "./rate_limit.ts";

const processId = crypto.randomUUID().slice(0, 8);
let requests = 0;

/** An id that is unique among all requests of all processes, for the log line and `X-Request-Id`. */
export function nextRequestId(): string {
  return `${processId}-${(++requests).toString(36)}`;
}

/** See the head of this file; also the {@linkcode Caller} on whose behalf repositories are read. */
export class Exchange implements Caller {
  readonly id = nextRequestId();
  readonly startedAtMs = performance.now();
  /** Whether anything had to be asked of the source that nobody kept. */
  missed = false;
  /** The pattern of its route, for metrics; `none` until one is found. */
  route = "none";
  /** For the log: how the cache answered, and which repository was asked for. */
  cacheStatus: string | undefined;
  subject: string | undefined;
  private counted = false;

  constructor(
    readonly request: Request,
    readonly baseUrl: string,
    readonly clientAddress: string,
    private readonly rateLimit: RateLimit,
  ) {}

  /** Aborts when the client has gone. */
  get signal(): AbortSignal {
    return this.request.signal;
  }

  miss({ joined }: { joined: boolean } = { joined: false }): void {
    this.missed = true;
    if (joined || this.counted) return;
    this.rateLimit.take(this.clientAddress);
    this.counted = true;
  }
}
