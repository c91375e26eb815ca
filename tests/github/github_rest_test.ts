// Proves the REST endpoints true: what they serve is compared with what git itself says.

import { assertEquals } from "@std/assert";
import { get } from "./get.ts";
import type { GithubTree } from "./github_rest.ts";
import { serveRepository } from "./served_repository.ts";

const files = {
  "README.md": "# Site\n",
  "posts/a.md": "# A\n",
  "posts/2026/b é.md": new Uint8Array([0xef, 0xbb, 0xbf, 0x62]),
  "posts/latin.txt": new Uint8Array([0xe9, 0x0a]),
  "posts/link": { symlink: "a.md" },
  "vendor/lib": { submodule: "a".repeat(40) },
  "bin/run": { executable: "#!/bin/sh\n" },
};

const sha = { accept: "application/vnd.github.sha" };

Deno.test("answerRest() lists a recursive tree as git ls-tree does", async () => {
  await using double = await serveRepository(files);
  const answer = await get(`${double.url}/git/trees/main?recursive=1`);
  const { tree, truncated } = JSON.parse(answer.text) as GithubTree;
  const listed = tree.filter((entry) => entry.type !== "tree")
    .map(({ mode, type, sha, size, path }) => ({ mode, type, oid: sha, size: size ?? null, path }));
  assertEquals(listed, await double.repository.lsTree("main"));
  assertEquals(truncated, false);
  assertEquals(double.gh.counts(), { "tree-recursive": 1 });
});

Deno.test("answerRest() gives blobs whose bytes are those in git", async () => {
  await using double = await serveRepository(files);
  for (const { oid, type } of await double.repository.lsTree("main")) {
    if (type !== "blob") continue;
    const url = `${double.url}/git/blobs/${oid}`;
    const bytes = await double.repository.blob(oid);
    assertEquals((await get(url, { accept: "application/vnd.github.raw+json" })).bytes, bytes);
    const json = JSON.parse((await get(url)).text);
    assertEquals(Uint8Array.fromBase64(json.content), bytes);
    assertEquals(json.size, bytes.length);
  }
});

Deno.test("answerRest() resolves branches, tags, ids and HEAD as git does", async () => {
  await using double = await serveRepository(files);
  const { repository, url: api } = double;
  await repository.branch("feature/x-y");
  await repository.tag("v1", { annotated: true });
  const commit = await repository.commit({ "posts/c.md": "# C\n" });
  const first = await repository.resolve("main^") ?? "";
  const expected: [ref: string, id: string][] = [
    ["heads%2Fmain", commit],
    ["heads/main", commit],
    ["main", commit],
    ["HEAD", commit],
    [commit, commit],
    [commit.slice(0, 8), commit],
    ["heads%2Ffeature%2Fx-y", first],
    ["tags%2Fv1", first],
    ["v1", first],
  ];
  for (const [ref, id] of expected) {
    const response = await fetch(`${api}/commits/${ref}`, { headers: sha });
    assertEquals([ref, await response.text()], [ref, id]);
  }
  const missing = await get(`${api}/commits/heads%2Fnone`, sha);
  assertEquals(missing.status, 422);
  assertEquals(JSON.parse(missing.text).message, "No commit found for SHA: heads/none");
});

Deno.test("answerRest() truncates recursive trees at truncateAt and at truncateBytes", async () => {
  await using double = await serveRepository(files);
  const url = `${double.url}/git/trees/main`;
  const read = async (url: string) => JSON.parse((await get(url)).text) as GithubTree;
  const whole = await read(`${url}?recursive=0`);
  double.gh.truncateAt = whole.tree.length;
  assertEquals((await read(`${url}?recursive=1`)).truncated, false);
  double.gh.truncateAt = 4;
  const cut = await read(`${url}?recursive=1`);
  assertEquals([cut.tree, cut.truncated], [whole.tree.slice(0, 4), true]);
  assertEquals((await read(url)).truncated, false);
  double.gh.truncateAt = 100_000;
  double.gh.truncateBytes = JSON.stringify(whole.tree).length - 1;
  assertEquals((await read(`${url}?recursive=1`)).tree.length, whole.tree.length - 1);
});

Deno.test("answerRest() names the tree of a branch and of a commit", async () => {
  await using double = await serveRepository(files);
  const commit = await double.repository.head();
  const tree = await double.repository.resolve("main^{tree}");
  const branch = JSON.parse((await get(`${double.url}/branches/main`)).text);
  assertEquals([branch.commit.sha, branch.commit.commit.tree.sha], [commit, tree]);
  const answer = JSON.parse((await get(`${double.url}/commits/main`)).text);
  assertEquals([answer.sha, answer.commit.tree.sha], [commit, tree]);
  assertEquals((await get(`${double.url}/branches/none`)).status, 404);
});

Deno.test("answerRest() follows its settings for refs, blobs and paths", async () => {
  await using double = await serveRepository(files);
  const { gh, url } = double;
  const blob = await double.repository.resolve("main:README.md");
  gh.missingRefStatus = 404;
  assertEquals((await get(`${url}/commits/none`)).status, 404);
  gh.maxBlobBytes = 6;
  assertEquals((await get(`${url}/git/blobs/${blob}`)).status, 403);
  gh.maxBlobBytes = 7;
  assertEquals((await get(`${url}/git/blobs/${blob}`)).status, 200);
  assertEquals((await get(`${url}/git/trees/main:posts`)).status, 404);
  gh.treeByPath = true;
  const tree = JSON.parse((await get(`${url}/git/trees/main:posts`)).text) as GithubTree;
  assertEquals(tree.sha, await double.repository.resolve("main:posts"));
});
