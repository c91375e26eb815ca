// A file's content as what it is: Markdown set, images and sound shown, everything else as text.

import { h } from "./dom.js";
import { sourceBlock } from "./source_block.js";
import { kindOf } from "./words.js";

const MAX_MARKDOWN_CHARACTERS = 300_000;

/** The element that shows the content. */
export async function preview(item, { state, rawUrl }) {
  const kind = kindOf(item.contentType);
  if (kind === "image") {
    return h(
      "div",
      { class: "picture" },
      h("img", { src: rawUrl, alt: `The image ${item.name}` }),
    );
  }
  if (kind === "audio" || kind === "video") {
    return h(kind, { src: rawUrl, controls: true, class: "media" });
  }
  if (item.encoding === "base64") {
    return h(
      "p",
      { class: "empty" },
      "This is no text, and nothing that can be shown here. ",
      h("a", { href: rawUrl, download: true }, "Save the file"),
      ".",
    );
  }
  const text = item.body ?? item.content.replace(/^\ufeff/, "");
  if (kind !== "markdown" || text.length > MAX_MARKDOWN_CHARACTERS) return sourceBlock(text);
  try {
    const { renderMarkdown } = await import("./markdown.js");
    return h("div", { class: "prose" }, renderMarkdown(text, state));
  } catch (error) {
    console.error(error);
    return sourceBlock(text);
  }
}
