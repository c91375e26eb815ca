// The service as one function from request to response. In order: the check of `Host`, cached responses, refused methods
// and OPTIONS, the Fresh app. HEAD, the common headers and the log line are handled here, for all of them alike.

import { App, type FreshConfig } from "fresh";
import { methodNotAllowed, routeNotFound } from "../errors.ts";
import type { Services } from "../services.ts";
import { mountRoutes } from "./file_routes.ts";
import { problemResponse } from "./problems.ts";
import { pacedBody } from "./paced_body.ts";
import {
  type Bytes,
  COMMON_HEADERS,
  dataHeaders,
  dataResponse,
  negotiateBody,
  type NegotiatedBody,
} from "./responses.ts";
import {
  checkHost,
  clientOf,
  hasValidHost,
  HttpContext,
  limitToLoopback,
  nextRequestId,
  requestKey,
  type State,
} from "./state.ts";

/** Answers every request; never throws or rejects. What it returns without a promise is sent sooner. */
export type Handler = (
  request: Request,
  info: Deno.ServeHandlerInfo,
) => Response | Promise<Response>;

const encoder = new TextEncoder();
const METHODS = ["GET", "HEAD", "OPTIONS"];
// Fresh folds repeated slashes.
const WEBHOOK_PATH = /^\/+api\/+webhooks\/+github\/*$/;

/** CORS for every origin (Fetch Standard, "CORS protocol"): the service is read-only and has no credentials. */
const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": METHODS.join(", "),
  "access-control-allow-headers":
    "Accept, Cache-Control, Content-Type, If-Modified-Since, If-None-Match",
  "access-control-max-age": "86400",
};

/** What the handler passes to the app's first middleware. */
const states = new WeakMap<Request, State>();

/** The Fresh app with the routes below `routesUrl`; {@linkcode createHandler} serves it. */
export async function createApp(
  { routesUrl, appConfig }: { routesUrl: URL; appConfig: FreshConfig },
): Promise<App<State>> {
  const app = new App<State>(appConfig);
  app.use((ctx) => {
    Object.assign(ctx.state, states.get(ctx.req));
    return ctx.next();
  });
  await mountRoutes(app, routesUrl);
  return app;
}

/** Serves an app with these services. */
export function createHandler(app: App<State>, services: Services): Handler {
  const framework = app.handler();
  const { isPreview } = services.config;
  return (request, info) => {
    try {
      const cached = isPreview || !hasValidHost(request)
        ? null
        : cachedResponse(request, info, services);
      if (cached !== null) return request.method === "HEAD" ? withoutBody(cached) : cached;
    } catch (error) {
      return respond(request, info, services, () => Promise.reject(error));
    }
    return respond(request, info, services, (state) => {
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
  next: (state: State) => Promise<Response>,
): Promise<Response> {
  const { config, underWay, webhook } = services;
  const context = new HttpContext(request, info, services);
  const state = { context, services };
  const methods = methodsOf(request.url, webhook !== null);
  const allow = methods.join(", ");
  let response: Response;
  try {
    // A signed delivery is never refused for what its address does beside it.
    const isDelivery = request.method === "POST" && methods.includes("POST");
    if (!isDelivery) underWay.add(context.client, info);
    context.check(() => checkHost(request, config));
    if (request.method === "OPTIONS") {
      response = new Response(null, { status: 204, headers: { ...PREFLIGHT_HEADERS, allow } });
    } else {
      // Fresh answers a method that it does not know with a bare 500.
      if (methods.length === 1) throw routeNotFound();
      if (!methods.includes(request.method)) throw methodNotAllowed(request.method, methods);
      response = await next(state);
    }
  } catch (error) {
    // The framework fails on a malformed escape in the path.
    response = problemResponse(error instanceof URIError ? routeNotFound() : error, state);
  }
  const { status, headers } = response;
  for (const [name, value] of Object.entries(COMMON_HEADERS)) headers.set(name, value);
  headers.set("x-request-id", context.id);
  if (status === 405) headers.set("allow", allow);
  if (config.isPreview) limitToLoopback(request, response);
  const cacheStatus = headers.get("cache-status") ?? undefined;
  writeRequestLine(services, { ...context, status, cacheStatus });
  if (request.method === "HEAD") return await withoutBody(response);
  if (response.body === null || context.isPaced) return response;
  // Sent as a stream, by which the server knows when it was sent.
  return new Response(context.pace(await response.bytes()), { status, headers });
}

/** The methods of the address of a URL; without a webhook secret the webhook's address has only OPTIONS. */
function methodsOf(url: string, hasWebhook: boolean): readonly string[] {
  if (!WEBHOOK_PATH.test(URL.parse(url)?.pathname ?? "")) return METHODS;
  return hasWebhook ? ["POST", "OPTIONS"] : ["OPTIONS"];
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
