// Compares the repositories that tests make in this process with the output of
// the git command.

import { assertEquals } from "@std/assert";
import { GitRepository, makeGitRepository } from "./git_repository.ts";

const odd = 'a "b" \\ c\né.md';
const files = {
  [odd]: new Uint8Array([0, 255, 10]),
  "empty": "",
  "run": { executable: "#!/bin/sh\n" },
  "link": { symlink: "empty" },
  "sub": { submodule: "b".repeat(40) },
  "d/a/file": "1",
  "d/a-b": "sorts before the folder a",
  "d/a0": "sorts after it",
};

Deno.test("GitRepository reads and writes as git does", async () => {
  await using repository = await makeGitRepository(files);
  await repository.branch("feature/x");
  await repository.tag("v1", { annotated: true });
  const second = await repository.commit({
    "d/a": null,
    "new/b": "2",
    "empty/now": "a folder",
  });
  assertEquals(await repository.git("fsck", "--strict", "--no-dangling"), "");
  const folders = ["main:", "v1:", "feature/x:", "v1:d", "main:new"].map((
    name,
  ) => name.split(":"));
  for (const [revision = "", path = ""] of folders) {
    const lines = (await repository.lsTree(revision, path)).map((entry) => {
      const { mode, type, oid, size } = entry;
      return `${mode} ${type} ${oid} ${
        String(size ?? "-").padStart(7)
      }\t${entry.path}\0`;
    });
    const args = ["ls-tree", "-r", "-l", "-z", "--full-name", revision];
    assertEquals(
      lines.join(""),
      await repository.git(...args, ...path === "" ? [] : [`${path}/`]),
    );
  }
  const revisions = "main v1 v1^{commit} v1^{tree} v1:d main:new/b HEAD".split(
    " ",
  );
  for (const revision of [...revisions, second]) {
    assertEquals(
      await repository.resolve(revision),
      await repository.git("rev-parse", revision),
    );
  }
  assertEquals(
    await repository.blob(`main:${odd}`),
    new Uint8Array([0, 255, 10]),
  );
  assertEquals(await repository.resolve("absent"), null);

  const reader = new GitRepository(repository.dir);
  await repository.git("tag", "v2");
  assertEquals([await repository.resolve("v2"), await reader.resolve("v2")], [
    second,
    second,
  ]);
  const third = await repository.commit({ "new/b": "3" });
  assertEquals(await reader.head(), third);
  assertEquals(await reader.blob("main:new/b"), new TextEncoder().encode("3"));
  await repository.deleteBranch("main");
  assertEquals(await reader.resolve("main"), null);
});
