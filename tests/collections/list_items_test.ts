// Lists at the port of a source: what they contain, what they cost, and which
// client is charged.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ObjectCache } from "../../lib/cache/object_cache.ts";
import { KvTier } from "../../lib/cache/kv_tier.ts";
import { parseItemQuery, parseListQuery } from "../../lib/api/parameters.ts";
import type { ContentBody, ListBody } from "../../lib/api/contract.ts";
import {
  likelyBytes,
  memoryFor,
} from "../../lib/collections/describe_items.ts";
import { listItems } from "../../lib/collections/list_items.ts";
import type {
  Answer,
  ReadContext,
} from "../../lib/collections/read_context.ts";
import { readItem } from "../../lib/collections/read_item.ts";
import type { FilesInput } from "../../lib/content/derive.ts";
import { renderTask } from "../../lib/content/tasks.ts";
import {
  CollectionsError,
  problem,
  serviceBusy,
  sourceFailed,
} from "../../lib/errors.ts";
import { type Compute, TimeLimitError } from "../../lib/thread/compute.ts";
import type { FileRef } from "../../lib/source/source.ts";
import type { Clock } from "../../lib/work/clock.ts";
import { BackgroundJobs } from "../../lib/work/background_jobs.ts";
import { FairQueue, type Permit } from "../../lib/work/fair_queue.ts";
import { WatchedCompute } from "../thread/watched_compute.ts";
import { MemorySource } from "./memory_source.ts";
import { turns } from "../test_clock.ts";

function parse<Body>(
  { bytes, cacheForMs = Infinity }: Answer,
): { body: Body; cacheForMs: number } {
  return { cacheForMs, body: JSON.parse(new TextDecoder().decode(bytes)) };
}

async function list(query: string, read: ReadContext) {
  const parameters = parseListQuery(
    `owner=octo&repo=site&collection=posts&${query}`,
  );
  return parse<ListBody>(await listItems(parameters, read));
}

async function item(query: string, read: ReadContext) {
  const parameters = parseItemQuery(`owner=octo&repo=site&${query}`);
  return parse<ContentBody>(await readItem(parameters, read));
}

async function names(query: string, read: ReadContext): Promise<string> {
  return (await list(query, read)).body.items.map(({ name }) => name).join(" ");
}

async function rejects(
  work: Promise<unknown>,
  code: string,
): Promise<CollectionsError> {
  const error = await assertRejects(() => work, CollectionsError);
  assertEquals(error.code, code, error.message);
  return error;
}

/** What a request for a list was charged. */
async function missesOf(query: string, source: MemorySource): Promise<number> {
  const read = source.read();
  await list(query, read);
  return read.misses();
}

function posts(
  count: number,
  text: (number: number) => string,
): [string, string][] {
  return Array.from(
    { length: count },
    (_, n) => [`posts/${n % 7}/${n}.md`, text(n)],
  );
}

Deno.test("listItems() gives the same however the source truncates", async () => {
  const files: [string, string][] = [
    ...posts(300, (n) => `${n}`),
    ["posts/.hidden/a.md", ""],
    ["posts/b/.c", ""],
    ["posts/x/caf\uFFFD.md", ""],
    ["posts/caf\uFFFD.md", ""],
    ["posts/x\uFFFD/a.md", ""],
  ];
  const whole = await list("limit=1000", new MemorySource(files).read());
  assertEquals(whole.body.items.length, 300);
  assertEquals(whole.body.warnings, [
    "Left out 3 files whose names are not UTF-8",
  ]);
  const flat = await list("recursive=0", new MemorySource(files).read());
  assertEquals(flat.body.warnings, ["Left out a file whose name is not UTF-8"]);
  for (const truncateAt of [200, 50, 10]) {
    const source = new MemorySource(files);
    source.truncateAt = truncateAt;
    assertEquals(await list("limit=1000", source.read()), whole);
    const { tree, files: recursive } = source.counts;
    assertEquals(await missesOf("limit=1000", source), 0);
    assertEquals(source.counts.files, recursive, "nothing is listed again");
    assert(source.counts.tree <= tree + 1);
  }
});

Deno.test("listItems() takes a folder when it is its turn", async () => {
  const source = new MemorySource(
    Array.from({ length: 1_000 }, (_, n) => [`posts/${n}/a.md`, "x"] as const),
  );
  source.truncateAt = 5;
  const { TreeEntries } = await import("../../lib/source/tree_entries.ts");
  const { at } = TreeEntries.prototype;
  const { files } = source;
  let taken = 0;
  let most = 0;
  TreeEntries.prototype.at = function (index) {
    taken++;
    return at.call(this, index);
  };
  source.files = (...args) => {
    most = Math.max(most, taken);
    taken = 0;
    return files.apply(source, args);
  };
  try {
    const { body } = await list("limit=1000", source.read());
    assertEquals(body.items.length, 1_000);
  } finally {
    TreeEntries.prototype.at = at;
  }
  assert(most < 50, `${most} at once`);
});

