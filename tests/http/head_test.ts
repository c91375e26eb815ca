// HEAD over a real connection: the headers of GET with the same
// `Accept-Encoding` in the same cache state, and no body.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { nextRequestId } from "../../lib/http/state.ts";
import { rawRequest, type RawResponse } from "../raw_http.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./freshness_of.ts";

const FILES = { "posts/a.md": "long enough to be compressed\n".repeat(100) };
const LIST = listPath();
const ITEMS = ["json", "raw"].map((format) =>
  itemPath({ path: "posts/a.md", format })
);

Deno.test("HEAD is GET without a body in every case", async () => {
  await using site = await startSite(FILES);
  const { service, service: { clock }, gh } = site;
  // Another service, so that the cache is as cold for the one method as for the
  // other.
  await using other = await startService({ github: gh, clock });
  const [forGet, forHead] = [service.listen(), other.listen()];
  /**
   * Sends GET to the one and HEAD to the other, and compares. Gives the
   * response to GET.
   */
  const compare = async (
    path: string,
    ...headers: string[]
  ): Promise<RawResponse> => {
    const lines = ["Host: localhost:8000", ...headers];
    const get = await rawRequest(forGet, `GET ${path} HTTP/1.1`, ...lines);
    const head = await rawRequest(forHead, `HEAD ${path} HTTP/1.1`, ...lines);
    const own = ["date", "x-request-id"];
    const visible = ({ status, headers }: RawResponse) => [
      path,
      status,
      ...[...headers].filter(([name]) => !own.includes(name)),
    ];
    assertEquals(visible(head), visible(get));
    assertEquals(head.body.length, 0);
    assertEquals(
      get.headers.get("content-length") ?? "0",
      String(get.body.length),
    );
    return get;
  };
  const cacheStatus = async (path: string) =>
    (await compare(path)).headers.get("cache-status")!;

  assertEquals(await cacheStatus(LIST), "collections; fwd=miss; stored");
  clock.advance(1_000);
  for (const path of [LIST, ...ITEMS]) {
    await compare(path);
    const hit = await compare(path);
    assertEquals(hit.headers.get("cache-status"), "collections; hit; ttl=59");
    const known = await compare(
      path,
      `If-None-Match: ${hit.headers.get("etag")}`,
    );
    assertEquals([known.status, known.body.length], [304, 0]);
  }
  // The server would drop a body; the contract check sees it.
  for (const path of [LIST, "/none", "/api/webhooks/github"]) {
    await service.get(path, { method: "HEAD" });
  }
  for (const path of ITEMS) {
    for (const each of [service, other]) await gzipReady(each, path);
    const { headers } = await compare(path, "Accept-Encoding: gzip");
    assertEquals(headers.get("content-encoding"), "gzip");
  }
  clock.advance(60_000);
  assertEquals(
    await cacheStatus(LIST),
    "collections; fwd=stale; detail=revalidated",
  );
  clock.advance(100_000);
  gh.fault = { kind: "status", status: 500 };
  assertStringIncludes(await cacheStatus(LIST), "detail=stale-if-error");

  // Ids of one length, since problems carry them.
  while (nextRequestId().length < "12345678-10".length);
  const rows: [path: string, status: number][] = [
    [listPath({ page: 0 }), 400],
    [listPath({ repo: "other" }), 502],
    ["/none", 404],
    ["/api/%zz", 404],
    ["/", 200],
    ["/client.js", 200],
    ["/api/openapi.json", 200],
    ["/problems/item-not-found", 200],
    ["/api/health", 200],
  ];
  for (const [path, status] of rows) {
    assertEquals([path, (await compare(path)).status], [path, status]);
  }
});
