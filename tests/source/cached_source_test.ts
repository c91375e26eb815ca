// Objects through the caches: one request for each, however many callers
// request it.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { countReads } from "../cache/watched_kv.ts";
import { ObjectCache } from "../../lib/cache/object_cache.ts";
import {
  CollectionsError,
  sourceFailed,
  sourceRateLimited,
} from "../../lib/errors.ts";
import { TreeEntries } from "../../lib/source/tree_entries.ts";
import { CachedSource } from "../../lib/source/cached_source.ts";
import { FileListBuilder, fileListKind } from "../../lib/source/file_list.ts";
import {
  backgroundContext,
  type BlobResult,
  type RequestContext,
  type Snapshot,
  type Source,
} from "../../lib/source/source.ts";
import { TestClock, turns } from "../test_clock.ts";
import { charged, openStore, uncharged } from "./open_github.ts";

const file = (name: string) => ({
  path: `${name}.md`,
  id: `id of ${name}`,
  size: 1,
});
const bytes = (text: string) => new TextEncoder().encode(text);

const snapshot: Snapshot = {
  name: { owner: "octo", repo: "site" },
  branch: "main",
  commit: "c",
  ref: { commit: "c", checkedAtMs: 1, freshForMs: 60_000, wantedAtMs: 1 },
  checkedAtMs: 1,
  freshness: "new",
  validators: "",
};

/**
 * Caches over a source that counts requests, and answers once `release` is
 * called.
 */
async function open() {
  const clock = new TestClock();
  const store = await openStore(clock);
  const kv = store.tier();
  const objects = new ObjectCache({ maxBytes: 1 << 20, kv });
  const released = Promise.withResolvers<void>();
  const counting = {
    trees: [] as string[],
    batches: [] as string[][],
    signals: [] as (AbortSignal | undefined)[],
    /** Why trees cannot be read. */
    failure: null as Error | null,
    answerBlob: (id: string): BlobResult => bytes(id),
    release: released.resolve,
  };
  const counted: Source = {
    resolve: () => Promise.resolve(snapshot),
    async tree(_, id) {
      counting.trees.push(id);
      await released.promise;
      if (counting.failure !== null) throw counting.failure;
      return TreeEntries.of([]);
    },
    files() {
      counting.trees.push("files");
      return Promise.resolve(null);
    },
    at: () => Promise.resolve(null),
    filesAt: () => Promise.resolve(null),
    async blobs(_, files, { signal }) {
      counting.batches.push(files.map(({ id }) => id));
      counting.signals.push(signal);
      await released.promise;
      return new Map(files.map(({ id }) => [id, counting.answerBlob(id)]));
    },
    history: () => Promise.resolve({ changes: new Map(), parent: null }),
    webUrl: () => null,
  };
  const source = new CachedSource(counted, {
    objects,
    kv,
    clock,
    freshForMs: 60_000,
    commitIds: true,
    edge: null,
  });
  return {
    clock,
    store,
    kv,
    objects,
    counting,
    source,
    tree: (id: string, context = uncharged) =>
      source.tree(snapshot, id, context),
    blobs: (names: string, context = uncharged) =>
      source.blobs(snapshot, names.split("").map(file), context),
    [Symbol.dispose]: () => store[Symbol.dispose](),
  };
}

Deno.test("CachedSource reads a tree once for all requests", async () => {
  using opened = await open();
  const { counting, tree } = opened;
  const recordMiss: RequestContext["recordMiss"] = () => {
    throw new Error("too many requests");
  };
  const refused = assertRejects(
    () => tree("1", { ...backgroundContext("a"), recordMiss }),
    Error,
    "too many",
  );
  const { misses, context } = charged();
  const all = Promise.all([
    tree("1", context),
    tree("1", context),
    tree("1", context),
  ]);
  counting.release();
  await all;
  await refused;
  await tree("1", context);
  assertEquals([counting.trees, misses], [["1"], [false, true, true]]);
});

Deno.test("CachedSource charges what it reads by its size", async () => {
  using opened = await open();
  const { counting, source } = opened;
  const known: Snapshot = { ...snapshot, freshness: "fresh" };
  let chargedMs = 0;
  const charge = (processorMs: number) => void (chargedMs += processorMs);
  const context = { ...uncharged, charge };
  counting.release();
  const tree = () => source.tree(known, "1", context);
  // Both look into the store; what one of them reads from the source is charged
  // once.
  await Promise.all([tree(), tree()]);
  assertEquals(chargedMs, 2 * 0.5 + 12 / 100_000);
  chargedMs = 0;
  await tree();
  assertEquals(chargedMs, 0);
  const blobs = await source.blobs(known, ["a", "b"].map(file), context);
  const [a, b] = [...blobs.values()].map((blob) => (blob as Uint8Array).length);
  assertEquals(chargedMs, 2 * 0.5 + a! / 100_000 + b! / 100_000);
});

