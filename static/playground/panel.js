// One half of the playground: it holds the answer to one request, and says meanwhile that one is under way.

import { ask } from "./ask.js";
import { whileBusy } from "./busy.js";
import { h } from "./dom.js";
import { requestPanel } from "./request_panel.js";
import { operationUrl } from "./state.js";

const baseUrl = document.baseURI;

/** A part of the page that shows the answer to one request, the latest one that was asked for. */
export class Panel {
  #shownUrl = null;
  #controller = null;

  constructor(id) {
    this.element = document.getElementById(id);
  }

  /** Shows nothing but `content`. */
  clear(content = []) {
    this.#controller?.abort();
    this.#shownUrl = null;
    this.element.replaceChildren(...[content].flat());
  }

  /** Asks, and shows what `draw` makes of the answer; null where a later request took over. */
  async load(operation, parameters, { draw, drawProblem, skeleton, again = false }) {
    const url = operationUrl(operation, parameters, baseUrl);
    if (url === this.#shownUrl && !again) return null;
    const isFirst = this.#shownUrl === null;
    this.#controller?.abort();
    const controller = this.#controller = new AbortController();
    this.#shownUrl = url;
    const request = { operation, parameters, url, baseUrl };
    const waiting = h("p", { class: "waiting" }, "Asking…");
    if (isFirst || skeleton !== undefined) {
      const form = skeleton ?? h("div", { class: "skeleton", "aria-hidden": "true" });
      this.element.replaceChildren(requestPanel(request, null), waiting, form);
    } else this.element.prepend(waiting);
    try {
      return await whileBusy(this.element, {
        tell: (text) => text === null ? waiting.remove() : waiting.textContent = text,
        work: async () => {
          const answer = await ask(url, controller);
          const content = answer.problem === null
            ? await draw(answer.body)
            : drawProblem(answer.problem);
          if (controller.signal.aborted) return null;
          const focused = document.activeElement;
          const label = this.element.contains(focused) ? focused.textContent : null;
          this.element.replaceChildren(requestPanel(request, answer), content);
          if (label !== null) this.#refocus(label);
          return answer;
        },
      });
    } catch (error) {
      if (!controller.signal.aborted) throw error;
      return null;
    }
  }

  /** Who walks pages by keyboard stays on the link that does it. */
  #refocus(label) {
    const links = [...this.element.querySelectorAll("a, button")];
    const same = links.find((link) => link.textContent === label);
    (same ?? this.element.querySelector("caption, h2"))?.focus?.();
  }
}
