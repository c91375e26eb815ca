import { define } from "../../lib/http/state.ts";
import { textResponse } from "../../lib/http/text_response.ts";

/**
 * `GET /api/health`: the process is alive. With `?ready`: whether its store answers, and what is known of the source;
 * 503 where it should get no requests now.
 */
export const handler = define.handlers({
  async GET({ url, state: { services } }) {
    const headers = { "content-type": "application/json", "cache-control": "no-store" };
    if (!url.searchParams.has("ready")) {
      return textResponse(JSON.stringify({ status: "ok" }), { headers });
    }
    const health = await services.health();
    const ready = health.store !== "failed";
    return textResponse(JSON.stringify({ status: ready ? "ok" : "not-ready", ...health }), {
      status: ready ? 200 : 503,
      headers,
    });
  },
});
