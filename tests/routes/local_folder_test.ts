// Local folders over HTTP: an edit shows at once, and hidden files never do.

import { assertEquals } from "@std/assert";
import type { ListBody } from "../../lib/api/contract.ts";
import { makeSampleFolder, type SampleFolder } from "../local/sample_folder.ts";
import { itemPath, listPath, startService } from "../service.ts";

const LOCAL = { owner: "local", repo: "blog" };
const list = (parameters = {}) => listPath({ ...LOCAL, ...parameters });
const item = (path: string) => itemPath({ ...LOCAL, path });

const serve = ({ root }: SampleFolder, env = {}) =>
  startService({ env: { LOCAL_REPOS_DIR: root, ...env } });

Deno.test("a local folder is checked again after a second", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "1" });
  await using service = await serve(folder);
  const look = async () => {
    const response = await service.get(list());
    assertEquals(response.headers.get("cache-control"), "no-cache");
    const { items }: ListBody = await response.json();
    return [
      response.headers.get("cache-status"),
      ...items.map(({ slug }) => slug),
    ];
  };

  assertEquals(await look(), ["collections; fwd=miss; stored", "a"]);
  const { headers } = await service.get(item("posts/a.md"));
  const init = { headers: { "if-none-match": headers.get("etag")! } };
  assertEquals((await service.get(item("posts/a.md"), init)).status, 304);
  await folder.write("posts/b.md", "");
  service.clock.advance(999);
  assertEquals(await look(), ["collections; hit; ttl=1", "a"]);
  service.clock.advance(1);
  assertEquals(await look(), ["collections; fwd=stale; stored", "a", "b"]);
  service.clock.advance(1_000);
  assertEquals(await look(), [
    "collections; fwd=stale; detail=revalidated",
    "a",
    "b",
  ]);
  assertEquals(
    (await service.get(item("posts/a.md"), init)).status,
    200,
    "of another commit",
  );
});

Deno.test("a local folder has one branch and costs no misses", async () => {
  const head = ".git/HEAD";
  const files = { "posts/a.md": "1", [head]: "ref: refs/heads/draft/x\n" };
  await using folder = await makeSampleFolder(files);
  await using service = await serve(folder, { MISSES_PER_MINUTE: "1" });

  const draft = await service.list({ ...LOCAL, collection: "/" });
  assertEquals(draft.repository.branch, "draft/x");
  assertEquals(draft.items.map(({ path, htmlUrl }) => [path, htmlUrl]), [[
    "posts/a.md",
    undefined,
  ]]);
  const missing = await service.problem(list({ repo: "none" }));
  assertEquals(missing.detail, 'There is no local folder "none".');

  await folder.write(head, "ref: refs/heads/other\n");
  service.clock.advance(1_000);
  const { repository, items } = await service.list(LOCAL);
  assertEquals(repository, { ...draft.repository, branch: "other" });
  assertEquals((await service.get(items[0]!.contentUrl!)).status, 200);
});

Deno.test("a local folder gives nothing hidden or from outside", async () => {
  const secrets = [
    "posts/.env",
    ".git/config",
    "../outside.md",
    "../.hidden/a.md",
  ];
  const files = Object.fromEntries(
    secrets.map((path) => [path, "canarySecret"]),
  );
  await using folder = await makeSampleFolder({ ...files, "posts/a.md": "1" });
  await using service = await serve(folder);
  await Deno.symlink("../../outside.md", `${folder.dir}/posts/link.md`);
  await Deno.symlink("../..", `${folder.dir}/posts/up`);
  const paths = [
    "posts/.env",
    ".git/config",
    "posts/link.md",
    "posts/up/outside.md",
    "posts/up",
    "../outside.md",
    "posts/../../outside.md",
    "/etc/passwd",
  ];
  const requests = [
    ...paths.map(item),
    itemPath({ owner: "local", repo: ".hidden", path: "a.md" }),
    itemPath({ owner: "local", repo: "..", path: "outside.md" }),
    list({ collection: ".git" }),
    list({ collection: "posts/up" }),
  ];
  for (const path of requests) {
    const response = await service.get(path);
    assertEquals([path, response.status === 404 || response.status === 400], [
      path,
      true,
    ]);
    assertEquals((await response.text()).includes("canarySecret"), false);
  }
  assertEquals(
    (await service.list({ ...LOCAL, collection: "/" })).items.length,
    1,
  );
});

Deno.test("a file that was edited is read as it is now", async () => {
  await using folder = await makeSampleFolder({
    "posts/a.md": "1",
    "posts/b.md": "2",
  });
  await using service = await serve(folder);
  await service.list(LOCAL);
  await folder.write("posts/a.md", "edited");
  const content = async () =>
    (await service.item({ ...LOCAL, path: "posts/a.md" })).content;
  assertEquals(await content(), "edited");
  await folder.write("posts/b.md", "---\nn: 1\n---\n");
  const { items } = await service.list({ ...LOCAL, includeContent: true });
  assertEquals(items.map(({ frontMatter, error }) => [frontMatter, error]), [
    [undefined, undefined],
    [{ n: 1 }, undefined],
  ]);
  await Deno.remove(`${folder.dir}/posts/a.md`);
  assertEquals((await service.get(item("posts/a.md"))).status, 404);
});
