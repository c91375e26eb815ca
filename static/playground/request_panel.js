// A request and its answer: the exact address, code to copy, and in plain words what the answer said of itself.

import { announce, h } from "./dom.js";
import { snippetsFor } from "./snippets.js";
import { ageWords, cacheWords, sizeWords, timeWords } from "./words.js";

const MAX_JSON_CHARACTERS = 200_000;

/** The panel for a request; `answer` null while there is none. */
export function requestPanel(request, answer) {
  const code = h("pre", { class: "snippet", tabindex: "0", hidden: true });
  const buttons = snippetsFor(request).map((snippet) => copyButton(snippet, code));
  return h(
    "div",
    { class: "request" },
    h(
      "div",
      { class: "address" },
      h("span", { class: "method" }, "GET"),
      h(
        "a",
        { class: "url", href: request.url, target: "_blank", rel: "noopener" },
        breakable(request.url),
      ),
    ),
    h("div", { class: "copy", role: "group", "aria-label": "Copy the request as" }, buttons),
    code,
    answer === null ? null : factList(answer),
    answer === null ? null : jsonDetails(answer),
  );
}

/** An address that breaks between its parameters, not within one. */
function breakable(url) {
  return url.split(/(?=&)/).flatMap((part, at) => at === 0 ? part : [h("wbr"), part]);
}

function copyButton({ name, text }, code) {
  const button = h("button", { type: "button" }, name);
  button.addEventListener("click", async () => {
    const copied = await copy(text);
    code.textContent = text;
    code.hidden = name === "URL";
    announce(copied ? `Copied: ${name}` : `Select and copy: ${name}`);
    button.dataset.copied = copied ? "Copied" : "Select it below";
    if (!copied) {
      code.hidden = false;
      getSelection().selectAllChildren(code);
    }
    setTimeout(() => delete button.dataset.copied, 2000);
  });
  return button;
}

async function copy(text) {
  try {
    // Not there on plain http beyond this machine.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function factList({ status, statusText, ms, bytes, wireBytes, headers }) {
  if (status === null) return null;
  const size = sizeWords(bytes) + (wireBytes ? `, ${sizeWords(wireBytes)} on the way` : "");
  const facts = [
    ["Status", `${status} ${statusText}`],
    ["Time", timeWords(ms)],
    ["Size", size],
    ["Age", ageWords(headers.get("age"))],
    ["Cache", cacheWords(headers.get("cache-status"))],
  ];
  return h(
    "dl",
    { class: "facts" },
    facts.filter(([, text]) => text !== null).map(([name, text]) =>
      h(
        "div",
        { class: name === "Status" ? (status < 400 ? "good" : "bad") : null },
        h("dt", {}, name),
        h("dd", {}, text),
      )
    ),
  );
}

/** The body as it came, drawn when it is first wanted. */
function jsonDetails({ body, problem, status }) {
  if (status === null) return null;
  const code = h("pre", { tabindex: "0" });
  const details = h("details", { class: "json" }, h("summary", {}, "The answer as JSON"), code);
  details.addEventListener("toggle", () => {
    if (code.textContent !== "") return;
    const text = JSON.stringify(body ?? problem, null, 2);
    code.textContent = text.length <= MAX_JSON_CHARACTERS
      ? text
      : `${text.slice(0, MAX_JSON_CHARACTERS)}\n… ${sizeWords(text.length)} in all`;
  });
  return details;
}
