// The values that metrics read when they are asked for: what is left of the quota, and what memory holds.

import type { TokenPool } from "../repository/github_tokens.ts";
import type { Metrics } from "./metrics.ts";

/** A part of the service that holds bytes. */
export interface Holder {
  readonly bytes: number;
}

/** Adds the gauges of a service; `parts` are what it holds in memory, by name. */
export function addGauges(
  metrics: Metrics,
  { tokens, parts }: { tokens: TokenPool; parts: Readonly<Record<string, Holder>> },
): void {
  metrics.addGauge("quota_left", {
    label: "quota",
    help: "Requests left at the source, where it has told.",
    read: () => ({ core: tokens.remaining("core"), graphql: tokens.remaining("graphql") }),
  });
  metrics.addGauge("memory_bytes", {
    label: "part",
    help: "Bytes in memory, by part of the service and of the whole process.",
    read: () => ({
      ...Object.fromEntries(Object.entries(parts).map(([part, { bytes }]) => [part, bytes])),
      process: Deno.memoryUsage().rss,
    }),
  });
}
