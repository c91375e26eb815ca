// Counters for operators, in Prometheus' text format (prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4).
// Counting runs on every request, so it is a few additions and no text. Labels come from small fixed sets, never from a
// client.

/** A value that is read on each scrape, by its label; null is left out. */
interface Gauge {
  readonly name: string;
  readonly label: string;
  readonly help: string;
  readonly read: () => Readonly<Record<string, number | null>>;
}

/** What is counted of one request. */
export interface CountedRequest {
  /** The pattern of its route; `none` where nothing matched. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

/** Upper bounds of the latency buckets, in ms. */
const BUCKETS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

interface RouteCounts {
  readonly byStatus: Map<number, number>;
  /** One more than there are bounds: the last is for what is slower than all. */
  readonly buckets: number[];
  sumMs: number;
}

/** Counts, and writes the counts as text. */
export class Metrics {
  private readonly routes = new Map<string, RouteCounts>();
  private readonly hits = new Map<string, number>();
  private readonly upstream = new Map<string, Map<string | number, number>>();
  private readonly gauges: Gauge[] = [];
  private stale = 0;

  /** Counts a request that was answered. */
  countRequest({ route, status, durationMs }: CountedRequest): void {
    let counts = this.routes.get(route);
    if (counts === undefined) {
      counts = { byStatus: new Map(), buckets: BUCKETS_MS.map(() => 0).concat(0), sumMs: 0 };
      this.routes.set(route, counts);
    }
    add(counts.byStatus, status);
    counts.sumMs += durationMs;
    let bucket = 0;
    while (bucket < BUCKETS_MS.length && durationMs > BUCKETS_MS[bucket]!) bucket++;
    counts.buckets[bucket]!++;
  }

  /** Counts a value found in a tier of the cache. */
  countHit(tier: string): void {
    add(this.hits, tier);
  }

  /** Counts a request to a source; `result` is its status, or why there is none. */
  countUpstream(kind: string, result: string | number): void {
    let results = this.upstream.get(kind);
    if (results === undefined) this.upstream.set(kind, results = new Map());
    add(results, result);
  }

  /** Counts an older response that was sent because the source failed. */
  countStale(): void {
    this.stale++;
  }

  /** Adds a value to be read on each scrape. */
  addGauge(gauge: Gauge): void {
    this.gauges.push(gauge);
  }

  /** Everything, in Prometheus' text format. */
  toText(): string {
    return [
      ...family("requests_total", "counter", "Requests that were answered."),
      ...[...this.routes].flatMap(([route, { byStatus }]) =>
        [...byStatus].map(([status, count]) => line("requests_total", { route, status }, count))
      ),
      ...family("request_duration_seconds", "histogram", "From a request to its answer."),
      ...[...this.routes].flatMap(([route, counts]) => histogram(route, counts)),
      ...family("cache_hits_total", "counter", "What a tier of the cache had."),
      ...[...this.hits].map(([tier, count]) => line("cache_hits_total", { tier }, count)),
      ...family("upstream_requests_total", "counter", "Requests to the source."),
      ...[...this.upstream].flatMap(([kind, results]) =>
        [...results].map(([result, count]) =>
          line("upstream_requests_total", { kind, result }, count)
        )
      ),
      ...family("stale_answers_total", "counter", "Older answers given while the source failed."),
      line("stale_answers_total", {}, this.stale),
      ...this.gauges.flatMap(({ name, label, help, read }) => [
        ...family(name, "gauge", help),
        ...Object.entries(read()).filter(([, value]) => value !== null)
          .map(([of, value]) => line(name, { [label]: of }, value!)),
      ]),
      "",
    ].join("\n");
  }
}

function histogram(route: string, { buckets, sumMs }: RouteCounts): string[] {
  const name = "request_duration_seconds";
  let count = 0;
  const lines = buckets.map((added, index) => {
    count += added;
    const bound = BUCKETS_MS[index];
    const le = bound === undefined ? "+Inf" : bound / 1000;
    return line(`${name}_bucket`, { route, le }, count);
  });
  return [
    ...lines,
    line(`${name}_sum`, { route }, sumMs / 1000),
    line(`${name}_count`, { route }, count),
  ];
}

function add<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function family(name: string, type: string, help: string): string[] {
  return [`# HELP collections_${name} ${help}`, `# TYPE collections_${name} ${type}`];
}

function line(name: string, labels: Readonly<Record<string, string | number>>, value: number) {
  const text = Object.entries(labels).map(([label, of]) => `${label}="${of}"`).join(",");
  return `collections_${name}${text === "" ? "" : `{${text}}`} ${value}`;
}
