// Validators and codings: strong tags, one per coding, compared weakly; gzip where the client accepts it.

import { assert, assertEquals } from "@std/assert";
import {
  dataHeaders,
  dataResponse,
  jsonBody,
  negotiateBody,
  readyBody,
} from "../../lib/http/responses.ts";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./freshness_of.ts";

const TEXT = "long enough to be compressed\n".repeat(100);
const LONG = { "posts/a.md": TEXT };
const GZIP = { headers: { "accept-encoding": "gzip" } };
const path = itemPath({ path: "posts/a.md" });

async function unpacked(response: Response): Promise<string> {
  return await new Response(response.body!.pipeThrough(new DecompressionStream("gzip"))).text();
}

const CHECK = { requestId: "1", checkedAtMs: 0, freshForMs: 60_000, isStorable: true };

Deno.test("jsonBody() has the bytes of JSON.stringify()", async () => {
  const long = '\u4e2d\ud83d\ude00\n"x'.repeat(20_000);
  const values = [
    {},
    { a: undefined },
    { a: [] },
    { a: null, '\u4e2d"': [1, "x", { b: [undefined, 2] }], c: undefined, d: "e" },
    { items: Array.from({ length: 50 }, (_, n) => ({ n, long })), lone: "\ud83d" },
  ];
  for (const value of values) {
    const { content } = (await jsonBody(value)).identity;
    assertEquals(await new Response(content).text(), JSON.stringify(value));
  }
});

Deno.test("dataHeaders() lets caches store a response for as long as its check is good", () => {
  const rows: [check: Partial<typeof CHECK>, expected: string][] = [
    [{}, "public, max-age=60"],
    [{ freshForMs: 59_999 }, "public, max-age=59"],
    [{ freshForMs: 1_000 }, "no-cache"],
    [{ isStorable: false }, "no-store"],
  ];
  for (const [check, expected] of rows) {
    const headers = dataHeaders({ ...CHECK, ...check, cacheStatus: "hit" }, 0);
    assertEquals(headers["cache-control"], expected);
  }
});

Deno.test("dataResponse() gives each response its own headers, and every body byte by byte", async () => {
  for (const text of ["plain", "schön", "\ufeffmarked", "\x00\x7f"]) {
    const bytes = new TextEncoder().encode(text);
    const body = await readyBody({ bytes, contentType: "text/plain" });
    const send = (nowMs: number, requestId: string, headers: HeadersInit = {}) =>
      dataResponse(
        negotiateBody(body, new Request("http://a", { headers })),
        dataHeaders({ ...CHECK, requestId, cacheStatus: "hit" }, nowMs),
      );
    const first = send(1_000, "1");
    const second = send(2_000, "2");
    const third = send(2_000, "3", { "if-none-match": '"a", *' });
    const fourth = send(2_000, "4", { "if-none-match": "*" });
    first.headers.set("x-other", "of one response alone");

    const shown = [first, second, third, fourth].map(({ status, headers }) =>
      ["x-request-id", "age", "cache-status", "x-other"].map((name) => headers.get(name))
        .concat(`${status}`)
    );
    assertEquals(shown, [
      ["1", "1", "collections; hit; ttl=59", "of one response alone", "200"],
      ["2", "2", "collections; hit; ttl=58", null, "200"],
      ["3", "2", "collections; hit; ttl=58", null, "200"],
      ["4", "2", "collections; hit; ttl=58", null, "304"],
    ]);
    assertEquals(await second.bytes(), bytes);
  }
});

