/// <reference lib="dom" />
// The preview of a file, by its kind. HTML of the service and of the highlighter goes through DOMPurify before it becomes
// part of this page; nothing is loaded from another host.

import type { Config, DOMPurify } from "./dompurify.js";
import { Component, html } from "./preact.js";
import type { Data } from "./list.ts";
import { sizeWords } from "./requests.ts";
import { operationUrl, type State, stateUrl } from "./state.ts";

/** One file, as the service gives it. */
export interface FileBody {
  readonly name: string;
  readonly path: string;
  readonly sha: string;
  readonly size: number;
  readonly contentType: string;
  readonly htmlUrl?: string;
  readonly encoding: "utf-8" | "base64";
  readonly content: string;
  readonly frontMatter?: Data;
  readonly frontMatterError?: { readonly message: string; readonly line: number };
  readonly html?: string;
  readonly htmlError?: { readonly message: string };
}

const MAX_TEXT_CHARACTERS = 500_000;
const MAX_HIGHLIGHTED_CHARACTERS = 100_000;
const MAX_ROWS = 500;

/** By extension, or by the name that a fence gives. */
const LANGUAGES: ReadonlyMap<string, string> = new Map(Object.entries({
  bash: "bash",
  cjs: "javascript",
  css: "css",
  diff: "diff",
  go: "go",
  graphql: "graphql",
  htm: "xml",
  html: "xml",
  ini: "ini",
  java: "java",
  js: "javascript",
  json: "json",
  json5: "json",
  jsonc: "json",
  jsx: "javascript",
  kt: "kotlin",
  md: "markdown",
  mdx: "markdown",
  mjs: "javascript",
  patch: "diff",
  php: "php",
  py: "python",
  rb: "ruby",
  rs: "rust",
  scss: "scss",
  sh: "bash",
  sql: "sql",
  svg: "xml",
  swift: "swift",
  toml: "ini",
  ts: "typescript",
  tsx: "typescript",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
  zsh: "bash",
  dockerfile: "dockerfile",
  javascript: "javascript",
  kotlin: "kotlin",
  markdown: "markdown",
  python: "python",
  ruby: "ruby",
  rust: "rust",
  shell: "bash",
  typescript: "typescript",
  makefile: "makefile",
}));

/** How a file is shown. */
type Kind =
  | "empty"
  | "html"
  | "image"
  | "audio"
  | "video"
  | "pdf"
  | "json"
  | "table"
  | "notebook"
  | "text"
  | "binary";

/** The kind of a file. Its bytes decide between text and binary, whatever its name says. */
function kindOf({ name, contentType, encoding, size, html }: FileBody): Kind {
  if (size === 0) return "empty";
  const main = contentType.match(/^(image|audio|video)\//)?.[1];
  if (main !== undefined) return main as Kind;
  if (contentType.startsWith("application/pdf")) return "pdf";
  if (encoding !== "utf-8") return "binary";
  if (html !== undefined) return "html";
  if (/\.(json|geojson|webmanifest)$/i.test(name)) return "json";
  if (/\.(csv|tsv)$/i.test(name)) return "table";
  return /\.ipynb$/i.test(name) ? "notebook" : "text";
}

interface PreviewProps {
  readonly file: FileBody;
  readonly state: State;
  readonly rawUrl: string;
}

/** The content of a file; as text where the preview of its kind fails, which a malformed file can cause. */
export class Preview extends Component<PreviewProps, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static override getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return html`<${PreviewOfKind} ...${this.props} />`;
    return html`<p class="notice bad">This file has no preview: it is not as its kind should be.</p>${
      sourceOf(this.props.file)
    }`;
  }
}

function PreviewOfKind({ file, state, rawUrl }: PreviewProps) {
  const kind = kindOf(file);
  switch (kind) {
    case "empty":
      return html`<p class="empty">This file is empty.</p>`;
    case "html":
      return html`<${Foreign} class="prose" load=${() => serviceHtml(file, state)} />`;
    case "image":
      return html`<${Picture} file=${file} rawUrl=${rawUrl} />`;
    case "audio":
    case "video":
      return html`
        <${kind} class="media" controls src=${rawUrl}>
          </${kind}>
      `;
    case "pdf":
      return html`
        <p
          class="empty">A PDF document of ${sizeWords(
            file.size,
          )}. <a href=${rawUrl} target="_blank" rel="noopener">Open it</a></p>
      `;
    case "binary":
      return sourceOf(file);
    case "json":
      return jsonPreview(file);
    case "table":
      return tableOf(parseTable(file.content, /\.tsv$/i.test(file.name) ? "\t" : ","));
    case "notebook":
      return notebookPreview(file);
    case "text":
      return html`${file.htmlError && html`<p class="notice">${file.htmlError.message}</p>`}${
        sourceOf(file)
      }`;
  }
}

