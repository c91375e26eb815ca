// One request and its answer, as the log and the limits see it.

import type { Caller } from "../repository/repository.ts";
import type { Services } from "../services.ts";
import { baseUrl } from "./base_url.ts";
import { clientAddress } from "./client_address.ts";
import type { RateLimit } from "./rate_limit.ts";
import type { Place, Room } from "./room.ts";

const processId = crypto.randomUUID().slice(0, 8);
let requests = 0;
/** Answers that take less are not worth a wait. */
const SMALL_BYTES = 2 << 20;

/** An id that is unique among all requests of all processes, for the log line and `X-Request-Id`. */
export function nextRequestId(): string {
  return `${processId}-${(++requests).toString(36)}`;
}

/** See the head of this file; also the {@linkcode Caller} on whose behalf repositories are read. */
export class Exchange implements Caller {
  readonly id = nextRequestId();
  /** When the request came, by `performance.now()`. */
  readonly startedAtTick = performance.now();
  /** Whether anything had to be asked of the source that nobody kept. */
  missed = false;
  /** The pattern of its route, for metrics; `none` until one is found. */
  route = "none";
  /** For the log: which repository was asked for. */
  subject: string | undefined;
  private counted = false;
  private place: Place | null = null;

  constructor(
    readonly request: Request,
    readonly baseUrl: string,
    readonly clientAddress: string,
    private readonly limits: { readonly rateLimit: RateLimit; readonly room: Room },
  ) {}

  /** Aborts when the client has gone. */
  get signal(): AbortSignal {
    return this.request.signal;
  }

  miss({ joined }: { joined: boolean } = { joined: false }): void {
    this.missed = true;
    if (joined || this.counted) return;
    this.limits.rateLimit.take(this.clientAddress);
    this.counted = true;
  }

  async makeRoom(bytes: number): Promise<void> {
    // Whoever has a place does not wait for more: two who did would wait for each other.
    if (this.place !== null) this.place.resize(this.place.bytes + bytes);
    else if (bytes > SMALL_BYTES) {
      this.place = await this.limits.room.enter(bytes, this.signal);
    }
  }

  /** Gives back what `makeRoom` took. */
  leaveRoom(): void {
    this.place?.resize(0);
    this.place = null;
  }
}

/** The exchange of a request that came over a connection. */
export function newExchange(
  request: Request,
  { info: { remoteAddr }, services }: { info: Deno.ServeHandlerInfo; services: Services },
): Exchange {
  const { config } = services;
  const remote = "hostname" in remoteAddr ? remoteAddr.hostname : "";
  return new Exchange(
    request,
    baseUrl(request, config),
    clientAddress(request, { remote, trustProxy: config.trustProxy }),
    services,
  );
}
