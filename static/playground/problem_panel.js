// A problem as a person wants it: what is wrong, what to do, and a link for each thing that may be done.

import { h } from "./dom.js";
import { stateUrl } from "./state.js";

/** The panel for a problem that was met in `state`; `retry` asks again. */
export function problemPanel(problem, { state, retry }) {
  const id = problem.requestId ? h("span", {}, "Request ", h("code", {}, problem.requestId)) : null;
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("h2", {}, problem.title),
    // The errors stand right below; only who reads the JSON must be told where.
    h("p", {}, withCode(problem.detail.replace(/ See "errors"\.$/, ""))),
    errorList(problem.errors),
    wayList(waysOut(problem, state)),
    h(
      "p",
      { class: "problem-foot" },
      retryButton(problem, retry),
      problem.code
        ? h("a", { href: problem.type, target: "_blank", rel: "noopener" }, `About ${problem.code}`)
        : null,
      id,
    ),
  );
}

function errorList(errors = []) {
  if (errors.length === 0) return null;
  return h(
    "ul",
    { class: "errors" },
    errors.map(({ parameter, message }) =>
      h("li", { "data-parameter": parameter }, h("strong", {}, parameter), " ", withCode(message))
    ),
  );
}

/** Text in which backquotes set code. */
function withCode(text) {
  return text.split("`").map((part, index) => index % 2 === 1 ? h("code", {}, part) : part);
}

function wayList(ways) {
  if (ways.length === 0) return null;
  return h(
    "p",
    { class: "ways" },
    "Perhaps: ",
    ways.map(({ label, state }) => h("a", { class: "way", href: stateUrl(state) }, label)),
  );
}

/** States that are likely to be what was meant. */
function waysOut({ code, suggestions = [] }, state) {
  const start = { ...state, page: "", path: "", view: "preview" };
  const ways = suggestions.map((collection) => ({
    label: collection,
    state: { ...start, collection },
  }));
  if (code === "collection-not-found" && state.collection !== "/") {
    ways.push({ label: "the whole repository", state: { ...start, collection: "/" } });
  }
  if (code === "branch-not-found") {
    ways.push({ label: "the default branch", state: { ...state, branch: "HEAD" } });
  }
  if (code === "item-not-found") {
    ways.push({ label: "list it as a folder", state: { ...start, collection: state.path } });
  }
  return ways;
}

function retryButton({ retryAfterSeconds, status }, retry) {
  if (status !== undefined && status < 500 && status !== 429) return null;
  const button = h("button", { type: "button", onclick: () => retry() }, "Try again");
  let left = retryAfterSeconds ?? 0;
  const show = () => button.textContent = left > 0 ? `Try again (in ${left} s)` : "Try again";
  show();
  const timer = setInterval(() => {
    left--;
    if (left <= 0 || !button.isConnected) clearInterval(timer);
    show();
  }, 1000);
  return button;
}
