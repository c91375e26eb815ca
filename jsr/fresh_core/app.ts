// The application: middlewares and routes in the order of registration, made into one request handler.

import type { FreshConfig, ResolvedFreshConfig } from "./config.ts";
import { type Handler, listen, type ListenOptions } from "./listen.ts";
import { respond } from "./respond.ts";
import { METHODS, Router } from "./router.ts";
import { notFound, runRoute, Segment } from "./segments.ts";
import type {
  Lazy,
  MaybeLazy,
  MaybeLazyMiddleware,
  Method,
  Middleware,
  Route,
  RouteConfig,
} from "./types.ts";

interface Registry<State> {
  root: Segment<State>;
  router: Router<MaybeLazyMiddleware<State>>;
}

const DEPLOYMENT_ID = readDeploymentId();

const UNKNOWN_CONNECTION = {
  remoteAddr: { transport: "tcp", hostname: "localhost", port: 1234 },
  completed: Promise.resolve(),
} satisfies Deno.ServeHandlerInfo;

/**
 * Passes requests through middlewares to routes.
 *
 * A handler must return a `Response`; the page data that Fresh would render is refused.
 */
export class App<State> {
  /** The settings, defaults filled in. */
  config: ResolvedFreshConfig;
  #steps: ((registry: Registry<State>) => void)[] = [];

  constructor(config: FreshConfig = {}) {
    const { basePath = "", mode = "production" } = config;
    this.config = { root: ".", basePath, mode };
  }

  /** Adds middlewares for every request, or for the routes at and below a path. */
  use(...middleware: MaybeLazyMiddleware<State>[]): this;
  use(path: string, ...middleware: MaybeLazyMiddleware<State>[]): this;
  use(
    first: string | MaybeLazyMiddleware<State>,
    ...others: MaybeLazyMiddleware<State>[]
  ): this {
    const path = typeof first === "string" ? first : "*";
    const middlewares = typeof first === "string" ? others : [first, ...others];
    this.#steps.push(({ root }) => root.at(path).middlewares.push(...middlewares));
    return this;
  }

  /** Sets the handlers for an unknown path, and for every other `HttpError` of status 404. */
  notFound(routeOrMiddleware: Route<State> | Middleware<State>): this {
    const route = toRoute(routeOrMiddleware);
    this.#steps.push(({ root }) => root.notFound = (ctx) => runRoute(route, ctx));
    return this;
  }

  /** Sets the handler for errors of routes at or below a path; `ctx.error` is the error. */
  onError(
    path: string,
    routeOrMiddleware: Route<State> | Middleware<State>,
  ): this {
    const route = toRoute(routeOrMiddleware);
    this.#steps.push(({ root }) => root.at(path).errorRoute = route);
    return this;
  }

  /** Adds a route, or a function that loads it on its first request. */
  route(
    path: string,
    route: MaybeLazy<Route<State>>,
    config?: RouteConfig,
  ): this {
    if (typeof route === "function") {
      return this.#addLazyRoute(path, route, config);
    }
    const { handler = notFound } = route;
    const methods = typeof handler === "function" ? METHODS : Object.keys(handler) as Method[];
    const pattern = route.config?.routeOverride ?? path;
    return this.#add(methods, {
      path,
      pattern,
      fns: [(ctx) => runRoute(route, ctx)],
    });
  }

  /** Adds middlewares for GET requests, and for HEAD requests without a handler of their own. */
  get(path: string, ...middlewares: MaybeLazyMiddleware<State>[]): this {
    return this.#add(["GET"], { path, fns: middlewares });
  }

  /** Adds middlewares for POST requests. */
  post(path: string, ...middlewares: MaybeLazyMiddleware<State>[]): this {
    return this.#add(["POST"], { path, fns: middlewares });
  }

  /** Adds middlewares for PATCH requests. */
  patch(path: string, ...middlewares: MaybeLazyMiddleware<State>[]): this {
    return this.#add(["PATCH"], { path, fns: middlewares });
  }

  /** Adds middlewares for PUT requests. */
  put(path: string, ...middlewares: MaybeLazyMiddleware<State>[]): this {
    return this.#add(["PUT"], { path, fns: middlewares });
  }

  /** Adds middlewares for DELETE requests. */
  delete(path: string, ...middlewares: MaybeLazyMiddleware<State>[]): this {
    return this.#add(["DELETE"], { path, fns: middlewares });
  }

  /** Adds middlewares for HEAD requests. */
  head(path: string, ...middlewares: MaybeLazyMiddleware<State>[]): this {
    return this.#add(["HEAD"], { path, fns: middlewares });
  }

  /** Adds middlewares for every method. */
  all(path: string, ...middlewares: MaybeLazyMiddleware<State>[]): this {
    return this.#add(METHODS, { path, fns: middlewares });
  }

  /**
   * Makes the function that answers requests, for `Deno.serve()` or for a test.
   *
   * @throws {Error} On Deno Deploy in `production` mode: there Fresh requires its build.
   */
  handler(): Handler {
    if (this.config.mode === "production" && DEPLOYMENT_ID !== null) {
      throw new Error(
        'Cannot serve "production" on Deno Deploy: there is no _fresh directory',
      );
    }
    const registry: Registry<State> = {
      root: new Segment(),
      router: new Router(),
    };
    for (const step of this.#steps) step(registry);
    const { root, router } = registry;
    const routing = { config: this.config, router, rootChain: root.chain() };
    return (request, info = UNKNOWN_CONNECTION) => respond(request, { routing, info });
  }

  /** Serves on `options.port`, or on the first free port from 8000. */
  // deno-lint-ignore require-await -- async, so that a failed start rejects
  async listen(options: ListenOptions = {}): Promise<void> {
    listen(this.handler(), options);
  }

  #addLazyRoute(
    path: string,
    load: Lazy<Route<State>>,
    config: RouteConfig = {},
  ): this {
    const { methods = "ALL", routeOverride: pattern = path } = config;
    let loaded: Route<State> | null = null;
    const fn: Middleware<State> = async (ctx) => runRoute(loaded ??= await load(), ctx);
    return this.#add(methods === "ALL" ? METHODS : methods, {
      path,
      pattern,
      fns: [fn],
    });
  }

  /** `path` is where a route's middlewares are looked up, `pattern` what its URLs look like. */
  #add(
    methods: Method[],
    route: {
      path: string;
      pattern?: string;
      fns: MaybeLazyMiddleware<State>[];
    },
  ): this {
    const { path, pattern = path, fns } = route;
    this.#steps.push(({ root, router }) => {
      const chain = [...root.at(path).chain(), ...fns];
      for (const method of methods) {
        router.add(method, this.#withBase(pattern), chain);
      }
    });
    return this;
  }

  #withBase(pattern: string): string {
    const base = this.config.basePath === "/" ? "" : this.config.basePath;
    if (pattern === "*") return `${base}/*`;
    return base !== "" && pattern === "/" ? base : base + pattern;
  }
}

function toRoute<State>(
  routeOrMiddleware: Route<State> | Middleware<State>,
): Route<State> {
  return typeof routeOrMiddleware === "function"
    ? { handler: routeOrMiddleware }
    : routeOrMiddleware;
}

/** Null outside Deno Deploy, and where the process may not read it: reading must not prompt. */
function readDeploymentId(): string | null {
  const variable = "DENO_DEPLOYMENT_ID";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) ?? null : null;
}
