// The real thread, with a limit that is short enough to wait for. Only files that take far longer than it are expected to
// be stopped.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { isMarkdown, MarkdownRenderer, RenderQueueFullError } from "../../lib/markdown/renderer.ts";
import { joinHtml, type Rendered, type RenderError } from "../../lib/markdown/rendered.ts";
import { TestClock } from "../test_clock.ts";

const MIB = 1024 * 1024;
const LIMIT_MS = 500;

/** Takes minutes. */
const SLOW = "*a_ ".repeat(MIB / 4);

function file(id: string, text: string, name = "a.md") {
  return { id, name, text };
}

function htmlOf(result: Rendered | RenderError | undefined): string {
  assert(result !== undefined && "parts" in result, JSON.stringify(result));
  return joinHtml(result, () => null);
}

function messageOf(result: Rendered | RenderError | undefined): string {
  assert(result !== undefined && "message" in result);
  return result.message;
}

async function withRenderer(
  body: (renderer: MarkdownRenderer, clock: TestClock) => Promise<void>,
): Promise<void> {
  const clock = new TestClock();
  const renderer = new MarkdownRenderer({ clock, limitMs: LIMIT_MS });
  try {
    await body(renderer, clock);
  } finally {
    renderer.close();
  }
}

Deno.test("isMarkdown() goes by the extension", () => {
  const names = ["a.md", "a.MARKDOWN", "a.mdx", "a.txt", "md", "a.md.html"];
  assertEquals(names.filter(isMarkdown), ["a.md", "a.MARKDOWN", "a.mdx"]);
});

Deno.test("MarkdownRenderer renders many files at once, as JSON", async () => {
  await withRenderer(async (renderer, clock) => {
    const files = Array.from({ length: 100 }, (_, i) => file(`${i}`, `# Post ${i}\n\n[a](b)`));
    const results = await renderer.render(files);
    assertEquals(results.size, 100);
    for (const { id } of files) {
      assertStringIncludes(htmlOf(results.get(id)), `>Post ${id}</h1>\n<p><a>a</a></p>`);
    }
    assertEquals(JSON.parse(JSON.stringify(results.get("7"))), results.get("7"));
    assertEquals(clock.timerCount, 0);
  });
});

Deno.test("MDX and what is over 1 MiB have an error, without a thread", async () => {
  await withRenderer(async (renderer, clock) => {
    let timers = 0;
    clock.onTimer = () => timers++;
    const results = await renderer.render([
      file("mdx", "# a", "a.MDX"),
      file("large", "a".repeat(MIB + 1)),
      file("bytes", "é".repeat(MIB / 2 + 1)),
    ]);
    assertStringIncludes(messageOf(results.get("mdx")), "not execute");
    assertStringIncludes(messageOf(results.get("large")), "over 1 MiB");
    assertStringIncludes(messageOf(results.get("bytes")), "over 1 MiB");
    assertEquals((await renderer.render([])).size, 0);
    assertEquals(timers, 0);
  });
});

Deno.test("hostile files of 1 MiB end within their limit, and the renderer goes on", async () => {
  const fill = (text: string) => text.repeat(MIB / text.length);
  const backticks = Array.from({ length: 1400 }, (_, i) => "`".repeat(i)).join(" ");
  const hostile = {
    quotes: fill(">"),
    lists: fill("- "),
    brackets: fill("["),
    images: fill("![["),
    closed: fill("[]"),
    backticks,
    emphasis: SLOW,
    strong: fill("**x*"),
    tables: `${"|a".repeat(500)}\n${"|-".repeat(500)}\n${"|b\n".repeat(300_000)}`,
    elements: fill("<b>"),
    nested: fill("<p><b>"),
    attributes: fill("<a "),
    headings: fill("# a\n"),
    references: `[a]: ${"b".repeat(MIB / 2)}\n\n${"[a] ".repeat(MIB / 10)}`,
  };
  await withRenderer(async (renderer) => {
    for (const [name, text] of Object.entries(hostile)) {
      const results = await renderer.render([file("hostile", text), file("next", "*b*")]);
      const message = messageOf(results.get("hostile"));
      assert(/takes longer|nested too|too many|refers too/.test(message), `${name}: ${message}`);
      assertEquals(htmlOf(results.get("next")), "<p><em>b</em></p>", name);
    }
  });
});

