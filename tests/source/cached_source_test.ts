import { assert, assertEquals, assertRejects } from "@std/assert";
import { MemoryCache } from "../../lib/cache/memory.ts";
import { CollectionsError, sourceFailed, sourceRateLimited } from "../../lib/errors.ts";
import { Backoff } from "../../lib/source/backoff.ts";
import { KeptObjects, type ObjectKind } from "../../lib/source/kept_objects.ts";
import type { BlobResult, FileRef } from "../../lib/source/repository.ts";
import { TestClock } from "../test_clock.ts";
import { freeCaller } from "./repository_suite.ts";

const REPOSITORY = "octo/site";
const KEY = ["tree", REPOSITORY, "1"];

function open() {
  const clock = new TestClock();
  const memory = new MemoryCache({ maxBytes: 1 << 20, now: clock.now });
  const backoff = new Backoff(clock.now);
  const objects = new KeptObjects({ cache: memory, memory, backoff });
  return { clock, memory, backoff, objects };
}

/** Text whose fetches are counted; `answer` may throw. */
function textKind(answer: () => string | Promise<string>) {
  let fetches = 0;
  const kind: ObjectKind<string> = {
    async fetch() {
      fetches++;
      return await answer();
    },
    encode: (text) => new TextEncoder().encode(text),
    decode: (bytes) => bytes.length === 0 ? undefined : new TextDecoder().decode(bytes),
  };
  return { kind, fetches: () => fetches };
}

const file = (name: string): FileRef => ({ path: `${name}.md`, id: `id of ${name}`, size: 1 });
const bytes = (text: string) => new TextEncoder().encode(text);

/** A source of blobs that waits to be let go; each call's ids are written down. */
function blobSource(answer: (id: string) => BlobResult = bytes) {
  const calls: string[][] = [];
  const gate = Promise.withResolvers<void>();
  return {
    calls,
    letGo: () => gate.resolve(),
    async fetch(files: readonly FileRef[]) {
      calls.push(files.map(({ id }) => id));
      await gate.promise;
      return new Map(files.map(({ id }) => [id, answer(id)]));
    },
  };
}

Deno.test("KeptObjects read() fetches once, for all who ask at once and after", async () => {
  const { objects } = open();
  const { kind, fetches } = textKind(() => "tree");
  const read = () => objects.read(KEY, freeCaller, kind);
  assertEquals(await Promise.all([read(), read(), read()]), ["tree", "tree", "tree"]);
  assertEquals([await read(), fetches()], ["tree", 1]);
});

Deno.test("KeptObjects read() fetches again what it cannot decode", async () => {
  const { memory, objects } = open();
  const { kind, fetches } = textKind(() => "tree");
  await memory.set(KEY, new Uint8Array(0), { ttlMs: 1000 });
  assertEquals(await objects.read(KEY, freeCaller, kind), "tree");
  assertEquals(await objects.read(KEY, freeCaller, kind), "tree");
  assertEquals(fetches(), 1);
});

Deno.test("KeptObjects read() leaves a failed object alone for its backoff, and only that one", async () => {
  const { clock, objects } = open();
  let fails = true;
  const { kind, fetches } = textKind(() => {
    if (fails) throw sourceFailed("answered 500");
    return "tree";
  });
  const read = (id: string) => objects.read(["tree", REPOSITORY, id], freeCaller, kind);
  await assertRejects(() => read("1"), CollectionsError);
  await assertRejects(() => read("1"), CollectionsError);
  assertEquals(fetches(), 1);
  fails = false;
  assertEquals(await read("2"), "tree");
  clock.advance(5_000);
  assertEquals(await read("1"), "tree");
});

Deno.test("KeptObjects read() remembers no rate limit, which has a time of its own", async () => {
  const { objects } = open();
  const { kind, fetches } = textKind(() => {
    throw sourceRateLimited("spent", 60);
  });
  await assertRejects(() => objects.read(KEY, freeCaller, kind), CollectionsError);
  await assertRejects(() => objects.read(KEY, freeCaller, kind), CollectionsError);
  assertEquals(fetches(), 2);
});

Deno.test("KeptObjects asks for nothing of a repository that is in backoff, and gives what it keeps", async () => {
  const { backoff, objects } = open();
  const { kind, fetches } = textKind(() => "tree");
  await objects.read(KEY, freeCaller, kind);
  const failure = sourceFailed("answered 500");
  backoff.failed(REPOSITORY, failure);
  assertEquals(await objects.read(KEY, freeCaller, kind), "tree");
  const error = await assertRejects(() =>
    objects.read(["tree", REPOSITORY, "2"], freeCaller, kind)
  );
  assertEquals([error, fetches()], [failure, 1]);
  const source = blobSource();
  const options = { caller: freeCaller, fetch: source.fetch };
  const blobs = await objects.readBlobs(REPOSITORY, [file("a")], options);
  assertEquals([blobs.get(file("a").id), source.calls], [failure, []]);
});

