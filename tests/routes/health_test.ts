// Whether the service is alive, and whether it is ready.

import { assert, assertEquals } from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const VERSION = project.version;

Deno.test("GET /api/health reports the process, ?ready the last state of the source, without a request to it", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" });
  const { service, gh } = site;
  const alive = await service.get("/api/health");
  assertEquals([alive.status, await alive.json()], [200, { status: "ok", version: VERSION }]);
  assertEquals(alive.headers.get("cache-control"), "no-store");
  const document = await (await service.get("/api/openapi.json")).json();
  assertEquals(document.info.version, VERSION);
  const ready = async () => await (await service.get("/api/health?ready")).json();
  assertEquals(await ready(), {
    status: "ok",
    version: VERSION,
    store: "ok",
    source: { quotaLeft: { core: null, graphql: null }, lastSuccess: null, lastFailure: null },
  });
  await service.list();
  assertEquals(gh.requests[0]!.userAgent, `repo-collections/${VERSION}`);
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
  const kv = await Deno.openKv(":memory:");
  await using service = await startService({ kv });
  assertEquals((await service.get("/api/health?ready")).status, 200);
  kv.close();

  // Not by get(): the answer of a probe is no problem of the contract.
  const response = await service.send("/api/health?ready");

  assertEquals([response.status, (await response.json()).store], [503, "failed"]);
});
