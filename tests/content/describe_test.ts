import { assert, assertEquals } from "@std/assert";
import {
  describe,
  type DescribeInput,
  type Description,
} from "../../lib/content/describe.ts";
import { describePage } from "../../lib/content/describe_page.ts";
import { renderMarkdown } from "../../lib/content/render_markdown.ts";
import {
  type Pace,
  TimeLimitError,
  unlimited,
} from "../../lib/thread/compute.ts";
import { counted } from "./counted.ts";

const INPUT: DescribeInput = {
  repository: "octo/site",
  files: [],
  fields: undefined,
  prefix: null,
  contentUrlStart: "http://localhost/item?path=",
  webUrlStart: null,
  linkTemplate: undefined,
  linked: null,
  maxBytes: 16 << 20,
  mostBytes: 16 << 20,
};

/** Each of its characters takes nine bytes in an address. */
const DEEP_FOLDERS = `${"\u20ac".repeat(83)}/`.repeat(15);

Deno.test("describe() builds no item after the first that does not fit", () => {
  let built = 0;
  const file = {
    path: `${DEEP_FOLDERS}a.md`,
    id: "1",
    get size() {
      built++;
      return 1;
    },
  };
  const describeFiles = (maxBytes: number) =>
    describe({
      ...INPUT,
      files: Array(1_000).fill(file),
      maxBytes,
    }) as Description;
  const whole = describeFiles(INPUT.maxBytes);
  assertEquals(built, 1_000);
  assertEquals(whole.neededBytes, whole.json.length - 999);
  built = 0;
  const { json, isCut } = describeFiles(whole.neededBytes / 10);
  assertEquals([json.length, isCut], [0, true]);
  assertEquals(built, 101);
});

Deno.test("describe() makes no JSON of a content that cannot fit", () => {
  const file = { path: "a.md", id: "1", size: 3 << 20 };
  const bytes = new Uint8Array(file.size).fill(1);
  let isCut = false;
  // One for the item alone, and one for the item with its error.
  const made = counted(JSON, "stringify", () => {
    const described = describe({ ...INPUT, files: [{ ...file, bytes }] });
    ({ isCut } = described as Description);
  });
  assertEquals([isCut, made], [true, 2]);
});

Deno.test("describe() bounds HTML after its addresses are filled in", () => {
  const images = Array.from(
    { length: 4_999 },
    (_, n) => `![](${n.toString(36)})`,
  ).join("");
  const rendered = new TextEncoder().encode(
    JSON.stringify(renderMarkdown(images)),
  );
  const describeAt = (path: string) => {
    const { json } = describe({
      ...INPUT,
      files: [{ path, id: "1", size: 1, rendered }],
      fields: ["html", "htmlError"],
    }) as Description;
    return JSON.parse(new TextDecoder().decode(json));
  };
  const deep = describeAt(`${DEEP_FOLDERS}a.md`);
  assertEquals(deep, {
    htmlError: { message: "The file's HTML is too large." },
  });
  assert(describeAt("a.md").html.length > 100_000);
});

const POST = new TextEncoder().encode("---\na: 1\n---\n");
const FIRST_TRY = { ...unlimited, isLast: false };

/** The front matter of a page of posts with these ids, or what is missing. */
function describePosts(ids: string[], pace: Pace, without?: string) {
  const files = ids.map((id) => {
    const file = { path: "a.md", id, size: POST.length, frontMatter: true };
    return id === without ? file : { ...file, bytes: POST };
  });
  const output = describePage({ ...INPUT, files }, pace);
  return "missing" in output
    ? output.missing
    : JSON.parse(`[${new TextDecoder().decode(output.json)}]`)
      .map(({ frontMatter }: { frontMatter: unknown }) => frontMatter);
}

Deno.test("describePage() derives front matter from files that it carries", () => {
  assertEquals(describePosts(["p", "q"], unlimited), [0, 1]);
  // Nothing is derived if some files have to be read anyway.
  assertEquals(describePosts(["p", "q"], FIRST_TRY, "q"), [0, 1]);
  assertEquals(describePosts(["p"], FIRST_TRY), [{ a: 1 }]);
  assertEquals(describePosts(["p", "q"], FIRST_TRY), [{ a: 1 }, { a: 1 }]);
});

Deno.test("describePage() derives files with the same content once", () => {
  let pieces = 0;
  const pace: Pace = {
    ...FIRST_TRY,
    // Each look at the clock is 10 ms later, so that a piece is one file.
    within(work) {
      pieces++;
      const { now } = performance;
      let ms = 0;
      performance.now = () => ms += 10;
      try {
        return work();
      } finally {
        performance.now = now;
      }
    },
  };
  const posts = describePosts(["s", "t", "s", "t", "s"], pace);
  assertEquals(posts, Array(5).fill({ a: 1 }));
  assertEquals(pieces, 2 + 2);
});

Deno.test("describePage() names what is missing when its turn is over", () => {
  let calls = 0;
  const pace: Pace = {
    // The third piece of work is a slow file.
    within(work) {
      if (++calls === 3) throw new TimeLimitError("slow");
      return work();
    },
    isOver: () => calls === 3,
    isLast: false,
  };
  // The first piece ends after 32 KiB.
  const count = (32 << 10) / POST.length + 1;
  const ids = Array.from({ length: 4_000 }, (_, n) => `u${n}`);
  const missing = describePosts(ids, pace) as number[];
  assertEquals(missing.at(-1), 3_999);
  assert(missing.length > 0 && missing[0]! > 0 && missing[0]! <= count);
  assertEquals(missing.length, 4_000 - missing[0]!);
  // The turn may end with the last file.
  calls = 0;
  const over = {
    ...pace,
    within: <T>(work: () => T) => work(),
    isOver: () => true,
  };
  assertEquals(describePosts(["v"], over), []);
});
