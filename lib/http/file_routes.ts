// Registers the files of a routes folder with a Fresh app, since Fresh's own fsRoutes() needs a bundler build. It handles
// the part of Fresh's naming rules that an API needs: index.ts answers for its folder, [name].ts is a parameter, and a
// _middleware.ts covers its folder and all below.

import { fromFileUrl, join, toFileUrl } from "@std/path";
import type { App } from "fresh";

const MODULE = /\.[jt]sx?$/;
const MIDDLEWARE = /(?<=^|\/)_middleware\.[jt]sx?$/;

/**
 * Imports every file of a routes folder, registers it with the app, and lists the URL patterns in the order in which they
 * are tried: plain names before parameters.
 * @throws {Error} naming a file that exports no handler, or anything else as Fresh's `config`, whose name is not supported,
 * or whose pattern is another's.
 */
export async function mountRoutes<State>(app: App<State>, routesUrl: URL): Promise<string[]> {
  const root = fromFileUrl(routesUrl);
  const routes = new Map<string, { file: string; handler: never }>();
  for (const file of listFiles(root)) {
    const pattern = toPattern(file);
    const isMiddleware = MIDDLEWARE.test(file);
    const module = await import(toFileUrl(join(root, file)).href);
    const supported = ["handler", "handlers", ...isMiddleware ? ["default"] : []];
    const other = Object.keys(module).find((name) => !supported.includes(name));
    if (other !== undefined) throw new Error(`Cannot mount "${file}": "${other}" is not supported`);
    const handler = module.handler ?? module.handlers ?? module.default;
    const functions = isMiddleware ? [handler].flat() : [];
    const isUsable = handler instanceof Object && functions.every((one) => one instanceof Function);
    if (!isUsable) throw new Error(`Cannot mount "${file}": it exports no handler`);
    if (isMiddleware) {
      app.use(`/${file.replace(MIDDLEWARE, "")}`, ...functions);
      continue;
    }
    const first = routes.get(pattern)?.file;
    if (first !== undefined) {
      throw new Error(`Cannot mount "${file}": "${first}" answers "${pattern}" already`);
    }
    routes.set(pattern, { file, handler: handler as never });
  }
  const rank = (pattern: string) => pattern.replaceAll(":", "\uffff");
  const sorted = [...routes].sort(([a], [b]) => rank(a) < rank(b) ? -1 : 1);
  // Only now, since a middleware covers no route that was registered before it. A file's own path places it among the
  // middlewares; only Fresh's types and source document that its pattern can be given as `routeOverride`.
  for (const [routeOverride, { file, handler }] of sorted) {
    app.route(`/${file}`, { handler, config: { routeOverride } });
  }
  return sorted.map(([pattern]) => pattern);
}

function listFiles(root: string, folder = ""): string[] {
  return [...Deno.readDirSync(join(root, folder))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return listFiles(root, `${folder}${name}/`);
    return MODULE.test(name) ? [`${folder}${name}`] : [];
  }).sort();
}

function toPattern(file: string): string {
  const name = file.replace(MIDDLEWARE, "").replace(MODULE, "");
  const pattern = `/${name}`.replace(/\/(index)?$/, "").replaceAll(/\[(\w+)\]/g, ":$1") || "/";
  if (/[[\](){}*?+]|\/_/.test(pattern)) {
    throw new Error(`Cannot mount "${file}": a name of this kind is not supported`);
  }
  return pattern;
}
