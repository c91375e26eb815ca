/// <reference lib="dom" />
// Views: parts of the page that are not made by Preact. What they show is
// computed within the bounds of `tree.ts`, most of it by the worker, and put in
// piece by piece.

import type { Job } from "./convert.ts";
import { Component, html } from "./preact.js";
import { fragmentOf, show } from "./show.ts";
import { buildTree, type TreeBuilder } from "./tree.ts";
import { work, WorkError } from "./work.ts";

/** By extension, or by the name that a fence gives. */
const LANGUAGES: Readonly<Record<string, string>> = {
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
};

/** The highlighter's name of a language. */
function languageOf(word: string): string | null {
  return Object.hasOwn(LANGUAGES, word) ? LANGUAGES[word]! : null;
}

/**
 * A text in a box that scrolls, highlighted as soon as the highlighter is
 * there; `word` names its language, or does not.
 */
export function codeView(text: string, word = "") {
  return html`<${View} key=${text} load=${
    plainText(text, languageOf(word))
  } text=${text} />`;
}

/** What a function writes; `key` names it. */
export function treeView(key: string, write: (tree: TreeBuilder) => void) {
  return html`<${View} key=${key} load=${fromTree(write)} text="" />`;
}

interface Loaded {
  readonly nodes: DocumentFragment;
  readonly isCut: boolean;
}

/** Gets what a view shows. */
export type Load = (signal: AbortSignal) => Loaded | Promise<Loaded>;

function plainText(text: string, language: string | null): Load {
  const name = language === null ? "" : `language-${language}`;
  return fromTree((tree) => {
    const attributes = { class: "code", tabindex: "0", "aria-label": "Text" };
    const box = tree.add(tree.root, "pre", attributes);
    tree.code(tree.add(box, "div", { class: name }), [[text, []]]);
  });
}

function fromTree(write: (tree: TreeBuilder) => void): Load {
  return () => {
    const { nodes, isCut } = buildTree(write);
    return { nodes: fragmentOf(nodes), isCut };
  };
}

/** What the worker makes of a piece of work. */
export function fromWorker(job: Job): Load {
  return async (signal) => {
    const { nodes, isCut } = await work(job, signal);
    return { nodes: fragmentOf(nodes), isCut };
  };
}

interface ViewProps {
  readonly load: Load;
  /** Called when everything is there. */
  readonly finish?: (element: Element, signal: AbortSignal) => Promise<void>;
  readonly class?: string;
  /** Shown where there are no nodes. */
  readonly text: string;
}

interface ViewState {
  readonly phase: "loading" | "showing" | "shown" | "failed";
  readonly isCut: boolean;
  /** Why something is not as it should be. */
  readonly reason: string;
}

/**
 * Nodes that are not made by Preact. They are loaded and shown in pieces, and
 * then their code is highlighted.
 */
export class View extends Component<ViewProps, ViewState> {
  override state: ViewState = { phase: "loading", isCut: false, reason: "" };
  #element: HTMLElement | null = null;
  readonly #abort = new AbortController();

  override async componentDidMount() {
    const { signal } = this.#abort;
    try {
      const loaded = this.props.load(signal);
      const { nodes, isCut } = loaded instanceof Promise
        ? await loaded
        : loaded;
      this.setState({ phase: "showing", isCut });
      const isWhole = await show([[this.#element!, nodes]], signal);
      this.setState({ phase: "shown", isCut: isCut || !isWhole });
      const [isStillWhole] = await Promise.all([
        highlight(this.#element!, signal),
        this.props.finish?.(this.#element!, signal),
      ]);
      if (!isStillWhole) this.setState({ isCut: true });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof WorkError)) console.error(error);
      const reason = error instanceof WorkError
        ? error.message
        : "It cannot be shown.";
      this.setState(({ phase }) => ({
        reason,
        phase: phase === "shown" ? phase : "failed",
      }));
    }
  }

  override componentWillUnmount() {
    this.#abort.abort();
  }

  override render() {
    const { class: name = "", text } = this.props;
    const { phase, isCut, reason } = this.state;
    if (phase === "failed") {
      return html`<p class="notice bad">This is shown as plain text. ${reason}</p>${
        codeView(text)
      }`;
    }
    const setElement = (element: HTMLElement | null) =>
      void (this.#element = element);
    return html`
      ${reason !== "" &&
        html`<p class="notice">The code is shown as plain text. ${reason}</p>`}
      ${isCut && html`<p class="notice">Cut: only a part of this is shown.</p>`}
      ${phase === "loading" && skeleton()}
      <div key="nodes" class=${name} ref=${setElement} aria-busy=${phase !==
        "shown"}></div>
    `;
  }
}

/** Stands in the place of a text that is awaited. */
export function skeleton() {
  return html`<div class="skeleton text" aria-hidden="true">${
    Array.from({ length: 9 }, (_, at) => html`<div key=${at}></div>`)
  }</div>`;
}

const CODE = "pre > [class*='language-']";

/**
 * Colors the code in an element, and gives whether all of it is still there.
 * What cannot be colored stays as it is.
 */
export async function highlight(
  element: Element,
  signal: AbortSignal,
): Promise<boolean> {
  const codes = [...element.querySelectorAll(CODE)].flatMap((code) => {
    const word = code.className.match(/language-([\w+-]+)/)?.[1] ?? "";
    const language = languageOf(word.toLowerCase());
    return language === null
      ? []
      : [{ code, language, text: code.textContent ?? "" }];
  });
  if (codes.length === 0) return true;
  const blocks = codes.map(({ text, language }) => ({ text, language }));
  const { nodes, isCut } = await work({ kind: "code", blocks }, signal);
  const colored = isCut ? nodes.slice(0, -1) : nodes;
  const parts = colored.map((node, at) =>
    [
      codes[at]!.code,
      fragmentOf(typeof node === "string" ? [] : node.children),
    ] as const
  );
  for (const [code] of parts) code.classList.add("hljs");
  return await show(parts, signal);
}
