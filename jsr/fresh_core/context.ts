// What a middleware or handler is given: one object for a request, shared down the chain.

import type { ResolvedFreshConfig } from "./config.ts";

/** The request, its route and the way to the next middleware. */
export class Context<State> {
  /** The app's settings. */
  readonly config: ResolvedFreshConfig;
  /** The request's URL, repeated slashes in its path folded into one. */
  readonly url: URL;
  /** The request as it came. */
  req: Request;
  /** The pattern of the matched route; null when no route has this path. */
  readonly route: string | null;
  /** What the pattern's parameters matched. */
  readonly params: Record<string, string>;
  /** Shared by every middleware and handler of this request. */
  readonly state: State = {} as State;
  /** What was last thrown below; null until then. */
  error: unknown | null = null;
  /** The connection's addresses. */
  readonly info: Deno.ServeHandlerInfo;
  /** Runs the rest of the chain. It rejects with what the rest throws, or throws it at once. */
  next: () => Promise<Response>;

  constructor(
    req: Request,
    parts: {
      url: URL;
      info: Deno.ServeHandlerInfo;
      route: string | null;
      params: Record<string, string>;
      config: ResolvedFreshConfig;
      next: () => Promise<Response>;
    },
  ) {
    this.req = req;
    this.url = parts.url;
    this.info = parts.info;
    this.route = parts.route;
    this.params = parts.params;
    this.config = parts.config;
    this.next = parts.next;
  }

  /** A redirect. A local path's repeated slashes are folded, so that it can't name another host. */
  redirect(pathOrUrl: string, status = 302): Response {
    let location = pathOrUrl;
    if (pathOrUrl.startsWith("/")) {
      const [path = ""] = pathOrUrl.split(/[?#]/, 1);
      location = path.replaceAll(/\/+/g, "/") + pathOrUrl.slice(path.length);
    }
    return new Response(null, { status, headers: { location } });
  }

  /** A plain text response. */
  text(content: string, init?: ResponseInit): Response {
    return new Response(content, init);
  }

  /** An HTML response. */
  html(content: string, init?: ResponseInit): Response {
    const headers = new Headers(init?.headers);
    headers.set("Content-Type", "text/html; charset=utf-8");
    return new Response(content, { ...init, headers });
  }

  /** A JSON response, as `Response.json()` makes it. */
  json(content: unknown, init?: ResponseInit): Response {
    return Response.json(content, init);
  }
}
