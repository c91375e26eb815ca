// One request and the state that Fresh passes from the middleware to routes.

import { createDefine, type Define } from "fresh";
import type { Services } from "../services.ts";
import type { RequestContext } from "../source/source.ts";
import { clientOf } from "./client_address.ts";
import { baseUrl } from "./origin.ts";
import { type HeldBody, pacedBody } from "./paced_body.ts";
import { PROCESSOR_MS_PER_MISS } from "./rate_limit.ts";
import {
  type Bytes,
  dataResponse,
  negotiateBody,
  type ReadyBody,
} from "./responses.ts";

/** Fresh's per-request state. */
export interface State {
  services: Services;
  context: HttpContext;
}

/** Fresh's typed helpers for this state. Routes use `define.handlers`. */
export const define: Define<State> = createDefine<State>();

const MIN_BAD_REQUEST_MS = 1;

const processId = crypto.randomUUID().slice(0, 8);
let requests = 0;

/**
 * Returns an id for the log line and `X-Request-Id`. Ids are unique across
 * processes.
 */
export function nextRequestId(): string {
  return `${processId}-${(++requests).toString(36)}`;
}

/** One request as the log, the limits and the source layer use it. */
export class HttpContext implements RequestContext {
  readonly id: string = nextRequestId();
  readonly baseUrl: string;
  readonly client: string;
  /** Time of `clock.monotonicMs()`. */
  readonly startedAtMs: number;
  /** Whether the request caused work that was not cached. */
  missed = false;
  /** The route pattern for metrics. It is `none` until a route is found. */
  route = "none";
  /** The requested repository for the log. */
  repository: string | undefined;
  /** Whether the body is already sent in pieces. */
  isPaced = false;
  /**
   * Misses charged so far. This is the maximum of the costs and not their sum.
   */
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

  readonly recordMiss: RequestContext["recordMiss"] = ({ joined } = {
    joined: false,
  }) => {
    this.missed = true;
    if (joined || this.paid >= 1) return;
    this.requireMiss();
    this.pay(1);
  };

  readonly requireMiss = (): void => {
    if (this.paid < 1) {
      this.services.rateLimit.require(this.client, 1 - this.paid);
    }
  };

  readonly charge = (processorMs: number): void => {
    this.processorMs += processorMs;
    this.pay(this.processorMs / PROCESSOR_MS_PER_MISS);
  };

  private pay(misses: number) {
    if (misses <= this.paid) return;
    this.services.rateLimit.charge(this.client, misses - this.paid);
    this.paid = misses;
  }

  /**
   * Returns the result of checking the request. A failed check is charged for
   * its time and for at least 1 ms.
   */
  check<T>(work: () => T): T {
    const { clock } = this.services;
    const startedAtMs = clock.monotonicMs();
    try {
      return work();
    } catch (error) {
      this.charge(
        Math.max(MIN_BAD_REQUEST_MS, clock.monotonicMs() - startedAtMs),
      );
      throw error;
    }
  }

  /**
   * Returns the stream of {@linkcode pacedBody} and marks the body as paced.
   */
  pace(bytes: Bytes, held?: HeldBody): ReadableStream<Bytes> {
    this.isPaced = true;
    return pacedBody(bytes, { clock: this.services.clock, ...held });
  }

  /**
   * Returns the response with a body. A large body is paced. `hold` is called
   * first.
   */
  respond(
    body: ReadyBody,
    headers: Readonly<Record<string, string>>,
    hold?: (bytes: Bytes) => HeldBody,
  ): Response {
    const negotiated = negotiateBody(body, this.request);
    const { large } = negotiated;
    const stream = large === null ? undefined : this.pace(large, hold?.(large));
    return dataResponse(negotiated, headers, stream);
  }
}
