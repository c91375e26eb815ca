// HEAD over a real connection: the headers of GET with the same `Accept-Encoding` in the same cache state, and no body.

import { assert, assertEquals } from "@std/assert";
import { nextRequestId } from "../../lib/http/state.ts";
import { rawRequest, type RawResponse } from "../raw_http.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./freshness_of.ts";

const FILES = { "posts/a.md": "long enough to be compressed\n".repeat(100) };
const LIST = listPath();
const PATHS = [LIST, ...["json", "raw"].map((format) => itemPath({ path: "posts/a.md", format }))];

/** Two services of the same site, so that the cache is as cold for the one method as for the other. */
async function startBoth() {
  const site = await startSite(FILES);
  const { clock } = site.service;
  const other = await startService({ github: site.gh, clock });
  const ports = [site.service.listen(), other.listen()] as const;
  return {
    ...site,
    /** Sends GET to the one and HEAD to the other, and compares. Gives the response to GET. */
    async compare(path: string, ...headers: string[]): Promise<RawResponse> {
      const lines = ["Host: localhost:8000", ...headers];
      const get = await rawRequest(ports[0], `GET ${path} HTTP/1.1`, ...lines);
      const head = await rawRequest(ports[1], `HEAD ${path} HTTP/1.1`, ...lines);
      const visible = ({ status, headers }: RawResponse) => [
        status,
        ...[...headers].filter(([name]) => !["date", "x-request-id"].includes(name)),
      ];
      assertEquals(visible(head), visible(get));
      assertEquals(head.body.length, 0);
      assertEquals(get.headers.get("content-length") ?? "0", String(get.body.length));
      return get;
    },
    gzipReady: (path: string) =>
      Promise.all([site.service, other].map((service) => gzipReady(service, path))),
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

function cacheStatus({ headers }: RawResponse): string | null {
  return headers.get("cache-status");
}

Deno.test("HEAD of a miss, a hit, a gzip hit and a 304 is that of GET", async () => {
  await using both = await startBoth();
  for (const path of PATHS) {
    const miss = await both.compare(path);
    assert(/fwd=miss; stored|hit/.test(cacheStatus(miss)!));
    both.service.clock.advance(1_000);
    const hit = await both.compare(path);
    assert(cacheStatus(hit)!.startsWith("collections; hit; ttl=") && hit.body.length > 0);
    if (path !== LIST) {
      await both.gzipReady(path);
      const packed = await both.compare(path, "Accept-Encoding: gzip");
      assertEquals(packed.headers.get("content-encoding"), "gzip");
    }
    const known = await both.compare(path, `If-None-Match: ${hit.headers.get("etag")}`);
    assertEquals([known.status, known.body.length], [304, 0]);
  }
  // The server would drop a body; the contract check sees it.
  for (const path of [LIST, "/none", "/api/webhooks/github"]) {
    await both.service.get(path, { method: "HEAD" });
  }
});

Deno.test("HEAD of a re-check, and of an older response, is that of GET", async () => {
  await using both = await startBoth();
  const { service: { clock }, gh } = both;
  assertEquals(cacheStatus(await both.compare(LIST)), "collections; fwd=miss; stored");

  clock.advance(60_000);
  const checked = await both.compare(LIST);
  assertEquals(cacheStatus(checked), "collections; fwd=stale; detail=revalidated");

  clock.advance(100_000);
  gh.fault = { kind: "status", status: 500 };
  const stale = await both.compare(LIST);
  assertEquals(cacheStatus(stale), "collections; hit; ttl=-40; detail=stale-if-error");
});

Deno.test("HEAD of a problem, of pages and of documents is that of GET", async () => {
  await using both = await startBoth();
  // Ids of one length, since problems carry them.
  while (nextRequestId().length < "12345678-10".length);
  const problems = [listPath({ page: 0 }), itemPath({ path: "none" }), "/none", "/api/%zz"];
  for (const path of problems) {
    const { headers, body } = await both.compare(path);
    assertEquals(headers.get("content-type"), "application/problem+json");
    assert(body.length > 0);
  }
  const pages = ["/", "/reference", "/client.js", "/api/openapi.json", "/problems/item-not-found"];
  for (const path of [...pages, "/api/health"]) {
    assertEquals([path, (await both.compare(path)).status], [path, 200]);
  }
});
