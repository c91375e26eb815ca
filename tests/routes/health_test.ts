// Whether the service is alive, and whether it is ready.

import { assert, assertEquals } from "@std/assert";
import { KvTier } from "../../lib/cache/kv_tier.ts";
import { HealthWatch } from "../../lib/health.ts";
import { LineLog } from "../../lib/log.ts";
import { TokenPool } from "../../lib/source/github/tokens.ts";
import { VERSION } from "../../lib/version.ts";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { TestClock } from "../test_clock.ts";

Deno.test("GET /api/health reports the process, ?ready the last state of the source, without a request to it", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" });
  const { service, gh } = site;
  const alive = await service.get("/api/health");
  assertEquals([alive.status, await alive.json()], [200, { status: "ok", version: VERSION }]);
  assertEquals(alive.headers.get("cache-control"), "no-store");
  const ready = async () => await (await service.get("/api/health?ready")).json();
  assertEquals(await ready(), {
    status: "ok",
    version: VERSION,
    store: "ok",
    source: { quotaLeft: { core: null, graphql: null }, lastSuccess: null, lastFailure: null },
  });
  await service.list();
  const succeeded = new Date(service.clock.now()).toISOString();
  service.clock.advance(61_000);
  gh.fault = { kind: "status", status: 500 };
  await service.get(listPath());
  const requested = gh.requests.length;

  const { source } = await ready();

  assert(source.quotaLeft.core > 1000);
  assertEquals(source.lastSuccess, succeeded);
  assertEquals(source.lastFailure, new Date(service.clock.now()).toISOString());
  assertEquals(gh.requests.length, requested);
});

Deno.test("GET /api/health?ready is 503 while the store fails", async () => {
  const clock = new TestClock();
  const kv = await Deno.openKv(":memory:");
  const log = new LineLog(() => {}, { level: "silent" });
  const tier = new KvTier(kv, { clock, scope: "s", maxBytesPerHour: 0 });
  const watch = new HealthWatch({ clock, tier, tokens: new TokenPool([], { clock, log }) });
  await using service = await startService({
    change: (services) => ({ ...services, health: () => watch.health() }),
  });
  assertEquals((await service.get("/api/health?ready")).status, 200);
  kv.close();

  // Not by get(): the answer of a probe is no problem of the contract.
  const response = await service.send("/api/health?ready");

  assertEquals([response.status, (await response.json()).store], [503, "failed"]);
});

Deno.test("the version of deno.json is in the OpenAPI document and in requests to the source", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" });
  const document = await (await site.service.get("/api/openapi.json")).json();
  assertEquals(document.info.version, VERSION);
  await site.service.list();
  assertEquals(site.gh.requests[0]?.userAgent, `repo-collections/${VERSION}`);
});
