// One request: where it was sent to, who sent it, and what Fresh passes from middlewares to routes.

import { createDefine, type Define } from "fresh";
import type { Reservation } from "../byte_semaphore.ts";
import { invalidParameters } from "../errors.ts";
import type { Services } from "../services.ts";
import type { Config } from "../settings.ts";
import type { RequestContext } from "../source/source.ts";
import { clientAddress, lastForwarded } from "./limits.ts";

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
  /** Memory for the response, until {@linkcode takeReservation} transfers it. */
  reservation: Reservation | null = null;
  private isCharged = false;

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

  charge(_processorMs: number): void {}

  /** Reserves memory for the response. @throws {CollectionsError} service-busy. */
  async reserveBytes(bytes: number): Promise<void> {
    const { reservation } = this;
    // A later reservation grows the first without a wait: two requests with parts of it would wait for each other.
    if (reservation !== null) return reservation.resize(reservation.bytes + bytes);
    this.reservation = await this.services.responseMemory.acquire(bytes, this);
  }

  /** Transfers the reservation, as one of exactly `bytes`; the caller releases it. @throws as {@linkcode reserveBytes}. */
  async takeReservation(bytes: number): Promise<Reservation> {
    const reservation = this.reservation ??
      await this.services.responseMemory.acquire(bytes, this);
    this.reservation = null;
    reservation.resize(bytes);
    return reservation;
  }
}

/** The settings that determine a request's origin. */
type OriginOptions = Pick<Config, "publicUrl" | "trustProxy" | "isPreview">;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?$/;
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether `Host` is `host[:port]` (RFC 9112, 3.2). The server puts it into the request's URL as it is, so anything more
 * would change the path or the query.
 */
export function hasValidHost({ headers }: Request): boolean {
  const host = headers.get("host");
  return host === null || HOST.test(host);
}

/**
 * Checks where a request was sent to. A preview answers loopback names only, so that no page can reach it by a name of
 * its own that resolves to this machine (DNS rebinding).
 * @throws {CollectionsError} invalid-parameters.
 */
export function checkHost(request: Request, { isPreview }: OriginOptions): void {
  const url = hasValidHost(request) ? URL.parse(request.url) : null;
  // A request line may carry a whole address, whose host counts then (RFC 9112, 3.2.2).
  const isHost = url !== null && url.username + url.password === "" && HOST.test(url.host);
  if (isHost && (!isPreview || LOOPBACK.test(url.hostname))) return;
  const message = isHost ? "must be localhost in a preview" : "must be host[:port]";
  throw invalidParameters([{ parameter: "Host", message }]);
}

/** Withholds a preview's response from pages of other machines: no CORS for them, and no embedding. */
export function limitToLoopback(request: Request, { headers }: Response): void {
  const origin = request.headers.get("origin");
  headers.set("cross-origin-resource-policy", "same-site");
  headers.append("vary", "Origin");
  if (origin === null || LOOPBACK.test(URL.parse(origin)?.hostname ?? "")) return;
  for (const name of [...headers.keys()]) {
    if (name.startsWith("access-control-")) headers.delete(name);
  }
}

/** The base of the absolute URLs in a response: the configured one, the proxy's, or the request's own origin. */
export function baseUrl(request: Request, { publicUrl, trustProxy }: OriginOptions): string {
  if (publicUrl !== null) return publicUrl;
  const sent = URL.parse(request.url);
  // A request that was sent to no valid host gets a problem, whose addresses need some host.
  const own = sent !== null && HOST.test(sent.host) ? sent : new URL("http://localhost");
  if (!trustProxy) return own.origin;
  const protocol = lastForwarded(request, "x-forwarded-proto")?.toLowerCase();
  const host = lastForwarded(request, "x-forwarded-host");
  const scheme = protocol === "https" || protocol === "http" ? `${protocol}:` : own.protocol;
  const name = host !== null && HOST.test(host) ? host : own.host;
  return URL.parse(`${scheme}//${name}`)?.origin ?? own.origin;
}

/** All that a response depends on beside the caches, read without parsing: the URL, and what a trusted proxy adds. */
export function requestKey({ url, headers }: Request, { trustProxy }: OriginOptions): string {
  if (!trustProxy) return url;
  const proto = headers.get("x-forwarded-proto") ?? "";
  // An absent header and one that says "null" are different requests.
  return `${url}\n${proto}\n${headers.get("x-forwarded-host") ?? ""}`;
}
