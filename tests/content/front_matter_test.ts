import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { splitFenced } from "../../lib/content/file_text.ts";
import { readFrontMatter } from "../../lib/content/front_matter.ts";
import type { PlainObject, PlainValue } from "../../lib/content/plain_value.ts";

function read(text: string): PlainObject {
  const result = readFrontMatter(text);
  assert(
    result.frontMatter,
    `no front matter: ${JSON.stringify(result).slice(0, 200)}`,
  );
  return result.frontMatter;
}

/** The error of a text, which is one short line. */
function failure(text: string): { message: string; line: number } {
  const error = readFrontMatter(text).frontMatterError;
  assert(error, `no error: ${text.slice(0, 50)}`);
  assert(
    error.message.length > 0 && error.message.length <= 160,
    error.message,
  );
  assert(!/\p{Cc}/u.test(error.message), error.message);
  return error;
}

Deno.test("front matter is the mapping between the fences", () => {
  const rows: [text: string, frontMatter: PlainObject, body: string][] = [
    ["---\ntitle: Hello\n---\n# Hello\n", { title: "Hello" }, "# Hello\n"],
    ['+++\ntitle = "Hello"\n+++\n\nText', { title: "Hello" }, "\nText"],
    ["---\r\na: 1\r\nb: x\r\n---\r\nbody\r\n", { a: 1, b: "x" }, "body\r\n"],
    ["+++\r\na = 1\r\n+++\r\nbody", { a: 1 }, "body"],
    ["\ufeff---\na: 1\n---\nbody", { a: 1 }, "body"],
    ["--- \t\na: 1\n---  \nbody", { a: 1 }, "body"],
    ["---\na: 1\n---", { a: 1 }, ""],
    ["---\n---\n", {}, ""],
    ["---\n---\na: 1\n---\nbody", {}, "a: 1\n---\nbody"],
    ["+++\n+++\nx = 1\n+++\nbody", {}, "x = 1\n+++\nbody"],
  ];
  for (const [text, frontMatter, body] of rows) {
    assertEquals([read(text), splitFenced(text).body], [frontMatter, body]);
  }
});

Deno.test("readFrontMatter() is empty if there is no front matter", () => {
  const texts =
    "|---|---\n|+++|# Title\n---\na: 1\n---\n| ---\na: 1\n---\n|\n---\na: 1\n---\n|" +
    "---\na: 1\n|---\na: 1\n ---\n|---\na: 1\n----\n|---\na: 1\n+++\n|----\na: 1\n----\n|" +
    "--- a: 1\n---\n|---\ra: 1\r---\r|\ufeff\ufeff---\na: 1\n---\n|---\njust a paragraph\n---\n|" +
    "---\n- a\n- b\n---\n|---\n~\n---\n|---\n42\n---\n";
  for (const text of texts.split("|")) {
    assertEquals(readFrontMatter(text), {}, JSON.stringify(text));
  }
});

Deno.test("readFrontMatter() reads YAML 1.2 and TOML without loss", () => {
  const asWritten =
    "2024-03-01|2024-03-01 10:00:00 +0200|yes|off|1:30|12345678901234567890|.nan|" +
    "-.inf|1e999";
  const ofYaml: [block: string, value: PlainValue][] = [
    ...asWritten.split("|").map((text): [string, string] => [text, text]),
    ["010", 10],
    ["0x1F", 31],
    ["1.50", 1.5],
    ["1e21", 1e21],
    ["-1", -1],
    ["true", true],
    ["~", null],
    ["", null],
    ["!!str 1", "1"],
    ["!!timestamp 2024-03-01", "2024-03-01"],
    ["[1, two, null]", [1, "two", null]],
    ['"\\u00e9 --- \\n\\"\\\\ 😀"', 'é --- \n"\\ 😀'],
    ["{<<: {a: 1}}", { "<<": { a: 1 } }],
    ["|\n  a\n  b", "a\nb\n"],
    ["[&x {k: [1, 2]}, *x]", [{ k: [1, 2] }, { k: [1, 2] }]],
    ["{&key c: &y d, e: *y, f: *key}", { c: "d", e: "d", f: "c" }],
  ];
  for (const [text, value] of ofYaml) {
    assertEquals(read(`---\na: ${text}\n---\n`), { a: value });
  }
  const ofToml: [block: string, value: PlainValue][] = [
    ...["2024-03-01", "9007199254740993", "nan", "inf", "-inf"]
      .map((text): [string, string] => [text, text]),
    ["2024-03-01T10:00:00", "2024-03-01T10:00:00.000"],
    ["2024-03-01 10:00:00Z", "2024-03-01T10:00:00.000Z"],
    ["2024-03-01T10:00:00+02:00", "2024-03-01T10:00:00.000+02:00"],
    ["10:30:00", "10:30:00.000"],
    ["3", 3],
    ['{ name = "A" }', { name: "A" }],
  ];
  for (const [text, value] of ofToml) {
    assertEquals(read(`+++\na = ${text}\n+++\n`), { a: value });
  }
});

