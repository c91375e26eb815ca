// Files that Git LFS keeps, over HTTP: what their items say, their bytes, and
// what goes wrong with them.

import { assert, assertEquals } from "@std/assert";
import { parseLfsPointer } from "../../lib/content/lfs_pointer.ts";
import { pointerTo } from "../github/github_lfs.ts";
import { makeSampleFolder } from "../local/sample_folder.ts";
import { itemPath, type Parameters, startService } from "../service.ts";
import { startSite } from "../site.ts";

const PICTURE = Uint8Array.from({ length: 5_000 }, (_, index) => index % 251);
const TEXT = "---\ntitle: Kept by LFS\n---\n\n# Kept\n\n![A picture](a.png)\n";
const MIB = 1 << 20;

const parse = (text: string) => parseLfsPointer(new TextEncoder().encode(text));
const raw = (path: string) => itemPath({ path, format: "raw" });

/**
 * Pointers as git-lfs writes them: a picture, a text, one over the limit, a
 * missing object, one with other bytes. The batch API is at the double.
 */
async function start(env: Record<string, string> = {}) {
  const site = await startSite({}, {
    env: { MAX_ITEM_MB: "1", GITHUB_WEB_URL: "", ...env },
  });
  const { gh: { lfs }, repository } = site;
  await repository.commit({
    "posts/a.png": lfs.add("octo/site", PICTURE),
    "posts/b.md": lfs.add("octo/site", TEXT),
    "posts/c.bin": lfs.add("octo/site", new Uint8Array(MIB + 1)),
    "posts/d.png": pointerTo("nobody has pushed this"),
    "posts/e.txt": lfs.addWrong("octo/site", "wrong"),
    "posts/f.md": "---\ntitle: Plain\n---\n\n![A picture](a.png)\n",
  });
  return site;
}

Deno.test("an item has the file of a pointer or a problem", async () => {
  await using site = await start();
  const { service } = site;
  const picture = await service.get(raw("posts/a.png"));
  assertEquals(picture.headers.get("content-type"), "image/png");
  assertEquals(await picture.bytes(), PICTURE);
  const item = await service.item({ path: "posts/a.png" });
  assertEquals([item.size, item.content], [PICTURE.length, PICTURE.toBase64()]);
  assertEquals(item.lfs, parse(pointerTo(PICTURE)));

  const text = await service.item({ path: "posts/b.md", includeHtml: true });
  assertEquals([text.content, text.frontMatter?.title], [TEXT, "Kept by LFS"]);
  // The picture of an item's HTML is that of the pointer beside it.
  const [, src] = /<img src="([^"]+)"/.exec(text.html!)!;
  const shown = await service.get(src!.replaceAll("&amp;", "&"));
  assertEquals(await shown.bytes(), PICTURE);
  assertEquals((await service.item({ path: "posts/f.md" })).lfs, undefined);

  const problems = {
    "posts/c.bin": "item-too-large",
    "posts/d.png": "item-not-found",
    "posts/e.txt": "source-failed",
  };
  for (const [path, expected] of Object.entries(problems)) {
    const { code, detail, size } = await service.problem(raw(path));
    assertEquals([path, code], [path, expected]);
    assert(detail.includes(path), detail);
    assert(size === MIB + 1 || detail.includes("Git LFS"), detail);
  }
});

Deno.test("a list with contents has those of LFS files", async () => {
  await using site = await start();
  const { items } = await site.service.list({
    includeContent: true,
    includeHtml: true,
  });
  const found = items.map((
    { name, size, lfs, error },
  ) => [name, size, lfs?.size, error?.code]);
  assertEquals(found, [
    ["a.png", PICTURE.length, PICTURE.length, undefined],
    ["b.md", TEXT.length, TEXT.length, undefined],
    ["c.bin", MIB + 1, MIB + 1, "item-too-large"],
    ["d.png", 22, 22, "item-not-found"],
    ["e.txt", 5, 5, "source-failed"],
    ["f.md", 42, undefined, undefined],
  ]);
  assertEquals(items[0]!.content, PICTURE.toBase64());
  const { content, frontMatter, html } = items[1]!;
  assertEquals([content, frontMatter], [TEXT, { title: "Kept by LFS" }]);
  assert(html!.includes("<h1") && items[5]!.html!.includes("<img"));
  // The front matter that lists select by is that of the repository's texts.
  const selected = await site.service.list({
    "filter[frontMatter.title][exists]": true,
  });
  assertEquals(selected.items.map(({ name }) => name), ["f.md"]);
});

