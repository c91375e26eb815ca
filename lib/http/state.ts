// One request as this service sees it, and what Fresh passes from middlewares to routes.

import { createDefine, type Define } from "fresh";
import type { Reservation } from "../byte_semaphore.ts";
import type { RequestContext } from "../request_context.ts";
import type { Services } from "../services.ts";
import { baseUrl } from "./base_url.ts";
import { clientAddress } from "./limits.ts";

/** Fresh's per-request state. */
export interface State {
  services: Services;
  context: HttpContext;
}

/** Fresh's typed helpers with this service's state; routes use `define.handlers`. */
export const define: Define<State> = createDefine<State>();

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
  private isCharged = false;
  private reservation: Reservation | null = null;

  constructor(
    readonly request: Request,
    { remoteAddr }: Deno.ServeHandlerInfo,
    private readonly services: Pick<Services, "config" | "clock" | "rateLimit" | "responseMemory">,
  ) {
    const { config, clock } = services;
    const remote = "hostname" in remoteAddr ? remoteAddr.hostname : "";
    this.baseUrl = baseUrl(request, config);
    this.client = clientAddress(request, { remote, trustProxy: config.trustProxy });
    this.startedAtMs = clock.monotonicMs();
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  recordMiss({ joined }: { joined: boolean } = { joined: false }): void {
    this.missed = true;
    if (joined || this.isCharged) return;
    this.services.rateLimit.take(this.client);
    this.isCharged = true;
  }

  /** Reserves memory for the response. @throws {CollectionsError} service-busy. */
  async reserveBytes(bytes: number): Promise<void> {
    // A later reservation grows the first without a wait: two requests with parts of it would wait for each other.
    if (this.reservation !== null) this.reservation.grow(bytes);
    else {
      this.reservation = await this.services.responseMemory.acquire(bytes, this.signal);
    }
  }

  /** Transfers the reservation; the caller releases it. */
  takeReservation(): Reservation | null {
    const { reservation } = this;
    this.reservation = null;
    return reservation;
  }
}
