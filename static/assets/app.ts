/// <reference lib="dom" />
// The playground: a state comes from the address bar, a typed address or a
// link; the page requests its data from the service and shows it. The list is
// beside the open file, or, on a narrow screen, behind it.

import { Component, html, render } from "./preact.js";
import {
  captionOf,
  focusFirstRow,
  Folders,
  type FoldersBody,
  keysOf,
  type ListBody,
  ListPanel,
} from "./list.ts";
import type { ItemProps } from "./item.ts";
import { announce, Loader } from "./requests.ts";
import {
  closed,
  DATA_FILE,
  EMPTY,
  hasFile,
  listParameters,
  openParameters,
  operationUrl,
  parsePlace,
  readState,
  type State,
  stateAt,
  stateUrl,
} from "./state.ts";

const root = document.getElementById("app")!;
/**
 * What this deployment serves: the names of its local repositories, and whether
 * any at GitHub may be requested.
 */
const locals = (root.dataset["local"] ?? "").split(" ").filter((name) =>
  name !== ""
);
const isOpen = root.dataset["open"] === "true";
/**
 * Repositories at GitHub that this deployment names; `owner/*` are all of an
 * account.
 */
const allowed = (root.dataset["allowed"] ?? "").split(" ").filter((name) =>
  name !== ""
);

const WIDE = matchMedia("(min-width: 60rem)");
const WIDER = matchMedia("(min-width: 80rem)");
const list = new Loader<ListBody>(paint);
const folders = new Loader<FoldersBody>(paint);
// deno-lint-ignore no-explicit-any
const item = new Loader<any>(paint);
let current: State | null = readState(location.search) ?? firstState();
/** Where the focus goes once its panel is there. */
let focusNext: "row" | "file" | "" = "";
/** The field that had the focus before, which may be drawn anew. */
let fieldId = "";
let itemModule: typeof import("./item.ts") | null = null;
/**
 * Comes with the first list: a browser has six connections for what the page
 * needs at once.
 */
let panelModule: typeof import("./panel.ts") | null = null;

/** The repository that a deployment shows by itself; null: none. */
function firstState(): State | null {
  const repo = locals.includes("blog") ? "blog" : locals[0];
  if (repo === undefined) return null;
  return {
    ...EMPTY,
    owner: "local",
    repo,
    collection: repo === "blog" ? "posts" : "/",
  };
}

/** Shows a state under its address. */
function go(state: State): void {
  history.pushState(null, "", stateUrl(state));
  show(state);
}

/** The same from a control, which keeps the focus. */
function set(state: State): void {
  history.pushState(null, "", stateUrl(state));
  show(state, { hasFocus: true });
}

/** Keys of the items that were listed of a collection. */
let keys: readonly string[] = [];
let keysOfPlace = "";

function listUrl(state: State): string {
  return operationUrl(
    "list-collection-items",
    listParameters(state),
    "http://h",
  );
}

function show(
  state: State | null,
  { again = false, hasFocus = false } = {},
): void {
  const before = current;
  current = state;
  document.title = titleOf(state);
  if (state === null) {
    list.clear();
    folders.clear();
    item.clear();
    return paint();
  }
  const moved = before === null || listUrl(state) !== listUrl(before);
  const isOther = state.path !== before?.path || state.slug !== before?.slug;
  if (moved && !hasFocus) {
    focusNext = "row";
    fieldId = document.activeElement?.id ?? "";
  } else if (hasFile(state) && isOther && !WIDE.matches) focusNext = "file";
  // A reader who goes somewhere tries again what had a problem.
  const options = (loader: Loader<unknown>) => ({
    again: again || loader.answer?.problem != null,
  });
  void list.load("list-collection-items", listParameters(state), options(list));
  if (!hasFile(state)) {
    item.clear();
    void loadPanelModule();
  } else {
    void loadItemModule();
    void item.load("get-item-content", openParameters(state), options(item));
  }
  paint();
  if (!hasFile(state) && before !== null && hasFile(before) && !moved) {
    focusRow(before.path || before.slug);
  }
}

async function loadItemModule() {
  if (itemModule !== null) return;
  itemModule = await import("./item.ts");
  paint();
}

async function loadPanelModule() {
  if (panelModule !== null) return;
  panelModule = await import("./panel.ts");
  paint();
}

function focusRow(path: string) {
  for (const link of document.querySelectorAll<HTMLElement>("a[data-path]")) {
    if (link.dataset["path"] === path) link.focus();
  }
}

