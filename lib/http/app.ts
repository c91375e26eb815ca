// The service as one function from request to response. In order: the check of `Host`, cached responses, refused methods
// and OPTIONS, the Fresh app. HEAD, the common headers and the log line are handled here, for all of them alike.

import { App, type FreshConfig } from "fresh";
import { CollectionsError, methodNotAllowed, routeNotFound } from "../errors.ts";
import type { Services } from "../services.ts";
import { checkHost, hasValidHost, limitToLoopback } from "./base_url.ts";
import { cachedResponse } from "./fast_path.ts";
import { mountRoutes } from "./file_routes.ts";
import { problemResponse } from "./problems.ts";
import { writeRequestLine } from "./request_log.ts";
import { COMMON_HEADERS, METHODS, methodsOf } from "./responses.ts";
import { HttpContext, type State } from "./state.ts";

/** Answers every request; never throws or rejects. What it returns without a promise is sent sooner. */
export type Handler = (
  request: Request,
  info: Deno.ServeHandlerInfo,
) => Response | Promise<Response>;

type Framework = (request: Request, info: Deno.ServeHandlerInfo) => Promise<Response>;

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
  const respondSlowly = async (request: Request, options: RequestOptions) => {
    const response = await respond(request, options);
    if (isPreview) limitToLoopback(request, response);
    return request.method === "HEAD" ? await withoutBody(response) : response;
  };
  return (request, info) => {
    let failure: unknown;
    try {
      const cached = isPreview || !hasValidHost(request) ? null : cachedResponse(request, services);
      if (cached !== null) return request.method === "HEAD" ? withoutBody(cached) : cached;
    } catch (error) {
      failure = error;
    }
    return respondSlowly(request, { info, services, framework, failure });
  };
}

interface RequestOptions {
  readonly info: Deno.ServeHandlerInfo;
  readonly services: Services;
  readonly framework: Framework;
  /** An error thrown by the fast path. */
  readonly failure: unknown;
}

/** The response of a request that misses the fast path, with the common headers, and its log line. */
async function respond(
  request: Request,
  { info, services, framework, failure }: RequestOptions,
): Promise<Response> {
  const context = new HttpContext(request, info, services);
  const state = { context, services };
  let response: Response;
  try {
    if (failure !== undefined) throw failure;
    checkHost(request, services.config);
    const refused = refuseMethod(request, services);
    if (refused === null) states.set(request, state);
    response = refused ?? await framework(request, info);
  } catch (error) {
    // The framework fails on a malformed escape in the path.
    const isUnknownPath = !(error instanceof CollectionsError) && !isDecodable(request.url);
    response = problemResponse(isUnknownPath ? routeNotFound() : error, state);
  }
  for (const [name, value] of Object.entries(COMMON_HEADERS)) response.headers.set(name, value);
  response.headers.set("x-request-id", context.id);
  const { id, route, startedAtMs, repository } = context;
  const { method, url } = request;
  const { status, headers } = response;
  const cacheStatus = headers.get("cache-status") ?? undefined;
  writeRequestLine(services, {
    id,
    route,
    method,
    url,
    status,
    cacheStatus,
    startedAtMs,
    repository,
  });
  return response;
}

/** Null for methods that a route answers. Fresh answers unknown methods with a bare 500, so they are refused before it. */
function refuseMethod({ method, url }: Request, { webhook }: Services): Response | null {
  const methods = methodsOf(url, { hasWebhook: webhook !== null });
  if (method === "OPTIONS") {
    const headers = { ...PREFLIGHT_HEADERS, allow: methods.join(", ") };
    return new Response(null, { status: 204, headers });
  }
  if (methods.length === 1) throw routeNotFound();
  if (!methods.includes(method)) throw methodNotAllowed(method, methods);
  return null;
}

function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(URL.parse(url)?.pathname ?? "");
    return true;
  } catch {
    return false;
  }
}

async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel();
  const { status, headers } = response;
  return new Response(null, { status, headers });
}
