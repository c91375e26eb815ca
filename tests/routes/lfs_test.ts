// Files that Git LFS keeps, over HTTP: what their items say, their bytes, and
// what goes wrong with them.

import { assert, assertEquals } from "@std/assert";
import type { ItemBody } from "../../lib/api/contract.ts";
import { parseLfsPointer } from "../../lib/content/lfs_pointer.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { pointerTo } from "../github/github_lfs.ts";
import { makeSampleFolder } from "../local/sample_folder.ts";
import { itemPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const PICTURE = Uint8Array.from({ length: 5_000 }, (_, index) => index % 251);
const TEXT = "---\ntitle: Kept by LFS\n---\n\n# Kept\n\n![A picture](a.png)\n";
const MIB = 1 << 20;

/**
 * Pointers as git-lfs writes them: a picture, a text, one over the limit, a
 * missing object, one with other bytes.
 */
async function start(env: Record<string, string> = {}, more: GitFiles = {}) {
  const site = await startSite({}, { env: { MAX_ITEM_MB: "1", ...env } });
  const { gh, repository } = site;
  const { lfs } = gh;
  await repository.commit({
    "posts/a.png": lfs.add("octo/site", PICTURE),
    "posts/b.md": lfs.add("octo/site", TEXT),
    "posts/c.bin": lfs.add("octo/site", new Uint8Array(MIB + 1)),
    "posts/d.png": pointerTo("nobody has pushed this"),
    "posts/e.txt": lfs.addWrong("octo/site", "wrong"),
    "posts/f.md": "---\ntitle: Plain\n---\n\n![A picture](a.png)\n",
    ...more,
  });
  return site;
}

/** The settings by which the batch API is at the double. */
const envOf = { GITHUB_WEB_URL: "" };

Deno.test("format=raw sends the file of a pointer or a problem", async () => {
  await using site = await start(envOf);
  const { service } = site;
  const raw = (name: string) =>
    itemPath({ path: `posts/${name}`, format: "raw" });
  const picture = await service.get(raw("a.png"));
  assertEquals([picture.status, picture.headers.get("content-type")], [
    200,
    "image/png",
  ]);
  assertEquals(await picture.bytes(), PICTURE);
  assertEquals(await (await service.get(raw("b.md"))).text(), TEXT);
  const problems = await Promise.all(
    ["c.bin", "d.png", "e.txt"].map(async (name) => {
      const { status, code, detail, size } = await service.problem(raw(name));
      assert(detail.includes(`posts/${name}`), detail);
      assert(code === "item-too-large" || detail.includes("Git LFS"), detail);
      return [status, code, size];
    }),
  );
  assertEquals(problems, [
    [422, "item-too-large", MIB + 1],
    [404, "item-not-found", undefined],
    [502, "source-failed", undefined],
  ]);
});

Deno.test("get-item-content has the LFS file's size and content", async () => {
  await using site = await start(envOf);
  const { service } = site;
  const { lfs, size, content, encoding } = await service.item({
    path: "posts/a.png",
  });
  assertEquals([size, encoding, content], [
    PICTURE.length,
    "base64",
    PICTURE.toBase64(),
  ]);
  assertEquals(
    lfs,
    parseLfsPointer(new TextEncoder().encode(pointerTo(PICTURE))),
  );
  const text = await service.item({ path: "posts/b.md", includeHtml: true });
  assertEquals([text.content, text.frontMatter], [TEXT, {
    title: "Kept by LFS",
  }]);
  // The picture of an item's HTML is that of the pointer beside it.
  const [, src] = /<img src="([^"]+)"/.exec(text.html!)!;
  const picture = await service.get(src!.replaceAll("&amp;", "&"));
  assertEquals(await picture.bytes(), PICTURE);
  assertEquals((await service.item({ path: "posts/f.md" })).lfs, undefined);
});

Deno.test("a list with contents has those of LFS files", async () => {
  await using site = await start(envOf);
  const { service } = site;
  const { items } = await service.list({
    includeContent: true,
    includeHtml: true,
  });
  const byName = new Map(items.map((item) => [item.name, item]));
  const of = (name: string) => byName.get(name)!;
  assertEquals(
    items.map((
      { name, size, lfs, error },
    ) => [name, size, lfs?.size, error?.code]),
    [
      ["a.png", PICTURE.length, PICTURE.length, undefined],
      ["b.md", TEXT.length, TEXT.length, undefined],
      ["c.bin", MIB + 1, MIB + 1, "item-too-large"],
      ["d.png", 22, 22, "item-not-found"],
      ["e.txt", 5, 5, "source-failed"],
      ["f.md", 42, undefined, undefined],
    ],
  );
  assertEquals(of("a.png").content, PICTURE.toBase64());
  const { content, frontMatter, html, words } = of("b.md");
  assertEquals([content, frontMatter, words], [
    TEXT,
    { title: "Kept by LFS" },
    1,
  ]);
  assert(html!.includes("<h1") && of("f.md").html!.includes("<img"));
  assertEquals(of("f.md").frontMatter, { title: "Plain" });
});

