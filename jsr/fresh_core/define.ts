// Typed identity functions: they give a route file its State without a type annotation.

import type { Middleware, RouteHandler } from "./types.ts";

/** Helpers that type a route file's exports and return them as they are. */
export interface Define<State> {
  handlers<
    Data,
    Handlers extends RouteHandler<Data, State> = RouteHandler<Data, State>,
  >(handlers: Handlers): typeof handlers;

  middleware<M extends Middleware<State> | Middleware<State>[]>(
    middleware: M,
  ): typeof middleware;
}

/** Gives the helpers for an app whose middlewares share `State`. */
export function createDefine<State>(): Define<State> {
  return {
    handlers: (handlers) => handlers,
    middleware: (middleware) => middleware,
  };
}
