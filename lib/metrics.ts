// Metrics for operators in Prometheus' text format
// (prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4). Labels
// come from small fixed sets and never from a client. prom-client is not used
// because it counts more slowly on every cache hit and takes a large share of
// the startup time.

const COUNTERS = {
  requests_total: "Requests that were answered.",
  cache_hits_total: "What a tier of the cache had.",
  upstream_requests_total: "Requests to the source.",
  stale_answers_total: "Older answers given while the source failed.",
  problems_total: "Problem responses by code, refusals by limits among them.",
};
/** Values that each scrape reads, with a description. */
const GAUGES = {
  build_info: "Always 1, with the version and the kind of packages.",
  quota_left: "Requests left at the source, where it has stated them.",
  memory_bytes:
    "Bytes in memory, by part of the service and of the whole process.",
  store_up: "Whether the last call of the key-value store succeeded.",
  content_queue: "Tasks that wait for the content thread.",
} as const;
const LATENCY = "request_duration_seconds";
/** Upper bounds of the latency buckets, in ms. */
const BUCKETS_MS = [
  1,
  2.5,
  5,
  10,
  25,
  50,
  100,
  250,
  500,
  1000,
  2500,
  5000,
  10_000,
  Infinity,
];

/** Counts events and returns the counts as text. */
export class Metrics {
  /** Keys are counter names with labels. */
  private readonly counts = new Map<string, number>([[
    "stale_answers_total",
    0,
  ]]);
  private readonly latencies = new Map<
    string,
    { buckets: number[]; sumMs: number }
  >();

  /**
   * `gauges` returns values by name and labels, which are empty or have braces.
   * Null values are omitted.
   */
  constructor(
    private readonly gauges: () => Record<
      keyof typeof GAUGES,
      Record<string, number | null>
    >,
  ) {}

  /**
   * Counts a finished request. `route` is the pattern of its route or `none`.
   */
  countRequest(
    { route, status, durationMs }: {
      route: string;
      status: number;
      durationMs: number;
    },
  ): void {
    this.count(`requests_total{route="${route}",status="${status}"}`);
    let latency = this.latencies.get(route);
    if (latency === undefined) {
      latency = { buckets: BUCKETS_MS.map(() => 0), sumMs: 0 };
      this.latencies.set(route, latency);
    }
    latency.sumMs += durationMs;
    latency
      .buckets[BUCKETS_MS.findIndex((boundMs) => durationMs <= boundMs)]!++;
  }

  /** Counts an event. Labels have braces. */
  count(series: `${keyof typeof COUNTERS}${string}`): void {
    this.counts.set(series, (this.counts.get(series) ?? 0) + 1);
  }

  /** Returns all metrics in Prometheus' text format. */
  toText(): string {
    const lines: string[] = [];
    const add = (series: string, value: number) =>
      lines.push(`collections_${series} ${value}`);
    const addFamily = (name: string, type: string, help: string) =>
      lines.push(
        `# HELP collections_${name} ${help}`,
        `# TYPE collections_${name} ${type}`,
      );
    for (const [name, help] of Object.entries(COUNTERS)) {
      addFamily(name, "counter", help);
      for (const [series, count] of this.counts) {
        if (series.startsWith(name)) add(series, count);
      }
    }
    addFamily(LATENCY, "histogram", "From a request to its answer.");
    for (const [route, { buckets, sumMs }] of this.latencies) {
      let count = 0;
      for (const [index, boundMs] of BUCKETS_MS.entries()) {
        const le = boundMs === Infinity ? "+Inf" : boundMs / 1000;
        add(
          `${LATENCY}_bucket{route="${route}",le="${le}"}`,
          count += buckets[index]!,
        );
      }
      add(`${LATENCY}_sum{route="${route}"}`, sumMs / 1000);
      add(`${LATENCY}_count{route="${route}"}`, count);
    }
    const gauges = this.gauges();
    for (const [name, help] of Object.entries(GAUGES)) {
      addFamily(name, "gauge", help);
      const values = gauges[name as keyof typeof GAUGES];
      for (const [labels, value] of Object.entries(values)) {
        if (value !== null) add(name + labels, value);
      }
    }
    return lines.join("\n") + "\n";
  }
}
