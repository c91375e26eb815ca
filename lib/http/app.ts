// The service as one function from request to response. It checks `Host` and
// tries the response cache. Then it answers OPTIONS and refuses unsupported
// methods. The Fresh app handles the other requests. HEAD, the common headers
// and the log line are handled here for all requests.

import { App, type FreshConfig } from "fresh";
import { problem } from "../errors.ts";
import type { Services } from "../services.ts";
import { clientOf, loggedClient } from "./client_address.ts";
import { mountRoutes, type Route } from "./file_routes.ts";
import {
  addressOf,
  checkHost,
  hasValidHost,
  limitOrigins,
  MAX_ADDRESS_LENGTH,
  requestKey,
} from "./origin.ts";
import { pacedBody } from "./paced_body.ts";
import { errorResponse } from "./problems.ts";
import {
  type Bytes,
  COMMON_HEADERS,
  dataHeaders,
  dataResponse,
  negotiateBody,
} from "./responses.ts";
import { RESPONSE_HIT } from "./response_cache.ts";
import { HttpContext, nextRequestId, type State } from "./state.ts";

/**
 * Responds to every request. Never throws or rejects. A response that is
 * returned without a promise is sent sooner.
 */
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

/** Allowed methods of paths without a route. */
const READ_METHODS = ["GET", "HEAD", "OPTIONS"];

/**
 * Every origin may use CORS (Fetch Standard, "CORS protocol") because the
 * service is read-only and has no credentials. CORS_ORIGINS restricts it.
 */
const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": READ_METHODS.join(", "),
  "access-control-allow-headers":
    "Accept, Cache-Control, Content-Type, If-Modified-Since, If-None-Match",
  "access-control-max-age": "86400",
};

/** Passes the state from the handler to the middleware of the app. */
const states = new WeakMap<Request, State>();

/**
 * Returns an app with the routes below `routesUrl`. {@linkcode createHandler}
 * serves it.
 * @throws {Error} if a route file cannot be mounted.
 */
export async function createApp(
  { routesUrl, appConfig }: { routesUrl: URL; appConfig: FreshConfig },
): Promise<RoutedApp> {
  const fresh = new App<State>(appConfig);
  fresh.use(async (ctx) => {
    const state = states.get(ctx.req)!;
    Object.assign(ctx.state, state);
    try {
      // `next()` may throw before it returns a promise. Fresh would then send
      // its own error response.
      return await ctx.next();
    } catch (error) {
      return await errorResponse(error, ctx.req, state);
    }
  });
  return { fresh, routes: await mountRoutes(fresh, routesUrl) };
}

/** Returns the handler that serves an app with these services. */
export function createHandler(
  { fresh, routes }: RoutedApp,
  services: Services,
): Handler {
  const framework = fresh.handler();
  const { isPreview } = services.config;
  return (request, info) => {
    try {
      const cached = isPreview || !hasValidHost(request)
        ? null
        : cachedResponse(request, info, services);
      if (cached !== null) {
        return request.method === "HEAD" ? withoutBody(cached) : cached;
      }
    } catch (error) {
      return respond(
        request,
        info,
        services,
        routes,
        () => Promise.reject(error),
      );
    }
    return respond(request, info, services, routes, (state) => {
      states.set(request, state);
      return framework(request, info);
    });
  };
}

/**
 * Returns the cached response for a request URL. It does not parse the URL or
 * call the framework. A body that is large or counted is streamed. Returns null
 * if no fresh response is cached.
 * @throws {CollectionsError} too-many-requests.
 * @throws what {@linkcode LargeBodies.hold} throws.
 */
function cachedResponse(
  request: Request,
  info: Deno.ServeHandlerInfo,
  services: Services,
): Response | null {
  const { method } = request;
  if (method !== "GET" && method !== "HEAD") return null;
  const { clock, config, edge, largeBodies, metrics, responses, underWay } =
    services;
  const entry = responses.fresh(requestKey(request, config));
  if (entry === null) return null;
  const negotiated = negotiateBody(entry.body, request);
  const { coded: { content }, knownTag, large } = negotiated;
  const client = () => clientOf(request, info, config);
  let stream: ReadableStream<Bytes> | undefined;
  const weight = knownTag !== null || method === "HEAD"
    ? 0
    : large === null
    ? underWay.weightOfHit(client)
    : 1;
  if (weight > 0) {
    underWay.add(client(), info, weight);
    stream = pacedBody(
      typeof content === "string" ? encoder.encode(content) : content,
      { clock, ...(large && largeBodies.hold(large, client())) },
    );
  }
  const startedAtMs = clock.monotonicMs();
  const { ref: { checkedAtMs, freshForMs }, repository, route } = entry;
  const isHeld = entry.expiresAtMs === Infinity;
  const id = nextRequestId();
  const headers = dataHeaders(
    {
      requestId: id,
      checkedAtMs,
      freshForMs,
      cacheStatus: "fresh",
      isStorable: true,
      isHeld,
    },
    edge,
    clock.now(),
  );
  const response = dataResponse(negotiated, headers, stream);
  limitOrigins(request, response, config);
  metrics.count(RESPONSE_HIT);
  const cacheStatus = headers["cache-status"];
  const { status } = response;
  writeRequestLine(services, {
    request,
    id,
    route,
    repository,
    startedAtMs,
    status,
    cacheStatus,
    bytes: status === 304 || method === "HEAD" ? 0 : content.length,
    client,
  });
  return response;
}

