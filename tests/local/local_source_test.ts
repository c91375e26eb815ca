// Beside the suite of the port (tests/source): what is special to folders that
// change while they are served.

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
} from "@std/assert";
import { type FileHandle, open } from "node:fs/promises";
import { CollectionsError, serviceBusy } from "../../lib/errors.ts";
import { readEach } from "../../lib/source/local/checked_file.ts";
import { LocalSource } from "../../lib/source/local/local_source.ts";
import { configFlag } from "../run_task.ts";
import { TimeLimitError } from "../../lib/thread/compute.ts";
import { TestClock } from "../test_clock.ts";
import { inlineCompute } from "../thread/inline_compute.ts";
import { countCalls, replaceCall } from "./file_calls.ts";
import {
  makeSampleFolder,
  type SampleFolder,
  uncharged,
} from "./sample_folder.ts";

Deno.test("resolve() gives a folder as main or its branch", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "A\n" });
  await Deno.mkdir(`${folder.dir}/empty`);
  const plain = await folder.resolve();
  assertEquals(plain.branch, "main");
  assert(
    (await folder.refuses("branch-not-found", { branch: "master" })).includes(
      '"main"',
    ),
  );

  await folder.git.git("init", "--quiet", "--initial-branch=drafts/2026");
  await folder.git.git("add", "--all");
  assertEquals(plain.commit, await folder.git.git("write-tree"));
  folder.clock.advance(1000);
  const { branch, freshness } = await folder.resolve();
  assertEquals([branch, freshness], ["drafts/2026", "moved"]);
  const freshUntilMs = plain.ref.checkedAtMs + plain.ref.freshForMs;
  assert(
    freshUntilMs <= folder.clock.now(),
    "no answer of the old branch is fresh",
  );
});

Deno.test("resolve() scans once for all and keeps unchanged lists", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const both = async () => {
    using listings = countCalls("readDir");
    const found = await Promise.all([folder.resolve(), folder.resolve()]);
    const lists = found.map((snapshot) => folder.list(snapshot));
    // The first listing is that of the root, to find the folder.
    return { listings: listings.count, list: await lists[0], found };
  };
  const first = await both();
  folder.clock.advance(1000);
  const unchanged = await both();
  assertEquals(unchanged.listings, 1);
  assertEquals(unchanged.found.map(({ freshness }) => freshness), [
    "unchanged",
    "unchanged",
  ]);
  assert(unchanged.list === first.list, "nothing is built anew");
});

/** Lets the listing of the folder take time in each scan. */
function slowScans({ clock, dir }: SampleFolder, takesMs: number): Disposable {
  return replaceCall("readDir", (real) => (path) => {
    if (path === dir) clock.advance(takesMs);
    return real(path);
  });
}

Deno.test("resolve() pauses four times as long as the last scan", async () => {
  for (
    const [takesMs, freshForMs] of [[100, 1_000], [2_000, 10_000], [
      20_000,
      50_000,
    ]] as const
  ) {
    await using folder = await makeSampleFolder({ "a.md": "A\n" });
    using _slow = slowScans(folder, takesMs);
    using lookups = countCalls("lstat");
    const first = await folder.resolve();
    const { count } = lookups;
    assertEquals(
      [first.ref.freshForMs, folder.clock.now() - first.checkedAtMs],
      [
        freshForMs,
        takesMs,
      ],
    );
    folder.clock.advance(freshForMs - takesMs - 1);
    assertEquals((await folder.resolve()).freshness, "fresh");
    assertEquals(lookups.count, count);
    folder.clock.advance(1);
    assertEquals((await folder.resolve()).freshness, "unchanged");
    assert(lookups.count > count);
  }
});

Deno.test("resolve() repeats the failure of a scan during the pause", async () => {
  await using folder = await makeSampleFolder({
    "a.md": "A\n",
    "b.md": "B\n",
    "c.md": "C\n",
  }, 2);
  using listings = countCalls("readDir");
  using _slow = slowScans(folder, 1_000);
  await folder.refuses("collection-too-large");
  const { count } = listings;
  folder.clock.advance(3_999);
  await folder.refuses("collection-too-large");
  assertEquals(listings.count, count);
  folder.clock.advance(1);
  await folder.refuses("collection-too-large");
  assertEquals(listings.count, count + 1);
});

