// The playground: a state comes from the address bar, the form or a link; what it means is asked of the service and shown.

import { announce, h } from "./dom.js";
import { fillForm, listenToForm, markFields } from "./form.js";
import { itemPanel, itemSkeleton } from "./item_panel.js";
import { captionOf, listPanel, markCurrent } from "./list_panel.js";
import { Panel } from "./panel.js";
import { problemPanel } from "./problem_panel.js";
import {
  EMPTY,
  FIRST,
  itemParameters,
  listParameters,
  operationUrl,
  readState,
  stateUrl,
} from "./state.js";

const baseUrl = document.baseURI;
const WIDE = matchMedia("(min-width: 60rem)");

const list = new Panel("list");
const item = new Panel("item");
let current = FIRST;

/** Shows a state; `again` asks even for what is shown already. */
async function show(state, { again = false } = {}) {
  current = state;
  document.title = titleOf(state);
  fillForm(state);
  markCurrent(list.element, state.path);
  await Promise.all([showList(state, again), showItem(state, again)]);
}

async function showList(state, again) {
  const answer = await list.load("list-collection-items", listParameters(state), {
    again,
    draw: (body) => listPanel(body, state),
    drawProblem: (problem) =>
      problemPanel(problem, { state, retry: () => show(state, { again: true }) }),
  });
  if (answer === null) return;
  if (state === FIRST && answer.status >= 400) return showNoExample(answer.status);
  markFields([...list.element.querySelectorAll(".errors li")]);
  if (answer.problem === null) announce(captionOf(answer.body));
  markCurrent(list.element, current.path);
  // Who comes for the first time sees at once what an item looks like.
  const [first] = answer.body?.items ?? [];
  if (state !== FIRST || current !== FIRST) return;
  if (first === undefined) item.clear(hint());
  else {
    current = { ...state, path: first.path };
    history.replaceState(null, "", stateUrl(current));
    markCurrent(list.element, current.path);
    await showItem(current, false);
  }
}

/** Nobody asked for the example: where it is not served, nothing is wrong. */
function showNoExample(status) {
  const id = status === 403 ? "examples" : "local-examples";
  document.getElementById(id).hidden = true;
  document.title = "Repo Collections";
  fillForm(EMPTY);
  list.clear(h("p", { class: "empty hint" }, "Name a repository above to see its files here."));
  item.clear(hint());
}

let shownView = null;

async function showItem(state, again) {
  if (state.path === "") {
    shownView = null;
    // Its first item follows.
    if (state === FIRST) return;
    item.clear(hint());
    return;
  }
  const parameters = itemParameters(state);
  const rawUrl = operationUrl("get-item-content", itemParameters(state, "raw"), baseUrl);
  const place = operationUrl("get-item-content", parameters, baseUrl);
  const sameFile = shownView?.place === place;
  if (sameFile && shownView.view === state.view && !again) return;
  shownView = { place, view: state.view };
  const answer = await item.load("get-item-content", parameters, {
    again: again || sameFile,
    draw: (body) => itemPanel(body, { state, rawUrl }),
    drawProblem: (problem) =>
      problemPanel(problem, { state, retry: () => show(state, { again: true }) }),
    ...sameFile ? {} : { skeleton: itemSkeleton(state.path) },
  });
  if (answer?.body) announce(`Showing ${answer.body.name}`);
}

function hint() {
  return h("p", { class: "empty hint" }, "Choose a file to see its content here.");
}

function titleOf({ owner, repo, collection, path }) {
  const file = path === "" ? "" : `${path.slice(path.lastIndexOf("/") + 1)}, `;
  return `${file}${collection} in ${owner}/${repo} – Repo Collections`;
}

/** Goes to a state as a link does: a new entry in the history, nothing loaded but what is missing. */
function go(state, { again = false } = {}) {
  const opensItem = state.path !== "" && state.path !== current.path;
  if (stateUrl(state) !== location.search) history.pushState(null, "", stateUrl(state));
  show(state, { again });
  // Beside each other there is nothing to scroll to; below each other there is.
  if (opensItem && !WIDE.matches) {
    item.element.scrollIntoView({ block: "start" });
    item.element.querySelector("h2")?.focus({ preventScroll: true });
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || link.target !== "" || link.hasAttribute("download")) return;
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const isState = link.origin === location.origin && link.pathname === location.pathname &&
    link.search !== "" && link.hash === "";
  if (!isState) return;
  event.preventDefault();
  go(readState(link.search));
});
addEventListener("popstate", () => {
  const { path } = current;
  const wasInItem = item.element.contains(document.activeElement);
  show(readState(location.search));
  // What had the focus may be gone: the reader is back at the file, in the list.
  if (!wasInItem || document.activeElement !== document.body) return;
  const links = [...list.element.querySelectorAll("a[data-path]")];
  const link = links.find(({ dataset }) => dataset.path === path);
  (link ?? list.element.querySelector("caption, h2"))?.focus();
});
listenToForm((state) => {
  // Asked for again, or for another page: the file that is open stays.
  const sameFolder = ["owner", "repo", "branch", "collection"].every((name) =>
    state[name] === current[name]
  );
  const { path, view } = sameFolder && state.path === "" ? current : state;
  // The page of one list is none of another, unless it was typed for that.
  const page = sameList(state, current) || state.page !== current.page ? state.page : "";
  go({ ...state, page, path, view }, { again: true });
});

/** Whether both list the same files in the same order and portions, whatever is said of each. */
function sameList(...states) {
  const [one, other] = states.map((state) => {
    const plain = { ...state, page: "", includeContent: false, includeFrontMatter: false };
    return operationUrl("list-collection-items", listParameters(plain), baseUrl);
  });
  return one === other;
}

show(readState(location.search));
