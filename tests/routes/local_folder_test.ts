// Local folders over HTTP: an edit shows at once, and hidden files never do.

import { assert, assertEquals } from "@std/assert";
import { makeSampleFolder, type SampleFolder } from "../local/sample_folder.ts";
import { itemPath, listPath, startService } from "../service.ts";

const LOCAL = { owner: "local", repo: "blog" };
const list = (parameters = {}) => listPath({ ...LOCAL, ...parameters });

const serve = ({ root }: SampleFolder, env = {}) =>
  startService({ env: { LOCAL_REPOS_DIR: root, ...env } });

Deno.test("a local folder is checked again after a second", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "1" });
  await using service = await serve(folder);
  const look = async () => {
    const { headers } = await service.get(list());
    assertEquals(headers.get("cache-control"), "no-cache");
    return headers.get("cache-status");
  };

  assertEquals(await look(), "collections; fwd=miss; stored");
  const content = async () =>
    (await service.item({ ...LOCAL, path: "posts/a.md" })).content;
  assertEquals(await content(), "1");
  await folder.write("posts/a.md", "edited");
  service.clock.advance(999);
  assertEquals(await look(), "collections; hit; ttl=1");
  service.clock.advance(1);
  assertEquals(await look(), "collections; fwd=stale; stored");
  assertEquals(await content(), "edited");
  service.clock.advance(1_000);
  assertEquals(await look(), "collections; fwd=stale; detail=revalidated");
});

Deno.test("a local folder has one branch and costs no misses", async () => {
  const head = ".git/HEAD";
  const files = { "posts/a.md": "1", [head]: "ref: refs/heads/draft/x\n" };
  await using folder = await makeSampleFolder(files);
  await using service = await serve(folder, { MISSES_PER_MINUTE: "1" });

  const draft = await service.list(LOCAL);
  assertEquals(draft.repository.branch, "draft/x");
  assertEquals(draft.items[0]!.htmlUrl, undefined);
  const missing = await service.problem(list({ repo: "none" }));
  assertEquals(missing.detail, 'There is no local folder "none".');

  await folder.write(head, "ref: refs/heads/other\n");
  service.clock.advance(1_000);
  const { repository, items } = await service.list(LOCAL);
  assertEquals(repository, { ...draft.repository, branch: "other" });
  assertEquals((await service.get(items[0]!.contentUrl!)).status, 200);
});

Deno.test("a local folder gives nothing hidden or from outside", async () => {
  const canary = "canarySecret";
  await using folder = await makeSampleFolder({
    "posts/.env": canary,
    ".git/config": canary,
    "../outside.md": canary,
    "../.hidden/a.md": canary,
    "posts/a.md": "1",
  });
  await using service = await serve(folder);
  await Deno.symlink("../../outside.md", `${folder.dir}/posts/link.md`);
  await Deno.symlink("../..", `${folder.dir}/posts/up`);
  const paths =
    "posts/.env .git/config posts/link.md posts/up/outside.md posts/up ../outside.md posts/../../outside.md /etc/passwd";
  const requests = [
    ...paths.split(" ").map((path) => itemPath({ ...LOCAL, path })),
    itemPath({ owner: "local", repo: ".hidden", path: "a.md" }),
    itemPath({ owner: "local", repo: "..", path: "outside.md" }),
    list({ collection: ".git" }),
    list({ collection: "posts/up" }),
  ];
  for (const path of requests) {
    const response = await service.get(path);
    assert([400, 404].includes(response.status), path);
    assert(!(await response.text()).includes(canary), path);
  }
  const { items } = await service.list({ ...LOCAL, collection: "/" });
  assertEquals(items.map(({ path }) => path), ["posts/a.md"]);
});

Deno.test("a file that was edited is read as it is now", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "1" });
  await using service = await serve(folder);
  await service.list(LOCAL);
  await folder.write("posts/a.md", "---\nn: 1\n---\n");
  const path = "posts/a.md";
  assertEquals((await service.item({ ...LOCAL, path })).frontMatter, { n: 1 });
  await folder.write(path, "---\nn: 2\n---\n");
  const { items } = await service.list({ ...LOCAL, includeContent: true });
  assertEquals(items[0]!.frontMatter, { n: 2 });
  await Deno.remove(`${folder.dir}/posts/a.md`);
  const raw = itemPath({ ...LOCAL, path, format: "raw" });
  const { status } = await service.get(raw);
  assertEquals(status, 404);
});
