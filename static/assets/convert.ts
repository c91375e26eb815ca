// What the worker makes of a file's text: a tree, for each kind of preview. How
// long that takes is up to the file's author, so it runs in the worker alone.
// This module uses no DOM.

import { checkDrawing } from "./drawing.ts";
import { type Attributes, readHtml } from "./markup.ts";
import {
  BLOCK_CHARACTERS,
  buildTree,
  ConvertError,
  type Tree,
} from "./tree.ts";
import type { TreeBuilder, TreeElement } from "./tree.ts";

/** A piece of work for the worker. */
export type Job =
  | {
    readonly kind: "json" | "notebook" | "html" | "drawing";
    readonly text: string;
  }
  | {
    readonly kind: "table";
    readonly text: string;
    readonly separator: string;
  }
  | { readonly kind: "code"; readonly blocks: readonly CodeBlock[] };

/** Code, and the highlighter's name of its language. */
export interface CodeBlock {
  readonly text: string;
  readonly language: string;
}

/** A text to HTML with elements for its colors. */
export type Highlight = (block: CodeBlock) => string;

const MAX_ROWS = 500;
const MAX_COLUMNS = 100;
const MAX_ATTRIBUTE_CHARACTERS = 2_000;
/** Objects and lists that are open at first. */
const OPEN_DEPTH = 2;