Deno.test("an ETag stays while the response does, over re-checks and restarts", async () => {
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

Deno.test("If-None-Match is answered 304 by any form that names the tag, and by no other", async () => {
  await using site = await startSite(LONG);
  const { service } = site;
  const etag = (await service.get(path)).headers.get("etag")!;
  const status = async (value: string, target = path) =>
    (await service.get(target, { headers: { "if-none-match": value } })).status;

  for (const value of [etag, `W/${etag}`, `"x", ${etag}`, `"x",W/${etag},"y"`, "*", " * "]) {
    assertEquals([value, await status(value)], [value, 304]);
  }
  const wrong = ['"x"', etag.slice(1, -1), `"${etag}`, "", '""', 'W/"*"', '"*"', '"a,b"'];
  for (const value of wrong) assertEquals([value, await status(value)], [value, 200]);
  assertEquals(await status("*", itemPath({ path: "none" })), 404);
});

Deno.test("a 304 has no body, repeats the tag, and says how old the response is", async () => {
  await using site = await startSite(LONG);
  const { service, gh } = site;
  const etag = (await service.get(path)).headers.get("etag")!;
  const headers = { "if-none-match": etag };
  service.clock.advance(18_000);

  const response = await service.get(path, { headers });

  const names = ["etag", "cache-control", "age", "cache-status", "content-length", "content-type"];
  assertEquals(
    [response.status, ...names.map((name) => response.headers.get(name)), await response.text()],
    [304, etag, "public, max-age=60", "18", "collections; hit; ttl=42", null, null, ""],
  );
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
  const packed = (await service.get(path, GZIP)).headers.get("etag")!;
  assert(plain !== packed);
  // This one has yet to compress its response, and knows the tag that it will have.
  await using fresh = await startService({ github: gh });
  await fresh.get(path);

  for (const answering of [service, fresh]) {
    for (const tag of [plain, packed]) {
      for (const accepted of [GZIP.headers, {}]) {
        const headers = { ...accepted, "if-none-match": tag };
        const response = await answering.get(path, { headers });
        assertEquals([response.status, response.headers.get("etag")], [304, tag]);
      }
    }
  }
  const any = await service.get(path, { headers: { ...GZIP.headers, "if-none-match": "*" } });
  assertEquals([any.status, any.headers.get("etag")], [304, packed]);
});

Deno.test("a response is sent in gzip once that is made, byte for byte the same content, also after a re-check and a commit", async () => {
  await using site = await startSite(LONG);
  const { service, repository } = site;
  const raw = itemPath({ path: "posts/a.md", format: "raw" });
  const types = { [path]: "application/json", [raw]: "text/markdown; charset=utf-8" };
  for (const [address, type] of Object.entries(types)) {
    const first = await service.get(address, GZIP);
    const plain = await first.text();
    await gzipReady(service, address);
    const second = await service.get(address, GZIP);
    const { headers } = second;

    assertEquals(first.headers.get("content-encoding"), null);
    assertEquals([headers.get("content-encoding"), headers.get("content-type")], ["gzip", type]);
    assert(headers.get("etag") !== first.headers.get("etag"));
    assert(Number(headers.get("content-length")) < plain.length / 4);
    const policy = address === raw ? "sandbox; default-src 'none'" : null;
    assertEquals(headers.get("content-security-policy"), policy);
    assertEquals(await unpacked(second), plain);
  }
  service.clock.advance(60_000);
  const checked = await service.get(path, GZIP);
  assertEquals(checked.headers.get("cache-status"), "collections; fwd=stale; detail=revalidated");
  assertEquals(checked.headers.get("content-encoding"), "gzip");

  await repository.commit({ "posts/a.md": TEXT + "new" });
  service.clock.advance(60_000);
  await service.get(path, GZIP);
  await gzipReady(service, path);
  assertEquals(JSON.parse(await unpacked(await service.get(path, GZIP))).content, TEXT + "new");
});

Deno.test("Accept-Encoding decides by its weights", async () => {
  await using site = await startSite(LONG);
  const { service } = site;
  await service.get(path);
  await gzipReady(service, path);
  const forGzip = [
    ...["gzip", "GZIP", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8", "gzip;q=0.001", "*"],
    ...["identity;q=0, *", "*;q=0, gzip", "deflate, *;q=0.5", "gzip;q=1.0, identity; q=0.5"],
  ];
  const forIdentity = [
    ...["", "identity", "br", "gzip;q=0", "gzip;q=0.000, br", "gzip;q=0.5, identity"],
    ...["*, gzip;q=0", "x", "gzipped", ";", "*;q=0", "gzip;q=0.2, identity;q=0.3"],
  ];
  for (const accepted of [...forGzip, ...forIdentity]) {
    const { headers } = await service.get(path, { headers: { "accept-encoding": accepted } });
    const coding = forGzip.includes(accepted) ? "gzip" : null;
    assertEquals([accepted, headers.get("content-encoding")], [accepted, coding]);
  }
  assertEquals((await service.get(path)).headers.get("content-encoding"), null);
});

Deno.test("what is short, or does not get shorter, stays as it is", async () => {
  const noise = crypto.getRandomValues(new Uint8Array(4096));
  await using site = await startSite({ ...LONG, "noise.txt": noise, "photo.jpg": TEXT });
  const { service } = site;
  const raw = (path: string) => itemPath({ path, format: "raw" });
  const paths = [listPath(), raw("noise.txt"), raw("photo.jpg")];
  for (const path of paths) await service.get(path);
  // Compressed after those.
  await service.get(path);
  await gzipReady(service, path);

  for (const path of paths) {
    assertEquals((await service.get(path, GZIP)).headers.get("content-encoding"), null);
  }
});
