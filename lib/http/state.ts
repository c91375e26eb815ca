// One request: where it was sent to, who sent it, and what Fresh passes from middlewares to routes.

import { createDefine, type Define } from "fresh";
import { invalidParameters } from "../errors.ts";
import type { Services } from "../services.ts";
import type { Config } from "../settings.ts";
import type { RequestContext } from "../source/source.ts";
import { clientAddress, lastForwarded, PROCESSOR_MS_PER_MISS } from "./limits.ts";
import { pacedBody } from "./paced_body.ts";
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

/** The address by which a client is counted. */
export function clientOf(
  request: Request,
  { remoteAddr }: Pick<Deno.ServeHandlerInfo, "remoteAddr">,
  { trustProxy }: Pick<Config, "trustProxy">,
): string {
  const remote = "hostname" in remoteAddr ? remoteAddr.hostname : "";
  return clientAddress(request, { remote, trustProxy });
}

/** All that a response depends on beside the caches, read without parsing: the URL, and what a trusted proxy adds. */
export function requestKey({ url, headers }: Request, { trustProxy }: OriginOptions): string {
  if (!trustProxy) return url;
  const proto = headers.get("x-forwarded-proto") ?? "";
  // An absent header and one that says "null" are different requests.
  return `${url}\n${proto}\n${headers.get("x-forwarded-host") ?? ""}`;
}
