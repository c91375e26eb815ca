// Answers that are kept, given ahead of the framework: the request as it came leads to ready bytes, and nothing is
// parsed. Such an answer carries all that any other does.

import type { Services } from "../services.ts";
import { chooseForm, dataResponse, needsRoom, type Standing } from "./data_response.ts";
import { nextRequestId } from "./exchange.ts";
import { requestKey } from "./request_key.ts";
import { writeRequestLine } from "./request_log.ts";

/** The kept answer to a request, or null where it must go its way. */
export function hitResponse(request: Request, services: Services): Response | null {
  const { method } = request;
  if (method !== "GET" && method !== "HEAD") return null;
  const entry = services.responses.fresh(requestKey(request, services.config));
  if (entry === null) return null;
  const form = chooseForm(entry.body, request.headers);
  // Finding room may take a wait.
  if (needsRoom(form, method)) return null;
  const startedAtTick = performance.now();
  const standing: Standing = {
    askedAtMs: entry.check.askedAtMs,
    freshMs: entry.check.freshMs,
    cacheStatus: "hit",
  };
  const id = nextRequestId();
  const full = dataResponse(form, { standing, requestId: id, nowMs: services.clock.now() });
  const response = method === "HEAD" ? new Response(null, full) : full;
  services.metrics.countHit("response");
  writeRequestLine(services, {
    id,
    route: entry.route,
    method,
    url: request.url,
    response,
    startedAtTick,
    subject: entry.subject,
  });
  return response;
}