Deno.test("resolve() does not repeat that the service was busy", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  using _slow = slowScans(folder, 1_000);
  folder.compute.answer = () => {
    throw serviceBusy("Cannot wait: full");
  };
  await folder.refuses("service-busy");
  folder.compute.answer = () => undefined;
  assertEquals((await folder.resolve()).freshness, "new");
});

Deno.test("resolve() refuses names that take too long to order", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  folder.compute.answer = () => {
    throw new TimeLimitError("slow");
  };
  await folder.refuses("collection-too-large");
});

Deno.test("resolve() does not pause for its wait for the thread", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  folder.compute.answer = () => folder.clock.advance(20_000);
  using _slow = slowScans(folder, 1_000);
  assertEquals((await folder.resolve()).ref.freshForMs, 21_000 + 4_000);
});

Deno.test("resolve() scans two folders at once", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const repos = ["blog", "two", "three", "four"];
  for (const repo of repos) {
    await Deno.mkdir(`${folder.root}/${repo}`, { recursive: true });
  }
  const open = Promise.withResolvers<void>();
  let [running, most] = [0, 0];
  using _held = replaceCall("readDir", (real) =>
    async function* (path) {
      if (path !== folder.root) {
        most = Math.max(most, ++running);
        if (running === 2) setTimeout(open.resolve, 0);
        await open.promise;
        running--;
      }
      yield* real(path) as ReturnType<typeof Deno.readDir>;
    });
  await Promise.all(repos.map((repo) => folder.resolve({ repo })));
  assertEquals(most, 2);
});

Deno.test("resolve() waits for a disk while others go on", async () => {
  const file = await open(import.meta.filename!);
  const handles = Object.getPrototypeOf(file) as FileHandle;
  await file.close();
  for (const call of ["lstat", "realPath", "read"] as const) {
    await using folder = await makeSampleFolder({ "a.md": "A\n" });
    await Deno.mkdir(`${folder.root}/other`);
    const [called, disk] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    const wait = () => {
      called.resolve();
      return disk.promise;
    };
    const { read } = handles;
    using _read = {
      [Symbol.dispose]: () => void (handles.read = read),
    };
    handles.read = async function (this: FileHandle, ...of: [never]) {
      if (call === "read") await wait();
      return await read.apply(this, of);
    } as typeof read;
    using _call = call === "read" ? null : replaceCall(
      call,
      (real) => async (path) => {
        const isIn = path.startsWith(folder.dir);
        if (isIn) await wait();
        return await real(path);
      },
    );
    let isScanned = false;
    const scan = folder.resolve().then(() => isScanned = true);
    await called.promise;
    await folder.resolve({ repo: "other" });
    assert(!isScanned, call);
    disk.resolve();
    await scan;
  }
});

Deno.test("resolve() and blobs() read eight files at once", async () => {
  const files = Array.from({ length: 20 }, (_, n) => [`${n}.md`, `${n}\n`]);
  await using folder = await makeSampleFolder(Object.fromEntries(files));
  let [running, most] = [0, 0];
  using _counted = replaceCall("lstat", (real) => (path) => {
    most = Math.max(most, ++running);
    return (real(path) as Promise<unknown>).finally(() => running--);
  });
  const snapshot = await folder.resolve();
  const list = await folder.source.files(snapshot, snapshot.commit, uncharged);
  assertEquals([most, list.length], [8, 20]);
  most = 0;
  const blobs = (signal?: AbortSignal) =>
    folder.source.blobs(
      snapshot,
      files.map((_, index) => list.at(index)),
      { ...uncharged, signal },
    );
  assertEquals([(await blobs()).size, most], [20, 8]);
  const signal = AbortSignal.abort(new Error("left"));
  await assertRejects(() => blobs(signal), Error, "left");
});

Deno.test("readEach() reads eight at once and ends with them", async () => {
  const names = Array.from({ length: 20 }, (_, index) => index);
  let [running, most, ended] = [0, 0, 0];
  const read = async (name: number) => {
    most = Math.max(most, ++running);
    // The last ones end first.
    for (let turns = 20 - name; turns > 0; turns--) await Promise.resolve();
    running--;
    ended++;
    if (name === 15) throw new Error("fifteen");
    return name;
  };
  await assertRejects(() => readEach(names, read), Error, "fifteen");
  assertEquals([most, running, ended], [8, 0, 16]);
  assertEquals(await readEach(names, (name) => Promise.resolve(name)), names);
});

