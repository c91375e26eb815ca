// Proves the double true: what it serves is compared with what git itself says.

import { assertEquals, assertRejects } from "@std/assert";
import { GithubDouble } from "./github_double.ts";
import { makeGitRepository } from "./git_repository.ts";
import type { GithubTree } from "./github_trees.ts";

const files = {
  "README.md": "# Site\n",
  "posts/a.md": "# A\n",
  "posts/2026/b é.md": new Uint8Array([0xef, 0xbb, 0xbf, 0x62]),
  "posts/latin.txt": new Uint8Array([0xe9, 0x0a]),
  "posts/link": { symlink: "a.md" },
  "vendor/lib": { submodule: "a".repeat(40) },
  "bin/run": { executable: "#!/bin/sh\n" },
};

const sha = { headers: { accept: "application/vnd.github.sha" } };

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers, redirect: "manual" });
  const bytes = await response.bytes();
  const text = new TextDecoder().decode(bytes);
  return { status: response.status, headers: response.headers, bytes, text };
}

async function start(options: { now?: () => number } = {}) {
  const repository = await makeGitRepository(files);
  const gh = await GithubDouble.start(options);
  gh.add("octo/Site", repository);
  const api = `${gh.apiUrl}/repos/octo/site`;
  return {
    repository,
    gh,
    api,
    async [Symbol.asyncDispose]() {
      await gh.close();
      await repository[Symbol.asyncDispose]();
    },
  };
}

Deno.test("GithubDouble lists a recursive tree as git ls-tree does", async () => {
  await using double = await start();
  const answer = await get(`${double.api}/git/trees/main?recursive=1`);
  const { tree, truncated } = JSON.parse(answer.text) as GithubTree;
  const listed = tree.filter((entry) => entry.type !== "tree")
    .map(({ mode, type, sha, size, path }) => ({ mode, type, oid: sha, size: size ?? null, path }));
  assertEquals(listed, await double.repository.lsTree("main"));
  assertEquals(truncated, false);
  assertEquals(double.gh.counts(), { "tree-recursive": 1 });
});

Deno.test("GithubDouble gives blobs whose bytes are those in git", async () => {
  await using double = await start();
  for (const { oid, type } of await double.repository.lsTree("main")) {
    if (type !== "blob") continue;
    const url = `${double.api}/git/blobs/${oid}`;
    const bytes = await double.repository.blob(oid);
    assertEquals((await get(url, { accept: "application/vnd.github.raw+json" })).bytes, bytes);
    const json = JSON.parse((await get(url)).text);
    assertEquals(Uint8Array.fromBase64(json.content), bytes);
    assertEquals(json.size, bytes.length);
  }
});

Deno.test("GithubDouble resolves branches, tags, ids and HEAD as git does", async () => {
  await using double = await start();
  const { repository, api } = double;
  await repository.branch("feature/x y".replace(" ", "-"));
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
    const response = await fetch(`${api}/commits/${ref}`, sha);
    assertEquals([ref, await response.text()], [ref, id]);
  }
  const missing = await get(`${api}/commits/heads%2Fnone`, sha.headers);
  assertEquals(missing.status, 422);
  assertEquals(JSON.parse(missing.text).message, "No commit found for SHA: heads/none");
});

Deno.test("GithubDouble truncates recursive trees at truncateAt and at truncateBytes", async () => {
  await using double = await start();
  const url = `${double.api}/git/trees/main`;
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

Deno.test("GithubDouble charges a 304 only to callers without a token", async () => {
  await using double = await start({ now: () => 1_000_000 });
  const { gh, api } = double;
  gh.addToken("t1");
  const url = `${api}/commits/heads%2Fmain`;
  const anonymous = await get(url, sha.headers);
  const named = await get(url, { ...sha.headers, authorization: "Bearer t1" });
  const [tag, ownTag] = [anonymous.headers.get("etag")!, named.headers.get("etag")!];
  const again = await get(url, { ...sha.headers, "if-none-match": tag });
  assertEquals([again.status, again.headers.get("x-ratelimit-remaining")], [304, "58"]);
  const ask = (tag: string) =>
    get(url, { ...sha.headers, authorization: "Bearer t1", "if-none-match": tag });
  const free = await ask(ownTag);
  assertEquals([free.status, free.headers.get("x-ratelimit-remaining")], [304, "4999"]);
  assertEquals((await ask(tag)).status, 200, "a validator belongs to the token that got it");
  assertEquals([gh.quotaSpent(null), gh.quotaSpent("t1")], [2, 2]);
  await double.repository.commit({ "x": "x" });
  assertEquals((await ask(ownTag)).status, 200);
});

Deno.test("GithubDouble refuses when the quota is spent, until its reset", async () => {
  let nowMs = 1_000_000;
  await using double = await start({ now: () => nowMs });
  double.gh.setQuota(null, { remaining: 1, resetAtMs: 2_000_000 });
  assertEquals((await get(double.api)).status, 200);
  const refused = await get(double.api);
  assertEquals([refused.status, refused.headers.get("x-ratelimit-reset")], [403, "2000"]);
  assertEquals(refused.headers.get("x-ratelimit-remaining"), "0");
  nowMs = 2_000_000;
  assertEquals((await get(double.api)).status, 200);
});

Deno.test("GithubDouble redirects a renamed repository to its id", async () => {
  await using double = await start();
  double.gh.rename("octo/site", "Octo/Moved");
  const moved = await get(`${double.api}/commits/heads%2Fmain`, sha.headers);
  assertEquals(moved.status, 301);
  const location = moved.headers.get("location")!;
  assertEquals(new URL(location).pathname, "/repositories/1001/commits/heads%2Fmain");
  assertEquals((await get(location, sha.headers)).text, await double.repository.head());
  assertEquals(double.gh.counts(), { redirect: 1, commit: 1 });
});

Deno.test("GithubDouble knows empty, blocked, removed and private repositories", async () => {
  await using double = await start();
  const { gh } = double;
  gh.addEmpty("o/empty");
  gh.addBlocked("o/blocked");
  gh.addToken("blind");
  gh.addToken("owner", { sees: ["OCTO/site"] });
  const status = async (path: string, token?: string) => {
    const headers = token ? { authorization: `token ${token}` } : {};
    return (await get(`${gh.apiUrl}/repos/${path}`, headers as Record<string, string>)).status;
  };
  assertEquals(await status("o/empty/commits/heads%2Fmain"), 409);
  assertEquals(await status("o/empty/git/trees/main"), 409);
  assertEquals(await status("o/blocked/commits/heads%2Fmain"), 451);
  assertEquals(await status("octo/site", "nobody"), 401);
  gh.setVisibility("octo/site", "private");
  assertEquals(await status("octo/site"), 404);
  assertEquals(await status("octo/site", "blind"), 404);
  assertEquals(await status("octo/site", "owner"), 200);
  gh.remove("octo/site");
  assertEquals(await status("octo/site", "owner"), 404);
});

Deno.test("GithubDouble.close() throws on a request that it does not expect", async () => {
  await using repository = await makeGitRepository(files);
  const gh = await GithubDouble.start();
  gh.add("o/r", repository);
  assertEquals((await get(`${gh.apiUrl}/repos/o/r/issues`)).status, 418);
  assertEquals((await get(`${gh.apiUrl}/repos/o/r`, { accept: "text/html" })).status, 418);
  await assertRejects(() => gh.close(), Error, "GET /repos/o/r/issues: no such endpoint");
});