Deno.test("listItems() takes folders from one tree at a time", async () => {
  const folders = (n: number) => [...`${n}`.padStart(3, "0")].join("/");
  const source = new MemorySource(
    Array.from(
      { length: 1_000 },
      (_, n) => [`posts/${folders(n)}/a.md`, "x"] as const,
    ),
  );
  source.truncateAt = 5;
  const { TreeEntries } = await import("../../lib/source/tree_entries.ts");
  const { ofKind } = TreeEntries.prototype;
  let open = 0;
  let most = 0;
  TreeEntries.prototype.ofKind = function* (kind) {
    most = Math.max(most, ++open);
    try {
      yield* ofKind.call(this, kind);
    } finally {
      open--;
    }
  };
  try {
    const { body } = await list("limit=1000", source.read());
    assertEquals(body.items.length, 1_000);
  } finally {
    TreeEntries.prototype.ofKind = ofKind;
  }
  assertEquals([most, open], [1, 0]);
});

Deno.test("listItems() requests nothing after a folder that fails", async () => {
  const source = new MemorySource(
    Array.from({ length: 1_000 }, (_, n) => [`posts/${n}/a.md`, "x"] as const),
  );
  source.truncateAt = 5;
  const { files } = source;
  let requests = 0;
  source.files = async (...args) => {
    if (++requests === 3) throw sourceFailed("it is down");
    // Others are busy, so the listing goes on much later.
    await turns();
    return await files.apply(source, args);
  };
  await rejects(list("limit=1000", source.read()), "source-failed");
  const before = requests;
  await turns(20);
  assertEquals(requests, before);
  assert(requests <= 1 + 8, `${requests} requests`);
});

Deno.test("listItems() rejects a tree that names a folder twice", async () => {
  // The join would visit 2 ** 12 folders.
  const source = new MemorySource([["posts/f/a.md", "x"], ["posts/b.md", "x"]]);
  const { TreeEntries } = await import("../../lib/source/tree_entries.ts");
  let trees = 0;
  source.files = () => Promise.resolve(null);
  const { tree } = source;
  source.tree = async (snapshot, id) => {
    const entries = [...await tree.call(source, snapshot, id)];
    const [folder] = entries.filter(({ kind }) => kind === "folder");
    if (entries.length === 1 || ++trees > 12) return TreeEntries.of(entries);
    return TreeEntries.of([...entries, { ...folder!, id }]);
  };
  const error = await rejects(
    list("limit=1000", source.read()),
    "source-failed",
  );
  assert(error.message.endsWith("it names a folder twice"), error.message);
});

Deno.test("listItems() charges the request that starts a job", async () => {
  const source = new MemorySource(posts(100, (n) => `---\nn: ${n}\n---\n`));
  source.truncateAt = 5;
  const refused = source.read("198.51.100.1", {
    recordMiss() {
      throw problem("too-many-requests", { retryAfterSeconds: 1 });
    },
  });
  const others = [1, 2, 3].map((n) => source.read(`203.0.113.${n}`));
  const [bad, ...good] = [refused, ...others].map((read) =>
    list("sort=-frontMatter.n", read)
  );

  await rejects(bad!, "too-many-requests");
  for (const result of await Promise.all(good)) {
    assertEquals(result.body.items[0]?.name, "99.md");
  }
  assertEquals(source.counts.blobs, 100, "each file is read once");
  // One request started both jobs, or one each; the others joined.
  const charged = others.reduce((sum, read) => sum + read.misses(), 0);
  assertEquals(charged, 2);
  assertEquals(await missesOf("sort=-frontMatter.n&page=2", source), 0);
  assertEquals(source.counts.blobs, 100);
});

Deno.test("listItems() charges a sort or filter that reads nothing", async () => {
  const source = new MemorySource(posts(50, () => "x"));
  for (const query of ["sort=-name", "filter[path]=!1/*", "sort=size"]) {
    for (const misses of [1, 0]) {
      assertEquals([query, await missesOf(query, source)], [query, misses]);
      assertEquals(source.counts.blobs, 0);
    }
  }
});

Deno.test("listItems() renders HTML in a job", async () => {
  const source = new MemorySource([["posts/a.md", "# A"]]);
  const gate = Promise.withResolvers<void>();
  const compute = new WatchedCompute();
  compute.answer = async (task) => {
    if (task === "render") await gate.promise;
  };
  source.compute = compute;
  const first = source.read();
  const waiting = rejects(list("includeHtml=1", first), "collection-not-ready");
  await turns(20);
  source.clock.advance(8_000);
  await waiting;
  assertEquals(first.misses(), 1, "for the job");
  gate.resolve();
  await turns(20);
  const { body } = await list("includeHtml=1", source.read());
  assert(body.items[0]!.html!.includes("</h1>"));
  assertEquals(compute.filesOf("render"), 1);
});

/**
 * A request for a collection whose paths need memory to be sorted by history.
 * Records what is reserved by the request and by its job.
 */
function readLongPaths() {
  const folder = `posts/${`${"d".repeat(200)}/`.repeat(8)}`;
  const content = "x".repeat(100_000);
  const source = new MemorySource(
    Array.from({ length: 200 }, (_, n) => [`${folder}${n}.md`, content]),
  );
  const reserved: string[] = [];
  const responseMemory = new FairQueue({
    ...{ capacity: 8 << 20, maxWaiting: 0, maxWaitMs: 0 },
    clock: source.clock,
  });
  const { acquire } = responseMemory;
  responseMemory.acquire = (request) => {
    reserved.push("job");
    return acquire.call(responseMemory, request);
  };
  const reserveBytes = () => Promise.resolve(void reserved.push("request"));
  const read = source.read("a", { responseMemory, reserveBytes });
  return { source, read, reserved, path: `${folder}0.md`, responseMemory };
}

