// The service as one function from request to response. In order: the check of `Host`, cached responses, refused methods
// and OPTIONS, the Fresh app. HEAD, the common headers and the log line are handled here, for all of them alike.

import { App, type FreshConfig } from "fresh";
import { problem } from "../errors.ts";
import type { Services } from "../services.ts";
import { clientOf } from "./client_address.ts";
import { mountRoutes, type Route } from "./file_routes.ts";
import { addressOf, checkHost, hasValidHost, limitToLoopback, requestKey } from "./origin.ts";
import { pacedBody } from "./paced_body.ts";
import { problemResponse } from "./problems.ts";
import {
  type Bytes,
  COMMON_HEADERS,
  dataHeaders,
  dataResponse,
  negotiateBody,
  type NegotiatedBody,
} from "./responses.ts";
import { HttpContext, nextRequestId, type State } from "./state.ts";

/** Answers every request; never throws or rejects. What it returns without a promise is sent sooner. */
export type Handler = (
  request: Request,
  info: Deno.ServeHandlerInfo,
) => Response | Promise<Response>;

/** The Fresh app and its routes. */
export interface RoutedApp {
  readonly fresh: App<State>;
  readonly routes: readonly Route[];
}

const encoder = new TextEncoder();

/** Of an address without a route. */
const READ_METHODS = ["GET", "HEAD", "OPTIONS"];

/** CORS for every origin (Fetch Standard, "CORS protocol"): the service is read-only and has no credentials. */
const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": READ_METHODS.join(", "),
  "access-control-allow-headers":
    "Accept, Cache-Control, Content-Type, If-Modified-Since, If-None-Match",
  "access-control-max-age": "86400",
};

/** What the handler passes to the app's middleware. */
const states = new WeakMap<Request, State>();

/** The app with the routes below `routesUrl`; {@linkcode createHandler} serves it. */
export async function createApp(
  { routesUrl, appConfig }: { routesUrl: URL; appConfig: FreshConfig },
): Promise<RoutedApp> {
  const fresh = new App<State>(appConfig);
  fresh.use(async (ctx) => {
    const state = states.get(ctx.req)!;
    Object.assign(ctx.state, state);
    try {
      // `next()` may throw before it returns a promise. Fresh would answer in its own way.
      return await ctx.next();
    } catch (error) {
      return problemResponse(error, state);
    }
  });
  return { fresh, routes: await mountRoutes(fresh, routesUrl) };
}

/** Serves an app with these services. */
export function createHandler({ fresh, routes }: RoutedApp, services: Services): Handler {
  const framework = fresh.handler();
  const { isPreview } = services.config;
  return (request, info) => {
    try {
      const cached = isPreview || !hasValidHost(request)
        ? null
        : cachedResponse(request, info, services);
      if (cached !== null) return request.method === "HEAD" ? withoutBody(cached) : cached;
    } catch (error) {
      return respond(request, info, services, routes, () => Promise.reject(error));
    }
    return respond(request, info, services, routes, (state) => {
      states.set(request, state);
      return framework(request, info);
    });
  };
}

/**
 * The response ahead of the framework: the request's URL leads to ready bytes, and nothing is parsed. Null where there is
 * no cached response that may be sent as it is. @throws {CollectionsError} too-many-requests.
 */
function cachedResponse(
  request: Request,
  info: Deno.ServeHandlerInfo,
  services: Services,
): Response | null {
  const { method } = request;
  if (method !== "GET" && method !== "HEAD") return null;
  const { clock, config, metrics, responses } = services;
  const entry = responses.fresh(requestKey(request, config));
  if (entry === null) return null;
  const negotiated = negotiateBody(entry.body, request);
  const stream = streamOfHit(negotiated, request, info, services);
  const startedAtMs = clock.monotonicMs();
  const { ref: { checkedAtMs, freshForMs }, repository, route } = entry;
  const id = nextRequestId();
  const headers = dataHeaders(
    { requestId: id, checkedAtMs, freshForMs, cacheStatus: "hit", isStorable: true },
    clock.now(),
  );
  const response = dataResponse(negotiated, headers, stream);
  metrics.countHit("response");
  const cacheStatus = headers["cache-status"];
  const { status } = response;
  writeRequestLine(services, { request, id, route, repository, startedAtMs, status, cacheStatus });
  return response;
}

