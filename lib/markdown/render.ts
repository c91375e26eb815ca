// GitHub Flavored Markdown to sanitized HTML: unified's pipeline with GitHub's schema. A pure function of the text, and
// not bounded in time: only the worker calls it. Constructs that let a small file grow without bound are refused here.

import type { Element, Root } from "hast";
import type { Nodes, Root as MarkdownRoot } from "mdast";
import rehypeRaw from "rehype-raw";
import rehypeSanitize, { defaultSchema, type Options as Schema } from "rehype-sanitize";
import rehypeSlug from "rehype-slug";
import rehypeStringify from "rehype-stringify";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { elementsOf, ID_PREFIX, openAddresses, RenderFailure } from "./addresses.ts";
import { markAlerts } from "./alerts.ts";
import { countWords, excerptOf, headingsOf } from "./outline.ts";
import type { Rendered } from "./rendered.ts";

/** References repeat the address of their definition; the bound is the size of the largest allowed file. */
const MAX_REFERENCED_LENGTH = 1024 * 1024;
/** Every row gets as many cells as its table has columns, whether they are written or not. */
const MAX_TABLE_CELLS = 100_000;
const MAX_HTML_LENGTH = 4 * 1024 * 1024;

/** Marks open addresses in the HTML while it is written. Random, so that no file can contain it. */
const TOKEN = crypto.randomUUID();
const OPEN_ADDRESS = new RegExp(` (?:href|src)="${TOKEN}\\d+"`);

/** GitHub's rules, but for what the contract narrows: fewer schemes, and no attribute that only a form or a map uses. */
const SCHEMA: Schema = {
  ...defaultSchema,
  clobberPrefix: ID_PREFIX,
  protocols: { href: ["http", "https", "mailto"], src: ["http", "https"] },
  // The text of these is no text of the file.
  strip: ["script", "style", "template", "title", "iframe", "noembed", "noframes"],
  attributes: {
    ...defaultSchema.attributes,
    "*": without(
      defaultSchema.attributes?.["*"],
      "accept acceptCharset action encType htmlFor isMap maxLength method multiple prompt readOnly selected useMap",
    ),
    blockquote: [],
    del: [],
    div: [
      ...defaultSchema.attributes?.div ?? [],
      ["className", /^markdown-alert(-(note|tip|important|warning|caution))?$/],
    ],
    img: without(defaultSchema.attributes?.img, "longDesc"),
    ins: [],
    p: [["className", "markdown-alert-title"]],
    q: [],
    source: [],
  },
};

const parser = unified().use(remarkParse).use(remarkGfm).freeze();
// The sanitizer puts the prefix before all ids, so it is left out here.
const toHtmlTree = unified().use(remarkRehype, { allowDangerousHtml: true, clobberPrefix: "" })
  .freeze();
const sanitizer = unified().use(rehypeRaw).use(() => lowerSchemes).use(rehypeSanitize, SCHEMA)
  .use(rehypeSlug, { prefix: ID_PREFIX }).freeze();
const writer = unified().use(rehypeStringify).freeze();

/**
 * Renders the text of a Markdown file, front matter left out.
 *
 * @throws {RenderFailure} for a file whose HTML would be too large, or which is nested too deeply.
 */
export function renderMarkdown(markdown: string): Rendered {
  try {
    return render(markdown.replace(/^\ufeff/, ""));
  } catch (error) {
    // The pipeline walks trees by recursion.
    if (error instanceof RangeError) {
      throw new RenderFailure("The file is nested too deeply, or its HTML is too large.");
    }
    throw error;
  }
}

function render(markdown: string): Rendered {
  const source = parser.parse(markdown);
  refuseGrowth(source);
  markAlerts(source, markdown);
  const raw = toHtmlTree.runSync(source) as Root;
  const hasFootnotes = isFootnotes(raw.children.at(-1));
  const tree = sanitizer.runSync(raw) as Root;
  removeStrayInputs(tree);
  const addresses = openAddresses(tree, TOKEN);
  const html = writer.stringify(tree);
  if (html.length > MAX_HTML_LENGTH) throw new RenderFailure("The file's HTML is too large.");
  return {
    parts: html.split(OPEN_ADDRESS),
    addresses,
    headings: headingsOf(tree, hasFootnotes ? generatedHeading(tree) : null),
    excerpt: excerptOf(tree),
    words: countWords(tree),
  };
}

/** The sanitizer compares schemes as they are written, which count without case (RFC 3986, 3.1). */
function lowerSchemes(tree: Root): void {
  for (const { properties } of elementsOf(tree)) {
    for (const name of ["href", "src"]) {
      const value = properties[name];
      if (typeof value !== "string") continue;
      properties[name] = value.replace(/^[a-z][a-z0-9+.-]*:/i, (scheme) => scheme.toLowerCase());
    }
  }
}

function without<Item>(attributes: readonly Item[] | null | undefined, names: string): Item[] {
  const left = new Set<unknown>(names.split(" "));
  return (attributes ?? []).filter((attribute) => !left.has(attribute));
}

/** Refuses what takes few characters to write and many to render. */
function refuseGrowth(tree: MarkdownRoot): void {
  const definitions = new Map<string, number>();
  const references: string[] = [];
  let cells = 0;
  const stack: Nodes[] = [tree];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (node.type === "definition") {
      const length = node.url.length + (node.title?.length ?? 0);
      // The first definition of a name counts; counting a longer one after it is harmless.
      definitions.set(
        node.identifier,
        Math.max(length, definitions.get(node.identifier) ?? 0),
      );
    } else if (node.type === "linkReference" || node.type === "imageReference") {
      references.push(node.identifier);
    } else if (node.type === "table") {
      cells += node.children.length * (node.children[0]?.children.length ?? 0);
    }
    if ("children" in node) { for (const child of node.children) stack.push(child); }
  }
  if (cells > MAX_TABLE_CELLS) throw new RenderFailure("The file's tables have too many cells.");
  const referenced = references.reduce((sum, name) => sum + (definitions.get(name) ?? 0), 0);
  if (referenced > MAX_REFERENCED_LENGTH) {
    throw new RenderFailure("The file refers too often to long addresses.");
  }
}

/** Leaves the checkboxes of task lists, and removes every other. */
function removeStrayInputs(tree: Root): void {
  const parents = [tree, ...elementsOf(tree)];
  const tasks = new Set<Root | Element>();
  for (const item of parents) {
    if (item.type !== "element" || item.tagName !== "li") continue;
    if (![item.properties.className].flat().includes("task-list-item")) continue;
    tasks.add(item);
    // In a loose list the checkbox stands in a paragraph.
    for (const child of item.children) {
      if (child.type === "element" && child.tagName === "p") tasks.add(child);
    }
  }
  for (const parent of parents) {
    if (tasks.has(parent) || !parent.children.some(isInput)) continue;
    parent.children = parent.children.filter((child) => !isInput(child)) as typeof parent.children;
  }
}

function isInput(node: Root["children"][number]): boolean {
  return node.type === "element" && node.tagName === "input";
}

function isFootnotes(node: Root["children"][number] | undefined): node is Element {
  return node?.type === "element" && node.tagName === "section" &&
    node.properties.dataFootnotes !== undefined;
}

/** The heading of the generated footnotes, which are the last thing in a file. */
function generatedHeading(tree: Root): Element | null {
  const section = [...elementsOf(tree)].findLast(isFootnotes);
  const heading = section?.children.find((child) => child.type === "element");
  return heading?.type === "element" ? heading : null;
}