/** The text of a file as it stands, highlighted where its language is known. */
export function sourceOf(file: FileBody) {
  if (file.encoding !== "utf-8") {
    return html`<p class="empty">This file is not text: ${sizeWords(file.size)} of ${
      file.contentType.split(";")[0]
    }.</p>`;
  }
  if (file.content === "") return html`<p class="empty">This file is empty.</p>`;
  return codeBlock(file.content, languageOf(file.name));
}

/** The language of a file by its name; null for an unknown one. */
export function languageOf(name: string): string | null {
  const word = name.toLowerCase().split(".").at(-1)!;
  return LANGUAGES.get(word) ?? null;
}

/** A text in a box that scrolls, highlighted as soon as the highlighter is there. */
export function codeBlock(text: string, language: string | null) {
  const shown = text.slice(0, MAX_TEXT_CHARACTERS);
  const cut = shown.length < text.length &&
    html`<p class="soft">The first ${sizeWords(shown.length)} of it.</p>`;
  if (language === null || shown.length > MAX_HIGHLIGHTED_CHARACTERS) {
    return html`<pre class="code" tabindex="0" aria-label="Text">${shown}</pre>${cut}`;
  }
  return html`
    <pre class="code" tabindex="0" aria-label="Text"
      key=${language}><${Foreign} class="hljs" text=${shown}
        load=${() => highlighted(shown, language)} /></pre>
  `;
}

/** Nodes that are not made by Preact; until they are there, the plain text. */
class Foreign extends Component<{ load: () => Promise<Node>; class: string; text?: string }> {
  #element: HTMLElement | null = null;

  override shouldComponentUpdate() {
    return false;
  }

  override componentDidMount() {
    this.props.load().then(
      (node) => this.#element?.replaceChildren(node),
      () => this.#element?.append("This preview cannot be loaded."),
    );
  }

  override render() {
    const { class: name, text = "" } = this.props;
    const setElement = (element: HTMLElement | null) => void (this.#element = element);
    return html`<div class=${name} ref=${setElement}>${text}</div>`;
  }
}

// deno-lint-ignore no-explicit-any
const registered = new Map<string, Promise<any>>();

async function highlighted(text: string, language: string): Promise<Node> {
  if (!registered.has(language)) {
    const parts = ["highlight", `highlight-${language}`].map((name) => import(`./${name}.js`));
    registered.set(
      language,
      Promise.all(parts).then(([{ default: highlighter }, { default: grammar }]) => {
        highlighter.registerLanguage(language, grammar);
        return highlighter;
      }),
    );
  }
  const highlighter = await registered.get(language);
  const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
  const { default: purify } = await import("./dompurify.js");
  return clean(purify, value, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] });
}

function clean(purify: DOMPurify, text: string, config: Config): DocumentFragment {
  return purify.sanitize(text, {
    ...config,
    RETURN_DOM_FRAGMENT: true,
  }) as unknown as DocumentFragment;
}

/** The service's HTML, cleaned once more; its links to files lead to them in this page. */
async function serviceHtml(file: FileBody, state: State): Promise<Node> {
  const { default: purify } = await import("./dompurify.js");
  const fit = (node: Node) => {
    if (node instanceof Element) fitElement(node, file, state);
  };
  purify.addHook("afterSanitizeAttributes", fit);
  let fragment: DocumentFragment;
  try {
    fragment = clean(purify, file.html ?? "", {
      USE_PROFILES: { html: true },
      FORBID_TAGS: ["style", "form", "button", "textarea", "select", "dialog", "video", "audio"],
      FORBID_ATTR: ["style", "srcset", "action", "background", "popover", "popovertarget"],
    });
  } finally {
    purify.removeHook("afterSanitizeAttributes", fit);
  }
  for (const code of fragment.querySelectorAll("pre > code[class*='language-']")) {
    const language = LANGUAGES.get(code.className.replace("language-", "").toLowerCase());
    const text = code.textContent ?? "";
    if (language === undefined || text.length > MAX_HIGHLIGHTED_CHARACTERS) continue;
    // The plain text stays where there is no highlighter.
    highlighted(text, language).then((node) => code.replaceChildren(node), () => {});
  }
  return fragment;
}

