// Objects through the caches: one request for each, however many callers
// request it.

import { assertEquals, assertRejects } from "@std/assert";
import { countReads } from "../cache/watched_kv.ts";
import { ObjectCache } from "../../lib/cache/object_cache.ts";
import {
  CollectionsError,
  problem,
  sourceFailed,
  sourceRateLimited,
} from "../../lib/errors.ts";
import { CachedSource } from "../../lib/source/cached_source.ts";
import { FileListBuilder, fileListKind } from "../../lib/source/file_list.ts";
import type {
  FileRef,
  RequestContext,
  Snapshot,
} from "../../lib/source/source.ts";
import { TreeEntries } from "../../lib/source/tree_entries.ts";
import { MemorySource } from "../collections/memory_source.ts";
import { turns } from "../test_clock.ts";
import { charged, openStore, uncharged } from "./open_github.ts";

const file = (name: string) => ({
  path: `${name}.md`,
  id: `id of ${name}`,
  size: 1,
});
const bytes = (text: string) => new TextEncoder().encode(text);

/** Counts requests, and answers once `release` is called. */
class CountingSource extends MemorySource {
  readonly trees: string[] = [];
  readonly batches: string[][] = [];
  readonly signals: (AbortSignal | undefined)[] = [];
  /** Why what is requested now cannot be read. */
  failure: Error | null = null;
  private readonly released = Promise.withResolvers<void>();
  readonly release = this.released.resolve;

  override async tree(_snapshot: Snapshot, id: string) {
    this.trees.push(id);
    await this.released.promise;
    if (this.failure !== null) throw this.failure;
    return TreeEntries.of([]);
  }

  override async blobs(
    _snapshot: Snapshot,
    files: readonly FileRef[],
    { signal }: RequestContext,
  ) {
    const { failure } = this;
    this.batches.push(files.map(({ id }) => id));
    this.signals.push(signal);
    await this.released.promise;
    if (failure !== null) throw failure;
    return new Map(files.map(({ id }) => [id, bytes(id)]));
  }
}

/** Caches over a source that counts. */
async function open() {
  const counting = new CountingSource([["a.md", "A\n"]]);
  const { clock } = counting;
  const snapshot: Snapshot = { ...counting.snapshot, freshness: "new" };
  const store = await openStore(clock);
  const kv = store.tier();
  const objects = new ObjectCache({ maxBytes: 1 << 20, kv });
  const source = new CachedSource(counting, {
    objects,
    kv,
    clock,
    commitIds: true,
    edge: null,
  });
  return {
    clock,
    store,
    kv,
    objects,
    counting,
    snapshot,
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
  const recordMiss = () => {
    throw new Error("too many requests");
  };
  const refused = assertRejects(() => tree("1", { ...uncharged, recordMiss }));
  const { misses, context } = charged();
  const all = Promise.all([tree("1", context), tree("1", context)]);
  counting.release();
  await all;
  await refused;
  await tree("1", context);
  assertEquals([counting.trees, misses], [["1"], [false, true]]);
});

Deno.test("CachedSource charges what it reads by its size", async () => {
  using opened = await open();
  const { counting, snapshot, source } = opened;
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
  await tree();
  assertEquals(chargedMs, 2 * 0.5 + 12 / 100_000);
});

Deno.test("CachedSource leaves a failed object alone for its wait", async () => {
  using opened = await open();
  const { clock, counting, tree } = opened;
  counting.release();
  counting.failure = sourceFailed("answered 500");
  for (let times = 0; times < 2; times++) {
    await assertRejects(() => tree("1"), CollectionsError);
  }
  assertEquals(counting.trees, ["1"]);
  // A rate limit has a time of its own.
  counting.failure = sourceRateLimited("spent", 60);
  for (let times = 0; times < 2; times++) {
    await assertRejects(() => tree("2"), CollectionsError);
  }
  assertEquals(counting.trees, ["1", "2", "2"]);
  counting.failure = null;
  clock.advance(5_000);
  await tree("1");
});

Deno.test("CachedSource remembers that a folder is truncated", async () => {
  using opened = await open();
  const { counting, objects, snapshot, source } = opened;
  counting.truncateAt = 0;
  const files = () => source.files(snapshot, snapshot.commit, uncharged);
  assertEquals([await files(), await files()], [null, null]);
  assertEquals(counting.counts.files, 1);
  // A list that was joined from its parts.
  const list = new FileListBuilder().build();
  objects.set(fileListKind, "octo/site", snapshot.commit, list);
  assertEquals(await files(), list);
});

Deno.test("a ref that no process knew reads no objects", async () => {
  using opened = await open();
  const { counting, kv, snapshot, source, store } = opened;
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
  const pages = ["abb", "bc", "ac"].map((names) => blobs(names, context));
  await turns();
  counting.release();
  const [first, second, third] = await Promise.all(pages);
  assertEquals(counting.batches, [["id of a", "id of b"], ["id of c"]]);
  assertEquals([first!.size, second!.size, third!.size], [2, 2, 2]);
  assertEquals(third!.get("id of c"), bytes("id of c"));
  assertEquals(misses, [false, false, true]);
  await blobs("bcd");
  assertEquals(counting.batches.at(-1), ["id of d"]);
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

Deno.test("CachedSource blobs() shares no used-up limit of a client", async () => {
  using opened = await open();
  const { blobs, counting } = opened;
  const failure = problem("too-many-requests", { retryAfterSeconds: 1 });
  counting.failure = failure;
  const first = blobs("abc");
  await turns();
  counting.failure = null;
  const others = [blobs("abd"), blobs("bc")];
  await turns();
  counting.release();
  assertEquals(await first.catch((error) => error), failure);
  const [second, third] = await Promise.all(others);
  for (const name of "abd") {
    assertEquals(second!.get(`id of ${name}`), bytes(`id of ${name}`));
  }
  assertEquals(third!.size, 2);
  const read = counting.batches.slice(1).flat();
  assertEquals(read.sort(), [..."abcd"].map((name) => `id of ${name}`));
});
