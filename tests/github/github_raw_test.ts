// Proves the raw host: bytes as git has them, public repositories only, no quota.

import { assertEquals } from "@std/assert";
import { GithubDouble } from "./github_double.ts";
import { makeGitRepository } from "./git_repository.ts";

Deno.test("answerRaw() gives a file's bytes at a commit, outside the quota", async () => {
  const bytes = new Uint8Array([0xef, 0xbb, 0xbf, 0xe9, 0]);
  await using repository = await makeGitRepository({ "d é/a b#.bin": bytes, "t": "text" });
  await using gh = await GithubDouble.start();
  gh.add("o/r", repository);
  const commit = await repository.head();
  const at = (path: string) => `${gh.rawUrl}/O/R/${commit}/${path}`;
  const file = await fetch(at("d%20%C3%A9/a%20b%23.bin"));
  assertEquals([file.status, file.headers.get("cache-control")], [200, "max-age=300"]);
  assertEquals(await file.bytes(), bytes);
  const etag = file.headers.get("etag")!;
  const again = await fetch(at("d%20%C3%A9/a%20b%23.bin"), { headers: { "if-none-match": etag } });
  assertEquals(again.status, 304);
  gh.rename("o/r", "o/moved");
  assertEquals(await (await fetch(at("t"))).text(), "text");
  gh.setVisibility("o/moved", "private");
  const hidden = await fetch(at("t"));
  assertEquals([hidden.status, await hidden.text()], [404, "404: Not Found"]);
  assertEquals([gh.counts(), gh.quotaSpent(null)], [{ raw: 4 }, 0]);
});

Deno.test("answerRaw() gives 404 for folders and missing files", async () => {
  await using repository = await makeGitRepository({ "d/a": "1" });
  await using gh = await GithubDouble.start();
  gh.add("o/r", repository);
  const commit = await repository.head();
  for (const path of ["d", "d/b", "d/a/c"]) {
    const response = await fetch(`${gh.rawUrl}/o/r/${commit}/${path}`);
    assertEquals([path, response.status], [path, 404]);
    await response.body?.cancel();
  }
});

Deno.test("answerRaw() expects no token and no branch", async () => {
  await using repository = await makeGitRepository({ "a": "1" });
  const gh = await GithubDouble.start();
  gh.add("o/r", repository);
  const commit = await repository.head();
  const headers = { authorization: "Bearer t1" };
  assertEquals((await fetch(`${gh.rawUrl}/o/r/${commit}/a`, { headers })).status, 418);
  assertEquals((await fetch(`${gh.rawUrl}/o/r/main/a`)).status, 418);
  assertEquals(gh.unexpected.length, 2);
  await gh.close({ assert: false });
});
