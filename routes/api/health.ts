import { textResponse } from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";

/**
 * `GET /api/health`: the process is alive. With `?ready`: whether its store answers, and the last state of the source;
 * 503 where it should get no requests now.
 */
export const handler = define.handlers({
  async GET({ url, state: { services } }) {
    const headers = { "content-type": "application/json", "cache-control": "no-store" };
    if (!url.searchParams.has("ready")) {
      return textResponse(JSON.stringify({ status: "ok" }), { headers });
    }
    const health = await services.health();
    const isReady = health.store !== "failed";
    return textResponse(JSON.stringify({ status: isReady ? "ok" : "not-ready", ...health }), {
      status: isReady ? 200 : 503,
      headers,
    });
  },
});
