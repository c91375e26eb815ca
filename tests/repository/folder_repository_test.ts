// Beside the suite of the port: what is special to folders that people work in.

import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { FolderRepository } from "../../lib/repository/folder_repository.ts";
import { blobId } from "../../lib/repository/git_object_id.ts";
import { runGit } from "../github/git_command.ts";
import { configFlag } from "../run_task.ts";
import { freeCaller, testRepository } from "./repository_suite.ts";
import { makeSampleFolder } from "./sample_folder.ts";

testRepository("FolderRepository", ({ root, repo, now }) =>
  Promise.resolve({
    repository: new FolderRepository({ root, now }),
    name: { owner: "local", repo },
    keepsRefs: true,
    async [Symbol.asyncDispose]() {},
  }));

const idOf = (text: string) => blobId(new TextEncoder().encode(text));

Deno.test("resolve() gives a plain folder as branch main at Git's tree id of its files", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "A\n", "b.md": "B\n" });
  await Deno.mkdir(`${folder.dir}/empty`);
  const snapshot = await folder.resolve();
  assertEquals(snapshot.branch, "main");
  assertEquals((await folder.resolve("HEAD")).branch, "main");
  assert((await folder.refuses("branch-not-found", { branch: "master" })).includes('"main"'));

  await folder.git.git("init", "--quiet");
  await folder.git.git("add", "--all");
  assertEquals(snapshot.commit, await folder.git.git("write-tree"));
});

Deno.test("resolve() follows the branch that is checked out", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  await folder.git.git("init", "--quiet", "--initial-branch=drafts/2026");
  const before = await folder.resolve("drafts/2026");
  assertEquals(before.branch, "drafts/2026");
  await folder.refuses("branch-not-found", { branch: "main" });

  await folder.git.git("checkout", "--quiet", "-b", "other");
  folder.advance(1000);
  const after = await folder.resolve();
  assertEquals([after.branch, after.freshness], ["other", "moved"]);
  assertEquals(after.commit, before.commit);
  const freshUntilMs = before.check.askedAtMs + before.check.freshMs;
  assert(freshUntilMs <= folder.now(), "no answer of the old branch is fresh");
  await folder.refuses("branch-not-found", { branch: "drafts/2026" });
});

Deno.test("resolve() looks at the folder at most once a second", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const first = await folder.resolve();
  await folder.write("a.md", "edited\n");
  folder.advance(999);
  const kept = await folder.resolve();
  assertEquals([kept.freshness, kept.commit], ["hit", first.commit]);
  assertEquals(kept.check.wantedAtMs, folder.now());
  folder.advance(1);
  const looked = await folder.resolve();
  assertEquals([looked.freshness, looked.askedAtMs], ["moved", folder.now()]);
  assertEquals(
    await folder.readBlob(looked, { path: "a.md", id: idOf("edited\n") }),
    bytesOf("edited\n"),
  );
});

Deno.test("resolve() counts no miss, since nobody's quota is spent", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const miss = () => {
    throw new Error("counted");
  };
  const question = { owner: "LOCAL", repo: "blog", branch: null };
  const snapshot = await folder.repository.resolve(question, { miss });
  const files = [{ path: "a.md", id: idOf("A\n"), size: 2 }];
  assertEquals((await folder.repository.readBlobs(snapshot, files, { miss })).size, 1);
});

Deno.test("resolve() finds folders by name alone, an exact one first", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  await Deno.mkdir(`${folder.root}/Blog`);
  await Deno.mkdir(`${folder.root}/.hidden`);
  await Deno.mkdir(`${folder.root}/node_modules`);
  await Deno.writeTextFile(`${folder.root}/file.md`, "no folder\n");
  const lower = await folder.ask({ repo: "blog" });
  const upper = await folder.ask({ repo: "Blog" });
  assert(lower.commit !== upper.commit);
  assertEquals((await folder.ask({ repo: "bLOG" })).commit, upper.commit, "first in byte order");
  const others = [
    "",
    ".",
    "..",
    "blog/",
    "./blog",
    "../blog",
    "blog\\..",
    ".hidden",
    "node_modules",
  ];
  for (const repo of [...others, "file.md", "constructor", folder.dir]) {
    await folder.refuses("repository-not-found", { repo });
  }
  await folder.refuses("repository-not-found", { owner: "acme" });
});