Deno.test("blobs() reads eight files at once while scans go on", async () => {
  const files = Array.from({ length: 10 }, (_, n) => [`${n}.md`, `${n}\n`]);
  await using folder = await makeSampleFolder(Object.fromEntries(files));
  await Deno.mkdir(`${folder.root}/other`);
  await Deno.writeTextFile(`${folder.root}/other/a.md`, "A\n");
  const snapshot = await folder.resolve();
  const list = await folder.source.files(snapshot, snapshot.commit, uncharged);
  const disk = Promise.withResolvers<void>();
  let [running, most] = [0, 0];
  using _held = replaceCall("lstat", (real) => async (path) => {
    if (path.startsWith(folder.dir)) {
      most = Math.max(most, ++running);
      await disk.promise;
      running--;
    }
    return await real(path);
  });
  const wanted = files.map((_, index) => list.at(index));
  const both = [wanted, wanted].map((files) =>
    folder.source.blobs(snapshot, files, uncharged)
  );
  await folder.resolve({ repo: "other" });
  assertEquals(running, 8);
  disk.resolve();
  assertEquals((await Promise.all(both)).map(({ size }) => size), [10, 10]);
  assertEquals([running, most], [0, 8]);
});

Deno.test("resolve() and blobs() wait only for what was looked up", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const lookedUp = new Set<string>();
  const remember = (real: (path: string) => unknown) => (path: string) => {
    lookedUp.add(path);
    return real(path);
  };
  const check = (real: (path: string) => unknown) => (path: string) => {
    assert(lookedUp.has(path), path);
    return real(path);
  };
  using _lstat = replaceCall("lstat", remember);
  using _realPath = replaceCall("realPath", remember);
  using _lstatSync = replaceCall("lstatSync", check);
  using _realPathSync = replaceCall("realPathSync", check);
  const snapshot = await folder.resolve();
  assertEquals(await folder.read(snapshot, "a.md", "A\n"), "A\n");
});

Deno.test("blobs() charges what it reads", async () => {
  const long = "A".repeat(3 << 16);
  await using folder = await makeSampleFolder({ "a.md": "A\n", "b.md": long });
  const snapshot = await folder.resolve();
  const list = await folder.source.files(snapshot, snapshot.commit, uncharged);
  let chargedMs = 0;
  const charge = (ms: number) => void (chargedMs += ms);
  const wanted = [list.at(0), list.at(1)];
  await folder.source.blobs(snapshot, wanted, { ...uncharged, charge });
  // Two files and three whole blocks.
  assertEquals(Math.round(chargedMs * 100) / 100, 0.44);
});

Deno.test("files() stops when nobody waits for the list", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  const snapshot = await folder.resolve();
  const charges: number[] = [];
  const context = {
    ...uncharged,
    charge: (ms: number) => void charges.push(ms),
  };
  const left = new AbortController();
  const { signal } = left;
  const listed = folder.list(snapshot, { ...context, signal });
  left.abort(new Error("left"));
  await assertRejects(() => listed, Error, "left");
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(charges, [0]);
  assertEquals((await folder.list(snapshot, context)).length, 1);
  assertEquals(charges, [0, 0.0005]);
});

Deno.test("files() makes one list at a time, with memory for it", async () => {
  // 300 files with paths of 3,800 bytes.
  const deep = Array.from({ length: 15 }, () => "d".repeat(250)).join("/");
  const files = Array.from({ length: 300 }, (_, n) => [`${deep}/${n}`, ""]);
  await using folder = await makeSampleFolder({
    ...Object.fromEntries(files),
    "short/a.md": "A\n",
  });
  let leftBytes = 65 << 20;
  const events: string[] = [];
  const source = new LocalSource({
    root: folder.root,
    compute: folder.compute,
    clock: folder.clock,
    memoryLeft: () => {
      events.push("memory");
      return leftBytes;
    },
  });
  const query = { owner: "local", repo: "blog", branch: null };
  const snapshot = await source.resolve(query, uncharged);
  const [long, short] = await source.tree(snapshot, snapshot.commit, uncharged);
  const lengthOf = async (id: string) => {
    const charge = () => void events.push("made");
    const found = source.files(snapshot, id, { ...uncharged, charge });
    return await found.then(({ length }) => length, ({ code }) => code);
  };
  assertEquals(await lengthOf(snapshot.commit), "service-busy");
  assertEquals(await lengthOf(short!.id), 1);
  assertEquals(events.splice(0), ["memory", "made", "made"]);
  leftBytes *= 2;
  const both = [snapshot.commit, long!.id].map(lengthOf);
  assertEquals(await Promise.all(both), [301, 300]);
  assertEquals(events, ["memory", "made", "memory", "made"]);
});

