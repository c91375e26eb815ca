// Answers one request: finds its route, runs the chain, and turns uncaught errors into responses.

import { STATUS_TEXT } from "@std/http";
import type { ResolvedFreshConfig } from "./config.ts";
import { Context } from "./context.ts";
import { HttpError } from "./error.ts";
import { METHODS, type Router } from "./router.ts";
import { notFound, runMiddlewares } from "./segments.ts";
import type { MaybeLazyMiddleware, Method } from "./types.ts";

/** What requests are answered with. */
export interface Routing<State> {
  config: ResolvedFreshConfig;
  router: Router<MaybeLazyMiddleware<State>>;
  /** What runs for an unknown path and for an unknown method. */
  rootChain: MaybeLazyMiddleware<State>[];
}

/**
 * Answers a request. It never rejects for what a middleware or a handler throws.
 * @throws {URIError} When a parameter in the path is malformed.
 */
export async function respond<State>(
  req: Request,
  { routing, info }: { routing: Routing<State>; info: Deno.ServeHandlerInfo },
): Promise<Response> {
  const { config, router, rootChain } = routing;
  const url = new URL(req.url);
  // A path of two slashes would name a host where it is given back in a Location.
  url.pathname = url.pathname.replaceAll(/\/+/g, "/");

  const method = req.method.toUpperCase();
  const { pattern, handlers, params, allowedMethods } = router.match(
    method,
    url,
  );
  if (pattern !== null && !METHODS.some((known) => known === method)) {
    // As in Fresh 2.3.3: neither middlewares nor handlers see the request.
    return toResponse(new TypeError(`Cannot answer "${method}": no route can have this method`));
  }
  let next = notFound;
  if (pattern !== null && handlers === null) {
    next = method === "OPTIONS" ? () => listMethods(allowedMethods) : methodNotAllowed;
  }

  const ctx = new Context<State>(req, {
    url,
    info,
    params,
    next,
    route: pattern,
    config,
  });
  try {
    const response = await runMiddlewares(handlers ?? rootChain, ctx);
    if (!(response instanceof Response)) {
      throw new Error(
        `Cannot answer "${url.pathname}": its handler gave no Response`,
      );
    }
    return method === "HEAD" ? new Response(null, response) : response;
  } catch (error) {
    return toResponse(error);
  }
}

function toResponse(error: unknown): Response {
  if (!(error instanceof HttpError)) {
    console.error(error);
    return new Response("Internal server error", { status: 500 });
  }
  if (error.status >= 500) console.error(error);
  return new Response(error.message || STATUS_TEXT[error.status], {
    status: error.status,
  });
}

function listMethods(methods: Method[]): Promise<Response> {
  const headers = { Allow: methods.join(", ") };
  return Promise.resolve(new Response(null, { status: 204, headers }));
}

function methodNotAllowed(): Promise<Response> {
  throw new HttpError(405);
}
