// Beside the suite of the port (tests/source): what is special to folders that change while they are served.

import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { LocalSource } from "../../lib/source/local/local_source.ts";
import { configFlag } from "../run_task.ts";
import { makeSampleFolder, uncharged } from "./sample_folder.ts";

Deno.test("resolve() gives a plain folder as main, a checkout as its branch, at Git's tree id of its files", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "A\n", "b.md": "B\n" });
  await Deno.mkdir(`${folder.dir}/empty`);
  const plain = await folder.resolve();
  assertEquals(plain.branch, "main");
  assertEquals((await folder.resolve({ branch: "HEAD" })).branch, "main");
  assert((await folder.refuses("branch-not-found", { branch: "master" })).includes('"main"'));

  await folder.git.git("init", "--quiet", "--initial-branch=drafts/2026");
  await folder.git.git("add", "--all");
  assertEquals(plain.commit, await folder.git.git("write-tree"));
  folder.advance(1000);
  const after = await folder.resolve({ branch: "drafts/2026" });
  const moved = ["drafts/2026", "moved", plain.commit];
  assertEquals([after.branch, after.freshness, after.commit], moved);
  const freshUntilMs = plain.ref.checkedAtMs + plain.ref.freshForMs;
  assert(freshUntilMs <= folder.now(), "no answer of the old branch is fresh");
  await folder.refuses("branch-not-found", { branch: "main" });
});

Deno.test("resolve() scans the folder at most once a second, once for concurrent requests", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const both = async () => await Promise.all([folder.resolve(), folder.resolve()]);
  const [first, joined] = await both();
  assertEquals([first.freshness, joined.freshness], ["miss", "miss"]);
  const list = await folder.list(first);
  await folder.write("a.md", "edited\n");
  folder.advance(999);
  const within = await folder.resolve();
  assertEquals([within.freshness, within.commit], ["hit", first.commit]);
  assertEquals(within.ref.wantedAtMs, folder.now());
  folder.advance(1);
  const [looked] = await both();
  assertEquals([looked.freshness, looked.checkedAtMs], ["moved", folder.now()]);
  assertEquals(await folder.read(looked, "a.md", "edited\n"), "edited\n");
  assert(await folder.list(first) === list);
  const current = await folder.list(looked);
  folder.advance(1000);
  const unchanged = await both();
  assertEquals(unchanged.map(({ freshness }) => freshness), ["revalidated", "revalidated"]);
  assert(await folder.list(unchanged[0]) === current, "nothing is built anew");
});

