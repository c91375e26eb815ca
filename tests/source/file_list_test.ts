import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { joinLists } from "../../lib/content/join_lists.ts";
import {
  FileList,
  FileListBuilder,
  isListedPath,
  type ListedFile,
} from "../../lib/source/file_list.ts";
import { TreeEntries } from "../../lib/source/tree_entries.ts";

const segment = fc.string({ unit: "binary", minLength: 1, maxLength: 6 })
  .filter((text) =>
    text.isWellFormed() && !text.includes("/") && !text.startsWith(".")
  );
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) =>
  parts.join("/")
);
const id = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) =>
  bytes.toHex()
);
const files: fc.Arbitrary<ListedFile[]> = fc.uniqueArray(
  fc.record({ path, id, size: fc.nat() }),
  { selector: (file) => file.path, maxLength: 300 },
);

function build(all: readonly ListedFile[]): FileList {
  const builder = new FileListBuilder();
  for (const file of all) builder.add(file);
  builder.omit(3);
  return builder.build();
}

function inByteOrder(all: readonly ListedFile[]): ListedFile[] {
  const bytes = (text: string) => new TextEncoder().encode(text).toHex();
  return all.toSorted((a, b) => bytes(a.path) < bytes(b.path) ? -1 : 1);
}

function filesOf(list: FileList): ListedFile[] {
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}

Deno.test("FileList has all files in byte order and finds each", () => {
  fc.assert(fc.property(files, path, (all, other) => {
    for (const given of [all, inByteOrder(all)]) {
      const list = build(given);
      assertEquals([filesOf(list), list.omitted], [inByteOrder(all), 3]);
      for (const file of all) {
        assertEquals(list.at(list.indexOf(file.path)), file);
      }
      if (!all.some((file) => file.path === other)) {
        assertEquals(list.indexOf(other), -1);
      }
    }
  }));
});

Deno.test("joinLists() puts the parts of a listing in order", () => {
  fc.assert(fc.property(files, (all) => {
    const folderOf = (path: string) => path.slice(0, path.indexOf("/") + 1);
    const direct = all.filter(({ path }) => !path.includes("/"));
    const folders = new Map<string, ListedFile[]>();
    for (const file of all) {
      const folder = folderOf(file.path);
      if (folder === "") continue;
      const below = { ...file, path: file.path.slice(folder.length) };
      folders.set(folder, [...folders.get(folder) ?? [], below]);
    }
    // A path may be a file and a folder here, which no tree allows.
    fc.pre(direct.every(({ path }) => !folders.has(`${path}/`)));
    // GitHub shows names that are not UTF-8 so, and they are left out.
    fc.pre(all.every(({ path }) => !path.includes("\uFFFD")));
    const entries = TreeEntries.of([
      ...direct.map(({ path, ...entry }) => ({
        name: path,
        kind: "file" as const,
        ...entry,
      })),
      ...folders.keys().map((path) => (
        {
          name: path.slice(0, -1),
          kind: "folder" as const,
          id: "1".repeat(40),
          size: 0,
        }
      )),
      {
        name: "link",
        kind: "symbolic link" as const,
        id: "2".repeat(40),
        size: 0,
      },
    ]);
    const parts = [...folders].map(([path, below]) =>
      [path, build(below).bytes] as const
    );
    const part = { entries: entries.list.bytes, folders: new Map(parts) };
    const list = new FileList(joinLists({ part, maxBytes: Infinity })!);
    assertEquals(filesOf(list), inByteOrder(all));
    assertEquals(list.omitted, 3 * folders.size);
  }));
});

Deno.test("joinLists() never compares two paths out of order", () => {
  const folder = (name: string) =>
    ({ name, kind: "folder", id: "1".repeat(40), size: 0 }) as const;
  const names = Array.from(
    { length: 300 },
    (_, n) => `f${String(n).padStart(3, "0")}`,
  );
  const entries = TreeEntries.of(names.map(folder)).list.bytes;
  const part =
    build(names.map((path) => ({ path, id: "2".repeat(40), size: 1 }))).bytes;
  const folders = new Map(names.map((name) => [`${name}/`, part]));
  const { sort } = Uint32Array.prototype;
  let sorts = 0;
  Uint32Array.prototype.sort = function (...compare) {
    sorts++;
    return sort.apply(this, compare);
  };
  try {
    const list = joinLists({ part: { entries, folders }, maxBytes: Infinity });
    assertEquals(new FileList(list!).length, 90_000);
  } finally {
    Uint32Array.prototype.sort = sort;
  }
  assertEquals(sorts, 0);
});

Deno.test("joinLists() returns null for a list that is too long", () => {
  const name = "x".repeat(1_000);
  const entries = TreeEntries.of([
    { name, kind: "folder", id: "1".repeat(40), size: 0 },
  ]).list.bytes;
  const files = ["a", "b"].map((path) => ({
    path,
    id: "2".repeat(40),
    size: 1,
  }));
  const folders = new Map([[`${name}/`, build(files).bytes]]);
  const part = { entries, folders };
  const bytes = joinLists({ part, maxBytes: Infinity })!.length;
  assert(bytes > 2_000);
  assertEquals(joinLists({ part, maxBytes: bytes })!.length, bytes);
  assertEquals(joinLists({ part, maxBytes: bytes - 1 }), null);
});

Deno.test("FileList views bytes at any offset if they are whole", () => {
  const id = "1".repeat(40);
  const all = ["a/b.md", "a/c.md", "\ufeffd.md"].map((path, size) => ({
    path,
    id,
    size,
  }));
  const { bytes } = build(all);
  for (let offset = 0; offset < 8; offset++) {
    const shifted = new Uint8Array(bytes.length + offset);
    shifted.set(bytes, offset);
    const list = new FileList(shifted.subarray(offset));
    assertEquals([filesOf(list), list.omitted], [all, 3]);
  }
  for (let length = 0; length < bytes.length; length++) {
    assertThrows(() => new FileList(bytes.slice(0, length)), RangeError);
  }
});

Deno.test("FileList has V8 count the memory that threads share", () => {
  const { bytes } = build([]);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const { ArrayBuffer } = globalThis;
  const counted: number[] = [];
  globalThis.ArrayBuffer = class extends ArrayBuffer {
    constructor(length: number) {
      super(length);
      counted.push(length);
    }
  } as ArrayBufferConstructor;
  try {
    new FileList(shared);
  } finally {
    globalThis.ArrayBuffer = ArrayBuffer;
  }
  assertEquals(counted, [bytes.length]);
});

Deno.test("isListedPath() refuses segments that begin with a dot", () => {
  const paths = [".a", "b/.c", "b/.c/d", "e", "f.md", "g/h.i/j"];
  assertEquals(paths.filter(isListedPath), ["e", "f.md", "g/h.i/j"]);
});
