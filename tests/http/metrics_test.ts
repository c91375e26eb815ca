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

Deno.test("Metrics.toText() gives families and lines that parse", () => {
  const gauges = {
    build_info: { '{version="1",packages="published"}': 1 },
    quota_left: { '{quota="core"}': 5, '{quota="graphql"}': null },
    memory_bytes: {},
    store_up: { "": null },
    content_queue: { "": 0 },
  };
  const metrics = new Metrics(() => gauges);
  for (const durationMs of [0.5, 1, 1.1, 99_999]) {
    metrics.countRequest({ route: "/x", status: 200, durationMs });
  }
  metrics.count('cache_hits_total{tier="memory"}');
  metrics.count('upstream_requests_total{kind="tree",result="200"}');

  const text = metrics.toText();

  const lines = text.trimEnd().split("\n");
  for (const line of lines) {
    assertMatch(
      line,
      /^(# (HELP|TYPE) collections_\w+ .+|collections_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [\d.e-]+)$/,
    );
  }
  for (const line of lines.filter((line) => !line.startsWith("#"))) {
    const name = line.replace(/[{ ].*/, "").replace(/_(bucket|sum|count)$/, "");
    assert(lines.some((other) => other.startsWith(`# TYPE ${name} `)), name);
  }
  assertEquals(valueOf(text, 'quota_left{quota="core"}'), 5);
  assertEquals(valueOf(text, 'quota_left{quota="graphql"}'), null);
  assertEquals(
    valueOf(text, 'build_info{version="1",packages="published"}'),
    1,
  );
  assertEquals([valueOf(text, "store_up"), valueOf(text, "content_queue")], [
    null,
    0,
  ]);
  const bucket = (le: string) =>
    valueOf(text, `request_duration_seconds_bucket{route="/x",le="${le}"}`);
  assertEquals([
    bucket("0.001"),
    bucket("0.0025"),
    bucket("10"),
    bucket("+Inf"),
  ], [2, 3, 3, 4]);
  assertEquals(valueOf(text, 'request_duration_seconds_count{route="/x"}'), 4);
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
  const route = 'route="/api/list-collection-items"';
  assertEquals(valueOf(text, `requests_total{${route},status="200"}`), 3);
  assertEquals(valueOf(text, `requests_total{${route},status="400"}`), 1);
  assertEquals(valueOf(text, 'requests_total{route="none",status="404"}'), 1);
  assertEquals(valueOf(text, `request_duration_seconds_count{${route}}`), 4);
  // The second list, and the stale one.
  assertEquals(valueOf(text, 'cache_hits_total{tier="response"}'), 2);
  assertEquals(
    valueOf(text, 'upstream_requests_total{kind="commit",result="200"}'),
    1,
  );
  assertEquals(
    valueOf(text, 'upstream_requests_total{kind="commit",result="network"}'),
    2,
  );
  assertEquals(valueOf(text, "stale_answers_total"), 1);
  for (const code of ["invalid-parameters", "route-not-found"]) {
    assertEquals(valueOf(text, `problems_total{code="${code}"}`), 1);
  }
  assertEquals(valueOf(text, "store_up"), 1);
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