Deno.test("resolve() knows files by inode numbers over 2^53", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  using _lstat = replaceCall("lstat", (real) => async (path) => {
    const info = await real(path) as Deno.FileInfo;
    return { ...info, ino: BigInt(info.ino!) };
  });
  assertEquals(await folder.paths(await folder.resolve()), ["a.md"]);
});

Deno.test("resolve() charges the request that starts a scan", async () => {
  const files = Array.from({ length: 50 }, (_, n) => [`${n}.md`, `${n}\n`]);
  await using folder = await makeSampleFolder(Object.fromEntries(files));
  const resolve = async () => {
    let chargedMs = 0;
    const charge = (ms: number) => void (chargedMs += ms);
    const query = { owner: "local", repo: "blog", branch: null };
    await folder.source.resolve(query, { ...uncharged, charge });
    return Math.round(chargedMs * 100) / 100;
  };
  {
    using _slow = slowScans(folder, 1_000);
    // 50 names, each read; a request that joins or finds the result is not
    // charged.
    const both = await Promise.all([resolve(), resolve()]);
    // Both list the root as well, to find the folder.
    assertEquals(both.toSorted((a, b) => a - b), [0.03, 5.03]);
    assertEquals(await resolve(), 0);
    folder.clock.advance(10_000);
    assertEquals(await resolve(), 1.5);
    folder.clock.advance(10_000);
  }
  using _quick = slowScans(folder, 0.25);
  assertEquals(await resolve(), 0.25, "at most the time of the scan");
});

Deno.test("resolve() does not scan for a client over its limit", async () => {
  await using folder = await makeSampleFolder({ "a.md": "" });
  const requireMiss = () => {
    throw new CollectionsError("too-many-requests", "Try again later.");
  };
  const query = { owner: "local", repo: "blog", branch: null };
  const resolve = async () => {
    using listings = countCalls("readDir");
    const { source } = folder;
    const found = source.resolve(query, { ...uncharged, requireMiss });
    const code = await found.then(() => "found", ({ code }) => code);
    return [code, listings.count];
  };
  // Not even the root, to find the folder.
  assertEquals(await resolve(), ["too-many-requests", 0]);
  await folder.resolve();
  assertEquals(await resolve(), ["found", 0]);
  folder.clock.advance(1_000);
  assertEquals(await resolve(), ["too-many-requests", 0]);
  // Another client's scan gives it the folder.
  const scan = folder.resolve();
  const [joined] = await Promise.all([resolve(), scan]);
  assertEquals(joined[0], "found");
});

Deno.test("resolve() keeps two folders of the maximum size", async () => {
  await using folder = await makeSampleFolder({
    "a.md": "",
    "b.md": "",
    "../c/a.md": "",
    "../c/b.md": "",
    "../d/a.md": "",
  }, 2);
  const freshnessOf = async (repo: string) =>
    (await folder.resolve({ repo })).freshness;
  for (const repo of ["blog", "c"]) {
    assertEquals(await freshnessOf(repo), "new");
  }
  for (const repo of ["blog", "c"]) {
    assertEquals(await freshnessOf(repo), "fresh");
  }
  assertEquals(await freshnessOf("d"), "new");
  assertEquals(await freshnessOf("c"), "fresh");
  assertEquals(await freshnessOf("blog"), "new");
});

Deno.test("resolve() finds folders by name alone, an exact one first", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  await Deno.mkdir(`${folder.root}/Blog`);
  await Deno.writeTextFile(`${folder.root}/file.md`, "no folder\n");
  const lower = await folder.resolve({ repo: "blog" });
  const upper = await folder.resolve({ repo: "Blog" });
  assert(lower.commit !== upper.commit);
  assertEquals(
    (await folder.resolve({ repo: "bLOG" })).commit,
    upper.commit,
    "in byte order",
  );
  for (const repo of ["", "..", "./blog", folder.dir, "file.md"]) {
    await folder.refuses("repository-not-found", { repo });
  }
});

