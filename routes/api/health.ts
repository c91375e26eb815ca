import { define } from "../../lib/http/state.ts";

/** `GET /api/health`: the process is alive. */
export const handler = define.handlers({
  GET: () => Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } }),
});
