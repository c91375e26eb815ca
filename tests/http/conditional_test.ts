// Conditional requests: strong tags, one per coding, compared weakly.

import { assert, assertEquals } from "@std/assert";
import { matchingTag } from "../../lib/http/conditional.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./gzip_ready.ts";

const LONG = { "posts/a.md": "long enough to be compressed\n".repeat(100) };
const path = itemPath({ path: "posts/a.md" });

Deno.test("an ETag stays while the answer does, over re-checks and restarts", async () => {
  await using site = await startSite({ "posts/a.md": "1" });
  const { service, repository, gh } = site;
  const tag = async () => (await service.get(listPath())).headers.get("etag");

  const first = await tag();
  assertEquals(await tag(), first);
  service.clock.advance(60_000);
  assertEquals(await tag(), first);
  await using again = await startService({ github: gh });
  assertEquals((await again.get(listPath())).headers.get("etag"), first);

  await repository.commit({ "posts/a.md": "2" });
  service.clock.advance(60_000);
  assert(await tag() !== first);
});

Deno.test("an ETag differs by page, by format and by the caller's spelling", async () => {
  await using site = await startSite({ "posts/a.md": "1" });
  const paths = [
    listPath(),
    listPath({ page: 2 }),
    listPath({ limit: 2 }),
    listPath({ owner: "OCTO" }),
    listPath({ includeContent: true }),
    path,
    itemPath({ path: "posts/a.md", format: "raw" }),
  ];

  const tags = await Promise.all(
    paths.map(async (path) => (await site.service.get(path)).headers.get("etag")),
  );

  assertEquals(new Set(tags).size, paths.length);
});

Deno.test("If-None-Match is answered 304 by any form that names the tag", async () => {
  await using site = await startSite(LONG);
  const { service } = site;
  const etag = (await service.get(path)).headers.get("etag")!;
  const status = async (value: string) =>
    (await service.get(path, { headers: { "if-none-match": value } })).status;

  for (const value of [etag, `W/${etag}`, `"x", ${etag}`, `"x",W/${etag},"y"`, "*", " * "]) {
    assertEquals([value, await status(value)], [value, 304]);
  }
  for (const value of ['"x"', etag.slice(1, -1), `"${etag}`, "", '""', 'W/"*"', '"*"']) {
    assertEquals([value, await status(value)], [value, 200]);
  }
});

Deno.test("a 304 has no body, repeats the tag, and says how old the answer is", async () => {
  await using site = await startSite(LONG);
  const { service } = site;
  const full = await service.get(path);
  const headers = { "if-none-match": full.headers.get("etag")! };
  service.clock.advance(18_000);

  const response = await service.get(path, { headers });

  assertEquals(response.status, 304);
  assertEquals(response.headers.get("etag"), full.headers.get("etag"));
  assertEquals(response.headers.get("cache-control"), "public, max-age=60");
  assertEquals(response.headers.get("age"), "18");
  assertEquals(response.headers.get("cache-status"), "collections; hit; ttl=42");
  assertEquals(response.headers.get("content-length"), null);
  assertEquals(response.headers.get("content-type"), null);
  assertEquals(await response.text(), "");
});

Deno.test("a 304 comes from a miss and from a re-check as well", async () => {
  await using site = await startSite(LONG);
  const { service, gh } = site;
  const headers = { "if-none-match": (await service.get(path)).headers.get("etag")! };
  await using fresh = await startService({ github: gh });

  const missed = await fresh.get(path, { headers });
  fresh.clock.advance(60_000);
  const checked = await fresh.get(path, { headers });

  assertEquals([missed.status, checked.status], [304, 304]);
  assertEquals(missed.headers.get("cache-status"), "collections; fwd=miss; stored");
  assertEquals(checked.headers.get("cache-status"), "collections; fwd=stale; detail=revalidated");
});

Deno.test("the tag of any coding matches, whichever would be sent, and is repeated", async () => {
  await using site = await startSite(LONG);
  const { service, gh } = site;
  const plain = (await service.get(path)).headers.get("etag")!;
  await gzipReady(service, path);
  const accept = { "accept-encoding": "gzip" };
  const packed = (await service.get(path, { headers: accept })).headers.get("etag")!;
  assert(plain !== packed);
  // One that has yet to compress its answer knows the tag that it will have.
  await using fresh = await startService({ github: gh });

  for (const answering of [service, fresh]) {
    for (const tag of [plain, packed]) {
      for (const accepted of [accept, {}]) {
        const headers = { ...accepted, "if-none-match": tag };
        const response = await answering.get(path, { headers });
        assertEquals([response.status, response.headers.get("etag")], [304, tag]);
      }
    }
  }
  const any = await service.get(path, { headers: { ...accept, "if-none-match": "*" } });
  assertEquals([any.status, any.headers.get("etag")], [304, packed]);
});

Deno.test("If-None-Match is no way around a problem", async () => {
  await using site = await startSite(LONG);

  const response = await site.service.get(itemPath({ path: "none" }), {
    headers: { "if-none-match": "*" },
  });

  assertEquals(response.status, 404);
});

Deno.test("matchingTag() takes the first of its tags for a star, and none for nothing", () => {
  assertEquals(matchingTag("*", ['"a"', '"b"']), '"a"');
  assertEquals(matchingTag('"c", W/"b"', ['"a"', '"b"']), '"b"');
  assertEquals(matchingTag('"a,b"', ['"a"', '"b"']), null);
  assertEquals(matchingTag("", ['"a"']), null);
});
