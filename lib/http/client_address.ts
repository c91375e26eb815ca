// Who is asking, as far as limits go.

import { lastForwarded } from "./forwarded.ts";

/** An IPv4-mapped address (RFC 4291, 2.5.5.2), as it is written with dots and as eight groups. */
const MAPPED_TEXT = /^(?:::|(?:0+:){5})ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const MAPPED_GROUPS = /^(?:0:){5}ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * An address by which misses are counted: IPv4 whole, IPv6 by its /64, since a client has all of that. An IPv4-mapped
 * address is its IPv4 address, or all of them would share one count.
 */
export function clientKey(address: string): string {
  if (!address.includes(":")) return address;
  const ipv4 = address.match(MAPPED_TEXT)?.[1];
  if (ipv4 !== undefined) return ipv4;
  const groups = groupsOf(address);
  const mapped = groups.join(":").match(MAPPED_GROUPS)?.slice(1);
  if (mapped === undefined) return groups.slice(0, 4).join(":") + "::/64";
  return mapped.map((group) => parseInt(group, 16))
    .flatMap((pair) => [pair >> 8, pair & 0xff]).join(".");
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = "", tail] = address.replace(/%.*$/, "").toLowerCase().split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return groups.map((group) => group.replace(/^0+(?=.)/, ""));
}

/** The address of the client; behind a trusted proxy the last one that it wrote down. */
export function clientAddress(
  request: Request,
  options: { remote: string; trustProxy: boolean },
): string {
  const forwarded = options.trustProxy ? lastForwarded(request, "x-forwarded-for") : null;
  return clientKey(
    forwarded === null
      ? options.remote
      : forwarded.replace(/^\[(.*)\](:\d+)?$|^(\d[\d.]*):\d+$/, "$1$3"),
  );
}