function titleOf(state: State | null): string {
  if (state === null) return "Repo Collections";
  const name = (state.path || state.slug).split("/").at(-1);
  return `${name ? `${name}, ` : ""}${placeOf(state)} – Repo Collections`;
}

function placeOf({ collection, owner, repo }: State): string {
  return `${collection === "/" ? "" : `${collection} in `}${owner}/${repo}`;
}

let told = "";

/**
 * The folder that is browsed: the list's, the one of its data file, or the root
 * where there is no list.
 */
function browsedPath(): string {
  const path = list.answer?.body?.collection.path ?? "";
  return DATA_FILE.test(path) ? path.split("/").slice(0, -1).join("/") : path;
}

/** Asks for the folders once the list is there, which a reader waits for. */
function loadFolders({ owner, repo, branch }: State): void {
  if (list.answer === null) return;
  void folders.load("list-collections", [
    ["owner", owner],
    ["repo", repo],
    ["branch", branch],
  ]);
}

function paint(): void {
  if (current !== null) {
    loadFolders(current);
    const place = `${placeOf(current)} ${current.branch}`;
    // With `fields` items have only some of their keys.
    const known = place === keysOfPlace ? keys : [];
    keys = [
      ...new Set([...known, ...keysOf(list.answer?.body?.items ?? [])]),
    ];
    keysOfPlace = place;
  }
  render(html`<${App} />`, root);
  if (focusNext === "row" && list.answer !== null) {
    focusNext = "";
    focusFirstRow(fieldId);
  } else if (focusNext === "file") {
    const heading = document.getElementById("file-title");
    if (heading !== null) focusNext = "";
    heading?.focus();
  }
  const { body, problem } = list.answer ?? {};
  const text = body != null
    ? `${captionOf(body.pagination)} in ${body.collection.name}`
    : problem?.title ?? "";
  if (text !== told) announce(told = text);
}

/** The bar: repository, branch and folder, each edited where it stands. */
class PlaceBar
  extends Component<unknown, { isEditing: boolean; fault: string }> {
  override state = { isEditing: false, fault: "" };

  #submit = (event: Event) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const text = (name: string) =>
      ((form.elements.namedItem(name) as HTMLInputElement | null)?.value ?? "")
        .trim();
    const typed = text("repository");
    const state = current ?? EMPTY;
    this.setState({ isEditing: false, fault: "" });
    if (typed.toLowerCase() !== `${state.owner}/${state.repo}`.toLowerCase()) {
      const named = parsePlace(typed);
      if (named !== null) return go(stateAt(named, state));
      this.setState({
        fault:
          "This names no repository at GitHub. Type owner/repo, or paste its address.",
      });
      return form.querySelector("input")?.focus();
    }
    const collection = form.elements.namedItem("collection") === null
      ? state.collection
      : text("collection") || "/";
    const branch = text("branch");
    if (collection === state.collection && branch === state.branch) {
      return show(state, { again: true });
    }
    go({
      ...EMPTY,
      owner: state.owner,
      repo: state.repo,
      limit: state.limit,
      branch,
      collection,
    });
  };

  /** A pasted address is opened at once. */
  #paste = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData("text") ?? "";
    const named = /[:/].*\//.test(text) ? parsePlace(text) : null;
    if (named === null) return;
    event.preventDefault();
    this.setState({ fault: "" });
    go(stateAt(named, current ?? EMPTY));
  };

  #edit = () => {
    this.setState({ isEditing: true }, () => {
      const input = document.getElementById("collection") as
        | HTMLInputElement
        | null;
      input?.focus();
      input?.select();
    });
  };

  #escape = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    this.setState({ isEditing: false, fault: "" });
    (event.currentTarget as HTMLFormElement).reset();
  };

  override render() {
    const { owner, repo, branch } = current ?? EMPTY;
    const name = owner + repo === "" ? "" : `${owner}/${repo}`;
    const { fault } = this.state;
    return html`
      <form class="place" aria-label="Place" novalidate autocomplete="off"
        autocapitalize="none"
        spellcheck="false" onSubmit=${this.#submit} onKeyDown=${this.#escape}>
        <div class="fields-row">
        <label class="outlined repository"><span>Repository</span><input
          id="repository" name="repository" key=${`r ${name}`}
          defaultValue=${name} placeholder="owner/repo, or an address"
          list="repositories" aria-invalid=${fault !== ""}
          aria-describedby=${fault ? "fault" : null} onPaste=${this.#paste}
          onFocus=${(event: FocusEvent) =>
            (event.target as HTMLInputElement).select()} /></label>
        <datalist id="repositories">${repositories().map((name) =>
          html`<option value=${name} />`
        )}</datalist>
        ${current !== null && html`
          ${owner !== "local" && html`
            <label class="outlined branch"><span>Branch</span><input
              id="branch" name="branch" key=${`b ${name} ${branch}`}
              defaultValue=${branch} placeholder="main" /></label>
          `}
          ${this.#path(current)}
        `}
        </div>
        <button class="hidden" tabindex="-1">Show</button>
        ${fault && html`<p id="fault" class="fault" role="alert">${fault}</p>`}
      </form>
    `;
  }

  #path(state: State) {
    if (this.state.isEditing) {
      return html`
        <label class="hidden" for="collection">Collection</label>
        <input id="collection" name="collection" class="wide" defaultValue=${state
          .collection}
          onBlur=${() => this.setState({ isEditing: false })} />
      `;
    }
    const path = list.answer?.body?.collection.path ?? state.collection;
    const segments = path.split("/").filter((segment) => segment !== "");
    const link = (depth: number, label: string) =>
      html`
        <a href=${stateUrl({
          ...EMPTY,
          owner: state.owner,
          repo: state.repo,
          branch: state.branch,
          limit: state.limit,
          collection: segments.slice(0, depth).join("/") || "/",
        })}
          aria-current=${depth === segments.length
            ? "location"
            : null}>${label}</a>
      `;
    return html`
      <div class="folder-path">
        <nav class="crumbs" aria-label="Folders">
          <ol>
              <li>${link(0, "/")}</li>
              ${segments.map((segment, at) =>
                html`<li>${link(at + 1, segment)}</li>`
              )}
            </ol>
        </nav>
        <button type="button" class="quiet icon" aria-label="Edit the folder"
          title="Edit the folder"
          onClick=${this.#edit}>
              <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d="M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z" /></svg></button>
      </div>
    `;
  }
}

