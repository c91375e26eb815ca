// The part of Fresh 2.3 that an API without pages needs, with Fresh's
// signatures and behaviour; see ../README.md.

/** The app's settings. On Deno Deploy, `production` requires Fresh's build. */
export interface FreshConfig {
  mode?: "development" | "production";
}

/**
 * What a middleware or handler is given: one object for a request, shared down
 * the chain.
 */
export interface Context<State> {
  /** The request as it came. */
  readonly req: Request;
  /** The request's URL, repeated slashes in its path folded into one. */
  readonly url: URL;
  readonly info: Deno.ServeHandlerInfo;
  /** The pattern of the matched route; null when no route has this path. */
  readonly route: string | null;
  /** What the pattern's parameters matched. */
  readonly params: Record<string, string>;
  /** Shared by every middleware and handler of this request. */
  readonly state: State;
  /**
   * Runs the rest of the chain. It rejects with what the rest throws, or throws
   * it at once.
   */
  next(): Promise<Response>;
}

/** A request method that a route can be registered for. */
export type Method =
  | "GET"
  | "DELETE"
  | "HEAD"
  | "OPTIONS"
  | "PATCH"
  | "POST"
  | "PUT";

/** Answers a request, or passes it on with `ctx.next()`. */
export type Middleware<State> = (
  ctx: Context<State>,
) => Response | Promise<Response>;

/**
 * One handler for every method, or one for each; `GET` answers `HEAD` as well.
 */
export type RouteHandler<_Data, State> =
  | Middleware<State>
  | { [M in Method]?: Middleware<State> };

/**
 * A route: its handler, and the URL pattern to register in place of the path
 * given to `route()`.
 */
export interface Route<State> {
  config?: { routeOverride?: string };
  handler: RouteHandler<unknown, State>;
}

/** Helpers that type a route file's exports and return them as they are. */
export interface Define<State> {
  handlers<Handlers extends RouteHandler<unknown, State>>(
    handlers: Handlers,
  ): Handlers;
}

/** Gives the helpers for an app whose middlewares share `State`. */
export function createDefine<State>(): Define<State> {
  return { handlers: (handlers) => handlers };
}

/**
 * A failed request, as an HTTP status from 400 to 599. Fresh throws it itself
 * for an unknown path or method.
 */
export class HttpError extends Error {
  override readonly name = "HttpError";

  constructor(readonly status: number, message?: string) {
    super(message);
  }
}

interface Entry<State> {
  /** Null for a path without parameters. */
  readonly url: URLPattern | null;
  readonly chains: Map<string, Middleware<State>[]>;
}

const METHODS = [
  "GET",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "POST",
  "PUT",
] as const;

const UNKNOWN_CONNECTION: Deno.ServeHandlerInfo = {
  remoteAddr: { transport: "tcp", hostname: "localhost", port: 1234 },
  completed: Promise.resolve(),
};

/**
 * Passes requests through middlewares to routes, in the order of registration.
 */
export class App<State> {
  readonly #middlewares: { folder: string; middleware: Middleware<State> }[] =
    [];
  readonly #entries = new Map<string, Entry<State>>();

  constructor(private readonly options: FreshConfig = {}) {}

