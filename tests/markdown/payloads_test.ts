// No Markdown from outside runs, leads elsewhere than the web or mail, or takes a name of the page: read by a parser, and
// once in a real browser.

import { assert, assertEquals } from "@std/assert";
import { parseFragment, serialize } from "parse5";
import { renderMarkdown } from "../../lib/markdown/render.ts";
import { addressResolver, joinHtml } from "../../lib/markdown/rendered.ts";
import { browserTest } from "../browser/browser.ts";
import { payloads } from "./payloads.ts";
import { unsafeIn } from "./unsafe_html.ts";

const resolve = addressResolver({
  filePath: "posts/a.md",
  slugOf: () => null,
  linkTemplate: null,
  contentUrl: (path) => `http://127.0.0.1:9/item?path=${encodeURIComponent(path)}`,
  rawUrl: (path) => `http://127.0.0.1:9/raw?path=${encodeURIComponent(path)}`,
  htmlUrl: (path) => `http://127.0.0.1:9/web/${encodeURI(path)}`,
});

const pages = payloads.map((markdown) => ({
  markdown,
  html: joinHtml(renderMarkdown(markdown), resolve),
}));

Deno.test("unsafeIn() sees what is not allowed", () => {
  const seen = [
    ["<script>1</script>", "<script>"],
    ["<p onclick=a>", "p onclick"],
    ["<a href='java\nscript:1'>", 'href="java\nscript:1"'],
    ["<img src=data:,>", 'src="data:,"'],
    ["<input type=checkbox disabled>", "<input>"],
    ["<p id=a>", 'id="a"'],
    ["<p class=btn>", "btn"],
    ["<!-- a -->", "#comment"],
  ];
  for (const [html, what] of seen) assertEquals(unsafeIn(html!), [what]);
  assertEquals(unsafeIn('<li class="task-list-item"><input type=checkbox disabled>'), []);
});

Deno.test("no payload leaves anything unsafe, however often it is parsed", () => {
  assert(payloads.length >= 60);
  assertEquals(new Set(payloads).size, payloads.length);
  for (const { markdown, html } of pages) {
    assertEquals(unsafeIn(html), [], markdown);
    assertEquals(unsafeIn(serialize(parseFragment(html))), [], markdown);
    assertEquals(unsafeIn(`<table><td><p>${html}</table>`), [], markdown);
  }
});

/** The browser's own objects as seen in the page. */
const INSPECT = `(() => {
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    for (const { name } of element.attributes) if (name.startsWith("on")) found.push(name);
    if (element.href && !["http:", "https:", "mailto:"].includes(element.protocol)) {
      found.push(element.href);
    }
    for (const type of ["click", "mouseover", "focus", "pointerenter", "error", "toggle"]) {
      element.dispatchEvent(new Event(type));
    }
  }
  if (document.querySelector("script, style, form, iframe, object, embed, svg, math, base, meta")) {
    found.push("element");
  }
  if (typeof document.cookie !== "string" || document.body.tagName !== "BODY") found.push("document");
  if (typeof document.getElementById !== "function" || "config" in window) found.push("window");
  if (globalThis.ran) found.push("ran");
  return found;
})()`;

browserTest("no payload does anything in a browser", async (open) => {
  const page = await open();
  // No request is sent to the network; what a page would load is no part of this test.
  const origin = "http://127.0.0.1:9/";
  await page.route("**", (route) => {
    const isPage = route.request().url() === origin;
    return isPage ? route.fulfill({ contentType: "text/html", body: "" }) : route.abort();
  });
  await page.addInitScript("globalThis.alert = () => { globalThis.ran = true; };");

  await page.goto(origin);
  await page.setContent("<img src=x onerror=alert(1) id=config>");
  await page.waitForFunction("globalThis.ran");
  assertEquals(await page.evaluate(INSPECT), ["onerror", "window", "ran"]);

  await page.goto(origin);
  for (const { markdown, html } of pages) {
    // Once as a page is parsed, once as a script puts it in.
    await page.setContent(html, { waitUntil: "load" });
    assertEquals(await page.evaluate(INSPECT), [], markdown);
    await page.evaluate(`document.body.innerHTML = ${JSON.stringify(html)}`);
    assertEquals(await page.evaluate(INSPECT), [], markdown);
  }
}, { reports: /^asked / });
