// @std/path as this service relies on it. The same tests run on the stand-in and the published package.

import { assert, assertEquals } from "@std/assert";
import {
  basename,
  dirname,
  extname,
  fromFileUrl,
  isAbsolute,
  join,
  normalize,
  relative,
  resolve,
  SEPARATOR,
  toFileUrl,
} from "@std/path";

Deno.test("join() and normalize() fold dots and slashes", () => {
  assertEquals(join("a", "..", "b", "./c"), ["b", "c"].join(SEPARATOR));
  assertEquals(normalize("a//b/../c"), ["a", "c"].join(SEPARATOR));
  assertEquals(join("a", "../../b"), ["..", "b"].join(SEPARATOR));
});

Deno.test("dirname(), basename() and extname() take a path apart", () => {
  const path = join("a", "b.test.md");

  assertEquals(dirname(path), "a");
  assertEquals(basename(path), "b.test.md");
  assertEquals(basename(path, ".md"), "b.test");
  assertEquals(extname(path), ".md");
  assertEquals(extname(".env"), "");
});

Deno.test("resolve() and relative() are each other's opposite", () => {
  const root = resolve("root");

  assert(isAbsolute(root));
  assertEquals(relative(root, resolve(root, "a", "b")), join("a", "b"));
  assertEquals(relative(root, resolve(root, "..")), "..");
});

Deno.test("toFileUrl() and fromFileUrl() preserve every character of a path", () => {
  const path = resolve("a b", "ü#?%.md");

  assertEquals(fromFileUrl(toFileUrl(path)), path);
  assertEquals(toFileUrl(path).protocol, "file:");
});
