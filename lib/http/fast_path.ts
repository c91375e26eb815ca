// Sends cached responses ahead of the framework: the request's URL leads to ready bytes, and nothing is parsed. Such a
// response has the same headers as any other.

import type { Services } from "../services.ts";
import { requestKey } from "./base_url.ts";
import { writeRequestLine } from "./request_log.ts";
import { ageHeaders, dataResponse, largeBytes, negotiateBody } from "./responses.ts";
import { nextRequestId } from "./state.ts";

/** The cached response to a request, or null where the framework must handle it. */
export function cachedResponse(request: Request, services: Services): Response | null {
  const { method } = request;
  if (method !== "GET" && method !== "HEAD") return null;
  const { clock, config, metrics, responses } = services;
  const entry = responses.fresh(requestKey(request, config));
  if (entry === null) return null;
  const negotiated = negotiateBody(entry.body, request.headers);
  // Reserving memory may have to wait.
  if (largeBytes(negotiated, method) !== null) return null;
  const startedAtMs = clock.monotonicMs();
  const { ref: { checkedAtMs, freshForMs }, repository, route } = entry;
  const id = nextRequestId();
  const age = ageHeaders({ checkedAtMs, freshForMs, cacheStatus: "hit" }, clock.now());
  const response = dataResponse(negotiated, { age, requestId: id });
  metrics.countHit("response");
  writeRequestLine(services, {
    id,
    route,
    method,
    url: request.url,
    status: response.status,
    cacheStatus: age["cache-status"],
    startedAtMs,
    repository,
  });
  return response;
}
