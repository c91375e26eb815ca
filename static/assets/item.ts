/// <reference lib="dom" />
// The open file: its head, front matter and content. Loaded when the first file
// is opened.

import { html } from "./preact.js";
import { type Change, titleOf } from "./list.ts";
import { RequestBody } from "./panel.ts";
import { type FileBody, Preview, sourceOf } from "./preview.ts";
import { type Loader, ProblemPanel, Progress, sizeWords } from "./requests.ts";
import {
  closed,
  DATA_FILE,
  EMPTY,
  itemParameters,
  operationUrl,
  type State,
  stateUrl,
} from "./state.ts";
import type { TreeBuilder, TreeElement } from "./tree.ts";
import { skeleton, treeView } from "./view.ts";

/** What the panel of a file is given. */
export interface ItemProps {
  readonly state: State;
  readonly loader: Loader<FileBody>;
  readonly retry: () => void;
  readonly set: (state: State) => void;
  readonly keys: readonly string[];
}

/** The panel of the open file. */
export function ItemPanel({ state, loader, retry, set, keys }: ItemProps) {
  const { answer, isWaiting } = loader;
  const file = answer?.body ?? null;
  const name = (state.path || state.slug).split("/").at(-1)!;
  const view = (label: string, to: State["view"]) =>
    html`<a href=${stateUrl({ ...state, view: to })} aria-current=${
      state.view === to ? "true" : null
    }>${label}</a>`;
  return html`
    <section class="pane file" aria-label="File" aria-busy=${isWaiting}>
      <header class="head">
        <a class="back" aria-label="Back"
          href=${stateUrl(
            closed(state),
          )}><svg viewBox="0 0 16 16" width="16" height="16"
            aria-hidden="true"><path d="M10 3L5 8l5 5" /></svg><span aria-hidden="true">Back</span></a>
        <h2 id="file-title" tabindex="-1">${file === null
          ? name
          : titleOf(file)}</h2>
        <nav class="views"
          aria-label="Views">${view(
            "Preview",
            "preview",
          )}${view(
            "Source",
            "source",
          )}${view("Request", "request")}</nav>
        <a class="close" href=${stateUrl(closed(state))}
          aria-label="Close the file"><svg viewBox="0 0 16 16"
            width="16" height="16" aria-hidden="true"><path d="M4 4l8 8M12 4l-8 8" /></svg></a>
      </header>
      <div class="body" key=${`${state.path} ${state.slug} ${
        state.view === "request"
      }`} tabindex="0" role="region"
        aria-label="Content">${state.view === "request"
          ? html`
            <${RequestBody} state=${state} loader=${loader} set=${set}
              retry=${retry} keys=${keys} isOpen=${true} />
          `
          : html`
            <${Progress} loader=${loader} />
            ${isWaiting && skeleton()}
            ${answer?.problem != null &&
              html`<${ProblemPanel} problem=${answer.problem} state=${state} onRetry=${retry} />`}
            ${file !== null && fileBody(file, state)}
          `}</div>
    </section>
  `;
}

/** When the file was changed and made, where that was asked for. */
function historyLine({ lastChanged, created }: FileBody) {
  if (lastChanged === undefined) return null;
  const day = ({ date }: Change) =>
    html`<time datetime=${date}>${date.slice(0, 10)}</time>`;
  return html`
    <p
      class="meta history"><span>Changed ${day(lastChanged)} by ${lastChanged
        .author.name.slice(0, 100)}: ${lastChanged.message.slice(
          0,
          200,
        )}</span> <code>${lastChanged.commit.slice(0, 7)}</code>${created &&
        html`<span>Created ${day(created)}</span>`}</p>
  `;
}

function fileBody(file: FileBody, state: State) {
  const raw = operationUrl(
    "get-item-content",
    itemParameters({ ...state, path: file.path, slug: "" }, [[
      "format",
      "raw",
    ]]),
    document.baseURI,
  );
  return html`
    <p class="meta"><span class="path">${file.path}</span> <span>${sizeWords(
      file.size,
    )}</span>
      <a href=${raw} download=${file.name}>Download</a>
      ${DATA_FILE.test(file.name) &&
        html`<a href=${
          stateUrl({
            ...EMPTY,
            owner: state.owner,
            repo: state.repo,
            branch: state.branch,
            limit: state.limit,
            collection: file.path,
          })
        }>Show its rows</a>`}
      ${file.htmlUrl &&
        html`<a href=${file.htmlUrl} target="_blank" rel="noopener">View on GitHub</a>`}</p>
    ${historyLine(file)}
    ${file.frontMatterError &&
      html`<p class="notice bad">The front matter does not parse, line ${file.frontMatterError.line}:
      ${file.frontMatterError.message}</p>`}
    ${state.view === "source" ? sourceOf(file) : html`
      ${frontMatterList(file)}
      <${Preview} key=${file.sha + file.path} file=${file} state=${state}
        rawUrl=${raw} />
    `}
  `;
}

function frontMatterList({ sha, frontMatter }: FileBody) {
  const entries = Object.entries(frontMatter ?? {});
  if (entries.length === 0) return null;
  return treeView(`front matter ${sha}`, (tree) => {
    const list = tree.add(tree.root, "dl", { class: "front-matter" });
    for (const [key, value] of entries) {
      const field = tree.add(list, "div");
      tree.text(tree.add(field, "dt"), key);
      writeValue(tree, tree.add(field, "dd"), value);
    }
  });
}

function writeValue(
  tree: TreeBuilder,
  parent: TreeElement,
  value: unknown,
): void {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) {
    for (const one of value) {
      tree.text(tree.add(parent, "span", { class: "tag" }), String(one));
    }
  } else if (typeof value !== "object" || value === null) {
    tree.text(parent, String(value));
  } else tree.text(tree.add(parent, "code"), JSON.stringify(value));
}