Deno.test("a list costs nothing for LFS", async () => {
  await using site = await start(envOf);
  const { gh, service } = site;
  const sizes = async (parameters = {}) =>
    (await service.list(parameters)).items.map((
      { size, lfs }: ItemBody,
    ) => [size, lfs?.size]);
  const pointer = pointerTo(PICTURE).length;
  assertEquals((await sizes())[0], [pointer, undefined]);
  assertEquals(gh.counts(), { commit: 1, tree: 1, "tree-recursive": 1 });
  gh.resetCounts();
  await sizes({ includeFrontMatter: true });
  // Texts are read, a picture is not, and no object.
  assertEquals(gh.counts(), { raw: 4 });
  assertEquals((await sizes({ limit: 40 })).map(([, size]) => size), [
    undefined,
    TEXT.length,
    MIB + 1,
    undefined,
    5,
    undefined,
  ]);
  gh.resetCounts();
  await sizes({ includeFrontMatter: true, limit: 44 });
  assertEquals(gh.counts(), {});
  await service.get(itemPath({ path: "posts/a.png", format: "raw" }));
  gh.resetCounts();
  assertEquals((await sizes({ limit: 41 }))[0], [
    PICTURE.length,
    PICTURE.length,
  ]);
  assertEquals(
    await sizes({ limit: 42, fields: "size,lfs" }),
    await sizes({ limit: 43 }),
  );
  assertEquals(gh.counts(), {});
});

Deno.test("sort and filter use the front matter of pointers", async () => {
  await using site = await start(envOf);
  const { service } = site;
  await service.list({ includeContent: true });
  await service.item({ path: "posts/b.md" });
  const { items } = await service.list({
    "filter[frontMatter.title][exists]": true,
  });
  assertEquals(items.map(({ name }) => name), ["f.md"]);
});

Deno.test("LFS objects are requested together and cached by id", async () => {
  await using site = await start({
    ...envOf,
    GITHUB_TOKEN: "t1",
    ALLOWED_REPOS: "octo/*",
  });
  const { gh, service } = site;
  gh.setVisibility("octo/site", "private");
  await service.list({ includeContent: true, fields: "content" });
  const batches = () => gh.requests.filter(({ kind }) => kind === "lfs-batch");
  assertEquals(batches().map(({ token, status }) => [token, status]), [[
    0,
    200,
  ]]);
  assertEquals(gh.counts().lfs, 3);
  gh.resetCounts();
  // Another name, another pointer text, the same object.
  await site.push({
    "posts/z.png": { executable: pointerTo(PICTURE) },
  });
  const response = await service.get(
    itemPath({ path: "posts/z.png", format: "raw" }),
  );
  assertEquals(await response.bytes(), PICTURE);
  assertEquals([batches(), gh.counts().lfs], [[], undefined]);
});

Deno.test("a token that Git LFS refuses stays in use for the API", async () => {
  await using site = await start({ ...envOf, GITHUB_TOKEN: "t1" });
  const { gh, service } = site;
  gh.intercept = (_request, { kind, token }) =>
    kind === "lfs-batch" && token !== null
      ? new Response("{}", { status: 401 })
      : null;
  gh.rename("octo/site", "octo/renamed");
  gh.lfs.add("octo/renamed", PICTURE);
  const response = await service.get(
    itemPath({ path: "posts/a.png", format: "raw" }),
  );
  assertEquals([response.status, await response.bytes()], [200, PICTURE]);
  assertEquals(service.logLines("token refused"), []);
  gh.resetCounts();
  await service.item({ path: "posts/f.md" });
  assertEquals(gh.requests.at(-1)!.token, 0);
});

Deno.test("an LFS object is requested at known hosts only", async () => {
  await using site = await start(envOf);
  const { gh, service } = site;
  const path = itemPath({ path: "posts/a.png", format: "raw" });
  const asked: string[] = [];
  await using trap = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
  }, ({ url }) => {
    asked.push(url);
    return new Response(PICTURE);
  });
  const there = `127.0.0.1:${trap.addr.port}`;
  const { host } = new URL(gh.apiUrl);
  const hrefs = [
    `http://${there}/{oid}`,
    `https://${there}/{oid}`,
    `http://localhost:${trap.addr.port}/`,
    `http://${host}@${there}/`,
    `file:///etc/passwd`,
    `//${there}/`,
    "not an address",
    "http://github-cloud.s3.amazonaws.com/{oid}",
    "https://evil.test/{oid}",
    `https://github-cloud.s3.amazonaws.com.evil.test/`,
    "http://169.254.169.254/",
  ];
  for (const href of hrefs) {
    gh.lfs.href = href;
    const { status, detail } = await service.problem(path);
    assertEquals([href, status], [href, 502]);
    assert(detail.includes("a host that this service does not know"), detail);
    service.clock.advance(61_000);
  }
  gh.lfs.href = null;
  gh.intercept = (_request, { kind }) =>
    kind === "lfs"
      ? new Response(null, {
        status: 302,
        headers: { location: `http://${there}/` },
      })
      : null;
  assertEquals((await service.problem(path)).code, "source-failed");
  assertEquals(asked, []);
});

