// Codings: gzip where the caller takes it and it is made, byte for byte the same content.

import { assert, assertEquals } from "@std/assert";
import { itemPath, listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./gzip_ready.ts";

const TEXT = "long enough to be compressed\n".repeat(100);
const path = itemPath({ path: "posts/a.md" });
const GZIP = { headers: { "accept-encoding": "gzip" } };

async function unpacked(response: Response): Promise<string> {
  return await new Response(response.body!.pipeThrough(new DecompressionStream("gzip"))).text();
}

Deno.test("an answer is sent in gzip once that is made", async () => {
  await using site = await startSite({ "posts/a.md": TEXT });
  const { service } = site;

  const first = await service.get(path, GZIP);
  const plain = await first.text();
  await gzipReady(service, path);
  const second = await service.get(path, GZIP);

  assertEquals(first.headers.get("content-encoding"), null);
  assertEquals(second.headers.get("content-encoding"), "gzip");
  assertEquals(second.headers.get("vary"), "Accept-Encoding");
  assertEquals(second.headers.get("content-type"), "application/json");
  assert(second.headers.get("etag") !== first.headers.get("etag"));
  assert(Number(second.headers.get("content-length")) < plain.length / 4);
  assertEquals(await unpacked(second), plain);
});

Deno.test("Accept-Encoding decides by its weights", async () => {
  await using site = await startSite({ "posts/a.md": TEXT });
  const { service } = site;
  await service.get(path);
  await gzipReady(service, path);
  const gzipFor = ["gzip", "GZIP", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8", "gzip;q=0.001"];
  const orStar = [
    "*",
    "identity;q=0, *",
    "*;q=0, gzip",
    "deflate, *;q=0.5",
    "gzip;q=1.0, identity; q=0.5",
  ];
  const plainFor = ["", "identity", "br", "gzip;q=0", "gzip;q=0.000, br", "gzip;q=0.5, identity"];
  const notGzip = ["*, gzip;q=0", "x", "gzipped", ";", "*;q=0", "gzip;q=0.2, identity;q=0.3"];
  const codingFor = async (accepted: string) => {
    const response = await service.get(path, { headers: { "accept-encoding": accepted } });
    return response.headers.get("content-encoding");
  };

  for (const accepted of [...gzipFor, ...orStar]) {
    assertEquals([accepted, await codingFor(accepted)], [accepted, "gzip"]);
  }
  for (const accepted of [...plainFor, ...notGzip]) {
    assertEquals([accepted, await codingFor(accepted)], [accepted, null]);
  }
  assertEquals((await service.get(path)).headers.get("content-encoding"), null);
});

Deno.test("gzip goes on after a re-check, and is made anew after a commit", async () => {
  await using site = await startSite({ "posts/a.md": TEXT });
  const { service, repository } = site;
  await service.get(path);
  await gzipReady(service, path);

  service.clock.advance(60_000);
  const checked = await service.get(path, GZIP);
  assertEquals(checked.headers.get("cache-status"), "collections; fwd=stale; detail=revalidated");
  assertEquals(checked.headers.get("content-encoding"), "gzip");

  await repository.commit({ "posts/a.md": TEXT + "new" });
  service.clock.advance(60_000);
  await service.get(path, GZIP);
  await gzipReady(service, path);
  const moved = await service.get(path, GZIP);
  assertEquals(moved.headers.get("content-encoding"), "gzip");
  assertEquals(JSON.parse(await unpacked(moved)).content, TEXT + "new");
});

Deno.test("what is short, or does not get shorter, stays as it is", async () => {
  const noise = crypto.getRandomValues(new Uint8Array(4096));
  await using site = await startSite({ "posts/a.md": TEXT, "noise.txt": noise, "photo.jpg": TEXT });
  const { service } = site;
  const raw = (path: string) => itemPath({ path, format: "raw" });
  const asked = [listPath(), raw("noise.txt"), raw("photo.jpg")];
  for (const path of asked) await service.get(path);
  // What was begun after those is made when they are, if ever.
  await service.get(path);
  await gzipReady(service, path);

  for (const path of asked) {
    assertEquals((await service.get(path, GZIP)).headers.get("content-encoding"), null);
  }
});

Deno.test("format=raw is sent in gzip too, with all of its headers", async () => {
  await using site = await startSite({ "posts/a.md": TEXT });
  const { service } = site;
  const path = itemPath({ path: "posts/a.md", format: "raw" });
  await service.get(path);
  await gzipReady(service, path);

  const response = await service.get(path, GZIP);

  assertEquals(response.headers.get("content-encoding"), "gzip");
  assertEquals(response.headers.get("content-type"), "text/markdown; charset=utf-8");
  assertEquals(response.headers.get("content-security-policy"), "sandbox; default-src 'none'");
  assertEquals(await unpacked(response), TEXT);
});