Deno.test("a job has memory of its own and releases it", async () => {
  const { source, read, reserved, responseMemory } = readLongPaths();
  const gate = Promise.withResolvers<void>();
  const compute = new WatchedCompute();
  compute.answer = async (task) => {
    if (task === "select") await gate.promise;
  };
  source.compute = compute;
  const dated = list("sort=lastChanged.date", { ...read, compute });
  const waiting = rejects(dated, "collection-not-ready");
  await turns(20);
  source.clock.advance(8_000);
  await waiting;
  gate.resolve();
  while (source.jobs.running > 0) await turns();
  assertEquals([reserved, responseMemory.used], [["job"], 0]);
});

Deno.test("a request that waits for a job holds no memory", async () => {
  const { read, reserved, path, responseMemory } = readLongPaths();
  const query = "collection=posts&includeNeighbors=true&sort=lastChanged.date";
  await item(`path=${path}&${query}`, read);
  assertEquals(reserved.indexOf("job"), 0);
  assert(reserved.includes("request"));
  assertEquals(responseMemory.used, 0);
});

Deno.test("listItems() remembers front matter that is too large", async () => {
  const source = new MemorySource(
    posts(400, (n) => `---\na: ${"x".repeat(60_000)}${n}\n---\n`),
  );
  const error = await rejects(
    list("sort=frontMatter.a", source.read()),
    "collection-too-large",
  );
  assert(error.detail.includes("does not fit into memory"));
  const { blobs } = source.counts;
  assert(blobs > 0);
  const again = source.read();
  await rejects(list("sort=frontMatter.a", again), "collection-too-large");
  assertEquals([source.counts.blobs, again.misses()], [blobs, 0]);
});

/** The tasks of a sort of so many posts by their front matter. */
async function tasksOf(length: number, text = "") {
  const files = Array.from(
    { length },
    (_, n) => [`posts/${n}.md`, `---\nn: ${n}\n---\n${text}`] as const,
  );
  const source = new MemorySource(files);
  const compute = new WatchedCompute();
  source.compute = compute;
  await list("sort=-frontMatter.n", source.read());
  return compute.runs.map(({ task, input }) => {
    const { query } = input as { query?: unknown };
    return query === undefined ? task : `${task} and select`;
  });
}

Deno.test("listItems() selects once the last files are derived", async () => {
  const [first, last] = ["select", "describe-plain"];
  assertEquals(await tasksOf(1_000), [first, "derive and select", last]);
  // Two messages.
  const many = [first, "derive", "derive and select", last];
  assertEquals(await tasksOf(1_000, "x".repeat(1_500)), many);
  const more = [first, "derive", "derive", "select", last];
  assertEquals(await tasksOf(1_001), more);
});

Deno.test("listItems() fails a sort when a file cannot be read", async () => {
  const source = new MemorySource(posts(1_500, (n) => `---\nn: ${n}\n---\n`));
  source.failures.set("posts/3/3.md", sourceFailed("no"));
  await rejects(list("sort=-frontMatter.n", source.read()), "source-failed");
  const all = "includeFrontMatter=true&limit=1000";
  assertEquals((await list(all, source.read())).cacheForMs, 0);
  source.failures.clear();
  const { blobs } = source.counts;
  const query = "sort=-frontMatter.n&limit=2";
  assertEquals(await names(query, source.read()), "1499.md 1498.md");
  assertEquals(source.counts.blobs, blobs + 1);
});

Deno.test("listItems() reads at most 20,000 files for a sort", async () => {
  const files: [string, string][] = [
    ...posts(20_000, () => "---\na: 1\n---\n"),
    ["posts/0/a.png", "png"],
  ];
  const sort = "sort=frontMatter.a";
  const { body } = await list(sort, new MemorySource(files).read());
  assertEquals(body.pagination.totalItems, 20_001);
  const source = new MemorySource([...files, ["posts/0/b.md", ""]]);
  const { detail } = await rejects(
    list(sort, source.read()),
    "collection-too-large",
  );
  assert(detail.includes("20000 files"), detail);
  assertEquals(source.counts.blobs, 0);
  await list(`${sort}&filter[path]=1/**`, source.read());
});

Deno.test("listItems() reads no front matter of a file over the cap", async () => {
  const source = new MemorySource([
    ["posts/a.md", "---\nn: 1\n---\n"],
    ["posts/big.md", `---\nn: 3\n---\n${"x".repeat(1 << 20)}`],
    ["posts/c.md", "---\nn: 2\n---\n"],
  ]);
  const found = {
    "sort=-frontMatter.n": "c.md a.md big.md",
    "filter[frontMatter.n]=!1": "big.md c.md",
  };
  for (const [query, expected] of Object.entries(found)) {
    assertEquals([query, await names(query, source.read())], [query, expected]);
  }
});

