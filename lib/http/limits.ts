// How many cache misses a client may cause, and what a client is. Time is monotonic, so setting the clock back neither
// blocks nor frees a client.

import { LRUCache } from "lru-cache";
import { tooManyRequests } from "../errors.ts";

const MAX_CLIENTS = 50_000;
const WINDOW_MS = 60_000;

/** A token bucket by the generic cell rate algorithm (ITU-T I.371): one number a client. 0 a minute allows any number. */
export class RateLimit {
  /** When the bucket of a client is full again, in monotonic ms. */
  private readonly fullAtMs = new LRUCache<string, number>({ max: MAX_CLIENTS });

  constructor(private readonly options: { perMinute: number; monotonicMs: () => number }) {}

  /** Takes one miss from a client. @throws {CollectionsError} too-many-requests when none is left. */
  take(client: string): void {
    const { perMinute } = this.options;
    if (perMinute === 0) return;
    const now = this.options.monotonicMs();
    const costMs = WINDOW_MS / perMinute;
    const start = Math.max(this.fullAtMs.get(client) ?? 0, now);
    const waitMs = start + costMs - WINDOW_MS - now;
    // Half a microsecond makes up for rounding when fractions are added.
    if (waitMs > 0.0005) throw tooManyRequests(Math.max(1, Math.ceil(waitMs / 1000)));
    this.fullAtMs.set(client, start + costMs);
  }

  /** Sets `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers) for a client. */
  describe(client: string, headers: Headers): void {
    const { perMinute } = this.options;
    if (perMinute === 0) return;
    const usedMs = Math.max(0, (this.fullAtMs.get(client) ?? 0) - this.options.monotonicMs());
    const remaining = Math.max(0, Math.floor((WINDOW_MS - usedMs) / (WINDOW_MS / perMinute)));
    headers.set("ratelimit-policy", `"misses";q=${perMinute};w=${WINDOW_MS / 1000}`);
    headers.set("ratelimit", `"misses";r=${remaining};t=${Math.ceil(usedMs / 1000)}`);
  }
}

/** The last entry of a forwarded header, which the trusted proxy itself wrote; null where there is none. */
export function lastForwarded({ headers }: Request, name: string): string | null {
  return headers.get(name)?.split(",").at(-1)?.trim() || null;
}

/** The address of the client; behind a trusted proxy the last one that it wrote down. */
export function clientAddress(
  request: Request,
  options: { remote: string; trustProxy: boolean },
): string {
  const forwarded = options.trustProxy ? lastForwarded(request, "x-forwarded-for") : null;
  if (forwarded === null) return clientKey(options.remote);
  return clientKey(forwarded.replace(/^\[(.*)\](:\d+)?$|^(\d[\d.]*):\d+$/, "$1$3"));
}

/** An IPv4-mapped address (RFC 4291, 2.5.5.2), as it is written with dots and as eight groups. */
const MAPPED_TEXT = /^(?:::|(?:0+:){5})ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const MAPPED_GROUPS = /^(?:0:){5}ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * An address by which misses are counted: IPv4 whole, IPv6 by its /64, since one client has all of that. An IPv4-mapped
 * address counts as its IPv4 address; by their /64 all of them would share one count.
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