  /**
   * Adds middlewares for every request, or for the routes at and below a path.
   */
  use(...middleware: Middleware<State>[]): this;
  use(path: string, ...middleware: Middleware<State>[]): this;
  use(first: string | Middleware<State>, ...others: Middleware<State>[]): this {
    const isPath = typeof first === "string";
    const folder = isPath ? folderOf(first) : "/";
    const middlewares = isPath ? others : [first, ...others];
    this.#middlewares.push(
      ...middlewares.map((middleware) => ({ folder, middleware })),
    );
    return this;
  }

  /** Adds a route; of two with one pattern and method, the first answers. */
  route(path: string, { handler, config }: Route<State>): this {
    const pattern = config?.routeOverride ?? path;
    const entry = this.#entries.get(pattern) ?? {
      url: /[*:{}+?()]/.test(pattern)
        ? new URLPattern({ pathname: pattern })
        : null,
      chains: new Map(),
    };
    this.#entries.set(pattern, entry);
    const above = this.#middlewaresOf(path);
    for (const method of METHODS) {
      const own = typeof handler === "function" ? handler : handler[method];
      if (own !== undefined && !entry.chains.has(method)) {
        entry.chains.set(method, [...above, own]);
      }
    }
    return this;
  }

  /**
   * Makes the function that answers requests. It rejects for a malformed
   * parameter in a path, and for nothing else.
   *
   * @throws {Error} On Deno Deploy in `production` mode: there Fresh requires
   * its build.
   */
  handler(): (
    request: Request,
    info?: Deno.ServeHandlerInfo,
  ) => Promise<Response> {
    if (this.options.mode !== "development" && isOnDeploy()) {
      throw new Error(
        'Cannot serve "production" on Deno Deploy: there is no _fresh directory',
      );
    }
    const rootChain = this.#middlewaresOf("/");
    return async (req, info = UNKNOWN_CONNECTION) => {
      const url = new URL(req.url);
      url.pathname = url.pathname.replaceAll(/\/+/g, "/");
      const { route, chains, groups } = this.#match(url);
      const chain = chains.get(req.method) ??
        (req.method === "HEAD" ? chains.get("GET") : undefined);
      const params: Record<string, string> = Object.create(null);
      if (chain !== undefined) {
        for (const [name, value] of Object.entries(groups)) {
          params[name] = decodeURI(value ?? "");
        }
      }
      const last = () => {
        if (route === null) throw new HttpError(404, "Not Found");
        if (req.method !== "OPTIONS") {
          throw new HttpError(405, "Method Not Allowed");
        }
        const headers = { allow: [...chains.keys()].join(", ") };
        return Promise.resolve(new Response(null, { status: 204, headers }));
      };
      try {
        // As in Fresh 2.3.3: neither middlewares nor handlers see the request.
        if (route !== null && !METHODS.some((known) => known === req.method)) {
          throw new TypeError(
            `Cannot answer "${req.method}": no route can have this method`,
          );
        }
        const context = { req, url, info, route, params, state: {} as State };
        const response = await run(chain ?? rootChain, context, last);
        return req.method === "HEAD" ? new Response(null, response) : response;
      } catch (error) {
        if (error instanceof HttpError) {
          return new Response(error.message, { status: error.status });
        }
        console.error(error);
        return new Response("Internal server error", { status: 500 });
      }
    };
  }

  /**
   * A path without a pattern wins, and answers with a slash at its end too;
   * then the first pattern that matches.
   */
  #match({ href, pathname }: URL) {
    const other = pathname.endsWith("/")
      ? pathname.slice(0, -1)
      : `${pathname}/`;
    for (const route of [pathname, other]) {
      const entry = this.#entries.get(route);
      if (entry?.url === null) {
        return { route, chains: entry.chains, groups: {} };
      }
    }
    for (const [route, { url: pattern, chains }] of this.#entries) {
      const groups = pattern?.exec(href)?.pathname.groups;
      if (groups !== undefined) return { route, chains, groups };
    }
    return {
      route: null,
      chains: new Map<string, Middleware<State>[]>(),
      groups: {},
    };
  }

  /** The middlewares of a path's folders, the root's first. */
  #middlewaresOf(path: string): Middleware<State>[] {
    return this.#middlewares.filter(({ folder }) =>
      folderOf(path).startsWith(folder)
    )
      .sort((a, b) => a.folder.length - b.folder.length)
      .map(({ middleware }) => middleware);
  }
}

/**
 * Runs middlewares in order, and `last` after them. What that throws at once,
 * `ctx.next()` of the last middleware throws at once too: only what comes from
 * a middleware is a rejected promise.
 */
function run<State>(
  chain: readonly Middleware<State>[],
  context: Omit<Context<State>, "next">,
  last: () => Promise<Response>,
): Promise<Response> {
  const ctx = { ...context, next: last };
  const call = async (middleware: Middleware<State>, index: number) => {
    ctx.next = () => runFrom(index + 1);
    return await middleware(ctx);
  };
  const runFrom = (index: number): Promise<Response> => {
    const middleware = chain[index];
    return middleware === undefined ? last() : call(middleware, index);
  };
  return runFrom(0);
}

function folderOf(path: string): string {
  return `${path}/`.replaceAll(/\/+/g, "/");
}

/**
 * False where the process may not read the variable: reading must not prompt.
 */
function isOnDeploy(): boolean {
  const variable = "DENO_DEPLOYMENT_ID";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" && Deno.env.has(variable);
}
