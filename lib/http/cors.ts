// CORS for everyone (Fetch Standard, "CORS protocol"): the service is read-only and knows no credentials, so the origin is
// the constant `*` and no answer varies by it. These headers are on every response, whatever its status.

import type { Middleware } from "fresh";
import { COMMON_HEADERS, METHODS } from "./common_headers.ts";
import type { State } from "./state.ts";

const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": METHODS.join(", "),
  "access-control-allow-headers":
    "Accept, Cache-Control, Content-Type, If-Modified-Since, If-None-Match",
  "access-control-max-age": "86400",
  "allow": METHODS.join(", "),
};

/** Puts the common headers on whatever comes from below, and answers OPTIONS on any path. */
export const cors: Middleware<State> = async (ctx) => {
  const response = ctx.req.method === "OPTIONS"
    ? new Response(null, { status: 204, headers: PREFLIGHT_HEADERS })
    : await ctx.next();
  for (const [name, value] of Object.entries(COMMON_HEADERS)) response.headers.set(name, value);
  return response;
};
