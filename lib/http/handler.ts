// The whole service as one function: kept answers first, then the Fresh app, and around both a net for what is thrown
// before any middleware runs.

import { App, type FreshConfig } from "fresh";
import { type CollectionsError, invalidParameters } from "../errors.ts";
import type { Services } from "../services.ts";
import { COMMON_HEADERS } from "./common_headers.ts";
import { newExchange } from "./exchange.ts";
import { mountRoutes } from "./file_routes.ts";
import { hitResponse } from "./hits.ts";
import { logFailure, problemResponse, routeNotFound } from "./problem.ts";
import { writeExchangeLine } from "./request_log.ts";
import type { State } from "./state.ts";

/** Answers every request; never rejects. */
export type Handler = (request: Request, info: Deno.ServeHandlerInfo) => Promise<Response>;

/** Mounts the routes below `routesUrl` and gives the handler. */
export async function createHandler(
  services: Services,
  { routesUrl, appConfig }: { routesUrl: URL; appConfig: FreshConfig },
): Promise<Handler> {
  const app = new App<State>(appConfig);
  app.use((ctx) => {
    ctx.state.services = services;
    return ctx.next();
  });
  await mountRoutes(app, routesUrl);
  const framework = app.handler();
  return async (request, info) => {
    try {
      return hitResponse(request, services) ?? await framework(request, info);
    } catch (error) {
      return outerProblem(error, { request, info, services });
    }
  };
}

/** The problem for what fails outside the middlewares: no host, a malformed escape in the path, a fault ahead of them. */
function outerProblem(
  error: unknown,
  { request, info, services }: {
    request: Request;
    info: Deno.ServeHandlerInfo;
    services: Services;
  },
): Response {
  const exchange = newExchange(request, { info, services });
  const url = URL.parse(request.url);
  const shown = url === null ? badHost() : isDecodable(url.pathname) ? error : routeNotFound();
  const response = problemResponse(shown, { requestId: exchange.id, baseUrl: exchange.baseUrl });
  for (const [name, value] of Object.entries(COMMON_HEADERS)) response.headers.set(name, value);
  response.headers.set("x-request-id", exchange.id);
  logFailure(services.log, { error: shown, status: response.status, requestId: exchange.id });
  writeExchangeLine(exchange, { services, response });
  return request.method === "HEAD" ? new Response(null, response) : response;
}

/** 400 by RFC 9112, section 3.2. */
function badHost(): CollectionsError {
  return invalidParameters([{ parameter: "Host", message: "must be the name of a host" }]);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
