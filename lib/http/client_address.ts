// The address by which a client is counted.

import type { Config } from "../settings.ts";

/** The last entry of a forwarded header, which the trusted proxy itself wrote; null where there is none. */
export function lastForwarded({ headers }: Request, name: string): string | null {
  return headers.get(name)?.split(",").at(-1)?.trim() || null;
}

/** The remote address, as {@linkcode clientKey} says; behind a trusted proxy the last one that it wrote down. */
export function clientOf(
  request: Request,
  { remoteAddr }: Pick<Deno.ServeHandlerInfo, "remoteAddr">,
  { trustProxy }: Pick<Config, "trustProxy">,
): string {
  const forwarded = trustProxy ? lastForwarded(request, "x-forwarded-for") : null;
  const remote = "hostname" in remoteAddr ? remoteAddr.hostname : "";
  return clientKey(
    forwarded?.replace(/^\[(.*)\](:\d+)?$|^(\d[\d.]*):\d+$/, "$1$3") ?? remote,
  );
}

/**
 * An address by which misses are counted: IPv4 whole, IPv6 by its /64, since one client has all of that. An IPv4-mapped
 * address (RFC 4291, 2.5.5.2) counts as its IPv4 address; by their /64 all of them would share one count.
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
  // A URL has IPv6 in its shortest form: hexadecimal groups without leading zeros, the longest run of zeros as `::`.
  const short = URL.parse(`http://[${address.replace(/%.*$/, "")}]`)?.hostname.slice(1, -1);
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
