// Registers the files of a routes folder with a Fresh app, since Fresh's own fsRoutes() needs a bundler build. Of Fresh's
// naming rules it has those that an API needs: index.ts answers for its folder, and [name].ts is a parameter.

import { fromFileUrl, join, toFileUrl } from "@std/path";
import type { App } from "fresh";
import type { Services } from "../services.ts";

/** A route as its file describes it. */
export interface Route {
  readonly pattern: string;
  /** Matches the paths of the pattern, without repeated slashes. */
  readonly path: RegExp;
  readonly methods: readonly string[];
  /** Whether the settings turn it on; the optional export `isEnabled` of the file. */
  readonly isEnabled: (services: Services) => boolean;
}

/**
 * Imports every file of a routes folder and registers it with the app.
 * @throws {Error} naming a file that exports no handlers, or whose name is of another kind.
 */
export async function mountRoutes<State>(app: App<State>, routesUrl: URL): Promise<Route[]> {
  const root = fromFileUrl(routesUrl);
  const routes: Route[] = [];
  for (const file of listFiles(root)) {
    const { handler, isEnabled = () => true } = await import(toFileUrl(join(root, file)).href);
    if (!(handler instanceof Object)) throw new Error(`Cannot mount "${file}": it has no handler`);
    if (/[^\w./[\]-]|\[\W|(^|\/)_/.test(file)) {
      throw new Error(`Cannot mount "${file}": a name of this kind is not supported`);
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
  return [...Deno.readDirSync(join(root, folder))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return listFiles(root, `${folder}${name}/`);
    return name.endsWith(".ts") ? [`${folder}${name}`] : [];
  }).sort();
}
