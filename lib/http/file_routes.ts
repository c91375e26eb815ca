// Registers the files of a routes folder with a Fresh app: Fresh's own fsRoutes() needs a bundler build.
// It keeps Fresh's naming rules, and its rule that a _middleware.ts covers its folder and all below.
// Every file is registered at its own path, which places it among the middlewares, with the URL
// pattern as an override: so a group's middleware covers the group, though URLs leave groups out.
//
// Fresh documents `routeOverride` as the pattern that stands in for a file's path ("File routing"). That app.route()
// takes it from a route's `config`, and still finds the middlewares by the path, only Fresh's types and source say:
// the tests of this file hold both, so that another Fresh shows itself there.

import type { App, Middleware, RouteHandler } from "fresh";

/** A route file and the URL pattern that it answers; `file` is relative to the routes folder. */
export interface MountedRoute {
  file: string;
  pattern: string;
}

const MODULE = /\.[jt]sx?$/;
const TEST = /[._]test\.[jt]sx?$/;
const MIDDLEWARE = /(?<=^|\/)_middleware\.[jt]sx?$/;
const CATCH_ALL = /^\[\.\.\.(\w+)\]$/;
const PARAMETER = /\[(\w+)\]/g;

/**
 * Imports every file of a routes folder and registers it with the app, and tells what was registered,
 * in the order in which patterns are tried.
 *
 * `index.ts` answers for its folder, `[name].ts` is a parameter, `[...path].ts` the rest of a path, and
 * a `(group)` folder leaves no trace in the URL. What else begins with `_` is left alone, tests too.
 *
 * @throws {Error} When a file exports no handler, has a name that makes no pattern, or shares its
 * pattern with another.
 *
 * @example
 * ```ts
 * const app = new App({ mode: "development" });
 * await mountRoutes(app, new URL("./routes/", import.meta.url));
 * ```
 */
export async function mountRoutes<State>(app: App<State>, routesUrl: URL): Promise<MountedRoute[]> {
  const rootUrl = new URL(routesUrl.href.replace(/\/?$/, "/"));
  const files = await listFiles(rootUrl);

  for (const file of files.filter((file) => MIDDLEWARE.test(file))) {
    const folder = file.replace(MIDDLEWARE, "");
    app.use(`/${folder}`, ...await loadMiddlewares<State>(file, rootUrl));
  }
  const routes = toRoutes(files.filter((file) => !MIDDLEWARE.test(file)));
  for (const { file, pattern } of routes) {
    const handler = await loadHandler<State>(file, rootUrl);
    app.route(`/${file}`, { handler, config: { routeOverride: pattern } });
  }
  return routes;
}

async function listFiles(rootUrl: URL, folder = ""): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(toUrl(folder, rootUrl))) {
    const isReserved = /^\(?_/.test(name) && !MIDDLEWARE.test(name);
    if (isReserved || TEST.test(name)) continue;
    if (isDirectory) files.push(...await listFiles(rootUrl, `${folder}${name}/`));
    else if (MODULE.test(name)) files.push(`${folder}${name}`);
  }
  return files;
}

function toRoutes(files: string[]): MountedRoute[] {
  const byPattern = new Map<string, MountedRoute>();
  for (const file of files.toSorted()) {
    const pattern = toPattern(file);
    const other = byPattern.get(pattern)?.file;
    if (other !== undefined) {
      throw new Error(`Cannot mount "${file}": "${other}" answers "${pattern}" already`);
    }
    byPattern.set(pattern, { file, pattern });
  }
  return [...byPattern.values()].sort((a, b) => toRank(a.pattern) < toRank(b.pattern) ? -1 : 1);
}

function toPattern(file: string): string {
  const names = file.replace(MODULE, "").split("/");
  if (names.at(-1) === "index") names.pop();
  const segments = names
    .filter((name) => !/^\(.+\)$/.test(name))
    .map((name) => name.replace(CATCH_ALL, ":$1*").replaceAll(PARAMETER, ":$1"));
  const pattern = `/${segments.join("/")}`;
  if (/[[\](){}?+]/.test(pattern)) throw new Error(`Cannot mount "${file}": its name is no route`);
  return pattern;
}

/** Sorts, segment by segment, plain names before parameters, and these before the rest of a path. */
function toRank(pattern: string): string {
  return pattern.replaceAll(/[^/]+/g, (segment) => {
    if (segment.endsWith("*")) return `2${segment}`;
    return segment.includes(":") ? `1${segment}` : `0${segment}`;
  });
}

async function loadHandler<State>(
  file: string,
  rootUrl: URL,
): Promise<RouteHandler<unknown, State>> {
  const { handler, handlers = handler } = await load(file, rootUrl);
  const isHandler = typeof handlers === "function" ||
    (typeof handlers === "object" && handlers !== null);
  if (!isHandler) throw new Error(`Cannot mount "${file}": it exports no handler`);
  return handlers as RouteHandler<unknown, State>;
}

async function loadMiddlewares<State>(file: string, rootUrl: URL): Promise<Middleware<State>[]> {
  const { default: unnamed, handler = unnamed, handlers = handler } = await load(file, rootUrl);
  const middlewares = [handlers].flat();
  if (!middlewares.every((middleware) => typeof middleware === "function")) {
    throw new Error(`Cannot mount "${file}": it exports no middleware`);
  }
  return middlewares as Middleware<State>[];
}

async function load(file: string, rootUrl: URL): Promise<Record<string, unknown>> {
  return await import(toUrl(file, rootUrl).href);
}

function toUrl(path: string, rootUrl: URL): URL {
  return new URL(path.split("/").map(encodeURIComponent).join("/"), rootUrl);
}
