// The HTML of hostile MDX in Chromium, in pages that have no policy of their
// own: nothing in it runs.

import { assert, assertEquals } from "@std/assert";
import { mdxPayloads, payloads } from "../markdown/payloads.ts";
import { browserTest } from "./browser.ts";

const SOURCES = [...payloads, ...mdxPayloads];
const FILES = Object.fromEntries(
  SOURCES.map((
    source,
    n,
  ) => [`posts/${String(n).padStart(3, "0")}.mdx`, source]),
);

/**
 * Puts HTML into documents, fires events at each element, and returns what may
 * run.
 */
const PROBE = `async (pages) => {
  globalThis.alert = () => { globalThis.hit = true; };
  const found = [];
  for (const html of pages) {
    const frame = document.createElement("iframe");
    document.body.append(frame);
    const ready = new Promise((resolve) => frame.onload = resolve);
    frame.srcdoc = "<!doctype html><body>" + html;
    await ready;
    const { contentWindow, contentDocument } = frame;
    contentWindow.alert = globalThis.alert;
    for (const element of contentDocument.body.querySelectorAll("*")) {
      const names = element.getAttributeNames().filter((name) => /^on|^srcdoc$/i.test(name));
      const address = element.href ?? element.src ?? element.action ?? "";
      const isScript = /^(javascript|vbscript|data|blob):/i.test(String(address));
      const isRaw = /^(script|style|iframe|object|embed|base|meta|link|form|svg|math|template)$/i
        .test(element.localName);
      if (names.length > 0 || isScript || isRaw) found.push(element.outerHTML);
      for (const type of ["click", "error", "load", "mouseover", "focus", "toggle"]) {
        const event = new contentWindow.Event(type, { bubbles: true, cancelable: true });
        element.addEventListener("click", (event) => {
          if (!isScript) event.preventDefault();
        });
        element.dispatchEvent(event);
      }
    }
    frame.remove();
  }
  return { found, hit: globalThis.hit === true };
}`;

browserTest("hostile MDX does nothing without a policy either", async (
  open,
  { service },
) => {
  const pages: string[] = [];
  for (let page = 1; pages.length === 100 * (page - 1); page++) {
    const { items } = await service.list({
      includeHtml: true,
      limit: 100,
      page,
    });
    pages.push(...items.map(({ html = "" }) => html));
  }
  assertEquals(pages.length, SOURCES.length);
  assert(pages.filter((html) => html !== "").length >= mdxPayloads.length);
  const page = await open();
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.context().route("**", (route) => route.abort());
  const { found, hit } = await page.evaluate<{ found: string[]; hit: boolean }>(
    `(${PROBE})(${JSON.stringify(pages)})`,
  );
  assertEquals({ found, hit, dialogs }, { found: [], hit: false, dialogs: [] });
  // The probe sees what it looks for.
  const seen = await page.evaluate<{ found: string[]; hit: boolean }>(
    `(${PROBE})(["<p onclick=alert(1)>x</p><script>1<\\/script>"])`,
  );
  assertEquals([seen.found.length, seen.hit], [2, true]);
}, { files: FILES, reports: /^asked |^Failed to load|ERR_FAILED/ });