Deno.test("a broken LFS answer harms no other file", async () => {
  const answers: [kind: string, answer: () => Response][] = [
    ["lfs", () => new Response(new Uint8Array(MIB))],
    ["lfs", () => new Response(PICTURE.subarray(1))],
    ["lfs", () => new Response(null, { status: 403 })],
    ["lfs-batch", () => new Response("[]")],
    ["lfs-batch", () => new Response('{"objects":[]}')],
    ["lfs-batch", () => new Response('{"transfer":"tus","objects":[]}')],
    ["lfs-batch", () => new Response(null, { status: 404 })],
    ["lfs-batch", () => new Response(null, { status: 500 })],
  ];
  for (const [kind, answer] of answers) {
    await using site = await start(envOf);
    const { gh, service } = site;
    gh.intercept = (_request, logged) => logged.kind === kind ? answer() : null;
    const { items } = await service.list({ includeContent: true });
    const codes = items.map(({ error }) => error?.code);
    const failed = "source-failed";
    const missing = kind === "lfs" ? "item-not-found" : failed;
    assertEquals(codes, [
      failed,
      failed,
      "item-too-large",
      missing,
      failed,
      undefined,
    ]);
    assertEquals(items.at(-1)!.frontMatter, { title: "Plain" });
  }
});

Deno.test("LFS objects count as misses", async () => {
  await using site = await start({ ...envOf, MISSES_PER_MINUTE: "1" });
  const { service } = site;
  assertEquals(
    (await service.get(itemPath({ path: "posts/f.md" }))).status,
    200,
  );
  const { code } = await service.problem(
    itemPath({ path: "posts/a.png", format: "raw" }),
  );
  assertEquals(code, "too-many-requests");
});

Deno.test("a local folder gives LFS objects of its checkout", async () => {
  const pointer = pointerTo(PICTURE);
  const oid = parseLfsPointer(new TextEncoder().encode(pointer))!.oid;
  const object = `.git/lfs/objects/${oid.slice(0, 2)}/${
    oid.slice(2, 4)
  }/${oid}`;
  await using folder = await makeSampleFolder({
    "posts/a.png": pointer,
    [object]: "",
  });
  await Deno.writeFile(`${folder.dir}/${object}`, PICTURE);
  await using service = await startService({
    env: { LOCAL_REPOS_DIR: folder.root },
  });
  const path = (format: string) =>
    itemPath({ owner: "local", repo: "blog", path: "posts/a.png", format });
  assertEquals(await (await service.get(path("raw"))).bytes(), PICTURE);
  await Deno.writeFile(`${folder.dir}/${object}`, PICTURE.toReversed());
  const { code, detail } = await service.problem(`${path("raw")}&branch=HEAD`);
  assertEquals([code, detail.includes("Git LFS")], ["item-not-found", true]);
  const { items } = await service.list({
    owner: "local",
    repo: "blog",
    includeContent: true,
  });
  assertEquals([items[0]!.lfs?.oid, items[0]!.error?.code], [
    oid,
    "item-not-found",
  ]);
});

Deno.test("parseLfsPointer() takes what git-lfs writes only", () => {
  const oid =
    "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
  const version = "version https://git-lfs.github.com/spec/v1\n";
  const parse = (text: string) =>
    parseLfsPointer(new TextEncoder().encode(text));
  assertEquals(parse(`${version}oid sha256:${oid}\nsize 12345\n`), {
    oid,
    size: 12345,
  });
  const others = [
    "",
    `${version}oid sha256:${oid}\nsize 12345`,
    `${version}oid sha256:${oid}\nsize 12345\n\n`,
    `${version}oid sha256:${oid}\nsize -1\n`,
    `${version}oid sha256:${oid}\nsize 012\n`,
    `${version}oid sha256:${oid}\nsize 1e3\n`,
    `${version}oid sha256:${oid}\nsize 99999999999999999999\n`,
    `${version}oid sha256:${oid.toUpperCase()}\nsize 1\n`,
    `${version}oid md5:${oid}\nsize 1\n`,
    `${version}size 1\noid sha256:${oid}\n`,
    `${version}ext-0-foo sha256:${oid}\noid sha256:${oid}\nsize 1\n`,
    `${version}oid sha256:${oid}\nsize 1\nx-note ${"x".repeat(1_024)}\n`,
    `\ufeff${version}oid sha256:${oid}\nsize 1\n`,
    `${version}oid sha256:${oid}\nsize 1\n`.replaceAll("\n", "\r\n"),
  ];
  for (const text of others) assertEquals([text, parse(text)], [text, null]);
});
