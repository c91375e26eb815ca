import { assertEquals, assertThrows } from "@std/assert";
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

function filesOf(list: FileList): ListedFile[] {
  return Array.from({ length: list.length }, (_, index) => list.at(index));
}

Deno.test("FileList has all files in byte order of path, whatever order they came in, and finds each and no other", () => {
  fc.assert(fc.property(files, path, (all, other) => {
    for (const given of [all, inByteOrder(all)]) {
      const list = build(given);
      assertEquals([filesOf(list), list.omitted], [inByteOrder(all), 3]);
      for (const file of all) assertEquals(list.at(list.indexOf(file.path)), file);
      if (!all.some((file) => file.path === other)) assertEquals(list.indexOf(other), -1);
    }
  }));
});

Deno.test("FileListBuilder addAll() puts a folder's files below its path", () => {
  fc.assert(fc.property(files, files, (a, b) => {
    const builder = new FileListBuilder();
    builder.addAll(build(b), "z");
    builder.addAll(build(a), "y");
    const below = (prefix: string, all: ListedFile[]) =>
      all.map((file) => ({ ...file, path: `${prefix}/${file.path}` }));
    const list = builder.build();
    assertEquals(filesOf(list), inByteOrder([...below("y", a), ...below("z", b)]));
    assertEquals(list.omitted, 6);
  }));
});

Deno.test("FileList views the bytes of a list, at any offset, and takes none that are cut", () => {
  const id = "1".repeat(40);
  const all = ["a/b.md", "a/c.md", "\ufeffd.md"].map((path, size) => ({ path, id, size }));
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

Deno.test("isListedPath() refuses what has a segment that begins with a dot", () => {
  const paths = [".a", "b/.c", "b/.c/d", "e", "f.md", "g/h.i/j"];
  assertEquals(paths.filter(isListedPath), ["e", "f.md", "g/h.i/j"]);
});
