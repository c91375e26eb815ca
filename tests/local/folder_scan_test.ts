import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { dirname } from "@std/path";
import { CollectionsError } from "../../lib/errors.ts";
import { blobId, orderTask, treeId } from "../../lib/source/git_object_id.ts";
import { checkedPath } from "../../lib/source/local/checked_file.ts";
import { scanFolder } from "../../lib/source/local/folder_scan.ts";
import type { TreeEntry } from "../../lib/source/tree_entries.ts";
import {
  entryAt,
  folderOf,
  type FolderState,
  listFiles,
  readExact,
} from "../../lib/source/local/folder_state.ts";
import { TestClock } from "../test_clock.ts";
import { inlineCompute } from "../thread/inline_compute.ts";
import { onTurns, useTicks } from "../work/time_slices.ts";
import { after, before, replaceCall } from "./file_calls.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const idOf = (text: string) => blobId(bytesOf(text));
const order = (keys: Uint8Array<ArrayBuffer>) =>
  inlineCompute.run(orderTask, { keys }, { client: "test" });
const noWork = () => ({ names: 0, reads: 0, blocks: 0 });

/** Every path below a folder. Links end with `@`. */
const pathsOf = (
  { folders, id }: Pick<FolderState, "folders" | "id">,
): string[] =>
  [...folders.get(id)!].flatMap(({ name, kind, id }) =>
    kind === "folder"
      ? pathsOf({ folders, id }).map((path) => `${name}/${path}`)
      : [kind === "symbolic link" ? `${name}@` : name]
  );