Deno.test("resolve() does not follow a repository that is a link", async () => {
  await using folder = await makeSampleFolder({ "a.md": "A\n" });
  await using outside = await makeSampleFolder({ "secret.md": "secret\n" });
  await Deno.symlink(outside.dir, `${folder.root}/linked`);
  await folder.refuses("repository-not-found", { repo: "linked" });

  await folder.resolve();
  await Deno.remove(folder.dir, { recursive: true });
  await Deno.symlink(outside.dir, folder.dir);
  folder.clock.advance(1000);
  await folder.refuses("repository-not-found");
  await Deno.remove(folder.dir);
  await folder.write("a.md", "back\n");
  assertEquals((await folder.resolve()).freshness, "new");
});

Deno.test("files() keeps its list and charges for it once", async () => {
  await using folder = await makeSampleFolder({ "a.md": "", "b/c.md": "" });
  const snapshot = await folder.resolve();
  const charged: number[] = [];
  const charge = (ms: number) => void charged.push(ms);
  const list = () => folder.list(snapshot, { ...uncharged, charge });
  const [first, joined] = await Promise.all([list(), list()]);
  assert(joined === first);
  assert(await list() === first);
  assertEquals(charged, [2 * 0.0005]);
});

Deno.test("trim() keeps the lists that were used last", async () => {
  await using folder = await makeSampleFolder({ "a/1.md": "", "b/2.md": "" });
  const { root, compute, clock } = folder;
  // A list of one file takes 49 bytes.
  const source = new LocalSource({ root, compute, clock, maxListBytes: 99 });
  const query = { owner: "local", repo: "blog", branch: null };
  const snapshot = await source.resolve(query, uncharged);
  const [a, b] = await source.tree(snapshot, snapshot.commit, uncharged);
  const list = (id: string) => source.files(snapshot, id, uncharged);
  const lists = [await list(a!.id), await list(b!.id)];
  assert(await list(a!.id) === lists[0]);
  source.trim();
  assert(await list(a!.id) === lists[0]);
  assert(await list(b!.id) !== lists[1]);
});

Deno.test("files() remembers that a list is too large", async () => {
  await using folder = await makeSampleFolder({ "a.md": "", "b/c.md": "" });
  const charged: number[] = [];
  const charge = (ms: number) => void charged.push(ms);
  const context = { ...uncharged, charge };
  // 8 bytes, 33 and the path of each file, and 4 at the end.
  for (const [maxListBytes, total] of [[88, 2], [87, 0]] as const) {
    const { root, compute, clock } = folder;
    const source = new LocalSource({ root, compute, clock, maxListBytes });
    const query = { owner: "local", repo: "blog", branch: null };
    const snapshot = await source.resolve(query, uncharged);
    const list = () => source.files(snapshot, snapshot.commit, context);
    for (let times = 0; times < 2; times++) {
      if (total > 0) assertEquals((await list()).length, total);
      else await assertRejects(list, CollectionsError, "sub-folders");
    }
  }
  assertEquals(charged, [2 * 0.0005, 2 * 0.0005]);
});

Deno.test("resolve() fails if the root cannot be listed", async () => {
  const source = new LocalSource({
    root: "/nonexistent/root",
    compute: inlineCompute,
    clock: new TestClock(),
  });
  const query = { owner: "local", repo: "blog", branch: null };
  const { code, detail } = await assertRejects(
    () => source.resolve(query, uncharged),
    CollectionsError,
  );
  assertEquals([code, detail.includes("nonexistent")], [
    "source-failed",
    false,
  ]);
});

Deno.test("blobs() gives only the bytes of the id", async () => {
  await using folder = await makeSampleFolder({
    "a.md": "before\n",
    "b.md": "B\n",
    ".env": "TOKEN=1\n",
  });
  await Deno.symlink("b.md", `${folder.dir}/link`);
  const snapshot = await folder.resolve();
  const readAs = async (path: string, content: string) => {
    const result = await folder.read(snapshot, path, content);
    return result instanceof CollectionsError ? result.code : result;
  };
  await folder.write("a.md", "after!\n");
  assertEquals(await readAs("a.md", "before\n"), "source-failed");
  assertEquals(await readAs("b.md", "B\n"), "B\n");
  assertEquals(await readAs("b.md", "before\n"), "source-failed");
  assertEquals(await readAs(".env", "TOKEN=1\n"), "source-failed");
  assertEquals(await readAs("b.md/../b.md", "B\n"), "source-failed");
  assertEquals(await readAs("link", "b.md"), "source-failed");
  await Deno.remove(`${folder.dir}/b.md`);
  assertEquals(await readAs("b.md", "B\n"), "source-failed");

  // A file system may give two writes the same time.
  await folder.write("a.md", "longer than before\n");
  const next = await folder.resolve();
  assertEquals(next.freshness, "moved", "before the second is over");
});

