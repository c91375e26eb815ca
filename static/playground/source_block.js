// Text as it stands, in a box that scrolls by mouse and by keyboard.

import { h } from "./dom.js";
import { sizeWords } from "./words.js";

const MAX_TEXT_CHARACTERS = 500_000;

/** Text in a box that scrolls. */
export function sourceBlock(text) {
  const shown = text.slice(0, MAX_TEXT_CHARACTERS);
  return h(
    "div",
    {},
    h("pre", { class: "source", tabindex: "0", "aria-label": "The file's text" }, shown),
    shown.length < text.length
      ? h("p", { class: "empty" }, `The first ${sizeWords(shown.length)} of it.`)
      : null,
  );
}
