// Where a request was sent to: whether its `Host` is valid, the base of the URLs in its response, and the key under which
// the fast path finds its response.

import { type CollectionsError, invalidParameters } from "../errors.ts";

/** The settings that determine a request's origin. */
export interface OriginOptions {
  readonly publicUrl: string | null;
  readonly trustProxy: boolean;
  readonly isPreview: boolean;
}

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The base of a request that was sent to no valid host; its response is always a problem. */
const NO_ORIGIN = new URL("http://localhost");

/**
 * Whether `Host` is `host[:port]` (RFC 9112, 3.2). The server puts it into the request's URL as it is, so anything more
 * would change the path or the query.
 */
export function hasValidHost({ headers }: Request): boolean {
  const host = headers.get("host");
  return host === null || HOST.test(host);
}

/**
 * Checks where a request was sent to. A preview answers loopback names only, so that no page can reach it by a name of
 * its own that resolves to this machine (DNS rebinding).
 * @throws {CollectionsError} invalid-parameters.
 */
export function checkHost(request: Request, { isPreview }: OriginOptions): void {
  const url = hasValidHost(request) ? URL.parse(request.url) : null;
  // A request line may carry a whole address, whose host counts then (RFC 9112, 3.2.2).
  const isHost = url !== null && url.username + url.password === "" && HOST.test(url.host);
  if (!isHost) throw badHost("must be host[:port]");
  if (isPreview && !LOOPBACK.test(url.hostname)) throw badHost("must be localhost in a preview");
}

function badHost(message: string): CollectionsError {
  return invalidParameters([{ parameter: "Host", message }]);
}

/** Withholds a preview's response from pages of other machines: no CORS for them, and no embedding. */
export function limitToLoopback(request: Request, { headers }: Response): void {
  const origin = request.headers.get("origin");
  headers.set("cross-origin-resource-policy", "same-site");
  headers.append("vary", "Origin");
  if (origin === null || LOOPBACK.test(URL.parse(origin)?.hostname ?? "")) return;
  for (const name of [...headers.keys()]) {
    if (name.startsWith("access-control-")) headers.delete(name);
  }
}

/** The base of the absolute URLs in a response: the configured one, the proxy's, or the request's own origin. */
export function baseUrl(request: Request, { publicUrl, trustProxy }: OriginOptions): string {
  if (publicUrl !== null) return publicUrl;
  const own = URL.parse(request.url) ?? NO_ORIGIN;
  if (!trustProxy) return own.origin;
  const protocol = lastForwarded(request, "x-forwarded-proto")?.toLowerCase();
  const host = lastForwarded(request, "x-forwarded-host");
  const scheme = protocol === "https" || protocol === "http" ? `${protocol}:` : own.protocol;
  const name = host !== null && HOST.test(host) ? host : own.host;
  return URL.parse(`${scheme}//${name}`)?.origin ?? own.origin;
}

/** The last entry of a forwarded header, which the trusted proxy itself wrote; null where there is none. */
export function lastForwarded({ headers }: Request, name: string): string | null {
  return headers.get(name)?.split(",").at(-1)?.trim() || null;
}

/** All that a response depends on beside the caches, read without parsing: the URL, and what a trusted proxy adds. */
export function requestKey({ url, headers }: Request, { trustProxy }: OriginOptions): string {
  if (!trustProxy) return url;
  const proto = headers.get("x-forwarded-proto") ?? "";
  // An absent header and one that says "null" are different requests.
  return `${url}\n${proto}\n${headers.get("x-forwarded-host") ?? ""}`;
}
