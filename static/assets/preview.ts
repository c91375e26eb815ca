/// <reference lib="dom" />
// The preview of a file, by its kind. What it takes to compute over a file's
// content, the worker does. HTML of the service goes through DOMPurify before
// it becomes part of this page; nothing is loaded from another host.

import type { Job } from "./convert.ts";
import { Component, html } from "./preact.js";
import type { Change, Data } from "./list.ts";
import { sizeWords } from "./requests.ts";
import { fragmentOf } from "./show.ts";
import { opened, operationUrl, type State, stateUrl } from "./state.ts";
import { codeView, fromWorker, type Load, skeleton, View } from "./view.ts";
import { work, WorkError } from "./work.ts";

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
  readonly frontMatterError?: {
    readonly message: string;
    readonly line: number;
  };
  readonly lastChanged?: Change;
  readonly created?: Change;
  readonly html?: string;
  readonly htmlError?: { readonly message: string };
}

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

/**
 * The kind of a file. Its bytes decide between text and binary, whatever its
 * name says.
 */
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

/** The content of a file. */
export function Preview({ file, state, rawUrl }: PreviewProps) {
  const kind = kindOf(file);
  const converted = (job: Job) =>
    html`<${View} load=${fromWorker(job)} text=${file.content} />`;
  switch (kind) {
    case "empty":
      return html`<p class="empty">This file is empty.</p>`;
    case "html":
      return html`
        <${View} class="prose" load=${serviceHtml(
          file,
          state,
        )} finish=${drawPictures}
          text=${file
            .content} />
      `;
    case "image":
      return file.contentType.startsWith("image/svg")
        ? html`<${Drawing} file=${file} rawUrl=${rawUrl} />`
        : html`<${Picture} file=${file} url=${rawUrl} />`;
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
    case "notebook":
      return converted({ kind, text: file.content });
    case "table":
      return converted({
        kind,
        text: file.content,
        separator: /\.tsv$/i.test(file.name) ? "\t" : ",",
      });
    case "text":
      return html`${
        file.htmlError && html`<p class="notice">${file.htmlError.message}</p>`
      }${sourceOf(file)}`;
  }
}

/** The text of a file as it stands, highlighted where its language is known. */
export function sourceOf(file: FileBody) {
  if (file.encoding !== "utf-8") {
    return html`<p class="empty">This file is not text: ${
      sizeWords(file.size)
    } of ${file.contentType.split(";")[0]}.</p>`;
  }
  if (file.content === "") {
    return html`<p class="empty">This file is empty.</p>`;
  }
  return codeView(file.content, file.name.toLowerCase().split(".").at(-1)!);
}

/**
 * The service's HTML, cleaned once more; its links to files lead to them in
 * this page.
 */
function serviceHtml(file: FileBody, state: State): Load {
  return async (signal) => {
    const [{ default: purify }, { nodes, isCut }] = await Promise.all([
      import("./dompurify.js"),
      work({ kind: "html", text: file.html ?? "" }, signal),
    ]);
    const fit = (node: Node) => {
      if (node instanceof Element) fitElement(node, file, state);
    };
    purify.addHook("afterSanitizeAttributes", fit);
    try {
      const cleaned = purify.sanitize(fragmentOf(nodes), {
        USE_PROFILES: { html: true },
        FORBID_TAGS: [
          "style",
          "form",
          "button",
          "textarea",
          "select",
          "dialog",
          "video",
          "audio",
        ],
        FORBID_ATTR: [
          ...[
            "style",
            "srcset",
            "action",
            "background",
            "popover",
            "popovertarget",
          ],
          ...["tabindex", "inert", "hidden"],
        ],
        RETURN_DOM_FRAGMENT: true,
      });
      return { nodes: cleaned, isCut };
    } finally {
      purify.removeHook("afterSanitizeAttributes", fit);
    }
  };
}

function fitElement(element: Element, file: FileBody, state: State) {
  // Names of this page are its own.
  for (const name of ["id", "name"]) {
    if (!element.getAttribute(name)?.startsWith("user-content-")) {
      element.removeAttribute(name);
    }
  }
  const allowed = [...element.classList].filter((name) =>
    /^(language-[\w+-]+|markdown-alert[\w-]*|task-list-item|contains-task-list|footnotes|sr-only|block)$/
      .test(name)
  );
  if (element.classList.length > 0) {
    element.setAttribute("class", allowed.join(" "));
  }
  if (element instanceof HTMLAnchorElement) fitLink(element, file, state);
  else if (element instanceof HTMLImageElement) fitImage(element);
  else if (element instanceof HTMLInputElement) {
    element.setAttribute("aria-label", element.checked ? "Done" : "Not done");
  } else if (element.localName === "pre" || element.localName === "table") {
    // What scrolls sideways must be reachable by keyboard.
    element.setAttribute("tabindex", "0");
  }
}