Deno.test("resolve() finds folders by name alone, an exact one first", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  for (const name of ["Blog", ".hidden", "node_modules"]) {
    await Deno.mkdir(`${folder.root}/${name}`);
  }
  await Deno.writeTextFile(`${folder.root}/file.md`, "no folder\n");
  const lower = await folder.resolve({ repo: "blog" });
  const upper = await folder.resolve({ repo: "Blog" });
  assert(lower.commit !== upper.commit);
  assertEquals((await folder.resolve({ repo: "bLOG" })).commit, upper.commit, "in byte order");
  const paths = ["", ".", "..", "blog/", "./blog", "../blog", "blog\\..", folder.dir];
  for (const repo of [...paths, ".hidden", "node_modules", "file.md", "constructor"]) {
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

Deno.test("resolve() fails where the root cannot be listed, and does not name it", async () => {
  const source = new LocalSource({ root: "/nonexistent/root", now: () => 0 });
  const query = { owner: "local", repo: "blog", branch: null };
  const { code, detail } = await assertRejects(
    () => source.resolve(query, uncharged),
    CollectionsError,
  );
  assertEquals([code, detail.includes("nonexistent")], ["source-failed", false]);
});

Deno.test("resolve() refuses a folder of too many entries, and caches no failed scan", async () => {
  await using folder = await makeSampleFolder({ "a/b/c.md": "C\n", "d.md": "D\n" }, 4);
  const first = await folder.resolve();
  assertEquals(await folder.paths(first), ["a/b/c.md", "d.md"]);
  await folder.write("e.md", "E\n");
  folder.advance(1000);
  for (let times = 0; times < 2; times++) {
    assert((await folder.refuses("collection-too-large")).includes("more than 4 files"));
  }
  await Deno.remove(`${folder.dir}/e.md`);
  assertEquals((await folder.resolve()).commit, first.commit);
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
    "posts/../posts/a.md": "A\n",
  };
  for (const [path, content] of Object.entries(hidden)) {
    assertInstanceOf(await folder.read(snapshot, path, content), Error, path);
  }
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
  const links = ["dangling", "in.md", "out.md", "up"].map((name) => [name, "symbolic link"]);
  assertEquals<unknown>(await folder.rootEntries(snapshot), [["a.md", "file"], ...links]);
  assertEquals(await folder.paths(snapshot), ["a.md"]);
  const led = [["out.md", "secret\n"], ["up/secret.md", "secret\n"], ["in.md", "a.md"]] as const;
  for (const [path, content] of led) {
    assertInstanceOf(await folder.read(snapshot, path, content), Error, path);
  }
});

Deno.test("blobs() gives no bytes but those of the id, and has a changed file looked at anew", async () => {
  await using folder = await makeSampleFolder({ "a.md": "before\n", "b.md": "B\n" });
  const snapshot = await folder.resolve();
  await folder.write("a.md", "after!\n");
  const stale = await folder.read(snapshot, "a.md", "before\n");
  assertInstanceOf(stale, CollectionsError);
  assertEquals(stale.code, "source-failed");
  assertEquals(await folder.read(snapshot, "b.md", "B\n"), "B\n");
  assertInstanceOf(await folder.read(snapshot, "b.md", "before\n"), CollectionsError);

  const next = await folder.resolve();
  assertEquals(next.freshness, "moved", "before the second is over");
  assertEquals(await folder.read(next, "a.md", "after!\n"), "after!\n");
});

Deno.test("blobs() does not open what took a file's place", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n", "b.md": "B\n" });
  const snapshot = await folder.resolve();
  await Deno.remove(`${folder.dir}/a.md`);
  await Deno.symlink("b.md", `${folder.dir}/a.md`);
  assertInstanceOf(await folder.read(snapshot, "a.md", "A\n"), Error);
  await Deno.remove(`${folder.dir}/b.md`);
  assertInstanceOf(await folder.read(snapshot, "b.md", "B\n"), Error);
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

Deno.test("names that are not UTF-8 are left out and counted, in a folder without others too", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n", "only/.hidden": "" });
  const script = "touch $(printf 'bad\\377.md') $(printf 'only/bad\\377.md')";
  const touch = new Deno.Command("sh", { args: ["-c", script], cwd: folder.dir });
  assert((await touch.output()).success);
  await folder.write("\ufffd.md", "this is how such names are shown");
  const snapshot = await folder.resolve();
  assertEquals(await folder.rootEntries(snapshot), [["a.md", "file"]]);
  const list = await folder.list(snapshot);
  assertEquals([list.length, list.omitted], [1, 3]);
});

Deno.test("reading needs no permission but for the root, and leaves out what may not be read", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n", "no/b.md": "B\n", "no.md": "C\n" });
  const module = new URL("../../lib/source/local/local_source.ts", import.meta.url);
  const script = `
    import { LocalSource } from "${module}";
    const source = new LocalSource({ root: Deno.args[0], now: () => Date.now() });
    const context = { client: "test", recordMiss() {} };
    const snapshot = await source.resolve({ owner: "local", repo: "blog", branch: null }, context);
    const list = await source.files(snapshot, snapshot.commit, context);
    const blobs = await source.blobs(snapshot, [list.at(0)], context);
    console.log(list.length, new TextDecoder().decode(blobs.get(list.at(0).id)));`;
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