Deno.test("listItems() reserves memory before it builds the page", async () => {
  const files = posts(200, () => "x");
  const source = new MemorySource(files);
  const compute = new WatchedCompute();
  source.compute = compute;
  const reserved: number[] = [];
  const busy = source.read("192.0.2.1", {
    reserveBytes(bytes) {
      reserved.push(bytes);
      return Promise.reject(new CollectionsError("service-busy", "full"));
    },
  });
  for (const query of ["limit=200", "limit=200&filter[name]=*.md"]) {
    await rejects(list(query, busy), "service-busy");
  }
  const likely = files.reduce((sum, [path]) => sum + likelyBytes(path, 0), 0);
  assertEquals(reserved.length, 2);
  // The facets and links of a page are beside its items.
  for (const bytes of reserved) {
    assert(bytes > likely && bytes < likely + 2_000, `${bytes}`);
  }
  const tasks = compute.runs.map(({ task }) => task);
  assertEquals(tasks.filter((task) => task.startsWith("describe")), []);
  assertEquals(source.counts.blobs, 0);
});

Deno.test("listItems() reserves memory before it reads contents", async () => {
  const size = 200 << 10;
  const source = new MemorySource([
    ["posts/a.md", "a".repeat(size)],
    ["posts/b.md", "b".repeat(size)],
    ["posts/too-large.md", "c".repeat(size + 1)],
  ]);
  const limits = { maxItemBytes: size, waitMs: 8_000 };
  const busy = source.read("a", {
    limits,
    reserveBytes: () => Promise.reject(serviceBusy("full")),
  });
  await rejects(list("includeContent=true", busy), "service-busy");
  assertEquals(source.counts.blobs, 0);
  const reserved: number[] = [];
  const free = source.read("a", {
    limits,
    reserveBytes: (bytes) => Promise.resolve(void reserved.push(bytes)),
  });
  await list("includeContent=true", free);
  // The page needs no more than what was reserved before it was read.
  const [first = 0, second] = reserved;
  assertEquals([reserved.length, second], [2, first]);
  assert(first > 2 * size, `${first}`);
});