function fitElement(element: Element, file: FileBody, state: State) {
  // Names of this page are its own.
  for (const name of ["id", "name"]) {
    if (!element.getAttribute(name)?.startsWith("user-content-")) element.removeAttribute(name);
  }
  const allowed = [...element.classList].filter((name) =>
    /^(language-[\w+-]+|markdown-alert[\w-]*|task-list-item|contains-task-list|footnotes|sr-only)$/
      .test(name)
  );
  if (element.classList.length > 0) element.setAttribute("class", allowed.join(" "));
  if (element instanceof HTMLAnchorElement) fitLink(element, file, state);
  else if (element instanceof HTMLImageElement) fitImage(element);
  else if (element instanceof HTMLInputElement) {
    element.setAttribute("aria-label", element.checked ? "Done" : "Not done");
  } else if (element.localName === "pre" || element.localName === "table") {
    // What scrolls sideways must be reachable by keyboard.
    element.setAttribute("tabindex", "0");
  }
}

function fitLink(link: HTMLAnchorElement, { path, htmlUrl }: FileBody, state: State) {
  const href = link.getAttribute("href");
  if (href === null || href.startsWith("#")) return;
  const url = URL.parse(href, document.baseURI);
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  const webRoot = htmlUrl?.endsWith(encoded) ? htmlUrl.slice(0, -encoded.length) : null;
  const query = isContentUrl(url) ? url?.searchParams : null;
  const repository = `${query?.get("owner")}/${query?.get("repo")}`.toLowerCase();
  const inRepository = repository === `${state.owner}/${state.repo}`.toLowerCase()
    ? query?.get("path") ?? null
    : webRoot !== null && href.startsWith(webRoot)
    ? decode(href.slice(webRoot.length).split(/[?#]/)[0]!)
    : null;
  if (inRepository !== null && inRepository !== "") {
    link.setAttribute("href", stateUrl({ ...state, path: inRepository, view: "preview" }));
  } else {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Whether an address is of a file's content at this service. */
function isContentUrl(url: URL | null): boolean {
  return url?.href.startsWith(operationUrl("get-item-content", [], document.baseURI)) ?? false;
}

/** A picture from another host becomes a link to it. */
function fitImage(image: HTMLImageElement) {
  const url = URL.parse(image.getAttribute("src") ?? "", document.baseURI);
  if (isContentUrl(url) || url?.protocol === "data:") {
    image.loading = "lazy";
    return;
  }
  const link = image.ownerDocument.createElement("a");
  link.textContent = `Picture elsewhere: ${image.alt || url?.host || "no address"}`;
  if (url !== null && /^https?:$/.test(url.protocol)) link.href = url.href;
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  image.replaceWith(link);
}

class Picture
  extends Component<{ file: FileBody; rawUrl: string }, { size: string; broken: boolean }> {
  override state = { size: "", broken: false };

  override render() {
    const { file, rawUrl } = this.props;
    if (this.state.broken) {
      return html`
        <p
          class="notice bad">This image cannot be shown: its bytes are damaged, or of a kind that this browser does not know.</p>
      `;
    }
    const loaded = ({ currentTarget }: Event) => {
      const { naturalWidth, naturalHeight } = currentTarget as HTMLImageElement;
      this.setState({ size: `${naturalWidth} × ${naturalHeight} pixels` });
    };
    return html`
      <figure class="picture">
        <div><img src=${rawUrl} alt=${file.name} onLoad=${loaded}
            onError=${() => this.setState({ broken: true })} /></div>
        <figcaption>${this.state.size || "Loading…"} · ${sizeWords(file.size)}</figcaption>
      </figure>
    `;
  }
}

function jsonPreview(file: FileBody) {
  let value: unknown;
  try {
    value = JSON.parse(file.content.replace(/^\uFEFF/, ""));
  } catch (error) {
    return html`<p class="notice bad">This is not valid JSON: ${(error as Error).message}</p>${
      sourceOf(file)
    }`;
  }
  return html`
    <div class="tree">
      <${JsonTree} value=${value} name="" depth=${0} />
    </div>
  `;
}

interface JsonTreeProps {
  readonly name: string;
  readonly value: unknown;
  readonly depth: number;
}

/** A value of JSON; objects and lists open on demand. */
class JsonTree extends Component<JsonTreeProps, { open: boolean }> {
  override state = { open: this.props.depth < 2 };

  override render() {
    const { name, value, depth } = this.props;
    const label = name === "" ? null : html`<span class="key">${name}:</span>`;
    if (typeof value !== "object" || value === null) {
      return html`<div class="leaf">${label}<span class=${`v-${
        value === null ? "null" : typeof value
      }`}>${JSON.stringify(value)}</span></div>`;
    }
    const entries = Object.entries(value);
    const isList = Array.isArray(value);
    const count = `${entries.length} ${isList ? "element" : "key"}${
      entries.length === 1 ? "" : "s"
    }`;
    if (entries.length === 0) return html`<div class="leaf">${label}${isList ? "[]" : "{}"}</div>`;
    const toggled = (event: Event) =>
      this.setState({ open: (event.currentTarget as HTMLDetailsElement).open });
    return html`<details open=${this.state.open} onToggle=${toggled}>
      <summary>${label}<span class="soft">${isList ? "[ ]" : "{ }"} ${count}</span></summary>
      ${
      this.state.open && entries.slice(0, MAX_ROWS).map(([key, one]) =>
        html`<${JsonTree} key=${key} name=${key} value=${one} depth=${depth + 1} />`
      )
    }
      ${
      entries.length > MAX_ROWS &&
      html`<p class="soft">and ${entries.length - MAX_ROWS} more, see the source.</p>`
    }
    </details>`;
  }
}

/** Rows of a text of separated values (RFC 4180). */
export function parseTable(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let isQuoted = false;
  const source = text.replace(/^\uFEFF/, "");
  for (let at = 0; at < source.length && rows.length <= MAX_ROWS; at++) {
    const char = source[at]!;
    if (isQuoted && char === '"' && source[at + 1] === '"') field += source[++at];
    else if (char === '"' && (isQuoted || field === "")) isQuoted = !isQuoted;
    else if (!isQuoted && char === separator) {
      row.push(field);
      field = "";
    } else if (!isQuoted && char === "\n") {
      rows.push([...row, field.replace(/\r$/, "")]);
      row = [];
      field = "";
    } else field += char;
  }
  if (field !== "" || row.length > 0) rows.push([...row, field]);
  return rows;
}

function tableOf([head = [], ...rows]: string[][]) {
  const cut = rows.length >= MAX_ROWS &&
    html`<p class="soft">The first ${MAX_ROWS} rows; the source has all.</p>`;
  return html`
    <div class="data" tabindex="0" role="region" aria-label="Table">
      <table>
        <thead>
          <tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr>
        </thead>
        <tbody>${rows.map((row) =>
          html`<tr>${row.map((value) => html`<td>${value}</td>`)}</tr>`
        )}</tbody>
      </table>
    </div>${cut}
  `;
}

interface Cell {
  readonly cell_type: string;
  readonly source: string | readonly string[];
  readonly outputs?: readonly {
    readonly text?: string | readonly string[];
    readonly data?: Readonly<Record<string, string | readonly string[]>>;
    readonly evalue?: string;
  }[];
}

/** @throws for what is no notebook. */
function notebookPreview(file: FileBody) {
  const notebook = JSON.parse(file.content);
  const cells: readonly Cell[] = notebook.cells.slice(0, MAX_ROWS);
  const language = notebook.metadata?.kernelspec?.language ?? "python";
  const joined = (text: unknown) =>
    Array.isArray(text) ? text.join("") : typeof text === "string" ? text : "";
  const known = [...LANGUAGES.values()].includes(language) ? language : null;
  return html`<div class="notebook">${
    cells.map(({ cell_type, source, outputs = [] }, at) =>
      html`<div class="cell" key=${at}>${
        cell_type === "code"
          ? codeBlock(joined(source), known)
          : html`<div class="words">${joined(source)}</div>`
      }${
        outputs.map(({ text, data = {}, evalue }) => {
          const png = joined(data["image/png"]).replaceAll(/\s/g, "");
          return png !== ""
            ? html`<img src=${`data:image/png;base64,${png}`} alt="Output" />`
            : html`<pre class="output" tabindex="0" aria-label="Output">${
              joined(text) || joined(data["text/plain"]) || evalue || ""
            }</pre>`;
        })
      }</div>`
    )
  }</div>`;
}