/** In the place of the list while no repository is chosen. */
function Welcome() {
  const accounts = allowed.filter((name) => name.endsWith("/*"))
    .map((name) => name.slice(0, -2)).join(", ");
  return html`
    <section class="pane welcome" aria-label="About">
      <div class="body">
        <h2 class="claim">A folder of a repository, as an API</h2>
        <p>One <code>GET</code> request lists the files of a collection, with
          their front matter; another reads a file, as text, as safe HTML or as
          bytes. Any page may send them, and no answer is more than 60 seconds
          behind the repository while GitHub answers.</p>
        ${examples().length > 0 && html`<h3>Look at</h3>${exampleList()}`}
        <p class="soft">${isOpen
          ? "Type owner/repo above, or paste the address of a page at GitHub."
          : `This deployment serves chosen repositories only${
            accounts === "" ? "" : `, and those of ${accounts}`
          }.`}</p>
      </div>
    </section>
  `;
}

/** Names of repositories that this deployment offers. */
function repositories(): string[] {
  return [
    ...locals.map((name) => `local/${name}`),
    ...allowed.filter((name) => !name.endsWith("/*")),
  ];
}

function exampleList() {
  return html`<ul class="examples">${
    examples().map(([label, state]) =>
      html`<li><a href=${stateUrl(state)}>${label}</a></li>`
    )
  }</ul>`;
}

function examples(): [string, State][] {
  const blog: State = {
    ...EMPTY,
    owner: "local",
    repo: "blog",
    collection: "posts",
  };
  return [
    ...locals.includes("blog")
      ? [
        ["The example blog, newest first", {
          ...blog,
          sort: "-frontMatter.date",
          filters: [["filter[frontMatter.draft]", "!true"]],
        }],
        ["Everything in the example", { ...blog, collection: "/" }],
      ] as [string, State][]
      : [],
    ...locals.filter((repo) => repo !== "blog").map((
      repo,
    ): [string, State] => [`local/${repo}`, {
      ...EMPTY,
      owner: "local",
      repo,
      collection: "/",
    }]),
    ...allowed.filter((name) => !name.endsWith("/*")).map((
      name,
    ): [string, State] => [name, stateAt(parsePlace(name)!, EMPTY)]),
    ...isOpen
      ? [["Astro’s documentation, at GitHub", {
        ...EMPTY,
        owner: "withastro",
        repo: "docs",
        branch: "HEAD",
        collection: "src/content/docs/en",
      }]] as [string, State][]
      : [],
  ];
}

