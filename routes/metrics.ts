import { textResponse } from "../lib/http/responses.ts";
import { define } from "../lib/http/state.ts";
import type { Services } from "../lib/services.ts";

export const isEnabled = ({ config }: Services): boolean => config.metrics;

/**
 * `GET /metrics`: Prometheus' text format. The route exists only if METRICS is
 * set.
 */
export const handler = define.handlers({
  GET({ state: { services } }) {
    return textResponse(services.metrics.toText(), {
      headers: {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "cache-control": "no-store",
      },
    });
  },
});
