// Validators and codings: strong tags, one per coding, compared weakly; gzip
// where the client accepts it.

import { assert, assertEquals } from "@std/assert";
import { eTag } from "@std/http";
import { addGzip, negotiateBody, readyBody } from "../../lib/http/responses.ts";
import {
  changesPath,
  collectionsPath,
  itemPath,
  listPath,
  startService,
  typesPath,
} from "../service.ts";
import { startSite } from "../site.ts";
import { gzipReady } from "./freshness_of.ts";

const TEXT = "long enough to be compressed\n".repeat(100);
const FILES = { "posts/a.md": TEXT };
const GZIP = { headers: { "accept-encoding": "gzip" } };
const path = itemPath({ path: "posts/a.md" });

function bodyOf(
  content: string | Uint8Array<ArrayBuffer>,
  contentType = "text/plain",
) {
  const bytes = typeof content === "string"
    ? new TextEncoder().encode(content)
    : content;
  return readyBody({ bytes, contentType });
}

function requestWith(headers: Record<string, string>): Request {
  return new Request("http://localhost", { headers });
}

Deno.test("negotiateBody() matches the tag of either coding", async () => {
  const body = await bodyOf(TEXT);
  const plain = body.identity.etag;
  const packed = plain.replace(/"$/, '-gzip"');
  const rows: [value: string, tag: string | null][] = [
    ['"x"', null],
    ["", null],
    ['"*"', null],
    ['"a", *', null],
    ['"a,b"', null],
  ];
  for (const tag of [plain, packed]) {
    rows.push(
      [tag, tag],
      [`W/${tag}`, tag],
      [`"x",W/${tag},"y"`, tag],
      [tag.slice(1, -1), null],
      [`"${tag}`, null],
    );
  }
  for (const isCompressed of [false, true]) {
    if (isCompressed) await addGzip(body);
    assertEquals(body.gzip?.etag, isCompressed ? packed : undefined);
    for (const accepted of ["", "gzip"]) {
      const known = (value: string) =>
        negotiateBody(
          body,
          requestWith({ "if-none-match": value, "accept-encoding": accepted }),
        ).knownTag;
      for (const [value, tag] of rows) {
        assertEquals([value, known(value)], [value, tag]);
      }
      assertEquals(
        known("*"),
        isCompressed && accepted === "gzip" ? packed : plain,
      );
    }
  }
});

Deno.test("negotiateBody() chooses gzip by its weight", async () => {
  const body = await bodyOf(TEXT);
  await addGzip(body);
  const forGzip = [
    "gzip",
    "GZIP",
    "br;q=1.0, gzip;q=0.8",
    "gzip;q=0.001",
    "*",
    "*;q=0, gzip",
    "gzip;q=1.0, identity; q=0.5",
  ];
  const forIdentity = [
    "",
    "br",
    "gzip;q=0.000, br",
    "gzip;q=0.5, identity",
    "*, gzip;q=0",
    "gzipped",
    ";",
    "gzip;q=0.2, identity;q=0.3",
  ];
  for (const accepted of [...forGzip, ...forIdentity]) {
    const { coded } = negotiateBody(
      body,
      requestWith({ "accept-encoding": accepted }),
    );
    assertEquals([accepted, coded === body.gzip], [
      accepted,
      forGzip.includes(accepted),
    ]);
  }
  assertEquals(negotiateBody(body, requestWith({})).coded, body.identity);
});

Deno.test("addGzip() leaves out what does not get shorter", async () => {
  const noise = crypto.getRandomValues(new Uint8Array(4096));
  const rows: [
    isPacked: boolean,
    content: string | Uint8Array<ArrayBuffer>,
    type: string,
  ][] = [
    [true, TEXT.slice(0, 1024), "application/json"],
    [true, TEXT, "text/markdown"],
    [true, TEXT, "image/svg+xml"],
    [false, TEXT.slice(0, 1023), "application/json"],
    [false, noise, "text/plain"],
    [false, TEXT, "image/jpeg"],
  ];
  for (const [isPacked, content, type] of rows) {
    const body = await bodyOf(content, type);
    await addGzip(body);
    assertEquals([type, body.gzip !== null], [type, isPacked]);
  }
});

Deno.test("readyBody() tags long bodies like short ones", async () => {
  for (const length of [10, 64 << 10, (64 << 10) + 1, 2_000_000]) {
    const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
    const body = await bodyOf(bytes);
    assertEquals(body.identity.etag, await eTag(bytes));
  }
});

Deno.test("a 304 has no body, repeats the tag and says its age", async () => {
  await using site = await startSite(FILES);
  const { service, gh } = site;
  const etag = (await service.get(path)).headers.get("etag")!;
  const known = { headers: { "if-none-match": etag } };
  service.clock.advance(18_000);

  const response = await service.get(path, known);

  const { headers, status } = response;
  const expected = {
    etag,
    "cache-control": "public, max-age=60",
    age: "18",
    "cache-status": "collections; hit; ttl=42",
    "content-length": null,
    "content-type": null,
  };
  assertEquals([status, await response.text()], [304, ""]);
  for (const [name, value] of Object.entries(expected)) {
    assertEquals([name, headers.get(name)], [name, value]);
  }
  await using fresh = await startService({ github: gh });
  for (const how of ["fwd=miss; stored", "fwd=stale; detail=revalidated"]) {
    const { headers, status } = await fresh.get(path, known);
    const cacheStatus = headers.get("cache-status");
    assertEquals([status, cacheStatus], [304, `collections; ${how}`]);
    fresh.clock.advance(60_000);
  }
  const missing = itemPath({ path: "none" });
  const any = { headers: { "if-none-match": "*" } };
  assertEquals((await service.get(missing, any)).status, 404);
});

Deno.test("a response is sent in gzip once that is made", async () => {
  await using site = await startSite(FILES);
  const { service } = site;
  for (const format of ["json", "raw"]) {
    const address = itemPath({ path: "posts/a.md", format });
    const first = await service.get(address, GZIP);
    const plain = await first.text();
    assertEquals(first.headers.get("content-encoding"), null);
    await gzipReady(service, address);
    for (const state of ["hit; ttl=60", "fwd=stale; detail=revalidated"]) {
      const packed = await service.get(address, GZIP);
      const { headers } = packed;

      assertEquals(headers.get("cache-status"), `collections; ${state}`);
      assertEquals(headers.get("content-encoding"), "gzip");
      for (const name of ["content-type", "content-security-policy"]) {
        assertEquals(headers.get(name), first.headers.get(name));
      }
      assert(headers.get("etag") !== first.headers.get("etag"));
      const gunzip = new DecompressionStream("gzip");
      const unpacked = new Response(packed.body!.pipeThrough(gunzip));
      assertEquals(await unpacked.text(), plain);
      service.clock.advance(60_000);
    }
  }
});

Deno.test("all data is cached and revalidated", async () => {
  await using site = await startSite({
    "posts/a.md": "---\ntitle: A\n---\n",
  });
  const { service, gh, repository } = site;
  const since = await repository.head();
  const linkTemplate = "https://example.com/{slug}";
  const paths = [
    listPath({ includeContent: true }),
    itemPath({ path: "posts/a.md" }),
    collectionsPath({ includeSchema: true }),
    typesPath(),
    changesPath({ since }),
    ...["atom", "rss", "jsonfeed", "sitemap"].map((format) =>
      listPath({ linkTemplate, format })
    ),
  ];
  for (const path of paths) {
    const { headers } = await service.get(path);
    assertEquals(headers.get("cache-control"), "public, max-age=60", path);
    gh.resetCounts();
    const known = { headers: { "if-none-match": headers.get("etag")! } };
    assertEquals((await service.get(path, known)).status, 304, path);
    assertEquals(gh.counts(), {}, path);
  }
});