/**
 * The stream that sends a cached body where that is large or counted; undefined where it is sent whole.
 * @throws {CollectionsError} too-many-requests. @throws what {@linkcode LargeBodies.hold} throws.
 */
function streamOfHit(
  { coded: { content }, knownTag, large }: NegotiatedBody,
  request: Request,
  info: Deno.ServeHandlerInfo,
  { clock, config, largeBodies, underWay }: Services,
): ReadableStream<Bytes> | undefined {
  if (knownTag !== null || request.method === "HEAD") return undefined;
  const client = () => clientOf(request, info, config);
  const weight = large === null ? underWay.weightOfHit(client) : 1;
  if (weight === 0) return undefined;
  underWay.add(client(), info, weight);
  if (large !== null) {
    return pacedBody(large, { clock, onEnd: largeBodies.hold(large, client()) });
  }
  return pacedBody(typeof content === "string" ? encoder.encode(content) : content, { clock });
}

/** The response of a request that misses the fast path; `next` is the framework. */
async function respond(
  request: Request,
  info: Deno.ServeHandlerInfo,
  services: Services,
  routes: readonly Route[],
  next: (state: State) => Promise<Response>,
): Promise<Response> {
  const { config, underWay } = services;
  const { method } = request;
  const context = new HttpContext(request, info, services);
  const state = { context, services };
  // Fresh folds repeated slashes, and ignores one at the end.
  const path = addressOf(request)?.pathname.replaceAll(/\/+/g, "/").replace(/(.)\/$/, "$1");
  const route = routes.find((route) => route.path.test(path ?? ""));
  const isEnabled = route === undefined || route.isEnabled(services);
  const methods = route?.methods ?? READ_METHODS;
  const allow = methods.join(", ");
  let response: Response;
  try {
    // A signed delivery is never refused for what its address does beside it.
    const isDelivery = isEnabled && method === "POST" && methods.includes("POST");
    if (!isDelivery) underWay.add(context.client, info);
    context.check(() => checkHost(request, config));
    context.route = route?.pattern ?? "none";
    if (method === "OPTIONS") {
      response = new Response(null, { status: 204, headers: { ...PREFLIGHT_HEADERS, allow } });
    } else {
      if (!isEnabled) throw problem("route-not-found", {});
      // Fresh answers a method that it does not know with a bare 500.
      if (!methods.includes(method)) {
        throw problem("method-not-allowed", { allowed: allow, method: method.slice(0, 20) });
      }
      response = await next(state);
    }
  } catch (error) {
    // The framework fails on a malformed escape in the path.
    const isUnknown = error instanceof URIError;
    response = problemResponse(isUnknown ? problem("route-not-found", {}) : error, state);
  }
  const { status, headers } = response;
  for (const [name, value] of Object.entries(COMMON_HEADERS)) headers.set(name, value);
  headers.set("x-request-id", context.id);
  if (status === 405) headers.set("allow", allow);
  if (config.isPreview) limitToLoopback(request, response);
  const cacheStatus = headers.get("cache-status") ?? undefined;
  writeRequestLine(services, { ...context, status, cacheStatus });
  if (method === "HEAD") return await withoutBody(response);
  if (response.body === null || context.isPaced) return response;
  // Sent as a stream, by which the server knows when it was sent.
  return new Response(context.pace(await response.bytes()), { status, headers });
}

async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  const { status, headers } = response;
  return new Response(null, { status, headers });
}

/** Counts a request and logs it, without its query, which may contain secrets. */
function writeRequestLine(
  { clock, log, metrics }: Services,
  line: Pick<HttpContext, "request" | "id" | "route" | "repository" | "startedAtMs"> & {
    readonly status: number;
    readonly cacheStatus: string | undefined;
  },
): void {
  const durationMs = clock.monotonicMs() - line.startedAtMs;
  const { request: { method, url }, route, status } = line;
  metrics.countRequest({ route, status, durationMs });
  if (log.level !== "debug" && log.level !== "info") return;
  // The path of an absolute URL, found without parsing it.
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  log.info("request", {
    id: line.id,
    method: method.slice(0, 20),
    path: url.slice(start, end < 0 ? undefined : end).slice(0, 200),
    status,
    ms: Math.round(durationMs * 10) / 10,
    repository: line.repository,
    cache: line.cacheStatus,
  });
}