Deno.test("a list costs nothing for LFS", async () => {
  await using site = await start();
  const { gh, service } = site;
  const sizes = async (parameters: Parameters) => {
    gh.resetCounts();
    const { items } = await service.list(parameters);
    return items.map(({ size, lfs }) => [size, lfs?.size]);
  };
  const unread = [pointerTo(PICTURE).length, undefined];
  const read = [PICTURE.length, PICTURE.length];
  assertEquals((await sizes({}))[0], unread);
  assertEquals(gh.counts(), { commit: 1, tree: 1, "tree-recursive": 1 });
  await sizes({ includeFrontMatter: true });
  // Texts are read, a picture is not, and no object.
  assertEquals(gh.counts(), { raw: 4 });
  await service.get(raw("posts/a.png"));
  const known = await sizes({ limit: 41 });
  assertEquals(known.slice(0, 2), [read, [TEXT.length, TEXT.length]]);
  assertEquals(gh.counts(), {});
  assertEquals(await sizes({ limit: 42, fields: "size,lfs" }), known);
});

Deno.test("LFS objects are requested together and cached by id", async () => {
  await using site = await start({
    GITHUB_TOKEN: "t1",
    ALLOWED_REPOS: "octo/*",
  });
  const { gh, service } = site;
  gh.setVisibility("octo/site", "private");
  await service.list({ includeContent: true, fields: "content" });
  const batches = gh.requests.filter(({ kind }) => kind === "lfs-batch");
  assertEquals(batches.map(({ token }) => token), [0]);
  assertEquals(gh.counts().lfs, 3);
  gh.resetCounts();
  // Another name, another pointer text, the same object.
  await site.push({
    "posts/z.png": { executable: pointerTo(PICTURE) },
  });
  const response = await service.get(raw("posts/z.png"));
  assertEquals(await response.bytes(), PICTURE);
  const { lfs, "lfs-batch": batch } = gh.counts();
  assertEquals([batch, lfs], [undefined, undefined]);
});

Deno.test("a token that Git LFS refuses stays in use for the API", async () => {
  await using site = await start({ GITHUB_TOKEN: "t1" });
  const { gh, service } = site;
  gh.intercept = (_request, { kind, token }) =>
    kind === "lfs-batch" && token !== null
      ? new Response("{}", { status: 401 })
      : null;
  gh.rename("octo/site", "octo/renamed");
  gh.lfs.add("octo/renamed", PICTURE);
  const response = await service.get(raw("posts/a.png"));
  assertEquals(await response.bytes(), PICTURE);
  assertEquals(service.logLines("token refused"), []);
  await service.item({ path: "posts/f.md" });
  assertEquals(gh.requests.at(-1)!.token, 0);
});

Deno.test("an LFS object is requested at known hosts only", async () => {
  await using site = await start();
  const { gh, service } = site;
  const path = raw("posts/a.png");
  const asked: string[] = [];
  const address = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using trap = Deno.serve(address, ({ url }) => {
    asked.push(url);
    return new Response(PICTURE);
  });
  const there = `127.0.0.1:${trap.addr.port}`;
  const hrefs = [
    `http://${there}/{oid}`,
    `https://${there}/{oid}`,
    `http://localhost:${trap.addr.port}/`,
    `http://${new URL(gh.apiUrl).host}@${there}/`,
    "file:///etc/passwd",
    `//${there}/`,
    "not an address",
    "http://github-cloud.s3.amazonaws.com/{oid}",
    "https://github-cloud.s3.amazonaws.com.evil.test/",
    "http://169.254.169.254/",
  ];
  for (const href of hrefs) {
    gh.lfs.href = href;
    const { detail } = await service.problem(path);
    assert(detail.includes("a host that this service does not know"), detail);
    service.clock.advance(61_000);
  }
  gh.lfs.href = null;
  const moved = { status: 302, headers: { location: `http://${there}/` } };
  gh.intercept = (_request, { kind }) =>
    kind === "lfs" ? new Response(null, moved) : null;
  assertEquals((await service.problem(path)).code, "source-failed");
  assertEquals(asked, []);
});