Deno.test("readFrontMatter() counts the line of an error in the file", () => {
  const rows: [text: string, line: number][] = [
    ["---\na: 1\nb: [1, 2\nc: 3\n---\n", 4],
    ["---\r\na: 1\r\nb: @x\r\n---\r\n", 3],
    ["\ufeff---\na: 1\na: 2\n---\n", 3],
    ['+++\na = 1\nb = "x\n+++\n', 3],
    ["+++\na = 1\na = 2\n+++\n", 3],
    // Aliases that stand before their anchors, or in them.
    ["---\na: *x\nb: &x 1\n---\n", 2],
    ["---\na: 1\nb: &x [*x]\n---\n", 3],
  ];
  for (const [text, line] of rows) {
    assertEquals([text, (failure(text)).line], [text, line]);
  }
});

Deno.test("readFrontMatter() never reaches a prototype", () => {
  const texts = [
    "---\n__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 2}}\n---\n",
    "---\na: &x {__proto__: {polluted: 1}}\nb: *x\n---\n",
    "+++\n[__proto__]\npolluted = 1\n[constructor.prototype]\npolluted = 2\n+++\n",
  ];
  // Deno takes this accessor away; with it, an assignment to `__proto__` sets
  // the prototype.
  Object.defineProperty(Object.prototype, "__proto__", {
    configurable: true,
    set(prototype) {
      Object.setPrototypeOf(this, prototype);
    },
  });
  try {
    for (const text of texts) {
      const frontMatter = read(text);
      assertEquals(({} as Record<string, unknown>).polluted, undefined);
      assertEquals(Object.getPrototypeOf(frontMatter), Object.prototype);
      assertEquals(frontMatter.polluted, undefined);
      assert(
        JSON.stringify(frontMatter).includes('"__proto__":{"polluted":1}'),
        text,
      );
    }
  } finally {
    Reflect.deleteProperty(Object.prototype, "__proto__");
  }
});

Deno.test("readFrontMatter() bounds aliases, depth and characters", () => {
  const yaml = (block: string) => `---\n${block}\n---\n`;
  const toml = (block: string) => `+++\n${block}\n+++\n`;
  const laughs = Array.from(
    { length: 30 },
    (_, n) =>
      `a${n}: &a${n} [${
        Array(9).fill(n === 0 ? "lol" : `*a${n - 1}`).join(",")
      }]\n`,
  );
  const nested = (depth: number) => [
    yaml(`a: ${"[".repeat(depth)}${"]".repeat(depth)}`),
    yaml(`a: ${"{a: ".repeat(depth)}${"}".repeat(depth)}`),
    yaml(`a:\n  ${"- ".repeat(depth)}a`),
    toml(`a = ${"[".repeat(depth)}${"]".repeat(depth)}`),
    toml(`${"a.".repeat(depth)}a = 1`),
  ];
  const steps = Array.from(
    { length: 70 },
    (_, depth) => `${" ".repeat(depth)}a:`,
  ).join("\n");
  const deep = [...nested(70), ...nested(900), yaml(steps)];
  const text = "x".repeat(300_000);
  const rows: [text: string, message: string][] = [
    [yaml(laughs.join("")), "Aliases repeat"],
    [yaml(`a: &a ${"x".repeat(10_000)}\nb: [*a, *a]`), "Aliases repeat"],
    ...deep.map((text): [string, string] => [text, "nested deeper"]),
    ...nested(20_000).map((text): [string, string] => [text, ""]),
    [yaml(`a: ${text}`), "longer than"],
    [toml(`a = "${text}"`), "longer than"],
  ];
  for (const [text, message] of rows) {
    assertStringIncludes((failure(text)).message, message);
  }
  // A mapping as a key is none of the core schema.
  for (const text of nested(60)) read(text);
  read(yaml(`a: ${"x".repeat(200_000)}`));
  read(yaml(`a: [${"1,".repeat(3_000)}]`));
});

Deno.test("readFrontMatter() ends at the first error", () => {
  /** How often the parser looks for the line of an error. */
  const errorsOf = (lines: number) => {
    const { split } = String.prototype;
    let errors = 0;
    String.prototype.split = function (separator: never, limit?: never) {
      if (separator === "\n") errors++;
      return split.call(this, separator, limit);
    };
    try {
      const blank = readFrontMatter(
        `---\na: |\n ${"\t\n".repeat(lines)}\n---\nx\n`,
      );
      const escape = readFrontMatter(
        `---\na: "${"\\q".repeat(lines)}"\n---\nx\n`,
      );
      assert(blank.frontMatterError ?? escape.frontMatterError);
    } finally {
      String.prototype.split = split;
    }
    return errors;
  };
  assertEquals(errorsOf(2_000), errorsOf(1_000));
});

Deno.test("readFrontMatter() answers any text", () => {
  const pieces =
    "---|+++|\n|\r\n| |\t|a|: |- |[|]|{|}|&x|*x|#|!|!!str |%|@|`|'|\"|\\|? |>|<<|...|=|.|1|,|\ufeff|\u0000|_";
  const piece = fc.constantFrom(...pieces.split("|"), "|");
  const fence = fc.constantFrom("---\n", "+++\n");
  fc.assert(
    fc.property(fence, fc.array(piece, { maxLength: 60 }), (fence, pieces) => {
      const result = readFrontMatter(
        `${fence}${pieces.join("")}\n${fence}body`,
      );
      const { frontMatterError: error } = result;
      assert(
        !error || error.line >= 1 && !/\p{Cc}/u.test(error.message),
        error?.message,
      );
    }),
    { numRuns: 500 },
  );
});
