import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { compileGlob } from "../../lib/collections/glob.ts";

/** The meaning of a glob of letters, as a regular expression. */
function expressionOf(glob: string): RegExp {
  const segments = glob.split("/").map((segment) =>
    segment === "**" ? "**" : segment.replaceAll("*", "[^/]*").replaceAll("?", "[^/]")
  );
  const last = segments.pop()!;
  const before = segments.map((segment) => segment === "**" ? "([^/]+/)*" : `${segment}/`);
  return new RegExp(`^${before.join("")}${last === "**" ? ".+" : last}$`, "u");
}

Deno.test("compileGlob() keeps * and ? within a segment, crosses with **, takes the rest as it is", () => {
  const rows: [pattern: string, matching: string, others: string][] = [
    ["*.md", "hello.md .md", "hello.mdx 2026/hello.md"],
    ["a?c", "abc", "a/c ac"],
    ["?.md", "😀.md", ".md ab.md"],
    ["2026/**", "2026/05/hello.md 2026/hello.md", "2026 20261/hello.md"],
    ["**/index.md", "index.md a/b/index.md", "a/myindex.md"],
    ["a/**/b", "a/b a/x/y/b", "a/x/yb"],
    ["a/**/**/b", "a/x/y/b a/b", "a/b/c"],
    ["[slug].md", "[slug].md", "s.md"],
    ["{a,b}\\*", "{a,b}\\x", "a\\x"],
  ];
  assert(compileGlob("**")("a/b/c"));
  for (const [pattern, matching, others] of rows) {
    const matches = compileGlob(pattern);
    for (const path of matching.split(" ")) assert(matches(path), `${pattern} on ${path}`);
    for (const path of others.split(" ")) assert(!matches(path), `${pattern} on ${path}`);
  }
});

Deno.test("compileGlob() refuses what no path can match", () => {
  const patterns = ["", "/a", "a/", "a//b", "a/../b", "./a", "a**", "**a", "***", "a\nb", "a\x7f"];
  for (const pattern of [...patterns, "a".repeat(1_025)]) {
    assertThrows(() => compileGlob(pattern), SyntaxError);
  }
});

Deno.test("compileGlob() agrees with the plain meaning", () => {
  const segment = fc.string({ unit: fc.constantFrom(..."ab*?😀"), minLength: 1, maxLength: 5 })
    .map((text) => text.replace(/\*+/g, "*"));
  const pattern = fc.array(fc.oneof(segment, fc.constant("**")), { minLength: 1, maxLength: 5 });
  const name = fc.string({ unit: fc.constantFrom(..."ab😀"), minLength: 1, maxLength: 5 });
  const path = fc.array(name, { minLength: 1, maxLength: 5 });
  let matched = 0;
  fc.assert(
    fc.property(pattern, path, (segments, names) => {
      const [glob, text] = [segments.join("/"), names.join("/")];
      const expected = expressionOf(glob).test(text);
      if (expected) matched++;
      assertEquals(compileGlob(glob)(text), expected, `${glob} on ${text}`);
    }),
    { numRuns: 2_000 },
  );
  assert(matched > 100, `only ${matched} of the generated paths match`);
});

Deno.test("compileGlob() does not blow up", () => {
  // Each of these takes ages where a matcher goes back: 2^n, n^k or pattern times path.
  const path = "a".repeat(4_000);
  assert(!compileGlob("*a".repeat(500) + "b")(path));
  assert(!compileGlob(`*${"a".repeat(1_000)}b`)(path));
  assert(!compileGlob("**/a/".repeat(200) + "b")("a/".repeat(2_000) + "a"));
});
