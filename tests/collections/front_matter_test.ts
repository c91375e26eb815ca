import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type FrontMatter, readFrontMatter } from "../../lib/collections/front_matter.ts";
import type { PlainObject } from "../../lib/collections/plain_data.ts";

async function read(text: string): Promise<{ frontMatter: PlainObject; body: string }> {
  const result = await readFrontMatter(text);
  assert(result !== null && "frontMatter" in result, `no front matter: ${show(result)}`);
  return result;
}

/** Short, since failures are printed. */
function show(result: unknown): string {
  return JSON.stringify(result).slice(0, 200);
}

async function yaml(block: string): Promise<PlainObject> {
  return (await read(`---\n${block}\n---\n`)).frontMatter;
}

async function failure(text: string): Promise<{ message: string; line: number }> {
  const result = await readFrontMatter(text);
  assert(result !== null && "frontMatterError" in result, `no error: ${show(result)}`);
  const { message } = result.frontMatterError;
  assert(message.length > 0 && message.length <= 160, message);
  assert(!/\p{Cc}/u.test(message), message);
  return result.frontMatterError;
}

Deno.test("readFrontMatter() gives the mapping and what follows the closing line", async () => {
  assertEquals(await read("---\ntitle: Hello\n---\n# Hello\n"), {
    frontMatter: { title: "Hello" },
    body: "# Hello\n",
  });
  assertEquals(await read('+++\ntitle = "Hello"\n+++\n\nText'), {
    frontMatter: { title: "Hello" },
    body: "\nText",
  });
});

Deno.test("readFrontMatter() takes LF, CRLF, a byte order mark, blanks after a fence, no last newline", async () => {
  assertEquals(await read("---\r\na: 1\r\nb: x\r\n---\r\nbody\r\n"), {
    frontMatter: { a: 1, b: "x" },
    body: "body\r\n",
  });
  assertEquals((await read("\ufeff---\na: 1\n---\nbody")).body, "body");
  assertEquals((await read("--- \t\na: 1\n---  \nbody")).body, "body");
  assertEquals(await read("---\na: 1\n---"), { frontMatter: { a: 1 }, body: "" });
  assertEquals((await read("+++\r\na = 1\r\n+++\r\nbody")).frontMatter, { a: 1 });
});

Deno.test("readFrontMatter() gives null where there is no front matter", async () => {
  const texts = [
    "",
    "---",
    "---\n",
    "+++",
    "# Title\n---\na: 1\n---\n",
    " ---\na: 1\n---\n",
    "\n---\na: 1\n---\n",
    "---\na: 1\n",
    "---\na: 1\n ---\n",
    "---\na: 1\n----\n",
    "---\na: 1\n+++\n",
    "----\na: 1\n----\n",
    "--- a: 1\n---\n",
    "---\ra: 1\r---\r",
    "\ufeff\ufeff---\na: 1\n---\n",
    "---\njust a paragraph\n---\n",
    "---\n- a\n- b\n---\n",
    "---\n~\n---\n",
    "---\n42\n---\n",
  ];
  for (const text of texts) assertEquals(await readFrontMatter(text), null, JSON.stringify(text));
});

Deno.test("readFrontMatter() reads YAML by the 1.2 core schema, dates as written", async () => {
  const block = [
    "date: 2024-03-01",
    "time: 2024-03-01 10:00:00 +0200",
    "yes: yes",
    "on: off",
    "octal: 010",
    "hex: 0x1F",
    "float: 1.50",
    "draft: true",
    "none: ~",
    "empty:",
    "sexagesimal: 1:30",
    "<<: {a: 1}",
    "text: !!str 1",
    "stamp: !!timestamp 2024-03-01",
    "list: [1, two, null]",
    "block: |",
    "  a",
    "  b",
  ];
  assertEquals(await yaml(block.join("\n")), {
    date: "2024-03-01",
    time: "2024-03-01 10:00:00 +0200",
    yes: "yes",
    on: "off",
    octal: 10,
    hex: 31,
    float: 1.5,
    draft: true,
    none: null,
    empty: null,
    sexagesimal: "1:30",
    "<<": { a: 1 },
    text: "1",
    stamp: "2024-03-01",
    list: [1, "two", null],
    block: "a\nb\n",
  });
});

