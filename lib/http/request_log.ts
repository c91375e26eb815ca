// The first and last thing that happens to a request: its id, and then that it is counted and has its line in the log.

import type { Middleware } from "fresh";
import type { Services } from "../services.ts";
import { type Exchange, newExchange } from "./exchange.ts";
import type { State } from "./state.ts";

/** Gives the request its {@linkcode Exchange}, its answer the id, and the log its line. */
export const requestLog: Middleware<State> = async (ctx) => {
  const { services } = ctx.state;
  const exchange = newExchange(ctx.req, { info: ctx.info, services });
  exchange.route = ctx.route ?? exchange.route;
  ctx.state.exchange = exchange;
  const response = await ctx.next();
  response.headers.set("x-request-id", exchange.id);
  writeExchangeLine(exchange, { services, response });
  return response;
};

/** Writes the log line of an exchange. */
export function writeExchangeLine(
  exchange: Exchange,
  { services, response }: { services: Services; response: Response },
): void {
  const { method, url } = exchange.request;
  const { id, route, startedAtTick, subject } = exchange;
  writeRequestLine(services, { id, route, method, url, response, startedAtTick, subject });
}

/** What is noted of a request. */
export interface RequestLine {
  readonly id: string;
  readonly route: string;
  readonly method: string;
  readonly url: string;
  readonly response: Response;
  /** By `performance.now()`. */
  readonly startedAtTick: number;
  readonly subject: string | undefined;
}

/** Counts a request, and writes its line. Its query stays out, since people put secrets into queries. */
export function writeRequestLine({ log, metrics }: Services, line: RequestLine): void {
  const durationMs = performance.now() - line.startedAtTick;
  const { status } = line.response;
  metrics.countRequest({ route: line.route, status, durationMs });
  if (log.level !== "debug" && log.level !== "info") return;
  log.info("request", {
    id: line.id,
    method: line.method.slice(0, 20),
    path: pathOf(line.url).slice(0, 200),
    status,
    ms: Math.round(durationMs * 10) / 10,
    repository: line.subject,
    cache: line.response.headers.get("cache-status") ?? undefined,
  });
}

/** The path of an absolute URL, found without parsing it. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? undefined : end);
}
