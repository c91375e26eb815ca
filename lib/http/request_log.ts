// The end of every request: it is counted and logged.

import type { Services } from "../services.ts";

/** The facts of a request that are counted and logged. */
export interface RequestLine {
  readonly id: string;
  readonly route: string;
  readonly method: string;
  readonly url: string;
  readonly status: number;
  /** As the header of that name. */
  readonly cacheStatus: string | undefined;
  /** By `clock.monotonicMs()`. */
  readonly startedAtMs: number;
  readonly repository: string | undefined;
}

/** Counts a request and logs it, without its query, which may contain secrets. */
export function writeRequestLine({ clock, log, metrics }: Services, line: RequestLine): void {
  const durationMs = clock.monotonicMs() - line.startedAtMs;
  const { route, status } = line;
  metrics.countRequest({ route, status, durationMs });
  if (log.level !== "debug" && log.level !== "info") return;
  log.info("request", {
    id: line.id,
    method: line.method.slice(0, 20),
    path: pathOf(line.url).slice(0, 200),
    status,
    ms: Math.round(durationMs * 10) / 10,
    repository: line.repository,
    cache: line.cacheStatus,
  });
}

/** The path of an absolute URL, found without parsing it. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? undefined : end);
}
