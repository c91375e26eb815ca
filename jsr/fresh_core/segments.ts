// The tree of path segments that middlewares and error handlers hang from. A route takes those of
// every segment above it, the root's first, as they are at the moment the route is registered.

import type { Context } from "./context.ts";
import { HttpError } from "./error.ts";
import type { MaybeLazyMiddleware, Method, Middleware, Route } from "./types.ts";

/** One segment of a route's path. */
export class Segment<State> {
  middlewares: MaybeLazyMiddleware<State>[] = [];
  errorRoute: Route<State> | null = null;
  /** Set on the root alone. */
  notFound: Middleware<State> | null = null;
  #parent: Segment<State> | null;
  #children = new Map<string, Segment<State>>();

  constructor(parent: Segment<State> | null = null) {
    this.#parent = parent;
  }

  /** The segment at a path below this one, made when missing. `*` and `/` are this one. */
  at(path: string): Segment<State> {
    if (path === "*" || path === "/*") return this;
    const names = path.split("/").filter(Boolean);
    return names.reduce<Segment<State>>(
      (segment, name) => segment.#child(name),
      this,
    );
  }

  /** The middlewares from the root down to this segment, each level within its error handler. */
  chain(): MaybeLazyMiddleware<State>[] {
    const above = this.#parent === null ? [] : this.#parent.chain();
    return [
      ...above,
      catchErrors(this.#root(), this.errorRoute),
      ...this.middlewares,
    ];
  }

  #child(name: string): Segment<State> {
    const child = this.#children.get(name) ?? new Segment(this);
    this.#children.set(name, child);
    return child;
  }

  #root(): Segment<State> {
    return this.#parent === null ? this : this.#parent.#root();
  }
}

function catchErrors<State>(
  root: Segment<State>,
  errorRoute: Route<State> | null,
): Middleware<State> {
  return async (ctx) => {
    try {
      return await ctx.next();
    } catch (error) {
      const isNotFound = error instanceof HttpError && error.status === 404;
      if (isNotFound && root.notFound !== null) return await root.notFound(ctx);
      if (errorRoute !== null) return await runRoute(errorRoute, ctx);
      throw error;
    }
  };
}

/**
 * Answers a request with a route's handler for its method; passes it on when there is none.
 *
 * @throws {Error} When the handler gives page data: this package renders no pages.
 */
export async function runRoute<State>(
  route: Route<State>,
  ctx: Context<State>,
): Promise<Response> {
  const handler = route.handler ?? notFound;
  const method = ctx.req.method.toUpperCase() as Method;
  const fn = typeof handler === "function"
    ? handler
    : handler[method] ?? (method === "HEAD" ? handler.GET : undefined);
  const result = fn === undefined ? await ctx.next() : await fn(ctx);
  if (!(result instanceof Response)) {
    throw new Error(
      `Cannot render a page for "${ctx.url.pathname}": its handler gave no Response`,
    );
  }
  return result;
}

/**
 * Runs middlewares in order, and after the last what `ctx.next` held before. What that throws at once, `ctx.next()` of
 * the last middleware throws at once too: only what comes from a middleware is a rejected promise.
 */
export function runMiddlewares<State>(
  middlewares: MaybeLazyMiddleware<State>[],
  ctx: Context<State>,
): Promise<Response> {
  const last = ctx.next;

  async function run(index: number, middleware: MaybeLazyMiddleware<State>): Promise<Response> {
    ctx.next = () => runFrom(index + 1);
    try {
      const result = await middleware(ctx);
      if (typeof result !== "function") return result;
      middlewares[index] = result;
      return await result(ctx);
    } catch (error) {
      ctx.error = error;
      throw error;
    }
  }

  function runFrom(index: number): Promise<Response> {
    const middleware = middlewares[index];
    return middleware === undefined ? last() : run(index, middleware);
  }

  return runFrom(0);
}

/** @throws {HttpError} 404, always. */
export function notFound(): Promise<Response> {
  throw new HttpError(404);
}