/** A folder with one file, and scans of it, each after the one before. */
async function withFile(text: string) {
  const dir = await Deno.makeTempDir({ prefix: "scanned_file_" });
  const path = `${dir}/a`;
  await Deno.writeTextFile(path, text);
  let state: FolderState | null = null;
  return {
    dir,
    path,
    work: noWork(),
    /**
     * Some time after the last change, by which it can be told from a later
     * one.
     */
    async scan(laterMs = 2_000) {
      const { ctime, mtime } = await Deno.lstat(path);
      const clock = new TestClock((ctime ?? mtime)!.getTime() + laterMs);
      state = await scanFolder(dir, state, {
        maxEntries: 10,
        clock,
        work: this.work,
        order,
      });
      return { ...entryAt(state, "a")!, tree: state.id };
    },
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

Deno.test("scanFolder() reads a file again when its stamp differs", async () => {
  await using file = await withFile("one\n");
  const first = await file.scan();
  assertEquals([first.id, first.size], [idOf("one\n"), 4]);
  assertEquals(await file.scan(), first);
  assertEquals(file.work.reads, 1);
  const changes: [change: () => Promise<void>, text: string][] = [
    [() => Deno.writeTextFile(file.path, "longer\n"), "longer\n"],
    [() => Deno.utime(file.path, 0, 0), "longer\n"],
    [() => Deno.chmod(file.path, 0o755), "longer\n"],
  ];
  for (const [index, [change, text]] of changes.entries()) {
    await change();
    for (let scans = 0; scans < 2; scans++) {
      assertEquals((await file.scan()).id, idOf(text));
    }
    assertEquals(file.work.reads, index + 2);
  }
  const { tree, id } = await file.scan();
  assertEquals(tree, treeId([{ name: "a", mode: "100755", id }]));
});

Deno.test("scanFolder() reads again within two seconds of a change", async () => {
  await using file = await withFile("one\n");
  for (const laterMs of [1_999, 1_999, 2_000]) await file.scan(laterMs);
  assertEquals(file.work.reads, 3);
  await file.scan();
  assertEquals(file.work.reads, 3);
});

Deno.test("readExact() reads several blocks and no added byte", async () => {
  const text = "0123456789".repeat(20_000);
  await using file = await withFile(text);
  const scanned = await file.scan();
  assertEquals(scanned.id, idOf(text));
  using _grown = after(
    "lstat",
    file.path,
    () => Deno.writeTextFileSync(file.path, "more", { append: true }),
  );
  assertEquals(
    await readExact(await checkedPath(file.dir), "a", scanned, noWork()),
    null,
  );
});

Deno.test("readExact() gives nothing of a file that shrinks", async () => {
  await using file = await withFile("A".repeat(10));
  const id = new Uint8Array(
    await crypto.subtle.digest("SHA-256", bytesOf("AAA")),
  ).toHex();
  using _shrunk = after(
    "lstatSync",
    file.path,
    () => Deno.truncateSync(file.path, 3),
  );
  const at = await checkedPath(file.dir);
  assertEquals(await readExact(at, "a", { id, size: 10 }, noWork()), null);
});

/**
 * A folder `blog` with the file `posts/a.md`, and a folder outside it that may
 * take the place of `posts`.
 */
async function withFolders(clock = new TestClock(Date.now() + 60_000)) {
  const root = await Deno.makeTempDir({ prefix: "replaced_folder_" });
  const [dir, outside] = [`${root}/blog`, `${root}/outside`];
  const posts = `${dir}/posts`;
  await Deno.mkdir(`${posts}/below`, { recursive: true });
  await Deno.mkdir(`${outside}/below`, { recursive: true });
  await Deno.writeTextFile(`${posts}/a.md`, "inside\n");
  await Deno.writeTextFile(`${outside}/a.md`, "secret\n");
  await Deno.writeTextFile(`${outside}/below/b.md`, "secret\n");
  await Deno.symlink("secret", `${outside}/link`);
  let previous: FolderState | null = null;
  return {
    dir,
    outside,
    posts,
    clock,
    async scan(work = noWork()): Promise<FolderState> {
      return previous = await scanFolder(dir, previous, {
        maxEntries: 100,
        clock,
        work,
        order,
      });
    },
    readExact: async (file: TreeEntry) =>
      await readExact(await checkedPath(dir), "posts/a.md", file, noWork()),
    replace() {
      Deno.renameSync(posts, `${dir}/.moved`);
      Deno.symlinkSync(outside, posts);
    },
    putBack() {
      Deno.removeSync(posts);
      Deno.renameSync(`${dir}/.moved`, posts);
    },
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

Deno.test("scanFolder() shows nothing of a folder that was replaced", async () => {
  const moments = [["readDir", "posts"], ["lstat", "posts/a.md"]] as const;
  for (const [name, path] of moments) {
    await using folders = await withFolders();
    using _replaced = before(name, `${folders.dir}/${path}`, folders.replace);
    using _back = after("lstat", `${folders.posts}/a.md`, folders.putBack);
    const state = await folders.scan();
    assertEquals([path, ...pathsOf(state)], [path, "posts/a.md"]);
    assertEquals(entryAt(state, "posts/a.md")?.id, idOf("inside\n"));
  }
});

/**
 * Has the folder `posts` be inside or outside at each call for its file `a.md`.
 * It is inside after the last call.
 */
function flipping(
  folders: Awaited<ReturnType<typeof withFolders>>,
  calls: [string, boolean][],
) {
  let isOutside = false;
  const flip = (toOutside: boolean) => {
    if (toOutside !== isOutside) {
      toOutside ? folders.replace() : folders.putBack();
    }
    isOutside = toOutside;
  };
  const left = [...calls];
  const replaced = (["lstat", "lstatSync", "realPathSync"] as const).map((
    name,
  ) =>
    replaceCall(name, (real) => (path) => {
      if (path !== `${folders.posts}/a.md` || left.length === 0) {
        return real(path);
      }
      const [expected, toOutside] = left.shift()!;
      assertEquals(name, expected);
      flip(toOutside);
      const result = real(path);
      if (left.length === 0) flip(false);
      return result;
    })
  );
  return {
    [Symbol.dispose]: () =>
      replaced.forEach((replaced) => replaced[Symbol.dispose]()),
  };
}

Deno.test("scanFolder() checks a file before and after it is read", async () => {
  // A link that is taken away for the check of the real path has to be taken
  // away for the second one too.
  const first = [["lstat", true], ["realPathSync", false], [
    "lstatSync",
    true,
  ]] as [
    string,
    boolean,
  ][];
  for (
    const second of [[["realPathSync", true]], [["realPathSync", false], [
      "lstatSync",
      false,
    ]]]
  ) {
    await using folders = await withFolders();
    using _flipping = flipping(
      folders,
      [...first, ...second] as [string, boolean][],
    );
    assertEquals(
      entryAt(await folders.scan(), "posts/a.md")?.id,
      idOf("inside\n"),
    );
  }
});

const remove = (path: string) => Deno.removeSync(path, { recursive: true });

/** What can take the place of the file `a.md` or of a folder above it. */
const REPLACE = {
  nothing: remove,
  "a file"(path: string) {
    remove(path);
    Deno.writeTextFileSync(path, "now a file\n");
  },
  "a folder"(path: string) {
    remove(path);
    Deno.mkdirSync(path);
  },
  "a pipe"(path: string) {
    remove(path);
    assert(new Deno.Command("mkfifo", { args: [path] }).outputSync().success);
  },
  "a link"(path: string) {
    Deno.renameSync(path, `${path}.moved`);
    Deno.symlinkSync(`${path}.moved`, path);
  },
};

/** Changes during a scan: at which call, of which path, and what is there. */
const CHANGES = [
  { at: before, call: "realPath", path: ".", by: ["nothing", "a link"] },
  { at: before, call: "readDir", path: ".", by: ["nothing", "a file"] },
  {
    at: before,
    call: "realPath",
    path: "posts",
    by: ["nothing", "a file", "a link"],
  },
  {
    at: before,
    call: "readDir",
    path: "posts",
    by: ["nothing", "a file", "a link"],
  },
  {
    at: before,
    call: "lstat",
    path: "posts/a.md",
    by: ["nothing", "a folder", "a pipe"],
  },
  {
    at: after,
    call: "lstat",
    path: "posts/a.md",
    by: ["nothing", "a pipe"],
  },
  { at: before, call: "realPathSync", path: "posts/a.md", by: ["nothing"] },
] as const;

Deno.test("scanFolder() leaves out what changes during the scan", async () => {
  const left = {
    ".": [],
    posts: ["kept.md"],
    "posts/a.md": ["kept.md", "posts/link@"],
  };
  for (const { at, call, path, by } of CHANGES) {
    for (const what of by) {
      await using folders = await withFolders();
      await Deno.writeTextFile(`${folders.dir}/kept.md`, "kept\n");
      await Deno.symlink("secret", `${folders.posts}/link`);
      const full = path === "." ? folders.dir : `${folders.dir}/${path}`;
      using _changed = at(call as "realPath", full, () => REPLACE[what](full));
      const found = await folders.scan().then(pathsOf, (error) => {
        assert(path === "." && error instanceof Deno.errors.NotFound, error);
        return [];
      });
      assertEquals([call, path, what, ...found], [
        call,
        path,
        what,
        ...left[path],
      ]);
    }
  }
});

Deno.test("scanFolder() does not read what a new link leads to", async () => {
  await using folders = await withFolders();
  const path = `${folders.posts}/a.md`;
  using _replaced = after("lstat", path, () => REPLACE["a link"](path));
  assertEquals(pathsOf(await folders.scan()), ["posts/a.md@"]);
});

Deno.test("readExact() follows no link that replaced a file", async () => {
  for (const path of ["posts", "posts/a.md"]) {
    await using folders = await withFolders();
    const file = entryAt(await folders.scan(), "posts/a.md")!;
    assertEquals(
      await folders.readExact(file),
      bytesOf("inside\n"),
    );
    const full = `${folders.dir}/${path}`;
    using _replaced = after(
      "lstat",
      `${folders.posts}/a.md`,
      () => REPLACE["a link"](full),
    );
    // The bytes are the same, and in the folder.
    assertEquals([path, await folders.readExact(file)], [
      path,
      null,
    ]);
  }
});

Deno.test({
  name: "readExact() closes what it opens",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using folders = await withFolders();
    const file = entryAt(await folders.scan(), "posts/a.md")!;
    // Tests of other files run in this process. Deno itself reads /proc only
    // with all permissions.
    const isOpen = async () => {
      const { stdout } = await new Deno.Command("ls", {
        args: ["-l", `/proc/${Deno.pid}/fd`],
        stderr: "null",
      }).output();
      const list = new TextDecoder().decode(stdout);
      assertMatch(list, /-> /);
      return list.includes(dirname(folders.dir));
    };
    await folders.readExact(file);
    assertEquals(await isOpen(), false, "a file that was read");
    using _replaced = after("lstat", `${folders.posts}/a.md`, folders.replace);
    await folders.readExact(file);
    assertEquals(await isOpen(), false, "a file that may not be read");
  },
});

Deno.test("scanFolder() reads what changed and reuses other folders", async () => {
  await using folders = await withFolders();
  await Deno.mkdir(`${folders.dir}/docs`);
  await Deno.writeTextFile(`${folders.dir}/docs/c.md`, "C\n");
  const scan = async () => {
    const work = noWork();
    const state = await folders.scan(work);
    const [docs, posts] = ["docs", "posts"]
      .map((name) => state.folders.get(entryAt(state, name)!.id));
    return { docs, posts, work };
  };
  const cold = await scan();
  assertEquals(cold.work, { names: 5, reads: 2, blocks: 0 });
  const warm = await scan();
  assertEquals(warm.work, { names: 5, reads: 0, blocks: 0 });
  await Deno.writeTextFile(`${folders.posts}/a.md`, "changed\n");
  const changed = await scan();
  assertEquals(changed.work, { names: 5, reads: 1, blocks: 0 });
  assertEquals([changed.docs === cold.docs, changed.posts === cold.posts], [
    true,
    false,
  ]);
});

Deno.test("scanFolder() counts levels and blocks toward its limit", async () => {
  await using folders = await withFolders();
  const scan = (maxEntries: number, previous: FolderState | null = null) =>
    scanFolder(folders.dir, previous, {
      maxEntries,
      clock: folders.clock,
      work: noWork(),
      order,
    });
  const rejects = (limit: number, previous: FolderState | null) =>
    assertRejects(
      () => scan(limit, previous),
      CollectionsError,
      `more than ${limit} files and folders`,
    );
  // posts, a.md, below at two levels.
  const state = await scan(4);
  await rejects(3, null);
  await rejects(3, state);
  await Deno.truncate(`${folders.posts}/a.md`, 2 << 16);
  await rejects(5, await scan(6));
});

Deno.test("scanFolder() takes 64 levels of folders", async () => {
  await using folders = await withFolders();
  await Deno.mkdir(`${folders.dir}/${"d/".repeat(64)}`, { recursive: true });
  const options = { maxEntries: 1e6, clock: folders.clock, order };
  const scan = () =>
    scanFolder(folders.dir, null, { ...options, work: noWork() });
  await scan();
  await Deno.mkdir(`${folders.dir}/${"d/".repeat(65)}`);
  await assertRejects(scan, CollectionsError, "more than 64 levels");
});

Deno.test("folderOf() orders entries as Git does", async () => {
  const names = ["a/", "a.b", "a0", "\uffee", "\u{1f600}", "b", "\r"];
  const entries = names.map((path, index) => ({
    name: path.replace("/", ""),
    kind: path === "a/" ? "folder" as const : "file" as const,
    mode: path === "a/" ? "40000" as const : "100644" as const,
    id: String(index).repeat(40),
    size: 0,
  }));
  const { id, tree } = await folderOf(entries, 0, null, order);
  // Of `git mktree` with these entries.
  assertEquals(id, "19676a8c9a78a48bf95e9691ba735057f38064f4");
  const expected = ["\r", "a.b", "a", "a0", "b", "\uffee", "\u{1f600}"];
  assertEquals([...tree].map(({ name }) => name), expected);
});

Deno.test("folderOf() and listFiles() let other tasks go on", async () => {
  const entries = Array.from(
    { length: 4_096 },
    (_, index) => ({
      name: String(index).padStart(4, "0"),
      kind: "file" as const,
      mode: "100644" as const,
      id: "0".repeat(40),
      size: 1,
    }),
  );
  let turns = 0;
  using _ticks = useTicks({ perLookMs: 8 });
  using _others = onTurns(() => turns++);
  const { id, tree } = await folderOf(entries, 0, null, order);
  // For every 256 names: 32 to order them, 32 for the id, and 16 to store them.
  assert(turns >= 80, `${turns}`);
  turns = 0;
  const state = { id, folders: new Map([[id, tree]]), blobIds: new Map() };
  const files = await listFiles(state, id, {
    maxBytes: 1 << 20,
    memoryLeft: () => Infinity,
    work: { listed: 0 },
    signal: new AbortController().signal,
  });
  assertEquals(files?.length, 4_096);
  assert(turns >= 16, `${turns}`);
});
