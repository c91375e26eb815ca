// The application: a list of middlewares and routes, kept in the order of registration and turned
// into one request handler.

import { STATUS_TEXT } from "@std/http";
import { Context } from "./context.ts";
import { HttpError } from "./error.ts";
import { Router } from "./router.ts";
import { notFound, runMiddlewares, runRoute, Segment } from "./segments.ts";
import type {
  FreshConfig,
  Lazy,
  MaybeLazy,
  MaybeLazyMiddleware,
  Method,
  Middleware,
  ResolvedFreshConfig,
  Route,
  RouteConfig,
} from "./types.ts";

/** What `listen()` takes: the options of `Deno.serve()`. */
export type ListenOptions =
  & Partial<Deno.ServeTcpOptions & Deno.TlsCertifiedKeyPem>
  & { remoteAddress?: string };

type Handler = (
  request: Request,
  info?: Deno.ServeHandlerInfo,
) => Promise<Response>;

interface Registry<State> {
  root: Segment<State>;
  router: Router<MaybeLazyMiddleware<State>>;
}

const ALL_METHODS: Method[] = [
  "GET",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "POST",
  "PUT",
];
const FIRST_PORT = 8000;
const LAST_PORT = 8019;

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
    this.config = {
      root: ".",
      basePath: config.basePath ?? "",
      mode: config.mode ?? "production",
    };
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

  /** Sets what answers an unknown path, and every other `HttpError` of status 404. */
  notFound(routeOrMiddleware: Route<State> | Middleware<State>): this {
    const route = toRoute(routeOrMiddleware);
    this.#steps.push(({ root }) => root.notFound = (ctx) => runRoute(route, ctx));
    return this;
  }

  /** Sets what answers when a route at or below a path throws; `ctx.error` holds what it threw. */
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
    const methods = typeof handler === "function" ? ALL_METHODS : Object.keys(handler) as Method[];
    const pattern = route.config?.routeOverride ?? path;
    return this.#add(methods, {
      path,
      pattern,
      fns: [(ctx) => runRoute(route, ctx)],
    });
  }

  /** Adds middlewares for GET requests, and for HEAD requests that nothing else answers. */
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
    return this.#add(ALL_METHODS, { path, fns: middlewares });
  }

  /**
   * Makes the function that answers requests, for `Deno.serve()` or for a test.
   *
   * @throws {Error} On Deno Deploy in `production` mode: there Fresh asks for its build.
   */
  handler(): Handler {
    if (this.config.mode === "production" && DEPLOYMENT_ID !== null) {
      throw new Error(
        'Cannot make a handler for "production" on Deno Deploy: there is no _fresh directory, and mode is not "development"',
      );
    }
    const registry: Registry<State> = {
      root: new Segment(),
      router: new Router(),
    };
    for (const step of this.#steps) step(registry);
    const rootChain = registry.root.chain();
    return (request, info = UNKNOWN_CONNECTION) =>
      this.#respond(request, { info, rootChain, router: registry.router });
  }

  /** Serves on `options.port`, or on the first free port from 8000. */
  // deno-lint-ignore require-await -- Fresh's signature; a failed start must reject
  async listen(options: ListenOptions = {}): Promise<void> {
    const handler = this.handler();
    if (options.port) {
      Deno.serve(options, handler);
      return;
    }
    for (let port = FIRST_PORT;; port++) {
      try {
        Deno.serve({ ...options, port }, handler);
        return;
      } catch (error) {
        if (port === LAST_PORT || !(error instanceof Deno.errors.AddrInUse)) {
          throw error;
        }
      }
    }
  }

  #addLazyRoute(
    path: string,
    load: Lazy<Route<State>>,
    config: RouteConfig = {},
  ): this {
    const { methods = "ALL", routeOverride: pattern = path } = config;
    let loaded: Promise<Route<State>> | null = null;
    const fn: Middleware<State> = async (ctx) => runRoute(await (loaded ??= load()), ctx);
    return this.#add(methods === "ALL" ? ALL_METHODS : methods, {
      path,
      pattern,
      fns: [fn],
    });
  }

  /** `path` is where a route's middlewares are looked up, `pattern` what its URLs look like. */
  #add(
    methods: Method[],
    { path, pattern = path, fns }: {
      path: string;
      pattern?: string;
      fns: MaybeLazyMiddleware<State>[];
    },
  ): this {
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

  async #respond(
    req: Request,
    { info, rootChain, router }: {
      info: Deno.ServeHandlerInfo;
      rootChain: MaybeLazyMiddleware<State>[];
      router: Router<MaybeLazyMiddleware<State>>;
    },
  ): Promise<Response> {
    const url = new URL(req.url);
    // A path of two slashes would name a host where it is given back in a Location.
    url.pathname = url.pathname.replaceAll(/\/+/g, "/");

    const method = req.method.toUpperCase();
    const { pattern, handlers, params, allowedMethods } = router.match(
      method,
      url,
    );
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
      config: this.config,
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
      return describe(error);
    }
  }
}

function toRoute<State>(
  routeOrMiddleware: Route<State> | Middleware<State>,
): Route<State> {
  return typeof routeOrMiddleware === "function"
    ? { handler: routeOrMiddleware }
    : routeOrMiddleware;
}

function describe(error: unknown): Response {
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

/** Null outside Deno Deploy, and where the process may not read it: asking must not prompt. */
function readDeploymentId(): string | null {
  const variable = "DENO_DEPLOYMENT_ID";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) ?? null : null;
}
