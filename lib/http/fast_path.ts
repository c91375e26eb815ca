// Cached responses, sent ahead of the framework: the request's URL leads to ready bytes, and nothing is parsed. Such a
// response carries all that any other does.

import type { Services } from "../services.ts";
import { requestKey } from "./base_url.ts";
import { writeRequestLine } from "./request_log.ts";
import { dataResponse, isLarge, negotiateBody } from "./responses.ts";
import { nextRequestId } from "./state.ts";

/** The cached response to a request, or null where the request has to take the long way. */
export function cachedResponse(request: Request, services: Services): Response | null {
  const { method } = request;
  if (method !== "GET" && method !== "HEAD") return null;
  const { clock, config, metrics, responses } = services;
  const entry = responses.fresh(requestKey(request, config));
  if (entry === null) return null;
  const negotiated = negotiateBody(entry.body, request.headers);
  // Reserving memory may have to wait.
  if (isLarge(negotiated, method)) return null;
  const startedAtMs = clock.monotonicMs();
  const { checkedAtMs, freshForMs } = entry.ref;
  const id = nextRequestId();
  const response = dataResponse(negotiated, {
    age: { checkedAtMs, freshForMs, cacheStatus: "hit" },
    requestId: id,
    nowMs: clock.now(),
  });
  metrics.countHit("response");
  const { repository, route } = entry;
  writeRequestLine(services, {
    id,
    route,
    method,
    url: request.url,
    response,
    startedAtMs,
    repository,
  });
  return response;
}
