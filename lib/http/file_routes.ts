// Registers the files of a routes folder with a Fresh app. Fresh's own
// fsRoutes() needs a bundler build. An API needs only two of Fresh's naming
// rules: index.ts serves its folder and [name].ts is a parameter.

import { fromFileUrl, join, toFileUrl } from "@std/path";
import type { App } from "fresh";
import type { Services } from "../services.ts";

/** A route that a file defines. */
export interface Route {
  readonly pattern: string;
  /** Matches paths of the pattern that have no repeated slashes. */
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** Whether the settings enable the route. Route files may export it. */
  readonly isEnabled: (services: Services) => boolean;
}

/**
 * Imports every file of a routes folder and registers it with the app.
 * @throws {Error} naming a file that has no handler or an unsupported name.
 */
export async function mountRoutes<State>(
  app: App<State>,
  routesUrl: URL,
): Promise<Route[]> {
  const root = fromFileUrl(routesUrl);
  const routes: Route[] = [];
  for (const file of listFiles(root)) {
    const { handler, isEnabled = () => true } = await import(
      toFileUrl(join(root, file)).href
    );
    if (!(handler instanceof Object)) {
      throw new Error(`Cannot mount "${file}": it has no handler`);
    }
    if (/[^\w./[\]-]|\[\W|(^|\/)_/.test(file)) {
      throw new Error(
        `Cannot mount "${file}": a name of this kind is not supported`,
      );
    }
    const name = file.replace(/(\/?\bindex)?\.ts$/, "");
    const pattern = `/${name.replaceAll(/\[(\w+)\]/g, ":$1")}`;
    app.route(pattern, { handler });
    const methods = Object.keys(handler)
      .flatMap((method) => method === "GET" ? ["GET", "HEAD"] : [method]);
    routes.push({
      pattern,
      path: new RegExp(`^${pattern.replaceAll(/:\w+/g, "[^/]+")}$`),
      methods: [...methods, "OPTIONS"],
      isEnabled,
    });
  }
  return routes;
}

function listFiles(root: string, folder = ""): string[] {
  return [...Deno.readDirSync(join(root, folder))].flatMap(
    ({ name, isDirectory }) => {
      if (isDirectory) return listFiles(root, `${folder}${name}/`);
      return name.endsWith(".ts") ? [`${folder}${name}`] : [];
    },
  ).sort();
}