Deno.test("readFrontMatter() gives as text what a JSON number would lose", async () => {
  assertEquals(await yaml("a: 12345678901234567890\nb: .nan\nc: -.inf\nd: 1e999\ne: 1e21\nf: -1"), {
    a: "12345678901234567890",
    b: ".nan",
    c: "-.inf",
    d: "1e999",
    e: 1e21,
    f: -1,
  });
  const toml = "+++\na = 9007199254740993\nb = nan\nc = -inf\nd = 3\n+++\n";
  assertEquals((await read(toml)).frontMatter, {
    a: "9007199254740993",
    b: "nan",
    c: "-inf",
    d: 3,
  });
});

Deno.test("readFrontMatter() gives TOML dates and times as ISO 8601", async () => {
  const block = [
    "date = 2024-03-01",
    "local = 2024-03-01T10:00:00",
    "spaced = 2024-03-01 10:00:00Z",
    "zoned = 2024-03-01T10:00:00+02:00",
    "time = 10:30:00",
    "[author]",
    'name = "A"',
  ];
  assertEquals((await read(`+++\n${block.join("\n")}\n+++\n`)).frontMatter, {
    date: "2024-03-01",
    local: "2024-03-01T10:00:00.000",
    spaced: "2024-03-01T10:00:00.000Z",
    zoned: "2024-03-01T10:00:00.000+02:00",
    time: "10:30:00.000",
    author: { name: "A" },
  });
});

Deno.test("readFrontMatter() counts the line of an error in the file", async () => {
  assertEquals((await failure("---\na: 1\nb: [1, 2\nc: 3\n---\n")).line, 4);
  assertEquals((await failure("---\r\na: 1\r\nb: @x\r\n---\r\n")).line, 3);
  assertEquals((await failure("\ufeff---\na: 1\na: 2\n---\n")).line, 3);
  assertEquals((await failure('+++\na = 1\nb = "x\n+++\n')).line, 3);
  assertEquals((await failure("+++\na = 1\na = 2\n+++\n")).line, 3);
});

Deno.test("readFrontMatter() never reaches a prototype", async () => {
  const texts = [
    "---\n__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 2}}\n---\n",
    "---\na: &x {__proto__: {polluted: 1}}\nb: *x\n---\n",
    "+++\n[__proto__]\npolluted = 1\n[constructor.prototype]\npolluted = 2\n+++\n",
  ];
  // Deno takes this accessor away; with it, an assignment to `__proto__` sets the prototype.
  Object.defineProperty(Object.prototype, "__proto__", {
    configurable: true,
    get() {
      return Object.getPrototypeOf(this);
    },
    set(prototype) {
      Object.setPrototypeOf(this, prototype);
    },
  });
  try {
    for (const text of texts) {
      const { frontMatter } = await read(text);
      assertEquals(({} as Record<string, unknown>).polluted, undefined);
      assertEquals(Object.getPrototypeOf(frontMatter), Object.prototype);
      assertEquals(frontMatter.polluted, undefined);
      assert(JSON.stringify(frontMatter).includes('"__proto__":{"polluted":1}'), text);
    }
  } finally {
    Reflect.deleteProperty(Object.prototype, "__proto__");
  }
});

Deno.test("readFrontMatter() stands aliases for their anchors", async () => {
  assertEquals(await yaml("a: &x {k: [1, 2]}\nb: *x\n&key c: &y d\ne: *y\nf: *key"), {
    a: { k: [1, 2] },
    b: { k: [1, 2] },
    c: "d",
    e: "d",
    f: "c",
  });
  assertEquals((await failure("---\na: *x\nb: &x 1\n---\n")).line, 2);
  assertEquals((await failure("---\na: 1\nb: &x [*x]\n---\n")).line, 3);
});

Deno.test("readFrontMatter() answers alias bombs with an error", async () => {
  let laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (let i = 1; i < 30; i++) {
    laughs += `a${i}: &a${i} [${Array(9).fill(`*a${i - 1}`).join(",")}]\n`;
  }
  const bomb = await failure(`---\n${laughs}---\n`);
  assert(bomb.message.startsWith("Aliases repeat"), bomb.message);
  const blowUp = `---\na: &a ${"x".repeat(10_000)}\nb: [*a, *a]\n---\n`;
  assert((await failure(blowUp)).message.startsWith("Aliases repeat"));
});

