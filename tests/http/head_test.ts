// HEAD over a real connection: what GET says with the same `Accept-Encoding` in the same cache state, and no body.

import { assert, assertEquals } from "@std/assert";
import { rawRequest, type RawResponse } from "../raw_http.ts";
import { itemPath, listPath, startService, type TestService } from "../service.ts";
import { type Site, startSite } from "../site.ts";
import { gzipReady } from "./gzip_ready.ts";

const FILES = { "posts/a.md": "long enough to be compressed\n".repeat(100) };
const PATHS = [
  listPath(),
  listPath({ includeContent: true }),
  itemPath({ path: "posts/a.md" }),
  itemPath({ path: "posts/a.md", format: "raw" }),
];

/** Sends a request of the one method and then of the other, to a service each where the cache must be cold for both. */
async function askBoth(ports: [get: number, head: number], path: string, ...headers: string[]) {
  const lines = [`${path} HTTP/1.1`, "Host: localhost:8000", ...headers];
  const get = await rawRequest(ports[0], `GET ${lines[0]}`, ...lines.slice(1));
  const head = await rawRequest(ports[1], `HEAD ${lines[0]}`, ...lines.slice(1));
  return { get, head };
}

function assertSameHead({ get, head }: { get: RawResponse; head: RawResponse }): void {
  const comparable = ({ status, headers }: RawResponse) => {
    const told = [...headers].filter(([name]) => !["date", "x-request-id"].includes(name));
    return { status, told };
  };
  assertEquals(comparable(head), comparable(get));
  assertEquals(head.body.length, 0);
  assertEquals(get.headers.get("content-length") ?? "0", String(get.body.length));
  assert(head.headers.get("x-request-id") !== get.headers.get("x-request-id"));
}

async function withServer(test: (port: number, site: Site) => Promise<void>): Promise<void> {
  await using site = await startSite(FILES);
  await test(site.service.listen(), site);
}

Deno.test("HEAD of a miss is that of GET", async () => {
  for (const path of PATHS) {
    await using site = await startSite(FILES);
    const { clock } = site.service;
    await using other: TestService = await startService({ github: site.gh, clock });

    const both = await askBoth([site.service.listen(), other.listen()], path);

    assertEquals(both.get.headers.get("cache-status"), "collections; fwd=miss; stored");
    assertSameHead(both);
  }
});

Deno.test("HEAD of a hit is that of GET, plain and in gzip", async () => {
  await withServer(async (port, { service }) => {
    for (const path of PATHS) {
      await service.get(path);
      service.clock.advance(1_000);
      for (const accepted of ["identity", "gzip"]) {
        if (accepted === "gzip" && path !== PATHS[0]) await gzipReady(service, path);

        const both = await askBoth([port, port], path, `Accept-Encoding: ${accepted}`);

        assertEquals([path, both.get.status], [path, 200]);
        assert(both.get.headers.get("cache-status")!.startsWith("collections; hit; ttl="));
        assert(both.get.body.length > 0);
        const coding = both.get.headers.get("content-encoding");
        assertEquals(coding, accepted === "gzip" && path !== PATHS[0] ? "gzip" : null);
        assertSameHead(both);
      }
    }
  });
});

Deno.test("HEAD of a 304 is that of GET", async () => {
  await withServer(async (port, { service }) => {
    for (const path of PATHS) {
      const etag = (await service.get(path)).headers.get("etag");

      const both = await askBoth([port, port], path, `If-None-Match: ${etag}`);

      assertEquals([both.get.status, both.get.body.length], [304, 0]);
      assertSameHead(both);
    }
  });
});

Deno.test("HEAD of a re-check, and of an older response, is that of GET", async () => {
  await using site = await startSite(FILES);
  const { clock } = site.service;
  await using other: TestService = await startService({ github: site.gh, clock });
  const ports: [number, number] = [site.service.listen(), other.listen()];
  await askBoth(ports, PATHS[0]!);

  clock.advance(60_000);
  const checked = await askBoth(ports, PATHS[0]!);
  assertEquals(
    checked.get.headers.get("cache-status"),
    "collections; fwd=stale; detail=revalidated",
  );
  assertSameHead(checked);

  clock.advance(100_000);
  site.gh.fault = { kind: "status", status: 500 };
  const stale = await askBoth(ports, PATHS[0]!);
  assertEquals(
    stale.get.headers.get("cache-status"),
    "collections; hit; ttl=-40; detail=stale-if-error",
  );
  assertSameHead(stale);
});

Deno.test("HEAD of a problem is that of GET", async () => {
  await withServer(async (port) => {
    const bad = [listPath({ page: 0 }), itemPath({ path: "none" }), "/none", "/api/%zz"];
    for (const path of bad) {
      const both = await askBoth([port, port], path);

      assertEquals(both.get.headers.get("content-type"), "application/problem+json");
      assert(both.get.body.length > 0);
      assertSameHead(both);
    }
  });
});

Deno.test("HEAD of what is no data is that of GET", async () => {
  await using service = await startService({ env: { METRICS: "true" } });
  const port = service.listen();
  const pages = ["/", "/reference", "/client.js", "/api/openapi.json", "/problems/item-not-found"];
  for (const path of [...pages, "/api/health", "/api/health?ready", "/metrics"]) {
    const get = await rawRequest(port, `GET ${path} HTTP/1.1`, "Host: localhost:8000");
    const head = await rawRequest(port, `HEAD ${path} HTTP/1.1`, "Host: localhost:8000");

    assertEquals([path, get.status, head.status, head.body.length], [path, 200, 200, 0]);
    const names = (of: RawResponse) => [...of.headers.keys()];
    assertEquals([path, names(head)], [path, names(get)]);
    // What the metrics say has grown by one request in between.
    const length = Number(head.headers.get("content-length"));
    assert(path === "/metrics" ? length >= get.body.length : length === get.body.length, path);
  }
});
