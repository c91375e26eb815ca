// One file, as JSON and by `format=raw`: the exact bytes, under headers that
// prevent a browser from running them. All fields of a body are compared in
// tests/api/openapi_test.ts.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import type { ProblemBody } from "../../lib/api/contract.ts";
import { contentDisposition } from "../../lib/http/responses.ts";
import { itemPath } from "../service.ts";
import { startSite } from "../site.ts";

const MIB = 1 << 20;
const raw = (path: string) => itemPath({ path, format: "raw" });

Deno.test("get-item-content gives bytes that decode to the file", async () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const text = {
    "bom only": "\ufeff",
    "crlf": "a\r\nb\r\n",
    "empty": "",
    "text": "ünïcode 🙂 \u2028 \ufffd",
    "image.png":
      "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    ".github/a.yml": "a: 1\n",
  };
  const binary = {
    "all bytes": Uint8Array.from({ length: 256 }, (_, n) => n),
    "cut utf-8": new Uint8Array([0x61, 0xe2, 0x82]),
    "nul": bytes("text with a \0"),
    "surrogate": new Uint8Array([0xed, 0xa0, 0x80]),
    "utf-16": new Uint8Array([0xff, 0xfe, 0x61, 0x00]),
  };
  await using site = await startSite({
    ...text,
    ...binary,
    "run.sh": { executable: "echo\n" },
  });
  const { service } = site;

  for (const [path, file] of Object.entries({ ...text, ...binary })) {
    const [expected, coding, content] = typeof file === "string"
      ? [bytes(file), "utf-8", file]
      : [file, "base64", file.toBase64()];
    const item = await service.item({ path });
    assertEquals([path, item.encoding, item.content, item.size], [
      path,
      coding,
      content,
      expected.length,
    ]);
    assertEquals(await (await service.get(raw(path))).bytes(), expected, path);
  }
  assertEquals((await service.item({ path: "run.sh" })).content, "echo\n");
});

Deno.test("get-item-content says what is there where no file is", async () => {
  await using site = await startSite({
    "posts/a.md": "",
    "posts/link.md": { symlink: "a.md" },
    "posts/module": { submodule: "1234567890123456789012345678901234567890" },
  });
  const { service } = site;
  const sentences = {
    "posts/link.md": "is a symbolic link",
    "posts/module": "is a submodule",
    "posts": "is a folder",
    "posts/A.md": "There is no file",
    "posts/a.md/b": "There is no file",
    "posts/link.md/b": "There is no file",
    "posts/module/b": "There is no file",
  };
  // Before and after the folder was listed: the cached list gives the same.
  for (const format of ["json", "raw"]) {
    for (const [path, sentence] of Object.entries(sentences)) {
      const response = await service.get(itemPath({ path, format }));
      const { code, detail }: ProblemBody = await response.json();
      assertEquals([path, code], [path, "item-not-found"]);
      assert(detail.includes(sentence) && detail.includes(path), detail);
      assertEquals(response.headers.get("content-disposition"), null);
    }
    await service.list();
  }
});

Deno.test("get-item-content refuses a file over the size cap", async () => {
  const files = { "just": "a".repeat(MIB), "over": "a".repeat(MIB + 1) };
  await using site = await startSite(files, { env: { MAX_ITEM_MB: "1" } });

  assertEquals((await site.service.item({ path: "just" })).size, MIB);
  const problem = await site.service.problem(raw("over"));
  const { code, size, maxBytes, htmlUrl } = problem;
  assertEquals([code, size, maxBytes], ["item-too-large", MIB + 1, MIB]);
  assertEquals(htmlUrl, "https://github.test/octo/site/blob/main/over");
  assertEquals(site.gh.counts().raw, 1);
});

Deno.test("format=raw sends active content as plain text", async () => {
  const text =
    "html HTM xhtml xht shtml xml xsl xslt rss atom mathml js mjs ecma";
  const plain = text.split(" ").map((extension) =>
    [`a.${extension}`, "text/plain; charset=utf-8"] as const
  );
  const types = {
    ...Object.fromEntries(plain),
    "a.svg": "image/svg+xml",
    "a.svgz": "image/svg+xml",
    "a.jpg": "image/jpeg",
    "a.md": "text/markdown; charset=utf-8",
    "a.css": "text/css; charset=utf-8",
    "a.json": "application/json",
    "a.pdf": "application/pdf",
    "a": "application/octet-stream",
  };
  const files = Object.keys(types).map((path) => [path, "<script>1</script>"]);
  await using site = await startSite(Object.fromEntries(files));

  for (const [path, type] of Object.entries(types)) {
    const { headers } = await site.service.get(raw(path));
    assertEquals([path, headers.get("content-type")], [path, type]);
    assertEquals(
      headers.get("content-security-policy"),
      "sandbox; default-src 'none'",
    );
  }
  // Each representation has its own tag.
  const [bytes, json] = await Promise.all(
    [raw("a.md"), itemPath({ path: "a.md" })].map((path) =>
      site.service.get(path)
    ),
  );
  assertNotEquals(bytes!.headers.get("etag"), json!.headers.get("etag"));
});

Deno.test("format=raw names the file, whatever its name, in one header", async () => {
  const names = [
    'a"b.md',
    "a\\b.md",
    "a%41b.md",
    "ü 日本 🙂.md",
    "a;b=c,d'(e)*.md",
  ];
  await using site = await startSite(
    Object.fromEntries(names.map((name) => [`c/${name}`, ""])),
  );

  for (const name of names) {
    const { headers } = await site.service.get(raw(`c/${name}`));
    const disposition = headers.get("content-disposition")!;
    const form =
      /^inline; filename="([^"\\%]*)"; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+)$/;
    const [, plain, whole] = form.exec(disposition) ?? [];
    assertMatch(plain ?? disposition, /^[\x20-\x7e]+$/);
    assertEquals(decodeURIComponent(whole!), name);
  }
  // Names that no request can carry.
  for (const name of ["a\r\nX-Evil: 1", "a\u0000b", "\ud800", "\u007f", ""]) {
    assertMatch(
      contentDisposition(name),
      /^inline; filename="[\x20-\x7e]*"; filename\*=UTF-8''[\x21-\x7e]*$/,
    );
  }
});