function fitLink(
  link: HTMLAnchorElement,
  { path, htmlUrl }: FileBody,
  state: State,
) {
  const href = link.getAttribute("href");
  if (href === null || href.startsWith("#")) return;
  const url = URL.parse(href, document.baseURI);
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  const webRoot = htmlUrl?.endsWith(encoded)
    ? htmlUrl.slice(0, -encoded.length)
    : null;
  const query = isContentUrl(url) ? url?.searchParams : null;
  const repository = `${query?.get("owner")}/${query?.get("repo")}`
    .toLowerCase();
  const inRepository =
    repository === `${state.owner}/${state.repo}`.toLowerCase()
      ? query?.get("path") ?? null
      : webRoot !== null && href.startsWith(webRoot)
      ? decode(href.slice(webRoot.length).split(/[?#]/)[0]!)
      : null;
  if (inRepository !== null && inRepository !== "") {
    link.setAttribute(
      "href",
      stateUrl(opened(state, inRepository)),
    );
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
  return url?.href.startsWith(
    operationUrl("get-item-content", [], document.baseURI),
  ) ?? false;
}

/** Paths of pictures whose bytes a browser decodes beside the page. */
const PHOTO = /\.(avif|bmp|gif|ico|jpe?g|png|webp)$/i;
const MAX_DRAWINGS = 50;

/**
 * A picture from another host becomes a link to it. One that may be a drawing
 * waits for `drawPictures()`.
 */
function fitImage(image: HTMLImageElement) {
  const src = image.getAttribute("src") ?? "";
  const url = URL.parse(src, document.baseURI);
  delete image.dataset["drawing"];
  if (!isContentUrl(url)) {
    return image.replaceWith(linkToPicture(image, url, "elsewhere"));
  }
  image.loading = "lazy";
  if (PHOTO.test(url?.searchParams.get("path") ?? "")) return;
  image.removeAttribute("src");
  image.dataset["drawing"] = src;
}

function linkToPicture(
  image: HTMLImageElement,
  url: URL | null,
  where: string,
): HTMLElement {
  const link = image.ownerDocument.createElement("a");
  link.textContent = `Picture ${where}: ${
    image.alt || url?.host || "no address"
  }`;
  if (url !== null && /^https?:$/.test(url.protocol)) link.href = url.href;
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
  return link;
}

/** Gives the drawings in an element their addresses, one after the other. */
async function drawPictures(
  element: Element,
  signal: AbortSignal,
): Promise<void> {
  const images = element.querySelectorAll<HTMLImageElement>(
    "img[data-drawing]",
  );
  for (const [at, image] of images.entries()) {
    const url = image.dataset["drawing"]!;
    try {
      if (at >= MAX_DRAWINGS) {
        throw new WorkError("There are too many drawings.");
      }
      const response = await fetch(url, { signal });
      const isDrawing =
        response.headers.get("content-type")?.startsWith("image/svg") ?? false;
      image.src = isDrawing
        ? await drawingUrl(await response.text(), signal)
        : url;
    } catch {
      signal.throwIfAborted();
      image.replaceWith(
        linkToPicture(image, URL.parse(url, document.baseURI), "not drawn"),
      );
    }
  }
}

/**
 * The address of a drawing, made of its text, so that no other text is drawn
 * than the one that the worker has checked.
 * @throws {WorkError} where it may take long to draw it.
 */
async function drawingUrl(text: string, signal: AbortSignal): Promise<string> {
  await work({ kind: "drawing", text }, signal);
  return `data:image/svg+xml;charset=utf-8,${
    encodeURIComponent(text.toWellFormed())
  }`;
}

interface DrawingState {
  readonly url: string;
  /** Why it is not drawn. */
  readonly reason: string;
}

/** An SVG file; as text where it may take long to draw. */
class Drawing
  extends Component<{ file: FileBody; rawUrl: string }, DrawingState> {
  override state: DrawingState = { url: "", reason: "" };
  readonly #abort = new AbortController();

  override async componentDidMount() {
    const { content, encoding } = this.props.file;
    const { signal } = this.#abort;
    try {
      if (encoding !== "utf-8") throw new WorkError("It is not UTF-8.");
      this.setState({ url: await drawingUrl(content, signal) });
    } catch (error) {
      if (signal.aborted) return;
      this.setState({
        reason: error instanceof WorkError
          ? error.message
          : "It cannot be shown.",
      });
    }
  }

  override componentWillUnmount() {
    this.#abort.abort();
  }

  override render() {
    const { file, rawUrl } = this.props;
    const { url, reason } = this.state;
    if (url !== "") return html`<${Picture} file=${file} url=${url} />`;
    if (reason === "") return skeleton();
    return html`
      <p
        class="notice bad">This is shown as plain text. ${reason} <a href=${rawUrl}
            target="_blank" rel="noopener">Open it in a tab of its own</a></p>${sourceOf(
              file,
            )}
    `;
  }
}

class Picture extends Component<
  { file: FileBody; url: string },
  { size: string; broken: boolean }
> {
  override state = { size: "", broken: false };

  override render() {
    const { file, url } = this.props;
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
        <div><img src=${url} alt=${file.name} onLoad=${loaded}
            onError=${() => this.setState({ broken: true })} /></div>
        <figcaption>${this.state.size || "Loading…"} · ${sizeWords(
          file.size,
        )}</figcaption>
      </figure>
    `;
  }
}
