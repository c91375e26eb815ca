import { routeNotFound } from "../lib/errors.ts";
import { textResponse } from "../lib/http/responses.ts";
import { define } from "../lib/http/state.ts";

/** `GET /metrics`: Prometheus' text format; only where METRICS is set. */
export const handler = define.handlers({
  GET({ state: { services } }) {
    if (!services.config.metrics) throw routeNotFound();
    return textResponse(services.metrics.toText(), {
      headers: {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "cache-control": "no-store",
      },
    });
  },
});
