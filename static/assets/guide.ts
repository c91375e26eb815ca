/// <reference lib="dom" />
// A document that the service rendered: its code can be copied, and its
// contents follow the reader.

import { html, render } from "./preact.js";
import { Copy } from "./requests.ts";
import { followReading } from "./spy.ts";
import { highlight } from "./view.ts";

for (const code of document.querySelectorAll<HTMLElement>("main pre > code")) {
  const block = code.parentElement!;
  // What scrolls sideways is reached by keyboard.
  block.tabIndex = 0;
  const frame = document.createElement("div");
  frame.className = "copied";
  block.before(frame);
  frame.append(block);
  const corner = frame.appendChild(document.createElement("div"));
  const text = code.textContent ?? "";
  render(html`<${Copy} what="the code" text=${text} />`, corner);
}
for (const table of document.querySelectorAll<HTMLElement>("main table")) {
  table.tabIndex = 0;
}
// Code stays plain where it cannot be colored.
highlight(document.querySelector("main")!, new AbortController().signal)
  .catch(console.warn);
const sections = document.querySelector<HTMLElement>(".sections");
if (sections !== null) followReading(sections);
