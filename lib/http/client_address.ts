// The address that identifies a client to the limits.

import { createHmac, randomBytes } from "node:crypto";
import type { Config } from "../settings.ts";

const salt = randomBytes(32);
const HASH_DIGITS = 16;
/** A forwarded address may be any text. */
const MAX_LOGGED = 64;

/**
 * Returns the last entry of a forwarded header or null. Only the last entry was
 * written by the trusted proxy.
 */
export function lastForwarded(
  { headers }: Request,
  name: string,
): string | null {
  return headers.get(name)?.split(",").at(-1)?.trim() || null;
}

/**
 * Returns the {@linkcode clientKey} of the remote address. Behind a trusted
 * proxy it uses the last address in `X-Forwarded-For`.
 */
export function clientOf(
  request: Request,
  { remoteAddr }: Pick<Deno.ServeHandlerInfo, "remoteAddr">,
  { trustProxy }: Pick<Config, "trustProxy">,
): string {
  const forwarded = trustProxy
    ? lastForwarded(request, "x-forwarded-for")
    : null;
  const remote = "hostname" in remoteAddr ? remoteAddr.hostname : "";
  return clientKey(
    forwarded?.replace(/^\[(.*)\](:\d+)?$|^(\d[\d.]*):\d+$/, "$1$3") ?? remote,
  );
}

/**
 * Returns the name of a client for the log. A hash has the salt of this process
 * because all IPv4 addresses can be tried against a hash without a salt.
 */
export function loggedClient(
  client: () => string,
  { logClients }: Pick<Config, "logClients">,
): string | undefined {
  if (logClients === "none") return undefined;
  if (logClients === "address") return client().slice(0, MAX_LOGGED);
  return createHmac("sha256", salt).update(client()).digest("hex")
    .slice(0, HASH_DIGITS);
}

/**
 * Returns the key by which the misses of a client are counted. An IPv4 address
 * is its own key. An IPv6 address counts by its /64 because one client has the
 * whole /64. An IPv4-mapped address (RFC 4291, 2.5.5.2) counts as its IPv4
 * address because all mapped addresses share one /64.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * equal(clientKey("2001:db8::1"), "2001:db8:0:0::/64");
 * equal(clientKey("::ffff:c000:201"), "192.0.2.1");
 * ```
 */
export function clientKey(address: string): string {
  if (!address.includes(":")) return address;
  // URL parsing shortens IPv6 addresses: groups are hexadecimal without leading
  // zeros and `::` stands for the longest run of zeros.
  const short = URL.parse(`http://[${address.replace(/%.*$/, "")}]`)?.hostname
    .slice(1, -1);
  if (short === undefined) return address;
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short)?.slice(1);
  if (mapped !== undefined) {
    const pairs = mapped.map((group) => parseInt(group, 16));
    return pairs.flatMap((pair) => [pair >> 8, pair & 0xff]).join(".");
  }
  const zeros = "0:".repeat(8 - short.split(":").filter(Boolean).length);
  const groups = short.replace("::", `:${zeros}`).split(":").filter(Boolean);
  return `${groups.slice(0, 4).join(":")}::/64`;
}