Deno.test("readFrontMatter() bounds depth, characters and tokens", async () => {
  const nested: ((depth: number) => string)[] = [
    (depth) => `---\na: ${"[".repeat(depth)}${"]".repeat(depth)}\n---\n`,
    (depth) => `---\na: ${"{a: ".repeat(depth)}${"}".repeat(depth)}\n---\n`,
    (depth) => `---\na:\n  ${"- ".repeat(depth)}a\n---\n`,
    (depth) => `---\n${"? ".repeat(depth)}a\n---\n`,
    (depth) => `+++\na = ${"[".repeat(depth)}${"]".repeat(depth)}\n+++\n`,
    (depth) => `+++\n${"a.".repeat(depth)}a = 1\n+++\n`,
  ];
  for (const text of nested) {
    if (!text(1).includes("?")) await read(text(60));
    for (const depth of [70, 900]) {
      assert((await failure(text(depth))).message.includes("nested deeper"), text(2));
    }
    await failure(text(20_000));
  }
  const steps = Array.from({ length: 70 }, (_, depth) => `${" ".repeat(depth)}a:\n`).join("");
  assert((await failure(`---\n${steps}---\n`)).message.includes("nested deeper"));
  assert((await failure(`---\n${"a: ".repeat(6_000)}\n---\n`)).message.includes("nested deeper"));
  await failure(`+++\na = ${"[".repeat(100_000)}\n+++\n`);

  const long = (chars: number) => `---\na: ${"x".repeat(chars)}\n---\n`;
  await read(long(200_000));
  assert((await failure(long(300_000))).message.includes("longer than"));
  const longToml = `+++\na = "${"x".repeat(300_000)}"\n+++\n`;
  assert((await failure(longToml)).message.includes("longer than"));

  await read(`---\na: [${"1,".repeat(3_000)}]\n---\n`);
  const many = await failure(`---\na: 1\nb: [${"1,".repeat(60_000)}]\n---\n`);
  assert(many.message.includes("tokens"), many.message);
  assertEquals(many.line, 3);
});

Deno.test("readFrontMatter() gives what YAML and TOML printers wrote", async () => {
  const { stringify } = await import("yaml");
  const toml = await import("smol-toml");
  const key = fc.string({ unit: "grapheme", maxLength: 12 });
  const scalar = fc.oneof(fc.boolean(), fc.integer(), fc.string({ unit: "grapheme" }));
  const mapping = fc.dictionary(
    key,
    fc.oneof(scalar, fc.array(scalar), fc.dictionary(key, scalar)),
    {
      noNullPrototype: true,
    },
  );
  const plain = (result: FrontMatter | null) =>
    JSON.parse(
      JSON.stringify(result !== null && "frontMatter" in result ? result.frontMatter : result),
    );
  await fc.assert(
    fc.asyncProperty(mapping, async (data) => {
      // A line of dashes within a scalar would be the closing line.
      const text = stringify(data, {
        lineWidth: 0,
        defaultStringType: "QUOTE_DOUBLE",
        defaultKeyType: "QUOTE_DOUBLE",
      });
      assertEquals(
        plain(await readFrontMatter(`---\n${text}---\n`)),
        JSON.parse(JSON.stringify(data)),
      );
      assertEquals(
        plain(await readFrontMatter(`+++\n${toml.stringify(data)}+++\n`)),
        JSON.parse(JSON.stringify(data)),
      );
    }),
    { numRuns: 100 },
  );
});

Deno.test("readFrontMatter() answers any text", async () => {
  const piece = fc.constantFrom(
    ..."---|+++|\n|\r\n| |\t|a|: |- |[|]|{|}|&x|*x|#|!|!!str |%|@|`|'|\"|\\|? |>|<<|...|=|.|1|,|\ufeff|\u0000|_"
      .split("|"),
    "|",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("---\n", "+++\n"),
      fc.array(piece, { maxLength: 60 }),
      async (fence, pieces) => {
        const result = await readFrontMatter(`${fence}${pieces.join("")}\n${fence}body`);
        assert(result === null || "frontMatter" in result || result.frontMatterError.line >= 1);
        JSON.stringify(result);
      },
    ),
    { numRuns: 500 },
  );
});