/** A source whose pointers name one object of this size. Counts its reads. */
function sourceOfObject(
  size: number,
  paths: readonly string[],
  others: readonly [string, string][] = [],
) {
  const oid = "a".repeat(64);
  const pointer =
    `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
  const source = new MemorySource([
    ...paths.map((path): [string, string] => [path, pointer]),
    ...others,
  ]);
  const blobs = source.blobs.bind(source);
  const found = { source, reads: 0 };
  source.blobs = async (snapshot, files, context) => {
    const isObject = ({ id }: FileRef) => id === oid;
    const rest = files.filter((file) => !isObject(file));
    const objects = files.filter(isObject);
    found.reads += objects.length;
    return new Map([
      ...await blobs(snapshot, rest, context),
      ...objects.map(({ id }) => [id, new Uint8Array(size).fill(97)] as const),
    ]);
  };
  return found;
}

Deno.test("listItems() reserves memory before it reads Git LFS objects", async () => {
  const size = 100 << 10;
  const found = sourceOfObject(size, ["posts/a.bin"]);
  const busy = found.source.read("a", {
    reserveBytes: (bytes) =>
      bytes > size ? Promise.reject(serviceBusy("full")) : Promise.resolve(),
  });
  await rejects(list("includeContent=true", busy), "service-busy");
  assertEquals(found.reads, 0);
  await list("includeContent=true", found.source.read("a"));
  assertEquals(found.reads, 1);
});

Deno.test("listItems() counts Git LFS objects against its own page", async () => {
  const codesOf = ({ body }: Awaited<ReturnType<typeof list>>) =>
    body.items.map(({ error }) => error?.code);
  const limits = { maxItemBytes: 10 << 20, waitMs: 8_000 };
  // The second object does not fit, but it is the first one.
  const twice = sourceOfObject(3 << 20, ["posts/a.bin", "posts/b.bin"]);
  const page = await list(
    "includeContent=true",
    twice.source.read("a", { limits }),
  );
  assertEquals(codesOf(page), [undefined, undefined]);
  // Another request's job finds the pointer.
  const { source } = sourceOfObject(3 << 19, ["posts/b.md"], [
    ["posts/a.txt", "a".repeat(3 << 20)],
  ]);
  const query = "includeHtml=true";
  const [alone, full] = await Promise.all([
    list(query, source.read("a", { limits })),
    list(`${query}&includeContent=true`, source.read("b", { limits })),
  ]);
  assertEquals(codesOf(alone), [undefined, undefined]);
  assertEquals(codesOf(full), [undefined, "page-too-large"]);
});

Deno.test("listItems() writes a page once more with what it needs", async () => {
  const head = `---\nt: ${"x".repeat(2_000)}\n---\n`;
  const source = new MemorySource(posts(200, () => head));
  const reserved: number[] = [];
  const read = source.read("a", {
    reserveBytes(bytes) {
      reserved.push(bytes);
      return Promise.resolve();
    },
  });
  const { body } = await list("limit=200&includeFrontMatter=true", read);
  const { length } = JSON.stringify(body);
  const [first, second] = [reserved.at(0)!, reserved.at(-1)!];
  assert(first < length);
  assert(second > length - 500 && second < length, `${second} of ${length}`);
});

Deno.test("readItem() reserves a file and its JSON before it reads it", async () => {
  const size = 1 << 20;
  const source = new MemorySource([["posts/a.md", "x".repeat(size)]]);
  const reserved: number[] = [];
  const busy = source.read("192.0.2.1", {
    reserveBytes(bytes) {
      reserved.push(bytes);
      return Promise.reject(new CollectionsError("service-busy", "full"));
    },
  });
  await rejects(item("path=posts/a.md", busy), "service-busy");
  await rejects(item("path=posts/a.md&format=raw", busy), "service-busy");
  const path = "posts/a.md";
  assertEquals(reserved, [size + likelyBytes(path, size), size]);
  assertEquals(source.counts.blobs, 0);
  // A client may have 20 MiB.
  assertEquals(memoryFor(10 * size, 16 * size), 20 * size);
});

/** Memory for files as the service has it. */
const openFileMemory = (clock: Clock) =>
  new FairQueue({
    capacity: 24 << 20,
    maxWaiting: 4,
    maxWaitMs: 30_000,
    clock,
  });

Deno.test("listItems() reserves memory before it reads over 256 KiB", async () => {
  const half = 128 << 10;
  const text = (size: number, fill: string) =>
    "---\nn: 1\n---\n".padEnd(size, fill);
  const source = new MemorySource([
    ["few/a.md", text(half, "a")],
    ["few/b.md", text(half, "b")],
    ["many/a.md", text(half, "c")],
    ["many/b.md", text(half + 1, "d")],
    ["few.csv", "n\n".padEnd(2 * half, "1")],
    ["large.csv", "n\n".padEnd(2 * half + 1, "1")],
  ]);
  const fileMemory = openFileMemory(source.clock);
  const limits = { maxItemBytes: 10 << 20, waitMs: 8_000 };
  const read = source.read("a", { fileMemory, limits });
  const start = (collection: string) =>
    listItems(parseListQuery(`owner=octo&repo=site&${collection}`), read);
  const sort = "sort=frontMatter.n";
  const others = await fileMemory.acquire({ client: "b", weight: 24 << 20 });
  await start(`collection=few&${sort}`);
  await start("collection=few&includeHtml=true");
  await start("collection=few.csv");
  others.release();
  for (
    const collection of [
      `collection=many&${sort}`,
      "collection=many&includeHtml=true",
      "collection=large.csv",
    ]
  ) {
    source.counts.blobs = 0;
    const others = await fileMemory.acquire({ client: "b", weight: 24 << 20 });
    const listing = start(collection);
    while (fileMemory.waiting === 0 && source.counts.blobs === 0) await turns();
    assertEquals(source.counts.blobs, 0);
    others.release();
    await listing;
    assert(source.counts.blobs > 0);
    assertEquals(fileMemory.used, 0);
  }
});

Deno.test("listItems() leaves memory to others while slow files run", async () => {
  /** Tries of four files: how many, whether as long work, KiB reserved. */
  const triesOf = async (kib: number, query: string) => {
    const source = new MemorySource(
      ["a", "b", "c", "d"].map((name) => [
        `posts/${name}.md`,
        "---\nn: 1\n---\n".padEnd(kib << 10, name),
      ]),
    );
    const fileMemory = openFileMemory(source.clock);
    const tries: [files: number, isLong: boolean, usedKib: number][] = [];
    const read = source.read("a", { fileMemory });
    const own = read.compute.run.bind(read.compute);
    const run: Compute["run"] = (task, input, options) => {
      if (task.name !== renderTask.name) return own(task, input, options);
      const { files } = input as FilesInput;
      const { isLong = false } = options;
      tries.push([files.length, isLong, fileMemory.used >> 10]);
      if (!isLong) return Promise.reject(new TimeLimitError("too slow"));
      return own(task, input, options);
    };
    const { body } = await list(query, { ...read, compute: { run } });
    assert(body.items.every(({ html }) => typeof html === "string"));
    assertEquals(fileMemory.used, 0);
    return tries;
  };
  const alone = [[1, false, 0], [1, true, 0]];
  assertEquals(await triesOf(100, "includeHtml=true"), [
    [4, false, 400],
    ...alone.slice(1),
    ...alone,
    ...alone,
    ...alone,
  ]);
  // Long Markdown is not tried for a short time first.
  const long = [1200, 300, 300, 300].map((kib) => [1, true, kib]);
  for (
    const query of ["includeHtml=true", "includeHtml=true&includeContent=true"]
  ) {
    assertEquals(await triesOf(300, query), long);
  }
});

Deno.test("listItems() reserves memory for Git LFS objects", async () => {
  const size = (256 << 10) + 1;
  const { source } = sourceOfObject(size, ["posts/a.md"]);
  const fileMemory = openFileMemory(source.clock);
  const reserved: number[] = [];
  const { blobs } = source;
  source.blobs = (snapshot, files, context) => {
    if (files.some((file) => file.size === size)) {
      reserved.push(fileMemory.used);
    }
    return blobs(snapshot, files, context);
  };
  await list("includeHtml=true", source.read("a", { fileMemory }));
  assertEquals([reserved[0], fileMemory.used], [size, 0]);
});

Deno.test("listItems() sends at most 4 MiB of file bytes a page", async () => {
  const [mib, head] = ["x".repeat(1 << 20), "---\nn: 1\n---\n"];
  const source = new MemorySource([
    ...Array.from({ length: 3 }, (_, n) => [`posts/0/${n}.txt`, mib] as const),
    ["posts/large.md", `${mib}x`],
    // By bytes the first of these, by UTF-16 the second.
    ["posts/\uff5e.md", head.padEnd(1 << 20)],
    ["posts/\u{1f35e}.md", head],
    ["posts/\u{1f35e}0.md", ""],
  ]);
  const query = "includeContent=1&sort=-path";
  const { body: { items } } = await list(query, source.read());
  const found = items.slice(0, 4).map((
    { content, error, frontMatter },
  ) => [error?.code ?? content!.length, frontMatter?.n]);
  assertEquals(found, [
    [0, undefined],
    ["page-too-large", 1],
    [1 << 20, 1],
    ["item-too-large", undefined],
  ]);
});

Deno.test("an error of an item shows 1,000 characters of its path", async () => {
  const folder = `posts/xx/${"🍞/".repeat(5_000)}`;
  const mib = "x".repeat(1 << 20);
  const source = new MemorySource(
    ["", "", "", "", "", "x"].map((more, n) => [
      `${folder}${n}.txt`,
      mib + more,
    ]),
  );
  const { body: { items } } = await list("includeContent=1", source.read());
  const errors = items.flatMap(({ error }) => error ?? []);
  assertEquals(
    errors.map(({ code }) => code),
    ["page-too-large", "item-too-large"],
  );
  for (const { detail } of errors) {
    const shown = detail.slice(detail.indexOf('"') + 1, detail.indexOf('" '));
    assertEquals(shown, `${folder.slice(0, 1_000).toWellFormed()}…`);
    assert(!folder.slice(0, 1_000).isWellFormed());
  }
});

Deno.test("a page has at most 16 MiB of JSON, counted with its escapes", async () => {
  // Six bytes of JSON for each byte of the file, of which four fit into a page.
  const text = "\u0001".repeat((1 << 20) - 4);
  const source = new MemorySource(
    Array.from({ length: 4 }, (_, n) => [`posts/${n}.txt`, text + n]),
  );
  const { body: { items } } = await list("includeContent=1", source.read());
  const codes = items.map(({ error }) => error?.code);
  const cut = "page-too-large";
  assertEquals(codes, [undefined, undefined, cut, cut]);
});

Deno.test("a page has at most 16 MiB of HTML before it is written", async () => {
  // Each reference repeats the address of its definition.
  const text = (references: number) =>
    `${"[a]\n\n".repeat(references)}[a]: /${"x".repeat(20_000)}\n`;
  const source = new MemorySource(
    Array.from({ length: 30 }, (_, n) => [
      `posts/${String(n).padStart(2, "0")}.md`,
      text(n % 3 === 0 ? 10 : 45) + n,
    ]),
  );
  const compute = new WatchedCompute();
  const codesOf = async (query: string) => {
    const read = source.read("a", { compute });
    const { body: { items } } = await list(`includeHtml=1&${query}`, read);
    return items.map(({ error }) => error?.code ?? "");
  };
  await codesOf("limit=10&page=2");
  compute.runs.length = 0;
  // Some HTML is cached the first time, and all of it the last time.
  const answers = [await codesOf(""), await codesOf(""), await codesOf("")];
  assertEquals(answers[1], answers[0]);
  assertEquals(answers[2], answers[0]);
  for (const codes of answers) {
    const fitting = codes.indexOf("page-too-large");
    assert(fitting > 10, `${codes}`);
    assert(codes.slice(fitting).every((code) => code !== ""), `${codes}`);
    for (const { task, input } of compute.runs) {
      if (task !== "describe") continue;
      const { files } = input as { files: { rendered?: Uint8Array }[] };
      const bytes = files.reduce(
        (sum, { rendered }) => sum + (rendered?.length ?? 0),
        0,
      );
      assert(bytes > 8 << 20 && bytes <= 16 << 20, `${bytes}`);
    }
  }
});

const HTML_BYTES = 40 << 20;

const openHtmlMemory = (clock: Clock) =>
  new FairQueue({
    capacity: HTML_BYTES,
    maxWaiting: 4,
    maxWaitMs: 30_000,
    clock,
  });

/** A cache with a store and no room in memory. Counts the HTML it reads. */
async function storedOnly(clock: Clock) {
  const store = await Deno.openKv(":memory:");
  const options = { clock, scope: "test", maxBytesPerHour: Infinity };
  const kv = new KvTier(() => Promise.resolve(store), options);
  const counts = { html: 0 };
  const get = kv.get.bind(kv);
  kv.get = (keys, ...rest) => {
    counts.html += keys.filter(([kind]) => kind!.startsWith("html")).length;
    return get(keys, ...rest);
  };
  return { counts, kv, objects: new ObjectCache({ maxBytes: 1, kv }) };
}

Deno.test("listItems() reads stored HTML until an answer is full", async () => {
  const address = `[a]: /${"x".repeat(20_000)}\n`;
  const source = new MemorySource(
    Array.from({ length: 60 }, (_, n) => [
      `posts/${n + 10}.md`,
      `${"[a]\n\n".repeat(45)}${address}${n}`,
    ]),
  );
  const { counts, kv, objects } = await storedOnly(source.clock);
  const htmlMemory = openHtmlMemory(source.clock);
  const read = source.read("a", { objects, htmlMemory });
  // As many as the store takes at once.
  for (let page = 1; page <= 10; page++) {
    await list(`includeHtml=1&limit=6&page=${page}`, read);
    await kv.flush();
  }
  counts.html = 0;
  const others = await htmlMemory.acquire({ client: "b", weight: 30 << 20 });
  const listing = list("includeHtml=1&limit=60", read);
  while (htmlMemory.waiting === 0 && counts.html === 0) await turns();
  assertEquals(counts.html, 0);
  others.release();
  const { body: { items } } = await listing;
  // One that is too many was read, but no more.
  assertEquals([counts.html, htmlMemory.used], [19, 0]);
  const fitting = items.findIndex(({ error }) =>
    error?.code === "page-too-large"
  );
  assertEquals(fitting, items.filter(({ html }) => html).length);
  assert(fitting > 10 && fitting < 20, `${fitting}`);
  await kv.close();
});

Deno.test("many jobs leave most HTML in the caches", async () => {
  const text = `${"[a]\n\n".repeat(45)}[a]: /${"x".repeat(20_000)}\n`;
  const source = new MemorySource(
    Array.from({ length: 6 }, (_, n) => [`posts/${n}.md`, text + n]),
  );
  const { counts, kv, objects } = await storedOnly(source.clock);
  const jobs = new BackgroundJobs(source.clock);
  Object.defineProperty(jobs, "running", { value: 8 });
  const htmlMemory = openHtmlMemory(source.clock);
  const acquire = htmlMemory.acquire.bind(htmlMemory);
  htmlMemory.acquire = async (request) => {
    await kv.flush();
    counts.html = 0;
    return await acquire(request);
  };
  const read = source.read("a", { htmlMemory, jobs, objects });
  const { body: { items } } = await list("includeHtml=1", read);
  assert(items.every(({ html }) => html !== undefined));
  // Two of 0.9 MB each are 16 MiB / 8.
  assertEquals(counts.html, 4);
  await kv.close();
});

Deno.test("listItems() holds no HTML while it waits for its memory", async () => {
  const text = `${"[a]\n\n".repeat(45)}[a]: /${"x".repeat(20_000)}\n`;
  const source = new MemorySource(
    Array.from({ length: 6 }, (_, n) => [`posts/${n}.md`, text + n]),
  );
  const { counts, kv, objects } = await storedOnly(source.clock);
  const htmlMemory = openHtmlMemory(source.clock);
  const acquire = htmlMemory.acquire.bind(htmlMemory);
  let asked = 0;
  let others: Permit | undefined;
  htmlMemory.acquire = (request) => {
    // The second time the HTML is rendered.
    if (++asked === 2) others = htmlMemory.take("b", HTML_BYTES);
    return acquire(request);
  };
  const read = source.read("a", { objects, htmlMemory });
  let isOver = false;
  const listing = list("includeHtml=1", read).finally(() => isOver = true);
  while (htmlMemory.waiting === 0 && !isOver) await turns();
  await kv.flush();
  counts.html = 0;
  others!.release();
  const { body: { items } } = await listing;
  assert(items.every(({ html }) => html !== undefined));
  assertEquals([counts.html, htmlMemory.used], [6, 0]);
  await kv.close();
});

Deno.test("keys of jobs are short, whatever a request names", async () => {
  const source = new MemorySource([["posts/a.md", "a"]]);
  const keys: string[] = [];
  const { run } = source.jobs;
  source.jobs.run = (options) => {
    keys.push(options.key);
    return run.call(source.jobs, options) as never;
  };
  const filter = `filter[name]=!${"x".repeat(900)}`;
  await list(`sort=lastChanged.date&${filter}`, source.read());
  assertEquals(keys.map((key) => key.length), [64]);
});

Deno.test("a page of paths over 16 MiB is refused", async () => {
  const folder = `${"中".repeat(80)}/`.repeat(15);
  const source = new MemorySource(
    Array.from({ length: 900 }, (_, n) => [`posts/${folder}${n}.md`, "x"]),
  );
  const error = await rejects(
    list("limit=1000", source.read()),
    "collection-too-large",
  );
  assert(error.detail.includes("lower limit"), error.detail);
  await list("limit=100", source.read());
});

Deno.test("listItems() leaves out contentUrl for long paths", async () => {
  const long = `posts/${`${"d".repeat(200)}/`.repeat(21)}long.md`;
  const source = new MemorySource([["posts/ok.md", ""], [long, ""]]);
  const { body: { items } } = await list("", source.read());
  const without = items.filter(({ contentUrl }) => contentUrl === undefined);
  assertEquals(without.map(({ name }) => name), ["long.md"]);
});

Deno.test("an answer has at most 8 MiB of paths", async () => {
  for (const name of ["d".repeat(255), "字".repeat(85)]) {
    const folder = `posts/${`${name}/`.repeat(160)}`;
    const source = new MemorySource(
      Array.from({ length: 210 }, (_, n) => [`${folder}${n}.md`, ""] as const),
    );
    const reserved: number[] = [];
    const read = source.read();
    const reserveBytes = (bytes: number) => {
      reserved.push(bytes);
      return Promise.resolve();
    };
    const error = await rejects(
      list("limit=210&fields=sha", { ...read, reserveBytes }),
      "collection-too-large",
    );
    assert(error.detail.includes("lower limit"), error.detail);
    assertEquals(new Set(reserved), new Set([8 << 20]));
    const { body: { items } } = await list("limit=200&fields=sha", read);
    assertEquals(items.length, 200);
    const dated = list("limit=1&sort=lastChanged.date", source.read());
    const { detail } = await rejects(dated, "collection-too-large");
    assert(detail.includes("leave out the sort"), detail);
    const sitemap = "format=sitemap&linkTemplate=https://example.org/{slug}";
    await rejects(list(sitemap, read), "collection-too-large");
  }
});

Deno.test("a path of over 2,000 folders is refused after 2,000 reads", async () => {
  const path = `${"d/".repeat(2_040)}a.md`;
  const source = new MemorySource([[path, ""]]);
  await rejects(item(`path=${path}`, source.read()), "collection-too-large");
  assertEquals(source.counts.tree, 2_000);
});

Deno.test("readItem() is not cached without a neighbor's front matter", async () => {
  const text = "---\nn: 1\n---\n";
  const source = new MemorySource(
    ["a", "b", "c"].map((name) => [`posts/${name}.md`, text + name]),
  );
  source.failures.set("posts/c.md", sourceFailed("no"));
  const neighbors = "collection=posts&slug=b&includeNeighbors=true";
  const { body, cacheForMs } = await item(neighbors, source.read());
  const { previous, next } = JSON.parse(JSON.stringify(body));
  assertEquals([cacheForMs, previous.frontMatter], [0, { n: 1 }]);
  assertEquals(Object.keys(next), ["name", "path", "slug", "contentUrl"]);
});

Deno.test("an unknown collection is searched for once per commit", async () => {
  const source = new MemorySource([
    ["postings/a.md", ""],
    ["content/recipes/b.md", ""],
    ["content/posts", "a file where a collection usually is"],
    ["data/posts", "another one"],
  ]);
  const first = source.read();
  const { facts, detail } = await rejects(
    list("", first),
    "collection-not-found",
  );
  assertEquals(
    facts.suggestions?.join(" "),
    "postings content data recipes",
  );
  assert(detail.startsWith('"content/posts" is a file, not a folder.'), detail);
  const { tree } = source.counts;
  const second = source.read();
  const again = await rejects(list("", second), "collection-not-found");
  assertEquals([again.detail, again.facts], [detail, facts]);
  assertEquals([first.misses(), second.misses()], [1, 0]);
  assertEquals(source.counts.tree, tree);
});

Deno.test("a page of a named collection finds its folder once", async () => {
  const config =
    "collections: [{ name: posts, folder: deep/er/posts, extension: md }]\n";
  const source = new MemorySource([
    ["admin/config.yml", config],
    ["deep/er/posts/a.md", ""],
    ["deep/er/posts/b.txt", ""],
  ]);
  assertEquals(await names("", source.read()), "a.md");
  const { tree, files } = source.counts;
  await list("page=2&limit=1", source.read());
  assertEquals([source.counts.tree, source.counts.files], [tree, files]);
});

Deno.test("readItem() lists a collection for links of Markdown only", async () => {
  const source = new MemorySource([
    ["posts/a.md", "[b](b.md)"],
    ["posts/binary.md", "\0"],
  ]);
  for (const [name, listings] of [["binary", 0], ["a", 1]] as const) {
    const path = `collection=posts&path=posts/${name}.md`;
    await item(`${path}&includeHtml=true`, source.read());
    assertEquals([name, source.counts.files], [name, listings]);
  }
});

/**
 * Returns how often a sort of 2,000 files reads some of them, and of how many
 * it makes the names at once.
 */
async function readsOf(folder: string) {
  const source = new MemorySource(
    Array.from(
      { length: 2_000 },
      (_, n) => [`posts/${folder}${n}.md`, `${n}`] as const,
    ),
  );
  const { FileList } = await import("../../lib/source/file_list.ts");
  const { at } = FileList.prototype;
  let inARow = 0;
  let most = 0;
  let reads = 0;
  FileList.prototype.at = function (index) {
    most = Math.max(most, ++inARow);
    return at.call(this, index);
  };
  const { blobs } = source;
  source.blobs = (...args) => {
    inARow = 0;
    reads++;
    return blobs.apply(source, args);
  };
  const { compute } = source;
  source.compute = {
    run(...args) {
      // Tasks may name all files.
      inARow = -Infinity;
      return compute.run(...args).finally(() => inARow = 0);
    },
  };
  try {
    await list("sort=frontMatter.title", source.read());
  } finally {
    FileList.prototype.at = at;
  }
  return [reads, most];
}

Deno.test("listItems() names the files to read a few at a time", async () => {
  assertEquals(await readsOf(""), [2, 1_001]);
  assertEquals(await readsOf("d/".repeat(2_000)), [4, 523]);
});
