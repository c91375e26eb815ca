// Local folders at the door: an author sees an edit at once, and nothing that is hidden.

import { dirname } from "@std/path";
import { assertEquals } from "@std/assert";
import type { ContentBody, ListBody } from "../../lib/api/contract.ts";
import { GitRepository } from "../github/git_repository.ts";
import { itemPath, listPath, type Parameters, startService, type TestService } from "../service.ts";

const LOCAL = { owner: "local", repo: "blog" };
const list = (parameters: Parameters = {}) => listPath({ ...LOCAL, ...parameters });
const item = (path: string) => itemPath({ ...LOCAL, path });

interface Folder extends AsyncDisposable {
  readonly dir: string;
  readonly service: TestService;
  write(path: string, text: string): Promise<void>;
}

async function openFolder(files: Record<string, string>, env = {}): Promise<Folder> {
  const root = await Deno.makeTempDir({ prefix: "local_folder_" });
  const dir = `${root}/blog`;
  const write = async (path: string, text: string) => {
    await Deno.mkdir(dirname(`${dir}/${path}`), { recursive: true });
    await Deno.writeTextFile(`${dir}/${path}`, text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const service = await startService({ env: { LOCAL_REPOS_DIR: root, ...env } });
  return {
    dir,
    service,
    write,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
}

/** `Cache-Control`, `Cache-Status` without the cache's name, and the slugs of a list. */
async function look(service: TestService) {
  const { headers, ...response } = await service.get(list()).then(async (response) => ({
    headers: response.headers,
    body: await response.json() as ListBody,
  }));
  return [
    headers.get("cache-control"),
    headers.get("cache-status")!.replace("collections; ", ""),
    response.body.items.map(({ slug }) => slug).join(" "),
  ];
}

Deno.test("a local folder is looked at again once a second, so that an edit is seen", async () => {
  await using folder = await openFolder({ "posts/a.md": "1" });
  const { service, write } = folder;

  assertEquals(await look(service), ["no-cache", "fwd=miss; stored", "a"]);
  await write("posts/b.md", "");
  service.clock.advance(999);
  assertEquals(await look(service), ["no-cache", "hit; ttl=1", "a"]);
  service.clock.advance(1);
  assertEquals(await look(service), ["no-cache", "fwd=stale; stored", "a b"]);
  service.clock.advance(1_000);
  assertEquals(await look(service), ["no-cache", "fwd=stale; detail=revalidated", "a b"]);

  await write("posts/a.md", "an edit");
  service.clock.advance(1_000);
  assertEquals((await service.item({ ...LOCAL, path: "posts/a.md" })).content, "an edit");
});

Deno.test("a local folder answers 304 by its ETag until it is edited", async () => {
  await using folder = await openFolder({ "posts/a.md": "1" });
  const { service, write } = folder;
  const headers = { "if-none-match": (await service.get(item("posts/a.md"))).headers.get("etag")! };

  service.clock.advance(1_000);
  const unchanged = await service.get(item("posts/a.md"), { headers });
  assertEquals([unchanged.status, unchanged.headers.get("cache-control")], [304, "no-cache"]);

  await write("posts/a.md", "an edit");
  service.clock.advance(1_000);
  assertEquals((await service.get(item("posts/a.md"), { headers })).status, 200);
});

Deno.test("a local folder has no htmlUrl, and its commit is the tree id of its files", async () => {
  await using folder = await openFolder({ "posts/a.md": "1", "posts/2026/ü b.md": "2" });
  const { service, dir } = folder;

  const { repository, items } = await service.list(LOCAL);
  const read: ContentBody[] = await Promise.all(
    items.map(async ({ contentUrl }) => await (await service.get(contentUrl)).json()),
  );

  const git = new GitRepository(dir);
  await git.git("init", "--quiet");
  await git.git("add", ".");
  const commit = await git.git("write-tree");
  assertEquals(repository, { ...LOCAL, branch: "main", commit });
  assertEquals(read.map(({ content }) => content), ["2", "1"]);
  assertEquals([...items, ...read].some((item) => "htmlUrl" in item), false);
});

Deno.test("a local folder has one branch", async () => {
  await using folder = await openFolder({ "posts/a.md": "1" });

  assertEquals((await folder.service.list({ ...LOCAL, branch: "main" })).items.length, 1);
  const { code, detail } = await folder.service.problem(list({ branch: "other" }));
  assertEquals([code, detail.includes('"main"')], ["branch-not-found", true]);
});

Deno.test("a Git checkout shows its branch and the files as they are, without .git", async () => {
  await using folder = await openFolder({ "posts/a.md": "committed" });
  const { service, dir, write } = folder;
  const git = new GitRepository(dir);
  await git.git("init", "--quiet", "--initial-branch=draft/x");
  await write("posts/a.md", "as it is");

  const { repository, items } = await service.list({ ...LOCAL, collection: "/" });

  assertEquals(repository.branch, "draft/x");
  assertEquals(items.map(({ path }) => path), ["posts/a.md"]);
  assertEquals((await service.item({ ...LOCAL, path: "posts/a.md" })).content, "as it is");
  assertEquals((await service.problem(list({ branch: "main" }))).code, "branch-not-found");
});

Deno.test("a Git checkout that goes to another branch with the same files says so", async () => {
  await using folder = await openFolder({ "posts/a.md": "1" });
  const { service, dir } = folder;
  const git = new GitRepository(dir);
  await git.git("init", "--quiet", "--initial-branch=draft");
  const draft = await service.list(LOCAL);
  assertEquals(draft.repository.branch, "draft");

  await git.git("symbolic-ref", "HEAD", "refs/heads/other");
  service.clock.advance(1_000);

  const { repository, items } = await service.list(LOCAL);
  assertEquals(repository, { ...draft.repository, branch: "other" });
  assertEquals((await service.get(items[0]!.contentUrl)).status, 200);
});

Deno.test("a local folder gives nothing hidden and nothing from outside", async () => {
  await using folder = await openFolder({
    "posts/a.md": "1",
    "posts/.env": "canarySecret",
    ".git/config": "canarySecret",
    "../outside.md": "canarySecret",
    "../.hidden/a.md": "canarySecret",
  });
  const { service, dir } = folder;
  await Deno.symlink("../../outside.md", `${dir}/posts/link.md`);
  await Deno.symlink("../..", `${dir}/posts/up`);
  const paths = ["posts/.env", ".git/config", "posts/link.md", "posts/up/outside.md", "posts/up"];
  const asked = [
    ...paths.map(item),
    ...["../outside.md", "posts/../../outside.md", "/etc/passwd"].map(item),
    itemPath({ owner: "local", repo: ".hidden", path: "a.md" }),
    itemPath({ owner: "local", repo: "..", path: "outside.md" }),
    list({ collection: ".git" }),
    list({ collection: "posts/up" }),
  ];

  for (const path of asked) {
    const response = await service.get(path);
    assertEquals([path, response.status === 404 || response.status === 400], [path, true]);
    assertEquals((await response.text()).includes("canarySecret"), false);
  }
  assertEquals((await service.list({ ...LOCAL, collection: "/" })).items.length, 1);
});

Deno.test("a local folder costs no misses, and is found in any case", async () => {
  await using folder = await openFolder({ "posts/a.md": "1" }, { MISSES_PER_MINUTE: "1" });

  for (const repo of ["blog", "Blog", "BLOG"]) {
    const { repository } = await folder.service.list({ owner: "LOCAL", repo });
    assertEquals([repository.owner, repository.repo], ["LOCAL", repo]);
  }
  const { code, detail } = await folder.service.problem(list({ repo: "none" }));
  assertEquals([code, detail], ["repository-not-found", 'There is no local folder "none".']);
});
