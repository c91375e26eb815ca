// Whether the service is alive, and whether it is ready.

import { assert, assertEquals } from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const { version } = project;

Deno.test("GET /api/health reports the process, ?ready the source", async () => {
  await using site = await startSite({ "posts/a.md": "# A\n" });
  const { service, gh } = site;
  const alive = await service.get("/api/health");
  assertEquals(alive.headers.get("cache-control"), "no-store");
  const { packages } = service.services;
  assertEquals(await alive.json(), { status: "ok", version, packages });
  const ready = async () =>
    await (await service.get("/api/health?ready")).json();
  assertEquals(await ready(), {
    status: "ok",
    version,
    packages,
    store: "ok",
    source: {
      quotaLeft: { core: null, graphql: null },
      lastSuccess: null,
      lastFailure: null,
    },
  });

  await service.list();
  assertEquals(gh.requests[0]!.userAgent, `repo-collections/${version}`);
  const timeNow = () => new Date(service.clock.now()).toISOString();
  const lastSuccess = timeNow();
  service.clock.advance(61_000);
  gh.fault = { kind: "status", status: 500 };
  await service.get(listPath());
  const requested = gh.requests.length;

  const { source: { quotaLeft, ...last } } = await ready();

  assert(quotaLeft.core > 1000);
  assertEquals(last, { lastSuccess, lastFailure: timeNow() });
  assertEquals(gh.requests.length, requested);
});

Deno.test("GET /api/health?ready reads the store at most once a second", async () => {
  const kv = await Deno.openKv(":memory:");
  let reads = 0;
  const get = kv.get.bind(kv);
  kv.get = ((...parameters: Parameters<typeof get>) => {
    reads++;
    return get(...parameters);
  }) as typeof kv.get;
  await using service = await startService({ kv });
  const probe = (remote: string) =>
    service.send("/api/health?ready", { remote });
  await Promise.all(
    Array.from({ length: 50 }, (_, n) => probe(`192.0.2.${n}`)),
  );
  service.clock.advance(999);
  await probe("192.0.2.1");
  assertEquals(reads, 1);
  service.clock.advance(1);
  await probe("192.0.2.1");
  assertEquals(reads, 2);
});

Deno.test("GET /api/health?ready is 503 while the store fails", async () => {
  const kv = await Deno.openKv(":memory:");
  await using service = await startService({ kv });
  assertEquals((await service.get("/api/health?ready")).status, 200);
  kv.close();
  service.clock.advance(1_000);

  // Not by get(): the answer of a probe is no problem of the contract.
  const response = await service.send("/api/health?ready");

  assertEquals([response.status, (await response.json()).store], [
    503,
    "failed",
  ]);
});