Deno.test("resolve() does not follow a repository that is a link, or has become one", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const outside = await makeSampleFolder({ "secret.md": "secret\n" });
  await using _ = outside;
  await Deno.symlink(outside.dir, `${folder.root}/linked`);
  await folder.refuses("repository-not-found", { repo: "linked" });

  await folder.resolve();
  await Deno.remove(folder.dir, { recursive: true });
  await Deno.symlink(outside.dir, folder.dir);
  folder.advance(1000);
  await folder.refuses("repository-not-found");
  await Deno.remove(folder.dir);
  await folder.refuses("repository-not-found");
  await folder.write("a.md", "back\n");
  assertEquals((await folder.resolve()).freshness, "miss");
});

Deno.test("resolve() fails where the root cannot be listed", async () => {
  const repository = new FolderRepository({ root: "/nonexistent/root", now: () => 0 });
  const asked = repository.resolve({ owner: "local", repo: "blog", branch: null }, freeCaller);
  const error = await assertRejects(() => asked, CollectionsError);
  assertEquals(error.code, "source-failed");
  assert(!error.detail.includes("nonexistent"), error.detail);
});

Deno.test("resolve() refuses a folder of too many entries or too many levels", async () => {
  const files = { "a/b/c.md": "C\n", "d.md": "D\n" };
  await using within = await makeSampleFolder(files, { maxEntries: 4, maxDepth: 2 });
  assertEquals(await within.paths(await within.resolve()), ["a/b/c.md", "d.md"]);
  await using many = await makeSampleFolder(files, { maxEntries: 3 });
  assert((await many.refuses("collection-too-large")).includes("more than 3 files"));
  await using deep = await makeSampleFolder(files, { maxDepth: 1 });
  assert((await deep.refuses("collection-too-large")).includes("more than 1 folder"));
});

Deno.test("nothing with a leading dot, nor node_modules, is listed or read", async () => {
  await using folder = await makeSampleFolder({
    ".env": "TOKEN=1\n",
    "node_modules/pkg/readme.md": "R\n",
    "posts/.draft.md": "D\n",
    "posts/.obsidian/app.json": "{}\n",
    "posts/node_modules/x.md": "X\n",
    "posts/a.md": "A\n",
    "only/.hidden": "H\n",
  });
  const snapshot = await folder.resolve();
  assertEquals(await folder.rootEntries(snapshot), [["posts", "folder"]]);
  assertEquals(await folder.paths(snapshot), ["posts/a.md"]);
  const hidden = {
    ".env": "TOKEN=1\n",
    "posts/.draft.md": "D\n",
    "posts/node_modules/x.md": "X\n",
  };
  for (const [path, content] of Object.entries(hidden)) {
    assertInstanceOf(await folder.readBlob(snapshot, { path, id: idOf(content) }), Error, path);
  }
  const around = { path: "posts/../posts/a.md", id: idOf("A\n") };
  assertInstanceOf(await folder.readBlob(snapshot, around), Error);
});

Deno.test("links are listed as links and lead nowhere; sockets are not seen", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  await Deno.writeTextFile(`${folder.root}/secret.md`, "secret\n");
  await Deno.symlink("../secret.md", `${folder.dir}/out.md`);
  await Deno.symlink(folder.root, `${folder.dir}/up`);
  await Deno.symlink("a.md", `${folder.dir}/in.md`);
  await Deno.symlink("absent", `${folder.dir}/dangling`);
  // A process that ends without closing it leaves its socket behind.
  const path = `${folder.dir}/socket`;
  await runDeno("eval", `Deno.listen({ transport: "unix", path: "${path}" }); Deno.exit()`);
  assert((await Deno.lstat(path)).isSocket);
  const snapshot = await folder.resolve();
  assertEquals(await folder.rootEntries(snapshot), [
    ["a.md", "file"],
    ["dangling", "symbolic link"],
    ["in.md", "symbolic link"],
    ["out.md", "symbolic link"],
    ["up", "symbolic link"],
  ]);
  assertEquals(await folder.paths(snapshot), ["a.md"]);
  for (const path of ["out.md", "up/secret.md"]) {
    assertInstanceOf(await folder.readBlob(snapshot, { path, id: idOf("secret\n") }), Error);
  }
  assertInstanceOf(await folder.readBlob(snapshot, { path: "in.md", id: idOf("a.md") }), Error);
});