/**
 * Responds to a request that misses the fast path. `next` calls the framework.
 */
async function respond(
  request: Request,
  info: Deno.ServeHandlerInfo,
  services: Services,
  routes: readonly Route[],
  next: (state: State) => Promise<Response>,
): Promise<Response> {
  const { clock, config, underWay } = services;
  const { method } = request;
  const context = new HttpContext(request, info, services);
  const state = { context, services };
  // Fresh folds repeated slashes, and ignores one at the end.
  const path = addressOf(request)?.pathname.replaceAll(/\/+/g, "/").replace(
    /(.)\/$/,
    "$1",
  );
  const route = routes.find((route) => route.path.test(path ?? ""));
  const isEnabled = route === undefined || route.isEnabled(services);
  const methods = route?.methods ?? READ_METHODS;
  const allow = methods.join(", ");
  let response: Response;
  let isCounted = false;
  try {
    // Other requests from the same address must not block a signed delivery.
    // Nobody configures a long address for it.
    const isDelivery = isEnabled && method === "POST" &&
      methods.includes("POST") && request.url.length <= MAX_ADDRESS_LENGTH;
    if (!isDelivery) {
      underWay.add(context.client, info);
      isCounted = true;
      await underWay.turnOf(context, clock);
    }
    context.check(() => checkHost(request, config));
    context.route = route?.pattern ?? "none";
    if (method === "OPTIONS") {
      response = new Response(null, {
        status: 204,
        headers: { ...PREFLIGHT_HEADERS, allow },
      });
    } else {
      if (!isEnabled) throw problem("route-not-found", {});
      // Fresh responds to unknown methods with a plain 500.
      if (!methods.includes(method)) {
        throw problem("method-not-allowed", {
          allowed: allow,
          method: method.slice(0, 20),
        });
      }
      // Fresh would parse the whole address.
      if (route === undefined) throw problem("route-not-found", {});
      response = await next(state);
    }
  } catch (error) {
    // Fresh throws a URIError for a malformed escape in the path.
    const isUnknown = error instanceof URIError;
    response = await errorResponse(
      isUnknown ? problem("route-not-found", {}) : error,
      request,
      state,
    );
  }
  const { status, headers } = response;
  for (const [name, value] of Object.entries(COMMON_HEADERS)) {
    headers.set(name, value);
  }
  headers.set("x-request-id", context.id);
  if (status === 405) headers.set("allow", allow);
  limitOrigins(request, response, config);
  const cacheStatus = headers.get("cache-status") ?? undefined;
  const hasBody = response.body !== null && method !== "HEAD";
  writeRequestLine(services, {
    ...context,
    status,
    cacheStatus,
    bytes: hasBody ? Number(headers.get("content-length")) : 0,
    client: () => context.client,
  });
  if (method === "HEAD") return await withoutBody(response);
  const { body } = response;
  if (body === null || context.isPaced || !isCounted) return response;
  // Only a streamed response reports when it was sent.
  return new Response(context.pace(await response.bytes()), {
    status,
    headers,
  });
}

async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  const { status, headers } = response;
  return new Response(null, { status, headers });
}

/**
 * Counts and logs a request. The query is not logged because it may contain
 * secrets.
 */
function writeRequestLine(
  { clock, config, log, metrics }: Services,
  line:
    & Pick<
      HttpContext,
      "request" | "id" | "route" | "repository" | "startedAtMs"
    >
    & {
      status: number;
      cacheStatus: string | undefined;
      /** The length of the body that is sent. */
      bytes: number;
      client: () => string;
    },
) {
  const durationMs = clock.monotonicMs() - line.startedAtMs;
  const { request: { method, url }, route, status } = line;
  metrics.countRequest({ route, status, durationMs });
  if (log.level !== "debug" && log.level !== "info") return;
  // Finds the path of an absolute URL without parsing the URL.
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  log.info("request", {
    id: line.id,
    method: method.slice(0, 20),
    path: url.slice(start, end < 0 ? undefined : end).slice(0, 200),
    status,
    bytes: line.bytes,
    ms: Math.round(durationMs * 10) / 10,
    client: loggedClient(line.client, config),
    repository: line.repository,
    cache: line.cacheStatus,
  });
}
