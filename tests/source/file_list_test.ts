import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { joinLists, type ListPart } from "../../lib/content/join_lists.ts";
import {
  FileList,
  FileListBuilder,
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

/** A folder with three folders of a file each, and a link. */
function listing() {
  // Git's order: a folder is where its name with a slash would be.
  const names = ["a-b", "a", "a0"];
  const id = "1".repeat(40);
  const entries = TreeEntries.of([
    ...names.map((name) => ({ name, kind: "folder" as const, id, size: 0 })),
    { name: "link", kind: "symbolic link", id, size: 0 },
  ]);
  const below = build([{ path: "b.md", id, size: 1 }]).bytes;
  const folders = new Map(names.map((name) => [`${name}/`, below]));
  return { entries: entries.list.bytes, folders };
}

Deno.test("joinLists() puts parts in byte order without a sort", () => {
  const part = listing();
  const { sort } = Uint32Array.prototype;
  let sorts = 0;
  Uint32Array.prototype.sort = function (...compare) {
    sorts++;
    return sort.apply(this, compare);
  };
  try {
    const list = new FileList(joinLists({ part, maxBytes: Infinity })!);
    const paths = filesOf(list).map(({ path }) => path);
    assertEquals(paths, ["a-b/b.md", "a/b.md", "a0/b.md"]);
    assertEquals(list.omitted, 9);
  } finally {
    Uint32Array.prototype.sort = sort;
  }
  assertEquals(sorts, 0);
});

Deno.test("joinLists() returns null for a list that is too long", () => {
  const part = listing();
  const { length } = joinLists({ part, maxBytes: Infinity })!;
  assertEquals(joinLists({ part, maxBytes: length })!.length, length);
  assertEquals(joinLists({ part, maxBytes: length - 1 }), null);
});

Deno.test("joinLists() returns null for a folder past 64 KiB", () => {
  const below = (part: ListPart, depth: number): ListPart => {
    if (depth === 0) return part;
    const name = "a".repeat(255);
    const id = "1".repeat(40);
    const entries = TreeEntries.of([{ name, kind: "folder", id, size: 0 }]);
    const folders = new Map([[`${name}/`, part]]);
    return below({ entries: entries.list.bytes, folders }, depth - 1);
  };
  const { bytes } = build([{ path: "b.md", id: "1".repeat(40), size: 0 }]);
  const join = (depth: number) =>
    joinLists({ part: below(bytes, depth), maxBytes: Infinity });
  const list = new FileList(join(256)!);
  assertEquals(list.pathAt(0).length, 65_536 + "b.md".length);
  assertEquals(join(257), null);
});

Deno.test("FileList views bytes at any offset if they are whole", () => {
  const all = ["a/b.md", "\ufeffd.md"].map((path, size) => ({
    path,
    id: "1".repeat(40),
    size,
  }));
  const { bytes } = build(all);
  const shifted = new Uint8Array(bytes.length + 1);
  shifted.set(bytes, 1);
  assertEquals(filesOf(new FileList(shifted.subarray(1))), all);
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
