import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { compileGlob } from "../../lib/content/glob.ts";

Deno.test("compileGlob() refuses what no path can match", () => {
  const patterns = "|/a|a/|a//b|a/../b|./a|a**|**a|***|a\nb|a\x7f";
  for (const pattern of patterns.split("|")) {
    assertThrows(() => compileGlob(pattern), SyntaxError);
  }
});

Deno.test("compileGlob() bounds stars and segments", () => {
  const long = [
    "*a".repeat(17),
    `${"a/".repeat(32)}a`,
    "**/a/".repeat(17) + "a",
  ];
  for (const pattern of long) {
    assertThrows(() => compileGlob(pattern), SyntaxError, "more than");
  }
  assert(compileGlob("*a".repeat(16))("a".repeat(16)));
  assert(compileGlob(`${"a/".repeat(31)}a`)(`${"a/".repeat(31)}a`));
});

Deno.test("compileGlob() agrees with a matcher that tries everything", () => {
  const piece = fc.constantFrom(
    ..."a b * ? / ** /**/ é 😀 [a] {a,b} \\".split(" "),
  );
  const pattern = fc.array(piece, { minLength: 1, maxLength: 8 }).map((parts) =>
    parts.join("")
  );
  const char = fc.constantFrom(..."a b / 😀 [a] {a,b} \\".split(" "));
  const path = fc.array(char, { minLength: 1, maxLength: 8 }).map((parts) =>
    parts.join("")
  )
    .filter((path) => !/^\/|\/\/|\/$/.test(path));
  fc.assert(
    fc.property(pattern, path, (pattern, path) => {
      let matches;
      try {
        matches = compileGlob(pattern);
      } catch {
        return;
      }
      const source = pattern.split("/").map((segment) => {
        if (segment === "**") return "**";
        const signs: Record<string, string> = { "*": "[^/]*", "?": "[^/]" };
        return [...segment].map((char) => signs[char] ?? RegExp.escape(char))
          .join("");
      });
      let expression = "";
      for (const [at, segment] of source.entries()) {
        const isLast = at === source.length - 1;
        if (segment !== "**") expression += segment + (isLast ? "" : "/");
        else expression += isLast ? "[^/]+(/[^/]+)*" : "([^/]+/)*";
      }
      assertEquals([pattern, path, matches(path)], [
        pattern,
        path,
        new RegExp(`^${expression}$`, "u").test(path),
      ]);
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("compileGlob() reads a path once for each literal", () => {
  /**
   * How many characters the patterns look at, counted by the methods that look.
   */
  const stepsOf = (pattern: string, length: number) => {
    let steps = 0;
    const { indexOf } = String.prototype;
    String.prototype.indexOf = function (text: string, from = 0) {
      const found = indexOf.call(this, text, from);
      steps += (found < 0 ? this.length : found + text.length) - from;
      return found;
    };
    try {
      compileGlob(pattern)(`${"ab".repeat(length / 2)}.md`);
    } finally {
      String.prototype.indexOf = indexOf;
    }
    return steps;
  };
  const pattern = `${"*b".repeat(10)}*c*.md`;
  const [once, twice] = [stepsOf(pattern, 1_000), stepsOf(pattern, 2_000)];
  assert(once > 0 && twice <= 2.1 * once, `${once} ${twice}`);
});
