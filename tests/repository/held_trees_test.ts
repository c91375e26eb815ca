import { assert, assertEquals } from "@std/assert";
import { GithubDouble } from "../github/github_double.ts";
import { makeGitRepository } from "../github/git_repository.ts";
import { TestClock } from "../test_clock.ts";
import { openCached } from "./github_source.ts";

Deno.test("CachedRepository reads a folder's entries from their text once, for each repository", async () => {
  await using git = await makeGitRepository({ "a/b.md": "", "c.md": "" });
  const clock = new TestClock();
  await using gh = await GithubDouble.start({ now: clock.now });
  for (const name of ["octo/site", "octo/other"]) gh.add(name, git);
  const repository = openCached(gh, { clock });
  const caller = { miss() {} };
  const read = async (repo: string) => {
    const snapshot = await repository.resolve({ owner: "octo", repo, branch: null }, caller);
    return await repository.readTree(snapshot, snapshot.rootTreeId, caller);
  };

  const first = await read("site");
  assertEquals(first.map(({ name }) => name), ["a", "c.md"]);
  assert(await read("site") === first);
  // What one repository shows is no answer for another.
  gh.resetCounts();
  assert(await read("other") !== first);
  assertEquals(gh.counts(), { commit: 1, tree: 1 });
});

Deno.test("CachedRepository holds the last folder that is larger than its room, so that it is read once", async () => {
  await using git = await makeGitRepository({ "a/b.md": "", "c.md": "", "d.md": "" });
  const clock = new TestClock();
  await using gh = await GithubDouble.start({ now: clock.now });
  gh.add("octo/site", git);
  const repository = openCached(gh, { clock, treesMaxBytes: 500 });
  const caller = { miss() {} };
  const snapshot = await repository.resolve({ owner: "octo", repo: "site", branch: null }, caller);
  const read = () => repository.readTree(snapshot, snapshot.rootTreeId, caller);
  assert(await read() === await read());
  assert(repository.bytes > 500, `${repository.bytes}`);
});

Deno.test("CachedRepository holds no more folders than it has room for", async () => {
  const files = Array.from({ length: 40 }, (_, index) => [`d${index}/a.md`, `${index}\n`]);
  await using git = await makeGitRepository(Object.fromEntries(files));
  const clock = new TestClock();
  await using gh = await GithubDouble.start({ now: clock.now });
  gh.addToken("t1");
  gh.add("octo/site", git);
  const repository = openCached(gh, { clock, tokens: ["t1"], treesMaxBytes: 12_000 });
  const caller = { miss() {} };
  const snapshot = await repository.resolve({ owner: "octo", repo: "site", branch: null }, caller);
  for (const { id } of await repository.readTree(snapshot, snapshot.rootTreeId, caller)) {
    await repository.readTree(snapshot, id, caller);
    assert(repository.bytes <= 12_000, `${repository.bytes}`);
  }
  assert(repository.bytes > 8_000, `${repository.bytes}`);
});
