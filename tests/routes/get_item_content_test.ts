// The response for one file, and for a path without one.

import { assertEquals } from "@std/assert";
import type { ProblemBody } from "../../lib/api/contract.ts";
import { itemPath } from "../service.ts";
import { startSite } from "../site.ts";

Deno.test("get-item-content has every field of the contract", async () => {
  const text = "---\ntitle: Hello\ntags: [a, b]\n---\n# Hello\n";
  await using site = await startSite({ "src/posts/hello there.md": text });
  const path = "src/posts/hello there.md";

  const response = await site.service.get(itemPath({ owner: "Octo", path }));

  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "application/json");
  assertEquals(response.headers.get("cache-control"), "public, max-age=60");
  assertEquals(response.headers.get("cache-status"), "collections; fwd=miss; stored");
  const commit = await site.repository.head();
  const query = "owner=Octo&repo=site&branch=main&path=src%2Fposts%2Fhello%20there.md";
  assertEquals(await response.json(), {
    repository: { owner: "Octo", repo: "site", branch: "main", commit },
    name: "hello there.md",
    path,
    sha: await site.repository.git("rev-parse", `main:${path}`),
    size: text.length,
    contentType: "text/markdown; charset=utf-8",
    contentUrl: `http://localhost:8000/api/get-item-content?${query}`,
    htmlUrl: "https://github.test/Octo/site/blob/main/src/posts/hello%20there.md",
    encoding: "utf-8",
    content: text,
    frontMatter: { title: "Hello", tags: ["a", "b"] },
    body: "# Hello\n",
  });
});

Deno.test("get-item-content gives bytes that decode to the file, whatever they are", async () => {
  const files: Record<string, Uint8Array> = {
    "all bytes": Uint8Array.from({ length: 256 }, (_, n) => n),
    "bom only": new Uint8Array([0xef, 0xbb, 0xbf]),
    "crlf": new TextEncoder().encode("a\r\nb\r\n"),
    "cut utf-8": new Uint8Array([0x61, 0xe2, 0x82]),
    "empty": new Uint8Array(),
    "latin 1": new Uint8Array([0xfc]),
    "nul": new TextEncoder().encode("text with a \0"),
    "surrogate": new Uint8Array([0xed, 0xa0, 0x80]),
    "text": new TextEncoder().encode("ünïcode 🙂 \u2028 \ufffd"),
    "utf-16": new Uint8Array([0xff, 0xfe, 0x61, 0x00]),
  };
  await using site = await startSite(files);

  const encodings: Record<string, string> = {};
  for (const [path, bytes] of Object.entries(files)) {
    const { encoding, content, size } = await site.service.item({ path });
    const decoded = encoding === "utf-8"
      ? new TextEncoder().encode(content)
      : Uint8Array.fromBase64(content);
    assertEquals([path, decoded.toHex(), size], [path, bytes.toHex(), bytes.length]);
    encodings[path] = encoding;
  }
  const text = Object.keys(encodings).filter((path) => encodings[path] === "utf-8");
  assertEquals(text, ["bom only", "crlf", "empty", "text"]);
});

Deno.test("get-item-content says what stands where no file is", async () => {
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
    "posts/none.md": "There is no file",
    "posts/A.md": "There is no file",
    "posts/a.md/b": "There is no file",
    "posts/link.md/b": "There is no file",
    "posts/module/b": "There is no file",
  };

  for (const [path, sentence] of Object.entries(sentences)) {
    // Before and after the folder was listed: the cached list gives the same.
    for (const _ of ["before", "after"]) {
      const response = await service.get(itemPath({ path }));
      const { code, detail }: ProblemBody = await response.json();
      assertEquals([path, response.status, code], [path, 404, "item-not-found"]);
      assertEquals([path, detail.includes(sentence) && detail.includes(path)], [path, true]);
      await service.list();
    }
  }
});

Deno.test("get-item-content gives a file of just the size cap, and refuses one over it", async () => {
  const MIB = 1 << 20;
  await using site = await startSite({
    "just": "a".repeat(MIB),
    "over": "a".repeat(MIB + 1),
  }, { env: { MAX_ITEM_MB: "1" } });

  assertEquals((await site.service.item({ path: "just" })).size, MIB);
  for (const format of ["json", "raw"]) {
    const response = await site.service.get(itemPath({ path: "over", format }));
    const { code, size, maxBytes, htmlUrl }: ProblemBody = await response.json();
    assertEquals([response.status, code, size, maxBytes], [422, "item-too-large", MIB + 1, MIB]);
    assertEquals(htmlUrl, "https://github.test/octo/site/blob/main/over");
  }
  assertEquals(site.gh.counts().raw, 1);
});

Deno.test("get-item-content gives an LFS pointer, a dotted path and an executable file as they are stored", async () => {
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
  await using site = await startSite({
    "image.png": pointer,
    ".github/a.yml": "a: 1\n",
    "run.sh": { executable: "echo\n" },
  });

  const image = await site.service.item({ path: "image.png" });
  const hidden = await site.service.item({ path: ".github/a.yml" });

  assertEquals([image.contentType, image.encoding, image.content], ["image/png", "utf-8", pointer]);
  assertEquals(hidden.content, "a: 1\n");
  assertEquals((await site.service.item({ path: "run.sh" })).content, "echo\n");
});
