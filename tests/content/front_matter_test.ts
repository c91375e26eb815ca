import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { splitFenced } from "../../lib/content/file_text.ts";
import { readFrontMatter } from "../../lib/content/front_matter.ts";
import type { PlainObject } from "../../lib/content/plain_value.ts";

function read(text: string): PlainObject {
  const { frontMatter, frontMatterError } = readFrontMatter(text);
  assert(frontMatter, frontMatterError?.message);
  return frontMatter;
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
    ['+++\ntitle = "Hello"\n+++\n\nText', { title: "Hello" }, "\nText"],
    ["---\r\na: 1\r\nb: x\r\n---\r\nbody\r\n", { a: 1, b: "x" }, "body\r\n"],
    ["+++\r\na = 1\r\n+++\r\nbody", { a: 1 }, "body"],
    ["\ufeff---\na: 1\n---\nbody", { a: 1 }, "body"],
    ["--- \t\na: 1\n---  \nbody", { a: 1 }, "body"],
    ["---\na: 1\n---", { a: 1 }, ""],
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
  const jsonOf = (text: string) => JSON.stringify(read(text)["a"]);
  const asWritten =
    "2024-03-01|2024-03-01 10:00:00 +0200|yes|off|1:30|12345678901234567890|.nan|-.inf|1e999";
  for (const text of asWritten.split("|")) {
    assertEquals(jsonOf(`---\na: ${text}\n---\n`), JSON.stringify(text));
  }
  const ofYaml = {
    "010": "10",
    "0x1F": "31",
    "1.50": "1.5",
    "1e21": "1e+21",
    "true": "true",
    "~": "null",
    "": "null",
    "!!str 1": '"1"',
    "!!timestamp 2024-03-01": '"2024-03-01"',
    "[1, two, null]": '[1,"two",null]',
    '"\\u00e9 --- \\n\\"\\\\ 😀"': '"é --- \\n\\"\\\\ 😀"',
    "{<<: {a: 1}}": '{"<<":{"a":1}}',
    "|\n  a\n  b": '"a\\nb\\n"',
    "[&x {k: [1, 2]}, *x]": '[{"k":[1,2]},{"k":[1,2]}]',
    "{&key c: &y d, e: *y, f: *key}": '{"c":"d","e":"d","f":"c"}',
  };
  for (const [text, json] of Object.entries(ofYaml)) {
    assertEquals(jsonOf(`---\na: ${text}\n---\n`), json);
  }
  const ofToml = {
    "2024-03-01": '"2024-03-01"',
    "9007199254740993": '"9007199254740993"',
    "nan": '"nan"',
    "-inf": '"-inf"',
    "2024-03-01T10:00:00": '"2024-03-01T10:00:00.000"',
    "2024-03-01 10:00:00Z": '"2024-03-01T10:00:00.000Z"',
    "2024-03-01T10:00:00+02:00": '"2024-03-01T10:00:00.000+02:00"',
    "10:30:00": '"10:30:00.000"',
    "3": "3",
    '{ name = "A" }': '{"name":"A"}',
  };
  for (const [text, json] of Object.entries(ofToml)) {
    assertEquals(jsonOf(`+++\na = ${text}\n+++\n`), json);
  }
});

Deno.test("readFrontMatter() counts the line of an error in the file", () => {
  const lines = {
    "---\na: 1\nb: [1, 2\nc: 3\n---\n": 4,
    "---\r\na: 1\r\nb: @x\r\n---\r\n": 3,
    "\ufeff---\na: 1\na: 2\n---\n": 3,
    '+++\na = 1\nb = "x\n+++\n': 3,
    "+++\na = 1\na = 2\n+++\n": 3,
    // Aliases that stand before their anchors, or in them.
    "---\na: *x\nb: &x 1\n---\n": 2,
    "---\na: 1\nb: &x [*x]\n---\n": 3,
  };
  for (const [text, line] of Object.entries(lines)) {
    assertEquals([text, failure(text).line], [text, line]);
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
      const own = '"__proto__":{"polluted":1}';
      assertStringIncludes(JSON.stringify(frontMatter), own);
    }
  } finally {
    Reflect.deleteProperty(Object.prototype, "__proto__");
  }
});

Deno.test("readFrontMatter() bounds aliases, depth and characters", () => {
  const yaml = (block: string) => `---\n${block}\n---\n`;
  const toml = (block: string) => `+++\n${block}\n+++\n`;
  const laughs = Array.from({ length: 30 }, (_, n) => {
    const before = n === 0 ? "lol" : `*a${n - 1}`;
    return `a${n}: &a${n} [${`${before},`.repeat(9)}]\n`;
  });
  const nested = (depth: number) => [
    yaml(`a: ${"[".repeat(depth)}${"]".repeat(depth)}`),
    yaml(`a: ${"{a: ".repeat(depth)}${"}".repeat(depth)}`),
    yaml(`a:\n  ${"- ".repeat(depth)}a`),
    toml(`a = ${"[".repeat(depth)}${"]".repeat(depth)}`),
    toml(`${"a.".repeat(depth)}a = 1`),
  ];
  const long = "x".repeat(300_000);
  const messages = {
    "Aliases repeat": [
      yaml(laughs.join("")),
      yaml(`a: &a ${"x".repeat(10_000)}\nb: [*a, *a]`),
    ],
    "nested deeper": [...nested(70), ...nested(900)],
    "": nested(20_000),
    "longer than": [yaml(`a: ${long}`), toml(`a = "${long}"`)],
  };
  for (const [message, texts] of Object.entries(messages)) {
    for (const text of texts) {
      assertStringIncludes(failure(text).message, message);
    }
  }
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
      readFrontMatter(`---\na: |\n ${"\t\n".repeat(lines)}\n---\nx\n`);
      readFrontMatter(`---\na: "${"\\q".repeat(lines)}"\n---\nx\n`);
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
  const texts = fc.tuple(fence, fc.array(piece, { maxLength: 60 }))
    .map(([fence, pieces]) => `${fence}${pieces.join("")}\n${fence}body`);
  const check = (text: string) => {
    const { frontMatterError: error } = readFrontMatter(text);
    if (error) assert(failure(text).line >= 1);
  };
  fc.assert(fc.property(texts, check), { numRuns: 500 });
});
