// `format=raw`: the exact bytes, under headers that prevent a browser from running them.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { contentDisposition } from "../../lib/http/responses.ts";
import { itemPath } from "../service.ts";
import { startSite } from "../site.ts";

const raw = (path: string) => itemPath({ path, format: "raw" });

Deno.test("format=raw gives the bytes with their type, and a policy", async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
  await using site = await startSite({ "posts/photo.jpg": bytes });

  const response = await site.service.get(raw("posts/photo.jpg"));

  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "image/jpeg");
  assertEquals(
    response.headers.get("content-disposition"),
    `inline; filename="photo.jpg"; filename*=UTF-8''photo.jpg`,
  );
  assertEquals(response.headers.get("content-security-policy"), "sandbox; default-src 'none'");
  assertEquals(response.headers.get("cache-control"), "public, max-age=60");
  assertEquals((await response.bytes()).toHex(), bytes.toHex());
});

Deno.test("format=raw has an ETag of its own, and 304 by it", async () => {
  await using site = await startSite({ "a.json": '{"a":1}' });
  const { service } = site;

  const etag = (await service.get(raw("a.json"))).headers.get("etag")!;
  const jsonTag = (await service.get(itemPath({ path: "a.json" }))).headers.get("etag")!;

  assert(etag !== jsonTag);
  const send = (tag: string) => service.get(raw("a.json"), { headers: { "if-none-match": tag } });
  assertEquals((await send(etag)).status, 304);
  assertEquals((await send(jsonTag)).status, 200);
});

Deno.test("format=raw sends what a browser would run as plain text, but for SVG", async () => {
  const plain = "html HTM xhtml xht shtml xml xsl xslt rss atom mathml js mjs".split(" ");
  const types: Record<string, string> = {
    ...Object.fromEntries(plain.map((end) => [`a.${end}`, "text/plain; charset=utf-8"])),
    "a.svg": "image/svg+xml",
    "a.svgz": "image/svg+xml",
    "a.md": "text/markdown; charset=utf-8",
    "a.css": "text/css; charset=utf-8",
    "a.json": "application/json",
    "a.pdf": "application/pdf",
    "a": "application/octet-stream",
  };
  const files = Object.keys(types).map((path): [string, string] => [path, "<script>1</script>"]);
  await using site = await startSite(files);

  for (const [path, type] of Object.entries(types)) {
    const { headers } = await site.service.get(raw(path));
    assertEquals([path, headers.get("content-type")], [path, type]);
    assertEquals(headers.get("content-security-policy"), "sandbox; default-src 'none'");
    assertEquals(headers.get("x-content-type-options"), "nosniff");
  }
});

Deno.test("format=raw names the file, whatever its name, in one header", async () => {
  const names = [
    'a"b.md',
    "a\\b.md",
    "a%41b.md",
    "ü 日本 🙂.md",
    "a;b=c,d'(e)*.md",
    "a\u0085\u202eb.md",
  ];
  await using site = await startSite(names.map((name): [string, string] => [`c/${name}`, ""]));

  for (const name of names) {
    const response = await site.service.get(raw(`c/${name}`));
    if (/\p{Cc}/u.test(name)) {
      assertEquals(response.status, 400);
      continue;
    }
    const disposition = response.headers.get("content-disposition") ?? "";
    const [, plain, whole] =
      /^inline; filename="([^"\\%]*)"; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+)$/.exec(
        disposition,
      ) ?? [];
    assertMatch(plain ?? disposition, /^[\x20-\x7e]+$/);
    assertEquals(decodeURIComponent(whole!), name);
  }
});

Deno.test("contentDisposition() stays one header for names that no request can carry", () => {
  for (const name of ["a\r\nX-Evil: 1", "a\u0000b", "\ud800", "\u007f", ""]) {
    assertMatch(
      contentDisposition(name),
      /^inline; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\x21-\x7e]*$/,
    );
  }
});

Deno.test("format=raw answers problems as JSON, without a disposition", async () => {
  await using site = await startSite({ "a.md": "" });

  const response = await site.service.get(raw("none.md"));

  assertEquals(response.status, 404);
  assertEquals(response.headers.get("content-disposition"), null);
  assertEquals((await response.json()).code, "item-not-found");
});
