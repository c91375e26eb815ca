// Local folders over HTTP: an edit shows at once, and hidden files never do.

import { assertEquals } from "@std/assert";
import { makeSampleFolder, type SampleFolder } from "../local/sample_folder.ts";
import { itemPath, listPath, startService } from "../service.ts";

const LOCAL = { owner: "local", repo: "blog" };
const list = (parameters = {}) => listPath({ ...LOCAL, ...parameters });
const item = (path: string) => itemPath({ ...LOCAL, path });

const serve = ({ root }: SampleFolder, env = {}) =>
  startService({ env: { LOCAL_REPOS_DIR: root, ...env } });

Deno.test("a local folder is looked at again after a second, so that an edit is seen", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "1" });
  await using service = await serve(folder);
  const look = async () => {
    const response = await service.get(list());
    assertEquals(response.headers.get("cache-control"), "no-cache");
    const { items }: { items: { slug: string }[] } = await response.json();
    const status = response.headers.get("cache-status")!.replace("collections; ", "");
    return [status, ...items.map(({ slug }) => slug)];
  };

  assertEquals(await look(), ["fwd=miss; stored", "a"]);
  await folder.write("posts/b.md", "");
  service.clock.advance(999);
  assertEquals(await look(), ["hit; ttl=1", "a"]);
  service.clock.advance(1);
  assertEquals(await look(), ["fwd=stale; stored", "a", "b"]);
  service.clock.advance(1_000);
  assertEquals(await look(), ["fwd=stale; detail=revalidated", "a", "b"]);

  const headers = { "if-none-match": (await service.get(item("posts/a.md"))).headers.get("etag")! };
  service.clock.advance(1_000);
  const unchanged = await service.get(item("posts/a.md"), { headers });
  assertEquals([unchanged.status, unchanged.headers.get("cache-control")], [304, "no-cache"]);
  await folder.write("posts/a.md", "an edit");
  service.clock.advance(1_000);
  assertEquals((await service.get(item("posts/a.md"), { headers })).status, 200);
  assertEquals((await service.item({ ...LOCAL, path: "posts/a.md" })).content, "an edit");
});

Deno.test("a local folder has one branch, no web pages, and is found in any case at no charge", async () => {
  const head = ".git/HEAD";
  const files = { "posts/a.md": "1", [head]: "ref: refs/heads/draft/x\n" };
  await using folder = await makeSampleFolder(files);
  await using service = await serve(folder, { MISSES_PER_MINUTE: "1" });

  const draft = await service.list({ ...LOCAL, collection: "/" });
  assertEquals(draft.repository.branch, "draft/x");
  const paths = draft.items.map(({ path, htmlUrl }) => [path, htmlUrl]);
  assertEquals(paths, [["posts/a.md", undefined]]);
  const { code, detail } = await service.problem(list({ branch: "main" }));
  assertEquals([code, detail.includes('"draft/x"')], ["branch-not-found", true]);
  for (const repo of ["Blog", "BLOG"]) {
    const { repository } = await service.list({ owner: "LOCAL", repo });
    assertEquals([repository.owner, repository.repo], ["LOCAL", repo]);
  }
  const missing = await service.problem(list({ repo: "none" }));
  assertEquals(missing.code, "repository-not-found");
  assertEquals(missing.detail, 'There is no local folder "none".');

  await folder.write(head, "ref: refs/heads/other\n");
  service.clock.advance(1_000);
  const { repository, items } = await service.list(LOCAL);
  assertEquals(repository, { ...draft.repository, branch: "other" });
  assertEquals((await service.get(items[0]!.contentUrl!)).status, 200);
});

Deno.test("a local folder gives nothing hidden and nothing from outside", async () => {
  await using folder = await makeSampleFolder({
    "posts/a.md": "1",
    "posts/.env": "canarySecret",
    ".git/config": "canarySecret",
    "../outside.md": "canarySecret",
    "../.hidden/a.md": "canarySecret",
  });
  const { dir } = folder;
  await using service = await serve(folder);
  await Deno.symlink("../../outside.md", `${dir}/posts/link.md`);
  await Deno.symlink("../..", `${dir}/posts/up`);
  const paths = [
    ...["posts/.env", ".git/config", "posts/link.md", "posts/up/outside.md", "posts/up"],
    ...["../outside.md", "posts/../../outside.md", "/etc/passwd"],
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
    assertEquals([path, response.status === 404 || response.status === 400], [path, true]);
    assertEquals((await response.text()).includes("canarySecret"), false);
  }
  assertEquals((await service.list({ ...LOCAL, collection: "/" })).items.length, 1);
});