Deno.test("KeptObjects readBlobs() asks for what is missing in one batch, in order of path", async () => {
  const { objects } = open();
  const source = blobSource();
  source.letGo();
  const read = (...names: string[]) =>
    objects.readBlobs(REPOSITORY, names.map(file), { caller: freeCaller, fetch: source.fetch });
  await read("b");
  const blobs = await read("c", "b", "a");
  assertEquals(source.calls, [["id of b"], ["id of a", "id of c"]]);
  assertEquals([...blobs.keys()].sort(), ["id of a", "id of b", "id of c"]);
  assertEquals(blobs.get("id of b"), bytes("id of b"));
});

Deno.test("KeptObjects readBlobs() shares with other pages what is on its way", async () => {
  const { objects } = open();
  const source = blobSource();
  const misses: (boolean | undefined)[] = [];
  const caller = { miss: (options?: { joined: boolean }) => void misses.push(options?.joined) };
  const read = (...names: string[]) =>
    objects.readBlobs(REPOSITORY, names.map(file), { caller, fetch: source.fetch });
  const pages = [read("a", "b"), read("b", "c"), read("a", "c")];
  await new Promise((resume) => setTimeout(resume));
  source.letGo();
  const [first, second, third] = await Promise.all(pages);
  assertEquals(source.calls, [["id of a", "id of b"], ["id of c"]]);
  assertEquals([first!.size, second!.size, third!.size], [2, 2, 2]);
  assertEquals(third!.get("id of c"), bytes("id of c"));
  assertEquals(misses, [false, false, true], "who joins causes nothing");
});

Deno.test("KeptObjects readBlobs() keeps no failed file, and leaves it alone for its backoff", async () => {
  const { clock, objects } = open();
  let fails = true;
  const source = blobSource((id) =>
    fails && id === "id of b" ? sourceFailed("wrong bytes") : bytes(id)
  );
  source.letGo();
  const read = () =>
    objects.readBlobs(REPOSITORY, ["a", "b"].map(file), {
      caller: freeCaller,
      fetch: source.fetch,
    });
  const first = await read();
  assertEquals(first.get("id of a"), bytes("id of a"));
  assert(first.get("id of b") instanceof CollectionsError);
  assert((await read()).get("id of b") instanceof CollectionsError);
  assertEquals(source.calls.length, 1);
  fails = false;
  clock.advance(5_000);
  assertEquals((await read()).get("id of b"), bytes("id of b"));
  assertEquals(source.calls.at(-1), ["id of b"]);
});

Deno.test("KeptObjects readBlobs() goes on for the others when one caller leaves", async () => {
  const { objects } = open();
  const source = blobSource();
  const leaver = new AbortController();
  const read = (signal?: AbortSignal) =>
    objects.readBlobs(REPOSITORY, [file("a")], {
      caller: { miss() {}, ...signal === undefined ? {} : { signal } },
      fetch: source.fetch,
    });
  const left = read(leaver.signal);
  const stayed = read();
  await new Promise((resume) => setTimeout(resume));
  leaver.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  source.letGo();
  assertEquals((await stayed).get("id of a"), bytes("id of a"));
  assertEquals(source.calls.length, 1);
});

Deno.test("KeptObjects readBlobs() joins no batch that all have left", async () => {
  const { objects } = open();
  const leaver = new AbortController();
  const source = blobSource();
  const misses: (boolean | undefined)[] = [];
  const read = (signal: AbortSignal | null, ...names: string[]) =>
    objects.readBlobs(REPOSITORY, names.map(file), {
      caller: {
        miss: (options) => void misses.push(options?.joined),
        ...signal === null ? {} : { signal },
      },
      fetch: source.fetch,
    });
  const left = read(leaver.signal, "a", "b");
  await new Promise((resume) => setTimeout(resume));
  leaver.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  // The request of those who left has not been dropped yet.
  const pages = [read(null, "a"), read(null, "b")];
  await new Promise((resume) => setTimeout(resume));
  source.letGo();
  const [first, second] = await Promise.all(pages);
  assertEquals([first!.get("id of a"), second!.get("id of b")], [
    bytes("id of a"),
    bytes("id of b"),
  ]);
  assertEquals(misses, [false, false, false]);
});
