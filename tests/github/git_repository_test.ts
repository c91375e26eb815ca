// Proves the test repositories true to the files that they were made from.

import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { generateFiles } from "./generated_files.ts";
import { GitRepository, makeGitRepository } from "./git_repository.ts";

Deno.test("makeGitRepository() keeps paths and bytes of every kind", async () => {
  const odd = 'a "b" \\ c\né.md';
  await using repository = await makeGitRepository({
    [odd]: new Uint8Array([0, 255, 10]),
    "empty": "",
    "run": { executable: "#!/bin/sh\n" },
    "link": { symlink: "empty" },
    "sub": { submodule: "b".repeat(40) },
  });
  const listed = (await repository.lsTree("main")).map(({ mode, path, size }) =>
    `${mode} ${size} ${path}`
  );
  assertEquals(listed, [
    `100644 3 ${odd}`,
    "100644 0 empty",
    "120000 5 link",
    "100755 10 run",
    "160000 null sub",
  ]);
  assertEquals(await repository.blob(`main:${odd}`), new Uint8Array([0, 255, 10]));
});

Deno.test("makeGitRepository() gives the same commit for the same files", async () => {
  await using one = await makeGitRepository({ "a": "1" });
  await using two = await makeGitRepository({ "a": "1" });
  await using other = await makeGitRepository({ "a": "2" });
  assertEquals(await one.head(), await two.head());
  assertNotEquals(await one.head(), await other.head());
});

Deno.test("GitRepository.commit() adds, changes and removes on the branch named", async () => {
  await using repository = await makeGitRepository({ "a": "1", "d/b": "2", "d/c": "3" });
  const first = await repository.head();
  await repository.branch("next");
  const second = await repository.commit({ "a": "new", "d": null }, { branch: "next" });
  assertEquals(await repository.head("next"), second);
  assertEquals(await repository.head(), first);
  assertEquals((await repository.lsTree("next")).map(({ path }) => path), ["a"]);
  assertEquals((await repository.lsTree("main", "d")).map(({ path }) => path), ["d/b", "d/c"]);
  assertEquals(await repository.resolve("next^"), first);
});

Deno.test("GitRepository.commit() updates the files of a checked-out repository", async () => {
  await using repository = await makeGitRepository({ "a": "1" }, { bare: false });
  await repository.commit({ "a": "2" });
  assertEquals(await Deno.readTextFile(`${repository.dir}/a`), "2");
  const wrapped = new GitRepository(repository.dir);
  assertEquals(await wrapped.head(), await repository.head());
  await assertRejects(() => wrapped.commit({ "a": "3" }), Error, "Cannot commit to");
});

Deno.test("GitObjects reads trees and blobs as git does, across commits and stop()", async () => {
  await using repository = await makeGitRepository(
    generateFiles({ folders: 3, filesPerFolder: 4, bytes: 300 }),
  );
  const { objects } = repository;
  for (const { oid, size, path } of await repository.lsTree("main")) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    const tree = await objects.tree((await objects.info(`main:${folder}`))!.oid);
    const entry = tree?.find(({ name }) => path === `${folder}/${name}`);
    assertEquals([entry?.oid, entry?.size], [oid, size]);
    assertEquals((await objects.blob(oid))?.bytes, await repository.blob(oid));
  }
  const commit = await repository.commit({ "x": "x" });
  assertEquals((await objects.info("refs/heads/main"))?.oid, commit);
  await objects.stop();
  assertEquals((await objects.info("refs/heads/main"))?.oid, commit);
  assertEquals(await objects.info("refs/heads/none"), null);
  assertEquals(await objects.blob("0".repeat(40)), null);
});

Deno.test("generateFiles() makes distinct files of at least the size asked for", () => {
  const files = new Map(generateFiles({ folders: 2, filesPerFolder: 5, bytes: 500 }));
  assertEquals(new Set(files.values()).size, 10);
  assertEquals([...files.values()].every((text) => text.length >= 500), true);
  assertEquals(files.has("posts/d001/post-00004.md"), true);
});
