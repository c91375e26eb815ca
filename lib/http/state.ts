// One request, and what Fresh passes from the middleware to routes.

import { createDefine, type Define } from "fresh";
import type { Services } from "../services.ts";
import type { RequestContext } from "../source/source.ts";
import { clientOf } from "./client_address.ts";
import { baseUrl } from "./origin.ts";
import { pacedBody } from "./paced_body.ts";
import { PROCESSOR_MS_PER_MISS } from "./rate_limit.ts";
import type { Bytes } from "./responses.ts";

/** Fresh's per-request state. */
export interface State {
  services: Services;
  context: HttpContext;
}

/** Fresh's typed helpers with this service's state; routes use `define.handlers`. */
export const define: Define<State> = createDefine<State>();

const MIN_BAD_REQUEST_MS = 1;

const processId = crypto.randomUUID().slice(0, 8);
let requests = 0;

/** An id that is unique among all requests of all processes, for the log line and `X-Request-Id`. */
export function nextRequestId(): string {
  return `${processId}-${(++requests).toString(36)}`;
}

/** One request: what the log, the limits and the source layer use of it. */
export class HttpContext implements RequestContext {
  readonly id: string = nextRequestId();
  readonly baseUrl: string;
  readonly client: string;
  /** By `clock.monotonicMs()`. */
  readonly startedAtMs: number;
  /** Whether the request caused work that no cache had. */
  missed = false;
  /** The pattern of the request's route, for metrics; `none` until one is found. */
  route = "none";
  /** The requested repository, for the log. */
  repository: string | undefined;
  /** Whether the response's body is sent in pieces already. */
  isPaced = false;
  /** What the client has paid for this request, in misses: the greatest of what its parts cost. */
  private paid = 0;
  private processorMs = 0;

  constructor(
    readonly request: Request,
    info: Deno.ServeHandlerInfo,
    private readonly services: Pick<Services, "config" | "clock" | "rateLimit">,
  ) {
    const { config, clock } = services;
    this.baseUrl = baseUrl(request, config);
    this.client = clientOf(request, info, config);
    this.startedAtMs = clock.monotonicMs();
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  recordMiss({ joined }: { joined: boolean } = { joined: false }): void {
    this.missed = true;
    if (joined || this.paid >= 1) return;
    this.requireMiss();
    this.pay(1);
  }

  requireMiss(): void {
    if (this.paid < 1) this.services.rateLimit.require(this.client, 1 - this.paid);
  }

  charge(processorMs: number): void {
    this.processorMs += processorMs;
    this.pay(this.processorMs / PROCESSOR_MS_PER_MISS);
  }

  private pay(misses: number): void {
    if (misses <= this.paid) return;
    this.services.rateLimit.charge(this.client, misses - this.paid);
    this.paid = misses;
  }

  /** The result of checking the request. A bad one is charged for the time of the check, and for 1 ms at least. */
  check<T>(work: () => T): T {
    const { clock } = this.services;
    const startedAtMs = clock.monotonicMs();
    try {
      return work();
    } catch (error) {
      this.charge(Math.max(MIN_BAD_REQUEST_MS, clock.monotonicMs() - startedAtMs));
      throw error;
    }
  }

  /** The stream that sends a body; `onEnd` as {@linkcode pacedBody} says. */
  pace(bytes: Bytes, onEnd?: () => void): ReadableStream<Bytes> {
    this.isPaced = true;
    return pacedBody(bytes, { clock: this.services.clock, ...onEnd && { onEnd } });
  }
}