Deno.test("blobs() causes no scan during the pause", async () => {
  await using folder = await makeSampleFolder({ "a.md": "one\n" });
  using _slow = slowScans(folder, 500);
  const edit = async (before: string, text: string) => {
    const snapshot = await folder.resolve();
    await folder.write("a.md", text);
    assertInstanceOf(
      await folder.read(snapshot, "a.md", before),
      CollectionsError,
    );
    return (await folder.resolve()).freshness;
  };
  assertEquals(await edit("one\n", "second\n"), "moved");
  assertEquals(await edit("second\n", "third\n"), "fresh");
  folder.clock.advance(2_000);
  assertEquals((await folder.resolve()).freshness, "moved");
});

Deno.test("the state before the last can still be read", async () => {
  await using folder = await makeSampleFolder({ "a.md": "1\n" });
  const states = [await folder.resolve()];
  for (const text of ["second\n", "third\n"]) {
    await folder.write("a.md", text);
    folder.clock.advance(1000);
    assertEquals(await folder.paths(states.at(-1)!), ["a.md"]);
    states.push(await folder.resolve());
  }
  assertEquals(await folder.paths(states[1]!), ["a.md"]);
  // A scan needs the blob ids of the last one only.
  const [watched] = folder.source["folders"].values();
  assertEquals(watched!.states[1]!.blobIds.size, 0);
  const { code } = await assertRejects(
    () => folder.paths(states[0]!),
    CollectionsError,
  );
  assertEquals(code, "source-failed");
});

Deno.test("names that are not UTF-8 are left out and counted", async () => {
  await using folder = await makeSampleFolder({
    "a.md": "A\n",
    "only/.hidden": "",
    "node_modules/b.md": "B\n",
  });
  const script = "touch $(printf 'bad\\377.md') $(printf 'only/bad\\377.md')";
  const touch = new Deno.Command("sh", {
    args: ["-c", script],
    cwd: folder.dir,
  });
  assert((await touch.output()).success);
  await folder.write("\ufffd.md", "this is how such names are shown");
  const snapshot = await folder.resolve();
  assertEquals(await folder.rootEntries(snapshot), [["a.md", "file"]]);
  const list = await folder.list(snapshot);
  assertEquals([list.length, list.omitted], [1, 3]);
});

Deno.test("reading needs no permission but for the root", async () => {
  await using folder = await makeSampleFolder({
    "a.md": "A\n",
    "no/b.md": "B\n",
    "no.md": "C\n",
  });
  const module = new URL(
    "../../lib/source/local/local_source.ts",
    import.meta.url,
  );
  const clock = new URL("../../lib/work/clock.ts", import.meta.url);
  const inline = new URL("../thread/inline_compute.ts", import.meta.url);
  const script = `
    import { systemClock } from "${clock}";
    import { LocalSource } from "${module}";
    import { inlineCompute as compute } from "${inline}";
    const source = new LocalSource({ root: Deno.args[0], compute, clock: systemClock });
    const context = { client: "test", recordMiss() {}, requireMiss() {}, charge() {} };
    const snapshot = await source.resolve({ owner: "local", repo: "blog", branch: null }, context);
    const list = await source.files(snapshot, snapshot.commit, context);
    const blobs = await source.blobs(snapshot, [list.at(0)], context);
    console.log(list.length, new TextDecoder().decode(blobs.get(list.at(0).id)));`;
  await folder.write("../script.ts", script);
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--no-check",
      "--cached-only",
      await configFlag(),
      `--allow-read=${folder.root}`,
      `--deny-read=${folder.dir}/no,${folder.dir}/no.md`,
      `${folder.root}/script.ts`,
      folder.root,
    ],
  });
  const { stdout, stderr } = await command.output();
  assertEquals(
    new TextDecoder().decode(stdout),
    "1 A\n\n",
    new TextDecoder().decode(stderr),
  );
});
