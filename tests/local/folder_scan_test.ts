import { assert, assertEquals } from "@std/assert";
import { blobId } from "../../lib/source/git_object_id.ts";
import {
  checkedOutBranch,
  readScannedFile,
  scanFolder,
} from "../../lib/source/local/folder_scan.ts";
import { makeSampleFolder, type SampleFolder } from "./sample_folder.ts";

const idOf = (text: string) => blobId(new TextEncoder().encode(text));

/** A folder with one file, and scans of it, each after the one before. */
async function withFile(text: string) {
  const dir = await Deno.makeTempDir({ prefix: "scanned_file_" });
  const path = `${dir}/a`;
  await Deno.writeTextFile(path, text);
  let state: Awaited<ReturnType<typeof scanFolder>> | null = null;
  return {
    path,
    /** Some time after the last change, by which it can be told from a later one. */
    async scan(laterMs = 2_000) {
      const { ctime, mtime } = await Deno.lstat(path);
      const now = () => (ctime ?? mtime)!.getTime() + laterMs;
      state = await scanFolder(dir, state, { maxEntries: 10, now });
      return state.files.get("a")!;
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

Deno.test("scanFolder() reuses an unchanged entry, and reads it again when size, times or mode differ", async () => {
  await using file = await withFile("one\n");
  const first = await file.scan();
  assertEquals([first.id, first.size, first.mode], [idOf("one\n"), 4, "100644"]);
  assert(await file.scan() === first);
  const changes: [change: () => Promise<void>, text: string][] = [
    [() => Deno.writeTextFile(file.path, "longer\n"), "longer\n"],
    [() => Deno.utime(file.path, 1, 1), "longer\n"],
    [() => Deno.chmod(file.path, 0o755), "longer\n"],
  ];
  for (const [change, text] of changes) {
    const before = await file.scan();
    await change();
    const after = await file.scan();
    assertEquals([after === before, after.id], [false, idOf(text)]);
  }
  assertEquals((await file.scan()).mode, "100755");
});

Deno.test("scanFolder() reads again what it read within two seconds of a change", async () => {
  await using file = await withFile("one\n");
  const first = await file.scan(1_999);
  const second = await file.scan(1_999);
  const settled = await file.scan();
  assertEquals([first === second, second === settled], [false, false]);
  assert(await file.scan() === settled);
});

Deno.test("readScannedFile() gives the bytes, or null and another scan where they are others", async () => {
  await using file = await withFile("one\n");
  const scanned = await file.scan();
  assertEquals(await readScannedFile(file.path, scanned), new TextEncoder().encode("one\n"));
  const { atime, mtime } = await Deno.lstat(file.path);
  await Deno.writeTextFile(file.path, "two\n");
  await Deno.utime(file.path, atime!, mtime!);
  assertEquals(await readScannedFile(file.path, scanned), null);
  assertEquals((await file.scan()).id, idOf("two\n"));
});

Deno.test("readScannedFile() does not follow a link that took the file's place", async () => {
  await using file = await withFile("x".repeat(200));
  const { path } = file;
  const scanned = await file.scan();
  // The link has the size of the file.
  const target = `${path}_${"x".repeat(199 - path.length)}`;
  await Deno.rename(path, target);
  await Deno.symlink(target, path);
  assertEquals((await Deno.lstat(path)).size, scanned.size);
  assertEquals(await readScannedFile(path, scanned), null);
});

/** A checkout of a branch with one commit. */
async function makeCheckout(branch: string): Promise<SampleFolder> {
  const folder = await makeSampleFolder({ "sub/a.md": "" });
  await folder.git.git("init", "--quiet", `--initial-branch=${branch}`);
  await folder.git.commit({ "a.md": "A\n" }, { branch });
  return folder;
}

Deno.test("checkedOutBranch() names the branch of a checkout and of a linked worktree, or the detached commit", async () => {
  await using folder = await makeCheckout("ä/b-1");
  const { git, dir } = folder;
  assertEquals(await checkedOutBranch(dir), "ä/b-1");
  await git.git("worktree", "add", "--quiet", "-b", "side", "linked");
  const pointer = await Deno.readTextFile(`${dir}/linked/.git`);
  for (const text of [pointer, pointer.replace(dir, "..")]) {
    await Deno.writeTextFile(`${dir}/linked/.git`, text);
    assertEquals(await checkedOutBranch(`${dir}/linked`), "side", text);
  }
  await git.git("checkout", "--quiet", "--detach");
  assertEquals(await checkedOutBranch(dir), await git.head("ä/b-1"));
});

Deno.test("checkedOutBranch() is main for a plain folder, and where HEAD is absent or no branch", async () => {
  await using folder = await makeCheckout("dev");
  const isMain = async (name: string, what: string) =>
    assertEquals(await checkedOutBranch(`${folder.dir}/${name}`), "main", what);
  await isMain("sub", "below a checkout");
  await isMain("absent", "no folder");
  const refs = ["heads/.invalid", "heads/", "heads/two words", "remotes/origin/dev"];
  const heads = [...refs, `heads/${"x".repeat(5000)}`].map((ref) => `ref: refs/${ref}\n`);
  for (const content of [...heads, "", "../../etc/passwd\n"]) {
    await Deno.writeTextFile(`${folder.dir}/.git/HEAD`, content);
    await isMain("", content.slice(0, 40));
  }
  await Deno.remove(`${folder.dir}/.git`, { recursive: true });
  await Deno.writeTextFile(`${folder.dir}/.git`, "gitdir: /nonexistent\n");
  await isMain("", "a pointer to nothing");
});
