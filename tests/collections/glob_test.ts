import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { Glob } from "../../lib/collections/glob.ts";

/** The plain meaning of a glob, by trying everything. */
function oracle(pattern: string, path: string): boolean {
  return matchSegments(pattern.split("/"), path.split("/"));
}

function matchSegments(globs: string[], names: string[]): boolean {
  const [glob, ...rest] = globs;
  if (glob === undefined) return names.length === 0;
  if (glob === "**") {
    if (rest.length === 0) return names.length > 0;
    return names.some((_, index) => matchSegments(rest, names.slice(index)));
  }
  const [name, ...others] = names;
  return name !== undefined && matchName([...glob], [...name]) && matchSegments(rest, others);
}

function matchName(glob: string[], name: string[]): boolean {
  const [char, ...rest] = glob;
  if (char === undefined) return name.length === 0;
  if (char === "*") {
    return matchName(rest, name) || (name.length > 0 && matchName(glob, name.slice(1)));
  }
  return name.length > 0 && (char === "?" || char === name[0]) && matchName(rest, name.slice(1));
}

Deno.test("Glob.matches() keeps * and ? within a segment", () => {
  const glob = new Glob("*.md");
  assert(glob.matches("hello.md"));
  assert(glob.matches(".md"));
  assert(!glob.matches("hello.mdx"));
  assert(!glob.matches("2026/hello.md"));
  assert(new Glob("a?c").matches("abc"));
  assert(!new Glob("a?c").matches("a/c"));
  assert(!new Glob("a?c").matches("ac"));
  assert(new Glob("?.md").matches("😀.md"));
});

Deno.test("Glob.matches() crosses segments with **", () => {
  assert(new Glob("2026/**").matches("2026/05/hello.md"));
  assert(new Glob("2026/**").matches("2026/hello.md"));
  assert(!new Glob("2026/**").matches("2026"));
  assert(!new Glob("2026/**").matches("20261/hello.md"));
  assert(new Glob("**").matches("a/b/c"));
  assert(new Glob("**/index.md").matches("index.md"));
  assert(new Glob("**/index.md").matches("a/b/index.md"));
  assert(!new Glob("**/index.md").matches("a/myindex.md"));
  assert(new Glob("a/**/b").matches("a/b"));
  assert(new Glob("a/**/**/b").matches("a/x/y/b"));
  assert(!new Glob("a/**/b").matches("a/x/yb"));
});

Deno.test("Glob.matches() takes brackets, braces and backslashes as they are", () => {
  assert(new Glob("[slug].md").matches("[slug].md"));
  assert(!new Glob("[slug].md").matches("s.md"));
  assert(new Glob("{a,b}\\*").matches("{a,b}\\x"));
});

Deno.test("new Glob() refuses what no path can match", () => {
  const patterns = [
    "",
    "/a",
    "a/",
    "a//b",
    "a/../b",
    "./a",
    "a**",
    "**a",
    "***",
    "a\nb",
    "a\u007f",
  ];
  for (const pattern of patterns) assertThrows(() => new Glob(pattern), SyntaxError);
});

Deno.test("Glob.matches() agrees with the plain meaning", () => {
  const segment = fc.string({
    unit: fc.constantFrom("a", "b", "*", "?", "😀"),
    minLength: 1,
    maxLength: 5,
  })
    .map((text) => text.replace(/\*+/g, "*"));
  const pattern = fc.array(fc.oneof(segment, fc.constant("**")), { minLength: 1, maxLength: 5 });
  const name = fc.string({ unit: fc.constantFrom("a", "b", "😀"), minLength: 1, maxLength: 5 });
  const path = fc.array(name, { minLength: 1, maxLength: 5 });
  let matched = 0;
  fc.assert(
    fc.property(pattern, path, (segments, names) => {
      const [glob, text] = [segments.join("/"), names.join("/")];
      const expected = oracle(glob, text);
      if (expected) matched++;
      assertEquals(new Glob(glob).matches(text), expected, `${glob} on ${text}`);
    }),
    { numRuns: 2_000 },
  );
  assert(matched > 100, `only ${matched} of the generated paths match`);
});

Deno.test("Glob.matches() does not blow up", () => {
  // Each of these takes ages where a matcher goes back: 2^n, n^k or pattern times path.
  const path = "a".repeat(4_000);
  assert(!new Glob("*a".repeat(500) + "b").matches(path));
  assertThrows(() => new Glob("a".repeat(1_025)), SyntaxError);
  assert(!new Glob(`*${"a".repeat(1_000)}b`).matches(path));
  assert(!new Glob("**/a/".repeat(200) + "b").matches("a/".repeat(2_000) + "a"));
});