Deno.test("a thread that does not answer is replaced", async () => {
  await withRenderer(async (renderer, clock) => {
    assertEquals(htmlOf((await renderer.render([file("a", "a")])).get("a")), "<p>a</p>");
    let fired = 0;
    clock.onTimer = () => {
      if (fired++ === 0) queueMicrotask(() => clock.advance(60_000));
    };
    const results = await renderer.render([file("b", SLOW), file("c", "c")]);
    assertStringIncludes(
      messageOf(results.get("b")),
      "takes longer than 0.5 s, or too much memory",
    );
    assertEquals(htmlOf(results.get("c")), "<p>c</p>");
  });
});

Deno.test("a thread that does not start is an error of all that wait, and the next call tries again", async () => {
  await withRenderer(async (renderer, clock) => {
    clock.onTimer = () => {
      clock.onTimer = () => {};
      queueMicrotask(() => clock.advance(60_000));
    };
    const calls = [renderer.render([file("a", "a")]), renderer.render([file("a", "a")])];
    for (const call of calls) await assertRejects(() => call, Error, "Cannot render Markdown");
    assertEquals(htmlOf((await renderer.render([file("a", "a")])).get("a")), "<p>a</p>");
  });
});

Deno.test("a client that has used much time comes after one that has not", async () => {
  await withRenderer(async (renderer) => {
    const ended: string[] = [];
    const render = async (name: string, texts: string[], client?: unknown) => {
      const files = texts.map((text, i) => file(`${i}`, text));
      await renderer.render(files, { client });
      ended.push(name);
    };
    await Promise.all([
      render("hostile", [SLOW, SLOW], "h"),
      render("more", [SLOW], "h"),
      render("page", ["a", "b", "c", "d"]),
      render("post", ["a"]),
    ]);
    assertEquals(ended, ["post", "page", "hostile", "more"]);
  });
});

Deno.test("render() drops files whose call was aborted", async () => {
  await withRenderer(async (renderer) => {
    const controller = new AbortController();
    const slow = Array.from({ length: 15 }, (_, i) => file(`${i}`, SLOW));
    const call = renderer.render(slow, { signal: controller.signal, client: "a" });
    const other = renderer.render([file("a", "a")], { client: "a" });
    controller.abort(new Error("aborted"));
    await assertRejects(() => call, Error, "aborted");
    assertEquals(htmlOf((await other).get("a")), "<p>a</p>");
    await assertRejects(() => renderer.render([], { signal: controller.signal }), Error, "aborted");
  });
});

Deno.test("the queue is bounded for a client and for all, and is free again", async () => {
  await withRenderer(async (renderer) => {
    const controller = new AbortController();
    const { signal } = controller;
    const page = Array.from({ length: 16 }, (_, i) => file(`${i}`, "a".repeat(MIB)));
    const call = (client: unknown, files = page) => {
      const done = renderer.render(files, { signal, client });
      done.catch(() => {});
      return done;
    };
    const calls = [call("a")];
    await assertRejects(() => call("a"), RenderQueueFullError);
    for (const client of ["b", "c", "d"]) calls.push(call(client));
    const many = Array.from({ length: 1281 }, (_, i) => file(`${i}`, ""));
    await assertRejects(() => call("e", many), RenderQueueFullError);
    await assertRejects(() => call("f"), RenderQueueFullError);
    controller.abort(new Error("aborted"));
    for (const call of calls) await assertRejects(() => call, Error, "aborted");
    const results = await renderer.render([file("a", "a")], { client: "a" });
    assertEquals(htmlOf(results.get("a")), "<p>a</p>");
  });
});

Deno.test("close() rejects what waits and what comes", async () => {
  await withRenderer(async (renderer) => {
    const call = renderer.render([file("a", "a")]);
    renderer.close();
    await assertRejects(() => call, Error, "was closed");
    await assertRejects(() => renderer.render([file("a", "a")]), Error, "is closed");
  });
});
