import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Reading } from "../../lib/collections/find_entry.ts";
import { FrontMatterStore } from "../../lib/collections/front_matter_store.ts";
import { CollectionsError, sourceFailed } from "../../lib/errors.ts";
import { blobId } from "../../lib/repository/git_object_id.ts";
import type { BlobResult, FileRef, Repository } from "../../lib/repository/repository.ts";
import { countTurns, Ticks } from "../ticks.ts";

/** A repository of texts by path, which counts what is read of it and keeps what is derived. */
class Texts {
  readonly files: FileRef[];
  readonly read: string[] = [];
  readonly kept = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly reading: Reading;
  failing: string | null = null;
  private readonly texts = new Map<string, Uint8Array<ArrayBuffer>>();

  constructor(texts: Record<string, string>) {
    this.files = Object.entries(texts).map(([path, text]) => {
      const bytes = new TextEncoder().encode(text);
      const id = blobId(bytes);
      this.texts.set(id, bytes);
      return { path, id, size: bytes.length };
    });
    const repository: Pick<Repository, "readBlobs" | "keptDerived" | "keepDerived"> = {
      readBlobs: (_snapshot, files) => {
        this.read.push(...files.map(({ path }) => path));
        const results = files.map(({ path, id }): [string, BlobResult] => [
          id,
          path === this.failing ? sourceFailed("no") : this.texts.get(id)!,
        ]);
        return Promise.resolve(new Map(results));
      },
      keptDerived: (_snapshot, key) => Promise.resolve(this.kept.get(key) ?? null),
      keepDerived: (_snapshot, key, bytes) => Promise.resolve(void this.kept.set(key, bytes)),
    };
    this.reading = {
      repository: repository as Repository,
      snapshot: { name: { owner: "o", repo: "r" } } as Reading["snapshot"],
      caller: { miss() {} },
    };
  }
}

function newStore(maxBytes = 1 << 20): FrontMatterStore {
  return new FrontMatterStore({ maxBytes, maxItemBytes: 100_000 });
}

/** What a new store, whose memory is empty, reads of some files of a folder, and the titles. */
async function readAnew(texts: Texts, files: readonly FileRef[], store = newStore()) {
  texts.read.length = 0;
  const found = await store.read(files, texts.reading, { folder: "posts" });
  const titles = files.map(({ id }) => {
    const value = found.get(id);
    return value instanceof Error ? value.message : value?.frontMatter?.title;
  });
  return { read: [...texts.read], titles };
}

const titled = (title: string) => `---\ntitle: ${title}\n---\n`;

Deno.test("FrontMatterStore reads a file once, over stores that share what is kept", async () => {
  const texts = new Texts({
    "posts/a.md": titled("A"),
    "posts/b.md": titled("B"),
    "posts/c.md": "",
  });
  const paths = texts.files.map(({ path }) => path);
  const titles = ["A", "B", undefined];
  const store = newStore();
  assertEquals(await readAnew(texts, texts.files, store), { read: paths, titles });
  assertEquals(await readAnew(texts, texts.files, store), { read: [], titles });
  assertEquals(await readAnew(texts, texts.files), { read: [], titles });
});

Deno.test("FrontMatterStore keeps what it knew of a folder when it reads another part of it", async () => {
  const texts = new Texts({ "posts/a.md": titled("A"), "posts/b.md": titled("B") });
  const [a, b] = texts.files;
  await readAnew(texts, [a!]);
  await readAnew(texts, [b!]);
  assertEquals(await readAnew(texts, texts.files), { read: [], titles: ["A", "B"] });
});

Deno.test("FrontMatterStore needs no more memory than there is to find what is kept", async () => {
  const texts = new Texts(
    Object.fromEntries(
      Array.from({ length: 500 }, (_, at) => [`posts/${at}.md`, titled(`T${at}`)]),
    ),
  );
  const titles = texts.files.map((_, at) => `T${at}`);
  await readAnew(texts, texts.files, newStore(10_000));
  const small = newStore(10_000);
  assertEquals(await readAnew(texts, texts.files, small), { read: [], titles });
  assert(small.bytes <= 10_000);
});

Deno.test("FrontMatterStore reads anew where what is kept is damaged", async () => {
  const texts = new Texts({ "posts/a.md": titled("A") });
  await readAnew(texts, texts.files);
  for (
    const damage of ["", "{", "[1]", "null", '[["a"'].map((text) => new TextEncoder().encode(text))
  ) {
    for (const key of texts.kept.keys()) texts.kept.set(key, damage);
    assertEquals(await readAnew(texts, texts.files), { read: ["posts/a.md"], titles: ["A"] });
  }
});

Deno.test("FrontMatterStore reads no more of a folder after a failure, and keeps what it has", async () => {
  const texts = new Texts(
    Object.fromEntries(
      Array.from({ length: 1_000 }, (_, at) => [`posts/${at}.md`, titled(`T${at}`)]),
    ),
  );
  texts.failing = "posts/7.md";
  const { read, titles } = await readAnew(texts, texts.files);
  assertEquals([read.length, titles[7], titles[8]], [400, "no", "T8"]);
  texts.failing = null;
  assertEquals((await readAnew(texts, texts.files)).read.length, 601);
});

Deno.test("FrontMatterStore takes large files and those of binary types for files without any", () => {
  const texts = new Texts({
    "a.md": titled("A"),
    "a.png": titled("A"),
    "big.md": titled("A") + "x".repeat(100_000),
  });
  const store = newStore();
  assertEquals(texts.files.map((file) => store.mayHold(file)), [true, false, false]);
});

Deno.test("FrontMatterStore refuses a folder whose front matter does not fit into memory", async () => {
  const texts = new Texts(
    Object.fromEntries(
      Array.from(
        { length: 300 },
        (_, at) => [`posts/${at}.md`, titled(`${at}${"x".repeat(90_000)}`)],
      ),
    ),
  );
  const error = await assertRejects(
    () => readAnew(texts, texts.files),
    CollectionsError,
    "does not fit into memory",
  );
  assertEquals(error.code, "collection-too-large");
});

Deno.test("FrontMatterStore counts short text that is large in memory for what it takes", async () => {
  const texts = new Texts({
    "lists.md": `+++\na = [${"[],".repeat(5_500)}]\n+++\n`,
    "tables.md": `+++\na = [${"{},".repeat(5_500)}]\n+++\n`,
  });
  const store = newStore(10 << 20);
  const found = await store.read(texts.files, texts.reading, { folder: null });

  assert([...found.values()].every((value) => !(value instanceof Error) && value.frontMatter));
  // V8 takes about 40 bytes for an empty list in a list, and 62 for an empty table.
  assert(store.bytes > 5_500 * (40 + 62), `${store.bytes}`);
});

Deno.test("FrontMatterStore lets others run while it parses", async () => {
  const texts = new Texts(
    Object.fromEntries(
      Array.from({ length: 1_500 }, (_, at) => [
        `posts/${at}.md`,
        `---\n${
          Array.from({ length: 40 }, (_, line) => `k${line}: [${at}, ${line}]`).join("\n")
        }\n---\n`,
      ]),
    ),
  );
  // Each file is a look at the clock, and every eighth the end of a slice.
  using _ticks = new Ticks({ perLookMs: 1 });
  using others = countTurns();
  await readAnew(texts, texts.files, newStore(64 << 20));
  assert(others.turns > 150, `${others.turns} turns`);
});
