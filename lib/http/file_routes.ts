// Registers the files of a routes folder with a Fresh app, since Fresh's own fsRoutes() needs a bundler build. It handles
// the part of Fresh's naming rules that an API needs: index.ts answers for its folder, [name].ts is a parameter, and a
// _middleware.ts covers its folder and all below. The rest of Fresh's rules (groups, optional parameters, [...rest],
// _app, _layout, _error, _404) stop the start with an error that names the file, so that no file is ignored.
//
// Every file is registered at its own path, which places it among the middlewares, with the URL pattern as
// `routeOverride`. Only Fresh's types and source document that app.route() reads it from a route's `config`; a test
// compares the outcome with Fresh's own crawler.

import type { App, Middleware, RouteConfig, RouteHandler } from "fresh";

/** A route file, relative to the routes folder, and the URL pattern that it answers. */
export interface MountedRoute {
  file: string;
  pattern: string;
}

const MODULE = /\.[jt]sx?$/;
const MIDDLEWARE = /(?<=^|\/)_middleware\.[jt]sx?$/;

/**
 * Imports every file of a routes folder, registers it with the app, and lists the routes in the order in which their
 * patterns are tried: plain names before parameters.
 * @throws {Error} naming a file that exports no handler, whose name is not supported, or whose pattern is another's.
 */
export async function mountRoutes<State>(app: App<State>, routesUrl: URL): Promise<MountedRoute[]> {
  const rootUrl = new URL(routesUrl.href.replace(/\/?$/, "/"));
  const routes = new Map<string, { file: string; handler: unknown; config: RouteConfig }>();
  for (const file of await listFiles(rootUrl)) {
    const path = toPath(file.replace(MIDDLEWARE, ""), file);
    const exported = await import(toUrl(file, rootUrl).href);
    const handler = exported.handlers ?? exported.handler;
    if (MIDDLEWARE.test(file)) {
      const middlewares = [handler ?? exported.default].flat();
      if (!middlewares.every((middleware) => typeof middleware === "function")) {
        throw new Error(`Cannot mount "${file}": it exports no middleware`);
      }
      app.use(`/${file.replace(MIDDLEWARE, "")}`, ...middlewares as Middleware<State>[]);
      continue;
    }
    if (!(handler instanceof Object)) {
      throw new Error(`Cannot mount "${file}": it exports no handler`);
    }
    const pattern = exported.config?.routeOverride ?? path;
    const other = routes.get(pattern)?.file;
    if (other !== undefined) {
      throw new Error(`Cannot mount "${file}": "${other}" answers "${pattern}" already`);
    }
    routes.set(pattern, { file, handler, config: { ...exported.config, routeOverride: pattern } });
  }
  const rank = (pattern: string) => pattern.replaceAll(":", "\uffff");
  const sorted = [...routes].sort(([a], [b]) => rank(a) < rank(b) ? -1 : 1);
  // Only now, since a middleware covers no route that was registered before it.
  for (const [, { file, handler, config }] of sorted) {
    app.route(`/${file}`, { handler: handler as RouteHandler<unknown, State>, config });
  }
  return sorted.map(([pattern, { file }]) => ({ file, pattern }));
}

async function listFiles(rootUrl: URL, folder = ""): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(toUrl(folder, rootUrl))) {
    if (isDirectory) files.push(...await listFiles(rootUrl, `${folder}${name}/`));
    else if (MODULE.test(name)) files.push(`${folder}${name}`);
  }
  return files.sort();
}

function toPath(name: string, file: string): string {
  const path = `/${name.replace(MODULE, "")}`.replace(/\/(index)?$/, "") || "/";
  const pattern = path.replaceAll(/\[(\w+)\]/g, ":$1");
  if (/[[\](){}*?+]|\/_/.test(pattern)) {
    throw new Error(`Cannot mount "${file}": a name of this kind is not supported`);
  }
  return pattern;
}

function toUrl(path: string, rootUrl: URL): URL {
  return new URL(path.split("/").map(encodeURIComponent).join("/"), rootUrl);
}
