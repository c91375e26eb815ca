// What is counted, and how Prometheus reads it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { Metrics } from "../../lib/metrics.ts";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

/** The value of one line, or null where there is none. */
function valueOf(text: string, series: string): number | null {
  const line = text.split("\n").find((line) =>
    line.startsWith(`collections_${series} `)
  );
  return line === undefined
    ? null
    : Number(line.slice(line.lastIndexOf(" ") + 1));
}

/** Fails unless Prometheus can read every line. */
function checkFormat(text: string) {
  const lines = text.trimEnd().split("\n");
  for (const line of lines) {
    assertMatch(
      line,
      /^(# (HELP|TYPE) collections_\w+ .+|collections_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.e-]+)$/,
    );
    if (line.startsWith("#")) continue;
    const name = line.replace(/[{ ].*/, "").replace(/_(bucket|sum|count)$/, "");
    assert(lines.some((other) => other.startsWith(`# TYPE ${name} `)), name);
  }
}

Deno.test("Metrics.toText() counts durations, and shows known gauges", () => {
  const quotaLeft = { '{quota="core"}': 5, '{quota="graphql"}': null };
  const metrics = new Metrics(() => ({
    build_info: {},
    quota_left: quotaLeft,
    memory_bytes: {},
    store_up: {},
    content_queue: {},
  }));
  for (const durationMs of [0.5, 1, 1.1, 99_999]) {
    metrics.countRequest({ route: "/x", status: 200, durationMs });
  }
  const text = metrics.toText();
  const quotas = Object.keys(quotaLeft).map((quota) =>
    valueOf(text, `quota_left${quota}`)
  );
  assertEquals(quotas, [5, null]);
  const buckets = ["0.001", "0.0025", "10", "+Inf"].map((le) =>
    valueOf(text, `request_duration_seconds_bucket{route="/x",le="${le}"}`)
  );
  assertEquals(buckets, [2, 3, 3, 4]);
});

Deno.test("GET /metrics counts requests, hits and stale answers", async () => {
  await using without = await startService();
  assertEquals((await without.problem("/metrics")).code, "route-not-found");
  await using site = await startSite({ "posts/a.md": "# A\n" }, {
    env: { METRICS: "true" },
  });
  const { service, gh } = site;
  await service.list();
  await service.list();
  await service.get(listPath({ page: 0 }));
  await service.get("/nowhere/at/all");
  service.clock.advance(60_000);
  await gh.down();
  assertMatch(
    (await service.get(listPath())).headers.get("cache-status")!,
    /stale-if-error/,
  );

  const response = await service.get("/metrics");

  assertEquals(
    response.headers.get("content-type"),
    "text/plain; version=0.0.4; charset=utf-8",
  );
  const text = await response.text();
  checkFormat(text);
  const route = 'route="/api/list-collection-items"';
  const expected = {
    [`requests_total{${route},status="200"}`]: 3,
    [`requests_total{${route},status="400"}`]: 1,
    'requests_total{route="none",status="404"}': 1,
    [`request_duration_seconds_count{${route}}`]: 4,
    // The second list, and the stale one.
    'cache_hits_total{tier="response"}': 2,
    'upstream_requests_total{kind="commit",result="200"}': 1,
    'upstream_requests_total{kind="commit",result="network"}': 2,
    stale_answers_total: 1,
    'problems_total{code="invalid-parameters"}': 1,
    'problems_total{code="route-not-found"}': 1,
    store_up: 1,
  };
  for (const [series, value] of Object.entries(expected)) {
    assertEquals([series, valueOf(text, series)], [series, value]);
  }
  assert(valueOf(text, 'quota_left{quota="core"}')! > 1000);
  assert(valueOf(text, 'memory_bytes{part="responses"}')! > 0);
});

Deno.test("GET /metrics has store_up 0 while the store fails", async () => {
  const kv = await Deno.openKv(":memory:");
  await using service = await startService({ kv, env: { METRICS: "true" } });
  const isUp = async () =>
    valueOf(await (await service.get("/metrics")).text(), "store_up");
  assertEquals(await isUp(), 1);
  kv.close();
  await service.send("/api/health?ready");
  assertEquals(await isUp(), 0);
});
