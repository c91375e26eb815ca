// The real thread, with a limit that is short enough to wait for. Only files that take far longer than it are expected to
// be stopped.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { isMarkdown, MarkdownRenderer } from "../../lib/markdown/renderer.ts";
import { joinHtml } from "../../lib/markdown/rendered.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { CollectionsError } from "../../lib/errors.ts";
import { TestClock } from "../test_clock.ts";

const MIB = 1024 * 1024;
const LIMIT_MS = 500;

/** Takes minutes. */
const SLOW = "*a_ ".repeat(MIB / 4);

interface Options {
  signal?: AbortSignal | undefined;
  client?: string | undefined;
}

/** A renderer that gives the HTML of texts, or why there is none; each call is a client of its own without `client`. */
function startRenderer(options: { clock?: Clock; limitMs?: number } = {}) {
  const clock = new TestClock();
  const renderer = new MarkdownRenderer({ clock, limitMs: LIMIT_MS, ...options });
  const render = async (text: string, options: Options = {}, name = "a.md") => {
    const { signal, client = crypto.randomUUID() } = options;
    const result = await renderer.render({ name, text }, { signal, client });
    return "parts" in result ? joinHtml(result, () => null) : result.message;
  };
  return { clock, renderer, render, [Symbol.dispose]: () => renderer.close() };
}

Deno.test("isMarkdown() goes by the extension", () => {
  const names = ["a.md", "a.MARKDOWN", "a.mdx", "a.txt", "md", "a.md.html"];
  assertEquals(names.filter(isMarkdown), ["a.md", "a.MARKDOWN", "a.mdx"]);
});

Deno.test("MarkdownRenderer renders many files at once, and leaves no timer", async () => {
  using parts = startRenderer();
  const texts = Array.from({ length: 100 }, (_, i) => `Post ${i} [a](b)`);
  const results = await Promise.all(texts.map((text) => parts.render(text)));
  assertEquals(results, texts.map((_, i) => `<p>Post ${i} <a>a</a></p>`));
  assertEquals(parts.clock.timerCount, 0);
});

Deno.test("MDX and what is over 1 MiB have an error without a thread, deep nesting has one from it", async () => {
  using parts = startRenderer({ limitMs: 30_000 });
  let timers = 0;
  parts.clock.onTimer = () => timers++;
  assertStringIncludes(await parts.render("# a", {}, "a.MDX"), "not execute");
  for (const text of ["a".repeat(MIB + 1), "é".repeat(MIB / 2 + 1)]) {
    assertStringIncludes(await parts.render(text), "over 1 MiB");
  }
  assertEquals(timers, 0);
  assertStringIncludes(await parts.render("<b>".repeat(5_000)), "nested too deeply");
});

Deno.test("hostile files of 1 MiB end within their limit, and the renderer goes on", async () => {
  const fill = (text: string) => text.repeat(MIB / text.length);
  const hostile = {
    quotes: fill(">"),
    lists: fill("- "),
    brackets: fill("["),
    images: fill("![["),
    backticks: Array.from({ length: 1400 }, (_, i) => "`".repeat(i)).join(" "),
    emphasis: SLOW,
    tables: `${"|a".repeat(500)}\n${"|-".repeat(500)}\n${"|b\n".repeat(300_000)}`,
    elements: fill("<p><b>"),
    attributes: fill("<a "),
    headings: fill("# a\n"),
    references: `[a]: ${"b".repeat(MIB / 2)}\n\n${"[a] ".repeat(MIB / 10)}`,
  };
  using parts = startRenderer();
  for (const [name, text] of Object.entries(hostile)) {
    const [message, next] = await Promise.all([parts.render(text), parts.render("*b*")]);
    assert(/takes longer|nested too|too many|refers too/.test(message), `${name}: ${message}`);
    assertEquals(next, "<p><em>b</em></p>", name);
  }
});

Deno.test("a thread that does not answer is replaced", async () => {
  using parts = startRenderer();
  assertEquals(await parts.render("a"), "<p>a</p>");
  let fired = 0;
  parts.clock.onTimer = () => {
    if (fired++ === 0) queueMicrotask(() => parts.clock.advance(60_000));
  };
  const [slow, next] = await Promise.all([parts.render(SLOW), parts.render("c")]);
  assertStringIncludes(slow, "takes longer than 0.5 s, or too much memory");
  assertEquals(next, "<p>c</p>");
});

Deno.test("a thread that does not start is an error of all that wait, and the next call tries again", async () => {
  using parts = startRenderer();
  parts.clock.onTimer = () => {
    parts.clock.onTimer = () => {};
    queueMicrotask(() => parts.clock.advance(60_000));
  };
  const calls = [parts.render("a"), parts.render("a")];
  for (const call of calls) await assertRejects(() => call, Error, "Cannot render Markdown");
  assertEquals(await parts.render("a"), "<p>a</p>");
});

Deno.test("a client that has used much time comes after one that has not", async () => {
  using parts = startRenderer({ clock: systemClock });
  const ended: string[] = [];
  const render = async (name: string, text: string, client?: string) => {
    await parts.render(text, { client });
    ended.push(name);
  };
  await Promise.all([
    ...["hostile 1", "hostile 2", "hostile 3"].map((name) => render(name, SLOW, "h")),
    ...["page 1", "page 2", "page 3"].map((name) => render(name, "a", "p")),
    render("post", "a"),
  ]);
  assertEquals(ended[0], "hostile 1");
  assertEquals(ended.slice(-2), ["hostile 2", "hostile 3"]);
});

Deno.test("render() drops files whose call was aborted", async () => {
  using parts = startRenderer();
  const controller = new AbortController();
  const { signal } = controller;
  const calls = Array.from({ length: 15 }, () => parts.render(SLOW, { signal, client: "a" }));
  const other = parts.render("a", { client: "a" });
  controller.abort(new Error("aborted"));
  for (const call of calls) await assertRejects(() => call, Error, "aborted");
  let timers = 0;
  parts.clock.onTimer = () => timers++;
  assertEquals(await other, "<p>a</p>");
  // The thread's start, the first file and this one: each sets a timer and cancels it.
  assert(timers <= 6, "aborted files were rendered");
  await assertRejects(() => parts.render("a", { signal }), Error, "aborted");
});

Deno.test("the queue is bounded for a client and for all, and is free again", async () => {
  using parts = startRenderer();
  const controller = new AbortController();
  const { signal } = controller;
  const calls: Promise<Error>[] = [];
  const add = (client: string, count: number, text: string) => {
    for (let n = 0; n < count; n++) {
      calls.push(assertRejects(() => parts.render(text, { signal, client }), Error, "aborted"));
    }
  };
  const isFull = (client: string, text: string) =>
    assertRejects(() => parts.render(text, { client }), CollectionsError, "Too many requests");
  const large = "a".repeat(MIB);

  add("a", 19, large);
  await isFull("a", large);
  for (const client of ["b", "c", "d"]) add(client, 19, large);
  // An empty file counts 16 KiB.
  add("e", 180, "");
  await isFull("f", "");
  controller.abort(new Error("aborted"));
  await Promise.all(calls);
  assertEquals(await parts.render("a", { client: "a" }), "<p>a</p>");
});

Deno.test("close() rejects what waits and what comes", async () => {
  using parts = startRenderer();
  const call = parts.render("a");
  parts.renderer.close();
  await assertRejects(() => call, Error, "was closed");
  await assertRejects(() => parts.render("a"), Error, "is closed");
});
