import project from "../../deno.json" with { type: "json" };
import { textResponse } from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";

/**
 * `GET /api/health`: the status, version and kind of packages of the
 * running process. `?ready`
 * adds the state of the store and of the source. The status is 503 if the
 * service should get no requests now.
 */
export const handler = define.handlers({
  async GET({ url, state: { services } }) {
    const headers = {
      "content-type": "application/json",
      "cache-control": "no-store",
    };
    const health = url.searchParams.has("ready")
      ? await services.health()
      : null;
    const isReady = health === null ||
      health.store !== "failed" && !services.isStopping;
    const expiring = services.expiringTokens();
    const body = {
      status: isReady ? "ok" : "not-ready",
      version: project.version,
      packages: services.packages,
      ...health,
      expiringTokens: expiring.length === 0 ? undefined : expiring,
    };
    return textResponse(JSON.stringify(body), {
      status: isReady ? 200 : 503,
      headers,
    });
  },
});
