// Finds the handlers for a method and a path. A path without a pattern wins over every pattern, and answers with a
// slash at its end too; among patterns, and among handlers of one pattern and method, the one registered first wins.

import type { Method } from "./types.ts";

/** What a request matched. `pattern` is null for an unknown path, `handlers` for an unknown method. */
export interface RouteMatch<T> {
  pattern: string | null;
  handlers: T[] | null;
  params: Record<string, string>;
  allowedMethods: Method[];
}

interface Entry<T> {
  pattern: string;
  url: URLPattern | null;
  byMethod: Map<Method, T[]>;
}

/** Every method that there are routes for. */
export const METHODS: Method[] = ["GET", "DELETE", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

const PATTERN_SYNTAX = /[*:{}+?()]/;

/** A table of routes by URL pattern and method. */
export class Router<T> {
  #entries = new Map<string, Entry<T>>();

  /** Sets the handlers of a pattern and a method. */
  add(method: Method, pattern: string, handlers: T[]): void {
    let entry = this.#entries.get(pattern);
    if (entry === undefined) {
      const url = PATTERN_SYNTAX.test(pattern) ? new URLPattern({ pathname: pattern }) : null;
      entry = { pattern, url, byMethod: new Map() };
      this.#entries.set(pattern, entry);
    }
    if (!entry.byMethod.has(method)) entry.byMethod.set(method, handlers);
  }

  /**
   * Looks a request up. A HEAD request falls back to the GET handlers.
   * @throws {URIError} When a parameter is malformed.
   */
  match(method: string, { pathname, href }: URL): RouteMatch<T> {
    const other = pathname.endsWith("/") ? pathname.slice(0, -1) : `${pathname}/`;
    for (const path of [pathname, other]) {
      const exact = this.#entries.get(path);
      if (exact?.url === null) return toMatch(exact, method, {});
    }

    for (const entry of this.#entries.values()) {
      const groups = entry.url?.exec(href)?.pathname.groups;
      if (groups !== undefined) return toMatch(entry, method, groups);
    }
    return { pattern: null, handlers: null, params: {}, allowedMethods: [] };
  }
}

function toMatch<T>(
  entry: Entry<T>,
  method: string,
  groups: Record<string, string | undefined>,
): RouteMatch<T> {
  const { pattern, byMethod } = entry;
  const handlers = byMethod.get(method as Method) ??
    (method === "HEAD" ? byMethod.get("GET") : undefined) ?? null;
  const params: Record<string, string> = Object.create(null);
  if (handlers !== null) {
    for (const [name, value] of Object.entries(groups)) {
      params[name] = decodeURI(value ?? "");
    }
  }
  return { pattern, handlers, params, allowedMethods: [...byMethod.keys()] };
}