/** On a narrow screen the list and its request take turns. */
function switcher(state: State) {
  const link = (label: string, view: State["view"]) =>
    html`<a href=${stateUrl({ ...state, view })} aria-current=${
      state.view === view ? "true" : null
    }>${label}</a>`;
  return html`
    <nav class="views switch"
      aria-label="List or request">${link("List", "preview")}${link(
        "Request",
        "request",
      )}</nav>
  `;
}

function App() {
  const isBusy = list.isWaiting || item.isWaiting;
  const view = current === null
    ? "none"
    : hasFile(current)
    ? "file"
    : current.view === "request"
    ? "request"
    : "list";
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="bar">
      <div class="progress" role="progressbar" aria-label="Loading"
        hidden=${!isBusy}></div>
      <a class="brand"
        href="./"><svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true"><rect
        x="3" y="7" width="26" height="22" rx="5" fill="#1d7a5f" /><rect x="7" y="3" width="18" height="8" rx="3" fill="#8fd3b6" /><path
        d="M9 16h14M9 20.5h14M9 25h8" stroke="#fff" stroke-width="2" stroke-linecap="round" /></svg><span>Repo Collections</span></a>
      <${PlaceBar} />
      <nav class="pages" aria-label="Pages of this service">
        <a href="./" aria-current="page">Playground</a>
        <a href="reference">Reference</a>
        <a href="guides">Guides</a>
      </nav>
    </header>
    ${(view === "list" || view === "request") && html`
      <aside class="tagline"
        aria-label="What this is"><strong>Repo Collections</strong> gives a folder of a repository as JSON to any page.</aside>
    `}
    <main class="panes" id="main" tabindex="-1" data-view=${view}>
      <h1 class="hidden">${current === null
        ? "Repo Collections"
        : placeOf(current)}</h1>
      ${current === null ? html`<${Welcome} />` : panes(current)}
    </main>
  `;
}

function panes(state: State) {
  const { owner, repo, branch } = state;
  const retry = () => show(state, { again: true });
  const common = { state, set, retry, keys };
  return html`
    <${Folders} key=${`${owner}/${repo}@${branch}`} state=${state}
      loader=${folders} path=${browsedPath()} isOpen=${WIDER.matches}><section
        class="others" aria-label="Look at"><h2>Look at</h2>${exampleList()}</section><//>
    ${!hasFile(state) && switcher(state)}
    <${ListPanel} state=${state} loader=${list} go=${go} retry=${retry} />
    ${hasFile(state) ? filePane(common) : panelModule === null
      ? html`
        <section class="pane api" aria-label="Request and answer"
          aria-busy="true"></section>
      `
      : html`
        <${panelModule.RequestPanel} ...${common} loader=${list}
          isOpen=${WIDE.matches} />
      `}
  `;
}

function filePane(common: Omit<ItemProps, "loader">) {
  return itemModule === null
    ? html`<section class="pane file" aria-label="File" aria-busy="true"></section>`
    : html`<${itemModule.ItemPanel} ...${common} loader=${item} />`;
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.("a[href]");
  const href = link?.getAttribute("href") ?? "";
  if (!href.startsWith("?") || link?.hasAttribute("target")) return;
  event.preventDefault();
  const state = readState(href);
  if (state !== null) go(state);
});
document.addEventListener("keydown", (event) => {
  const menu = document.querySelector<HTMLElement>("details.menu[open]");
  if (event.key === "Escape" && menu !== null) {
    menu.removeAttribute("open");
    return menu.querySelector("summary")?.focus();
  }
  const isTyping =
    (event.target as Element).closest?.("input, select, textarea") != null;
  if (isTyping || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("filter")?.focus();
  } else if (
    event.key === "Escape" && current !== null && hasFile(current)
  ) go(closed(current));
});
// A menu that is left is closed.
for (const type of ["click", "focusin"]) {
  document.addEventListener(type, (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target as Node)) menu.removeAttribute("open");
    }
  });
}
addEventListener(
  "popstate",
  () => show(readState(location.search) ?? firstState()),
);
WIDE.addEventListener("change", paint);
WIDER.addEventListener("change", paint);
show(current);
