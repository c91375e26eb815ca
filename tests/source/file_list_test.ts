import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  FileList,
  FileListBuilder,
  isListedPath,
  type ListedFile,
} from "../../lib/source/file_list.ts";

const segment = fc.string({ unit: "binary", minLength: 1, maxLength: 6 })
  .filter((text) => text.isWellFormed() && !text.includes("/") && !text.startsWith("."));
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const id = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => bytes.toHex());
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

function filesOf(list: FileList | null): ListedFile[] {
  assert(list !== null);
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}

Deno.test("FileListBuilder build() gives all files in byte order of path, whatever order they came in", () => {
  fc.assert(fc.property(files, (all) => {
    for (const given of [all, inByteOrder(all)]) {
      assertEquals([filesOf(build(given)), build(given).omitted], [inByteOrder(all), 3]);
    }
  }));
});

Deno.test("isListedPath() refuses what has a segment that begins with a dot", () => {
  const paths = [".a", "b/.c", "b/.c/d", "e", "f.md", "g/h.i/j"];
  assertEquals(paths.filter(isListedPath), ["e", "f.md", "g/h.i/j"]);
});

Deno.test("FileListBuilder addAll() puts a folder's files below its path", () => {
  fc.assert(fc.property(files, files, (a, b) => {
    const builder = new FileListBuilder();
    builder.addAll(build(b), "z");
    builder.addAll(build(a), "y");
    const below = (prefix: string, all: ListedFile[]) =>
      all.map((file) => ({ ...file, path: `${prefix}/${file.path}` }));
    assertEquals(filesOf(builder.build()), inByteOrder([...below("y", a), ...below("z", b)]));
    assertEquals(builder.build().omitted, 6);
  }));
});

Deno.test("FileList indexOf() finds each file and nothing else", () => {
  fc.assert(fc.property(files, path, (all, other) => {
    const list = build(all);
    for (const file of all) assertEquals(list.at(list.indexOf(file.path)), file);
    if (!all.some((file) => file.path === other)) assertEquals(list.indexOf(other), -1);
  }));
});

Deno.test("FileList views the bytes of a list, also from an odd offset", () => {
  fc.assert(fc.property(files, (all) => {
    const list = build(all);
    const bytes = list.bytes;
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    for (const given of [bytes, shifted.subarray(3)]) {
      const read = new FileList(given);
      assertEquals([filesOf(read), read.omitted], [filesOf(list), 3]);
    }
  }));
});

Deno.test("FileList takes no bytes that are cut", () => {
  const bytes = build([{ path: "a/b.md", id: "1".repeat(40), size: 5 }]).bytes;
  for (let length = 0; length < bytes.length; length++) {
    assertThrows(() => new FileList(bytes.slice(0, length)), RangeError);
  }
});
