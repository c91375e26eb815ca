// The types that the package's modules share: handlers, middlewares and routes.
// They are Fresh's own, less what only rendered pages use.

import type { Context } from "./context.ts";

/** A request method that a route can be registered for. */
export type Method =
  | "HEAD"
  | "GET"
  | "POST"
  | "PATCH"
  | "PUT"
  | "DELETE"
  | "OPTIONS";

/** What a handler may return in Fresh for a page to render. There are no pages here: see `App`. */
export interface PageResponse<T> {
  data: T;
  headers?: HeadersInit;
  status?: number;
}

/** Answers a request, or passes it on with `ctx.next()`. */
export type Middleware<State> = (
  ctx: Context<State>,
) => Response | Promise<Response>;

/** The former name of {@linkcode Middleware}. */
export type MiddlewareFn<State> = Middleware<State>;

/** A middleware, or a function that resolves to one on its first request. */
export type MaybeLazyMiddleware<State> = (
  ctx: Context<State>,
) => Response | Promise<Response | Middleware<State>>;

/** Answers the requests of one route. */
export interface HandlerFn<Data, State> {
  (
    ctx: Context<State>,
  ): Response | PageResponse<Data> | Promise<Response | PageResponse<Data>>;
}

/** A route's handlers by request method; `GET` answers `HEAD` as well. */
export type HandlerByMethod<Data, State> = {
  [M in Method]?: HandlerFn<Data, State>;
};

/** One handler for every method, or one for each. */
export type RouteHandler<Data, State> =
  | HandlerFn<Data, State>
  | HandlerByMethod<Data, State>;

/** What a route may say of itself. */
export interface RouteConfig {
  /** The URL pattern to register, in place of the path given to `route()`. */
  routeOverride?: string;
  /** The methods of a route that is loaded lazily; all of them by default. */
  methods?: "ALL" | Method[];
}

/** A route: its handler, and how to register it. */
export interface Route<State> {
  config?: RouteConfig;
  handler?: RouteHandler<unknown, State>;
}

/** A function that resolves to `T` when first needed. */
export type Lazy<T> = () => Promise<T>;

/** `T` or a function that resolves to it. */
export type MaybeLazy<T> = T | Lazy<T>;
