// HEAD: the headers of GET with the same `Accept-Encoding` in the same cache
// state, and no body.

import { assertEquals } from "@std/assert";
import { nextRequestId } from "../../lib/http/state.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./freshness_of.ts";

const FILES = { "posts/a.md": "long enough to be compressed\n".repeat(100) };
const LIST = listPath();
const ITEM = itemPath({ path: "posts/a.md" });
const RAW = itemPath({ path: "posts/a.md", format: "raw" });

Deno.test("HEAD is GET without a body in every case", async () => {
  await using site = await startSite(FILES);
  const { service, service: { clock }, gh } = site;
  // Another service, so that the cache is as cold for the one method as for the
  // other.
  await using other = await startService({ github: gh, clock });
  /** Compares GET and HEAD. Gives the headers. */
  const compare = async (
    path: string,
    headers: Record<string, string> = {},
    expectedStatus = 200,
  ): Promise<Headers> => {
    const get = await service.get(path, { headers });
    const head = await other.get(path, { method: "HEAD", headers });
    await get.body?.cancel();
    assertEquals([path, get.status, head.body], [path, expectedStatus, null]);
    get.headers.delete("x-request-id");
    head.headers.delete("x-request-id");
    assertEquals([path, head.status, ...head.headers], [
      path,
      get.status,
      ...get.headers,
    ]);
    return get.headers;
  };
  const cacheStatus = async (path: string) =>
    (await compare(path)).get("cache-status");

  assertEquals(await cacheStatus(LIST), "collections; fwd=miss; stored");
  clock.advance(1_000);
  for (const path of [LIST, ITEM, RAW]) {
    await compare(path);
    assertEquals(await cacheStatus(path), "collections; hit; ttl=59");
    await compare(path, { "if-none-match": "*" }, 304);
  }
  for (const path of [ITEM, RAW]) {
    for (const each of [service, other]) await gzipReady(each, path);
    const headers = await compare(path, { "accept-encoding": "gzip" });
    assertEquals(headers.get("content-encoding"), "gzip");
  }
  clock.advance(60_000);
  assertEquals(
    await cacheStatus(LIST),
    "collections; fwd=stale; detail=revalidated",
  );
  clock.advance(100_000);
  gh.fault = { kind: "status", status: 500 };
  assertEquals(
    await cacheStatus(LIST),
    "collections; hit; ttl=-40; detail=stale-if-error",
  );

  // Ids of one length, since problems carry them.
  while (nextRequestId().length < "12345678-10".length);
  const rows: [path: string, status: number][] = [
    [listPath({ page: 0 }), 400],
    [listPath({ repo: "other" }), 502],
    ["/none", 404],
    ["/api/%zz", 404],
    // It has no route without a secret.
    ["/api/webhooks/github", 404],
    ["/", 200],
    ["/client.js", 200],
    ["/api/openapi.json", 200],
    ["/problems/item-not-found", 200],
    ["/api/health", 200],
  ];
  for (const [path, status] of rows) await compare(path, {}, status);
});