const BROKEN: readonly (readonly [
  kind: string,
  body: BodyInit | null,
  status?: number,
])[] = [
  ["lfs", new Uint8Array(MIB)],
  ["lfs", PICTURE.subarray(1)],
  ["lfs", null, 403],
  ["lfs-batch", "[]"],
  ["lfs-batch", '{"objects":[]}'],
  ["lfs-batch", '{"transfer":"tus","objects":[]}'],
  ["lfs-batch", null, 404],
  ["lfs-batch", null, 500],
];

for (const [index, [kind, body, status = 200]] of BROKEN.entries()) {
  Deno.test(`broken LFS answer ${index + 1} harms no other file`, async () => {
    await using site = await start();
    const { gh, service } = site;
    gh.intercept = (_request, logged) =>
      logged.kind === kind ? new Response(body, { status }) : null;
    const { items } = await service.list({ includeContent: true });
    const codes = items.map(({ error }) => error?.code ?? "none").join(" ");
    const missing = kind === "lfs" ? "item-not-found" : "source-failed";
    assertEquals(
      codes,
      `source-failed source-failed item-too-large ${missing} source-failed none`,
    );
  });
}

Deno.test("LFS objects count as misses", async () => {
  await using site = await start({ MISSES_PER_MINUTE: "1" });
  const { service } = site;
  await service.item({ path: "posts/f.md" });
  const { code } = await service.problem(raw("posts/a.png"));
  assertEquals(code, "too-many-requests");
});

Deno.test("a local folder gives LFS objects of its checkout", async () => {
  const pointer = pointerTo(TEXT);
  const { oid } = parse(pointer)!;
  const folders = `${oid.slice(0, 2)}/${oid.slice(2, 4)}`;
  const object = `.git/lfs/objects/${folders}/${oid}`;
  const files = { "posts/b.md": pointer, [object]: TEXT };
  await using folder = await makeSampleFolder(files);
  const env = { LOCAL_REPOS_DIR: folder.root };
  await using service = await startService({ env });
  const item = { owner: "local", repo: "blog", path: "posts/b.md" };
  assertEquals((await service.item(item)).content, TEXT);
  await folder.write(object, TEXT.toUpperCase());
  const again = itemPath({ ...item, branch: "HEAD" });
  const { code, detail } = await service.problem(again);
  assertEquals(code, "item-not-found");
  assert(detail.includes("Git LFS"), detail);
});

Deno.test("parseLfsPointer() takes what git-lfs writes only", () => {
  const oid =
    "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
  const version = "version https://git-lfs.github.com/spec/v1\n";
  const start = `${version}oid sha256:${oid}\n`;
  assertEquals(parse(`${start}size 12345\n`), { oid, size: 12345 });
  const others = [
    "",
    `${start}size 12345`,
    `${start}size 12345\n\n`,
    `${start}size -1\n`,
    `${start}size 012\n`,
    `${start}size 1e3\n`,
    `${start}size 99999999999999999999\n`,
    `${version}oid sha256:${oid.toUpperCase()}\nsize 1\n`,
    `${version}oid md5:${oid}\nsize 1\n`,
    `${version}size 1\noid sha256:${oid}\n`,
    `${version}ext-0-foo sha256:${oid}\noid sha256:${oid}\nsize 1\n`,
    `${start}size 1\nx-note ${"x".repeat(1_024)}\n`,
    `\ufeff${start}size 1\n`,
    `${start}size 1\n`.replaceAll("\n", "\r\n"),
  ];
  for (const text of others) assertEquals([text, parse(text)], [text, null]);
});
