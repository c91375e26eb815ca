import { assert, assertThrows } from "@std/assert";
import { compileGlob } from "../../lib/collections/glob.ts";

Deno.test("compileGlob() keeps * and ? within a segment, crosses with **, takes the rest as it is", () => {
  const rows: [pattern: string, matching: string, others: string][] = [
    ["*.md", "hello.md .md a.md.md", "hello.mdx 2026/hello.md"],
    ["*ab*b", "ab.b aab.abb", "ab aba a/b.b"],
    ["ab*", "ab abc", "a"],
    ["a?c", "abc", "a/c ac"],
    ["?.md", "😀.md", ".md ab.md"],
    ["2026/**", "2026/05/hello.md 2026/hello.md", "2026 20261/hello.md"],
    ["**/index.md", "index.md a/b/index.md", "a/myindex.md"],
    ["**/a/b", "a/b a/a/b b/a/a/b", "a/b/a a/x/b"],
    ["a/**/b", "a/b a/x/y/b a/b/b", "a/x/yb"],
    ["a/**/**/b", "a/x/y/b a/b", "a/b/c"],
    ["[slug].md", "[slug].md", "s.md"],
    ["{a,b}\\*", "{a,b}\\x", "a\\x"],
  ];
  for (const [pattern, matching, others] of rows) {
    const matches = compileGlob(pattern);
    for (const path of matching.split(" ")) assert(matches(path), `${pattern} on ${path}`);
    for (const path of others.split(" ")) assert(!matches(path), `${pattern} on ${path}`);
  }
});

Deno.test("compileGlob() refuses what no path can match", () => {
  const patterns = ["", "/a", "a/", "a//b", "a/../b", "./a", "a**", "**a", "***", "a\nb", "a\x7f"];
  for (const pattern of patterns) assertThrows(() => compileGlob(pattern), SyntaxError);
});

Deno.test("compileGlob() does not blow up", () => {
  // Each of these takes ages where a matcher goes back: 2^n, n^k or pattern times path.
  const path = "a".repeat(4_000);
  assert(!compileGlob("*a".repeat(500) + "b")(path));
  assert(!compileGlob(`*${"a".repeat(1_000)}b`)(path));
  assert(!compileGlob("**/a/".repeat(200) + "b")("a/".repeat(2_000) + "a"));
});