Deno.test("readBlobs() gives no bytes but those of the id, and has a changed file looked at anew", async () => {
  await using folder = await makeSampleFolder({ "a.md": "before\n", "b.md": "B\n" });
  const snapshot = await folder.resolve();
  const asked = { path: "a.md", id: idOf("before\n") };
  await folder.write("a.md", "after!\n");
  const stale = await folder.readBlob(snapshot, asked);
  assertInstanceOf(stale, CollectionsError);
  assertEquals(stale.code, "source-failed");
  assertEquals(await folder.readBlob(snapshot, { path: "b.md", id: idOf("B\n") }), bytesOf("B\n"));

  const next = await folder.resolve();
  assertEquals(next.freshness, "moved", "before the second is over");
  const after = { path: "a.md", id: idOf("after!\n") };
  assertEquals(await folder.readBlob(next, after), bytesOf("after!\n"));
});

Deno.test("readBlobs() does not open what took a file's place", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n", "b.md": "B\n" });
  const snapshot = await folder.resolve();
  await Deno.remove(`${folder.dir}/a.md`);
  await Deno.symlink("b.md", `${folder.dir}/a.md`);
  assertInstanceOf(await folder.readBlob(snapshot, { path: "a.md", id: idOf("A\n") }), Error);
  await Deno.remove(`${folder.dir}/b.md`);
  assertInstanceOf(await folder.readBlob(snapshot, { path: "b.md", id: idOf("B\n") }), Error);
  assertEquals(await folder.rootEntries(await folder.resolve()), [["a.md", "symbolic link"]]);
});

Deno.test("the state before the last can still be read, an older one cannot", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "1\n" });
  const first = await folder.resolve();
  const edit = async (text: string) => {
    await folder.write("posts/a.md", text);
    folder.advance(1000);
    return await folder.resolve();
  };
  const second = await edit("second\n");
  assertEquals(await folder.paths(first), ["posts/a.md"]);
  await edit("third\n");
  assertEquals(await folder.paths(second), ["posts/a.md"]);
  const error = await assertRejects(() => folder.paths(first), CollectionsError);
  assertEquals(error.code, "source-failed");
});

Deno.test("a name that is not UTF-8 is left out", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const { git } = folder;
  await git.git("init", "--quiet");
  const blob = await git.git("hash-object", "-w", "a.md");
  const line = [...bytesOf(`100644 blob ${blob}\tbad`), 0xff, ...bytesOf(".md\0")];
  const tree = await writeTree(folder.dir, Uint8Array.from(line));
  await git.git("read-tree", tree);
  await git.git("checkout-index", "--all");
  assertEquals((await Array.fromAsync(Deno.readDir(folder.dir))).length, 3);
  assertEquals(await folder.paths(await folder.resolve()), ["a.md"]);
});

Deno.test("reading needs no permission but for the root, and leaves out what may not be read", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n", "no/b.md": "B\n", "no.md": "C\n" });
  const module = new URL("../../lib/repository/folder_repository.ts", import.meta.url);
  const script = `
    import { FolderRepository } from "${module}";
    const repository = new FolderRepository({ root: Deno.args[0], now: () => Date.now() });
    const caller = { miss() {} };
    const snapshot = await repository.resolve({ owner: "local", repo: "blog", branch: null }, caller);
    const list = await repository.readTreeRecursive(snapshot, snapshot.rootTreeId, caller);
    const blobs = await repository.readBlobs(snapshot, [list.at(0)], caller);
    console.log(list.length, new TextDecoder().decode(blobs.get(list.idAt(0))));`;
  const file = await Deno.makeTempFile({ dir: folder.root, suffix: ".ts" });
  await Deno.writeTextFile(file, script);
  const denied = `--deny-read=${folder.dir}/no,${folder.dir}/no.md`;
  const flags = ["--no-prompt", "--no-check", "--cached-only", await configFlag()];
  const allowed = [`--allow-read=${folder.root}`, denied];
  assertEquals(await runDeno("run", ...flags, ...allowed, file, folder.root), "1 A");
});

async function runDeno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

async function writeTree(dir: string, entries: Uint8Array<ArrayBuffer>): Promise<string> {
  const stdin = new Blob([entries]).stream();
  return new TextDecoder().decode(await runGit(["mktree", "-z"], { dir, stdin })).trim();
}
