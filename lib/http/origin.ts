// The origin of a request: the check of `Host` and the base of the URLs in the
// response.

import { invalidParameters } from "../errors.ts";
import type { Config } from "../settings.ts";
import { lastForwarded } from "./client_address.ts";

type OriginOptions = Pick<Config, "publicUrl" | "trustProxy" | "isPreview">;

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?$/;
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Returns whether `Host` is `host[:port]` (RFC 9112, 3.2). The server copies
 * `Host` into the request URL. Other characters would change the path or the
 * query.
 */
export function hasValidHost({ headers }: Request): boolean {
  const host = headers.get("host");
  return host === null || HOST.test(host);
}

/** No route has a longer address, and a long one takes milliseconds to parse. */
export const MAX_ADDRESS_LENGTH = 2_000;

/**
 * Returns the address of a request without its query, which may be long. If the
 * rest is too long for any route, its path is replaced by one that no route
 * has. Returns null if it cannot be parsed.
 */
export function addressOf({ url }: Request): URL | null {
  const address = url.split("?", 1)[0]!;
  if (address.length <= MAX_ADDRESS_LENGTH) return URL.parse(address);
  const pathAt = address.indexOf("/", "https://".length);
  return URL.parse(`${address.slice(0, pathAt)}/too-long`);
}

/**
 * Checks the host of a request. A preview accepts only loopback names.
 * Otherwise any web page could reach it by a name that resolves to this machine
 * (DNS rebinding).
 * @throws {CollectionsError} invalid-parameters.
 */
export function checkHost(
  request: Request,
  { isPreview }: OriginOptions,
): void {
  const url = hasValidHost(request) ? addressOf(request) : null;
  // A request line may carry a whole address. Its host then counts (RFC 9112,
  // 3.2.2).
  const isHost = url !== null && url.username + url.password === "" &&
    HOST.test(url.host);
  if (isHost && (!isPreview || LOOPBACK.test(url.hostname))) return;
  const message = isHost
    ? "must be localhost in a preview"
    : "must be host[:port]";
  throw invalidParameters([{ parameter: "Host", message }]);
}

/**
 * Keeps a response from pages that may not read it. They get no CORS headers.
 * These are the pages of other machines for a preview, which they cannot embed
 * either, and the pages that are not in CORS_ORIGINS.
 */
export function limitOrigins(
  request: Request,
  response: Response,
  { isPreview, corsOrigins }: Pick<Config, "isPreview" | "corsOrigins">,
): void {
  if (!isPreview && corsOrigins === null) return;
  // The first use of `headers` takes 10 µs, which is half of a hit.
  const { headers } = response;
  const origin = request.headers.get("origin");
  headers.append("vary", "Origin");
  if (isPreview) {
    headers.set("cross-origin-resource-policy", "same-site");
    if (origin === null || LOOPBACK.test(URL.parse(origin)?.hostname ?? "")) {
      return;
    }
  } else if (origin !== null && corsOrigins!.has(origin)) {
    headers.set("access-control-allow-origin", origin);
    return;
  }
  for (const name of [...headers.keys()]) {
    if (name.startsWith("access-control-")) headers.delete(name);
  }
}

/**
 * Returns the base of the absolute URLs in a response: PUBLIC_URL, the origin
 * that a trusted proxy reports or the origin of the request.
 */
export function baseUrl(
  request: Request,
  { publicUrl, trustProxy }: OriginOptions,
): string {
  if (publicUrl !== null) return publicUrl;
  const sent = addressOf(request);
  // The problem response to an invalid host has addresses that need some host.
  const own = sent !== null && HOST.test(sent.host)
    ? sent
    : new URL("http://localhost");
  if (!trustProxy) return own.origin;
  const protocol = lastForwarded(request, "x-forwarded-proto")?.toLowerCase();
  const host = lastForwarded(request, "x-forwarded-host");
  const scheme = protocol === "https" || protocol === "http"
    ? `${protocol}:`
    : own.protocol;
  const name = host !== null && HOST.test(host) ? host : own.host;
  return URL.parse(`${scheme}//${name}`)?.origin ?? own.origin;
}

/**
 * Returns the cache key of a request without parsing the request. The key is
 * all that a response depends on: the URL and the headers of a trusted proxy.
 */
export function requestKey(
  { url, headers }: Request,
  { trustProxy }: OriginOptions,
): string {
  if (!trustProxy) return url;
  const proto = headers.get("x-forwarded-proto") ?? "";
  // A missing header must not equal a header with the value "null".
  return `${url}\n${proto}\n${headers.get("x-forwarded-host") ?? ""}`;
}