Deno.test("CachedSource leaves a failed object alone for its wait", async () => {
  using opened = await open();
  const { clock, counting, tree } = opened;
  counting.release();
  counting.failure = sourceFailed("answered 500");
  await assertRejects(() => tree("1"), CollectionsError);
  const { misses, context } = charged();
  await assertRejects(() => tree("1", context), CollectionsError);
  assertEquals([counting.trees, misses], [["1"], []]);
  counting.failure = sourceRateLimited("spent", 60);
  for (let times = 0; times < 2; times++) {
    await assertRejects(() => tree("2"), CollectionsError);
  }
  assertEquals(
    counting.trees,
    ["1", "2", "2"],
    "a rate limit has a time of its own",
  );
  counting.failure = null;
  clock.advance(5_000);
  await tree("1");
  assertEquals(counting.trees, ["1", "2", "2", "1"]);
});

Deno.test("CachedSource remembers that a folder is truncated", async () => {
  using opened = await open();
  const { counting, objects, source } = opened;
  const files = () => source.files(snapshot, "1", uncharged);
  assertEquals([await files(), await files()], [null, null]);
  assertEquals(counting.trees, ["files"]);
  const list = new FileListBuilder();
  list.add({ path: "a.md", id: "1".repeat(40), size: 1 });
  objects.set(fileListKind, "octo/site", "1", list.build());
  assertEquals((await files())?.length, 1);
});

Deno.test("a ref that no process knew reads no objects", async () => {
  using opened = await open();
  const { counting, kv, source, store } = opened;
  const reads = countReads(store.kv);
  counting.release();
  await source.tree(snapshot, "1", uncharged);
  await source.blobs(snapshot, [file("a")], uncharged);
  assertEquals([snapshot.freshness, reads.count], ["new", 0]);
  await kv.flush();
  const known = { ...snapshot, freshness: "fresh" } as const;
  await source.blobs(known, ["a", ..."bcdefghij"].map(file), uncharged);
  assertEquals(reads.count, 1, "all that memory does not have, together");
});

Deno.test("CachedSource blobs() requests what is missing in one batch", async () => {
  using opened = await open();
  const { blobs, counting } = opened;
  const { misses, context } = charged();
  const pages = [
    blobs("abb", context),
    blobs("bc", context),
    blobs("ac", context),
  ];
  await turns();
  counting.release();
  const [first, second, third] = await Promise.all(pages);
  assertEquals(counting.batches, [["id of a", "id of b"], ["id of c"]]);
  assertEquals([first!.size, second!.size, third!.size], [2, 2, 2]);
  assertEquals(third!.get("id of c"), bytes("id of c"));
  assertEquals(misses, [false, false, true]);
  const later = await blobs("bcd");
  assertEquals(counting.batches.at(-1), ["id of d"]);
  assertEquals([later.size, later.get("id of b")], [3, bytes("id of b")]);
});

Deno.test("CachedSource blobs() caches no failed file", async () => {
  using opened = await open();
  const { blobs, clock, counting } = opened;
  counting.release();
  counting.answerBlob = (id) =>
    id === "id of b" ? sourceFailed("wrong bytes") : bytes(id);
  for (let times = 0; times < 2; times++) {
    const found = await blobs("ab");
    assertEquals(found.get("id of a"), bytes("id of a"));
    assert(found.get("id of b") instanceof CollectionsError);
  }
  assertEquals(counting.batches.length, 1);
  counting.answerBlob = bytes;
  clock.advance(5_000);
  assertEquals((await blobs("ab")).get("id of b"), bytes("id of b"));
  assertEquals(counting.batches.at(-1), ["id of b"]);
});

Deno.test("CachedSource blobs() goes on while someone waits", async () => {
  using opened = await open();
  const { blobs, counting } = opened;
  const leave = async (names: string) => {
    const leaver = new AbortController();
    const left = blobs(names, charged(leaver.signal).context);
    await turns();
    leaver.abort(new Error("left"));
    await assertRejects(() => left, Error, "left");
  };
  const stays = blobs("a");
  await leave("a");
  assertEquals(counting.batches.length, 1);
  await leave("bc");
  assertEquals(counting.signals.map((signal) => signal?.aborted), [
    false,
    true,
  ]);
  // The requests of that batch have not ended yet.
  const { misses, context } = charged();
  const pages = [stays, blobs("b", context), blobs("c", context)];
  await turns();
  counting.release();
  const [first, second, third] = await Promise.all(pages);
  assertEquals([first!.size, second!.size, third!.size], [1, 1, 1]);
  assertEquals(misses, [false, false]);
});