/** @throws for a text that is not as its kind should be. */
export function convert(job: Job, highlight: Highlight): Tree {
  return buildTree((tree) => {
    switch (job.kind) {
      case "json":
        return writeJson(tree, job.text);
      case "notebook":
        return writeNotebook(tree, job.text);
      case "html":
        return writeHtml(tree, job.text);
      case "drawing":
        // The browser draws it, if it may.
        return checkDrawing(job.text);
      case "table":
        return writeTable(tree, job.text, job.separator);
      case "code":
        for (const block of job.blocks) {
          tree.code(
            tree.add(tree.root, "code"),
            colored(tree, highlight(block)),
          );
        }
    }
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new ConvertError(
      `This is not valid JSON: ${(error as Error).message.slice(0, 300)}`,
    );
  }
}

/**
 * Objects and lists that open; the outer ones come first, so that the budget is
 * not spent on one branch.
 */
function writeJson(tree: TreeBuilder, text: string): void {
  const queue: { parent: TreeElement; members: Members; depth: number }[] = [];
  const write = (
    parent: TreeElement,
    name: string,
    value: unknown,
    depth: number,
  ) => {
    const members = membersOf(value);
    const isOpen = members.length > 0 && depth < OPEN_DEPTH;
    const element = members.length > 0
      ? tree.add(parent, "details", isOpen ? { open: "" } : {})
      : tree.add(parent, "div", { class: "leaf" });
    const line = members.length > 0 ? tree.add(element, "summary") : element;
    if (name !== "") {
      tree.text(tree.add(line, "span", { class: "key" }), `${name}:`);
    }
    if (members.length > 0) {
      tree.text(tree.add(line, "span", { class: "soft" }), members.words);
      queue.push({ parent: element, members, depth: depth + 1 });
    } else {
      const type = value === null ? "null" : typeof value;
      tree.text(
        tree.add(line, "span", { class: `v-${type}` }),
        JSON.stringify(value),
      );
    }
  };
  write(tree.add(tree.root, "div", { class: "tree" }), "", parseJson(text), 0);
  for (const { parent, members, depth } of queue) {
    for (const [name, value] of members.first) {
      write(parent, name, value, depth);
    }
    if (members.length <= MAX_ROWS) continue;
    tree.isCut = true;
    tree.text(
      tree.add(parent, "p", { class: "soft" }),
      `and ${members.length - MAX_ROWS} more`,
    );
  }
}

interface Members {
  readonly first: readonly (readonly [name: string, value: unknown])[];
  readonly length: number;
  readonly words: string;
}

/** What an object or a list has; any other value has nothing. */
function membersOf(value: unknown): Members {
  if (typeof value !== "object" || value === null) {
    return { first: [], length: 0, words: "" };
  }
  const names = Array.isArray(value)
    ? value.keys()
    : Object.keys(value).values();
  const length = Array.isArray(value)
    ? value.length
    : Object.keys(value).length;
  const first = [...names.take(MAX_ROWS)].map((name) =>
    [String(name), (value as Record<string, unknown>)[name]] as const
  );
  const noun = `${Array.isArray(value) ? "element" : "key"}${
    length === 1 ? "" : "s"
  }`;
  return {
    first,
    length,
    words: `${Array.isArray(value) ? "[ ]" : "{ }"} ${length} ${noun}`,
  };
}

/** The first rows and columns of a text of separated values (RFC 4180). */
export function parseTable(
  text: string,
  separator: string,
): { readonly rows: readonly (readonly string[])[]; readonly isCut: boolean } {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let isQuoted = false;
  let isCut = false;
  const source = text.replace(/^\uFEFF/, "");
  const endField = () => {
    if (row.length < MAX_COLUMNS) row.push(field);
    else isCut = true;
    field = "";
  };
  let at = 0;
  for (; at < source.length && rows.length < MAX_ROWS; at++) {
    const char = source[at]!;
    if (isQuoted && char === '"' && source[at + 1] === '"') {
      field += source[++at];
    } else if (char === '"' && (isQuoted || field === "")) isQuoted = !isQuoted;
    else if (!isQuoted && char === separator) endField();
    else if (!isQuoted && char === "\n") {
      field = field.replace(/\r$/, "");
      endField();
      rows.push(row);
      row = [];
    } else field += char;
  }
  if (rows.length < MAX_ROWS && (field !== "" || row.length > 0)) {
    endField();
    rows.push(row);
  }
  return { rows, isCut: isCut || at < source.length };
}

function writeTable(tree: TreeBuilder, text: string, separator: string): void {
  const { rows, isCut } = parseTable(text, separator);
  tree.isCut = isCut;
  const attributes = {
    class: "data",
    tabindex: "0",
    role: "region",
    "aria-label": "Table",
  };
  const table = tree.add(tree.add(tree.root, "div", attributes), "table");
  const head = tree.add(tree.add(table, "thead"), "tr");
  for (const name of rows[0] ?? []) {
    tree.text(tree.add(head, "th", { scope: "col" }), name);
  }
  const body = tree.add(table, "tbody");
  for (const row of rows.slice(1)) {
    const line = tree.add(body, "tr");
    for (const value of row) tree.text(tree.add(line, "td"), value);
  }
}

interface Cell {
  readonly cell_type: string;
  readonly source: unknown;
  readonly outputs?: readonly {
    readonly text?: unknown;
    readonly data?: Readonly<Record<string, unknown>>;
    readonly evalue?: unknown;
  }[];
}

/** @throws {TypeError} for what is no notebook. */
function writeNotebook(tree: TreeBuilder, text: string): void {
  const { cells, metadata } = parseJson(text) as {
    cells: Cell[];
    metadata?: { kernelspec?: { language?: unknown } };
  };
  if (!Array.isArray(cells)) {
    throw new TypeError("Cannot read a notebook: it has no cells");
  }
  const language = String(metadata?.kernelspec?.language ?? "python").slice(
    0,
    40,
  );
  const notebook = tree.add(tree.root, "div", { class: "notebook" });
  for (const { cell_type, source, outputs = [] } of cells) {
    const cell = tree.add(notebook, "div", { class: "cell" });
    if (cell_type === "code") {
      const code = tree.add(cell, "pre", {
        class: "code",
        tabindex: "0",
        "aria-label": "Text",
      });
      tree.code(tree.add(code, "div", { class: `hljs language-${language}` }), [
        [
          joined(source),
          [],
        ],
      ]);
    } else {tree.code(tree.add(cell, "div", { class: "words" }), [[
        joined(source),
        [],
      ]]);}
    for (const { text, data = {}, evalue } of outputs) {
      const png = joined(data["image/png"]).replaceAll(/\s/g, "");
      if (png !== "") {
        tree.add(cell, "img", {
          src: `data:image/png;base64,${png}`,
          alt: "Output",
        });
        continue;
      }
      const output = { class: "output", tabindex: "0", "aria-label": "Output" };
      const words = joined(text) || joined(data["text/plain"]) ||
        joined(evalue);
      tree.code(tree.add(cell, "pre", output), [[words, []]]);
    }
  }
}

function joined(text: unknown): string {
  return Array.isArray(text)
    ? text.join("")
    : typeof text === "string"
    ? text
    : "";
}

/**
 * HTML of the service, whose elements, attributes and references are read as a
 * serializer writes them.
 */
function writeHtml(tree: TreeBuilder, html: string): void {
  const open = [{ name: "", element: tree.root, isPre: false }];
  for (const token of readHtml(html)) {
    const { element: parent, isPre } = open.at(-1)!;
    if (token.kind === "text") {
      if (isPre && token.text.length > BLOCK_CHARACTERS) {
        tree.code(parent, [[token.text, []]]);
      } else tree.text(parent, token.text);
    } else if (token.kind === "end") {
      const at = open.findLastIndex(({ name }) => name === token.name);
      if (at > 0) open.length = at;
      tree.end(token.name);
    } else {
      const { name } = token;
      const attributes = shortAttributes(tree, token.attributes);
      const element = tree.add(parent, name, attributes, spanOf(attributes));
      if (!VOID.has(name)) {
        open.push({ name, element, isPre: isPre || name === "pre" });
      }
    }
  }
}

const VOID = new Set(["br", "hr", "img", "input", "source", "wbr"]);

/** Attributes that a page can show: the text of `alt` is laid out too. */
function shortAttributes(
  tree: TreeBuilder,
  attributes: Attributes,
): Record<string, string> {
  const short: Record<string, string> = {};
  for (const [name, value] of attributes) {
    tree.count(name.length + value.length);
    if (value.length <= MAX_ATTRIBUTE_CHARACTERS) short[name] = value;
    else tree.isCut = true;
  }
  return short;
}

/**
 * How many cells a cell counts for: browsers take long to lay out those that
 * span many columns.
 */
function spanOf(
  { colspan = "1", rowspan = "1" }: Record<string, string>,
): number {
  const [columns, rows] = [colspan, rowspan].map((span) =>
    Math.abs(Number.parseInt(span, 10)) || 1
  );
  return columns! * rows!;
}

/**
 * The texts of the highlighter's HTML, each with the classes of the elements
 * around it; without any when room is short.
 */
function* colored(
  tree: TreeBuilder,
  html: string,
): Generator<readonly [text: string, classes: readonly string[]]> {
  const classes: string[] = [];
  for (const token of readHtml(html)) {
    if (token.kind === "start") {
      classes.push(
        token.attributes.find(([name]) => name === "class")?.[1] ?? "",
      );
    } else if (token.kind === "end") classes.pop();
    else yield [token.text, tree.isNearlyFull ? [] : classes];
  }
}
