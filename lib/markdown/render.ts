// GitHub Flavored Markdown to sanitized HTML: unified's pipeline with GitHub's schema. A pure function of the text, and
// not bounded in time: only the worker calls it. Constructs that let a small file grow without bound are refused here.

import type { Root } from "hast";
import type { Blockquote, Nodes, Paragraph, Root as MarkdownRoot } from "mdast";
import rehypeRaw from "rehype-raw";
import rehypeSanitize, { defaultSchema, type Options as Schema } from "rehype-sanitize";
import rehypeSlug from "rehype-slug";
import rehypeStringify from "rehype-stringify";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { elementsOf, ID_PREFIX, isElement } from "./html_tree.ts";
import { openAddresses, outlineOf, RenderFailure } from "./html_tree.ts";
import type { Rendered } from "./rendered.ts";

/** References repeat the address of their definition; the bound is the size of the largest allowed file. */
const MAX_REFERENCED_LENGTH = 1024 * 1024;
/** Every row gets as many cells as its table has columns, whether they are written or not. */
const MAX_TABLE_CELLS = 100_000;
const MAX_HTML_LENGTH = 4 * 1024 * 1024;

/** Marks the generated heading of footnotes, and open addresses while the HTML is written. Random, so that no file can contain it. */
const TOKEN = crypto.randomUUID();
const OPEN_ADDRESS = new RegExp(` (?:href|src)="${TOKEN}\\d+"`);

const ATTRIBUTES = defaultSchema.attributes ?? {};

/** GitHub's rules, but for what the contract narrows: fewer schemes, and no attribute that only a form or a map uses. */
const SCHEMA: Schema = {
  ...defaultSchema,
  clobberPrefix: ID_PREFIX,
  protocols: { href: ["http", "https", "mailto"], src: ["http", "https"] },
  // The text of these is no text of the file.
  strip: ["script", "style", "template", "title", "iframe", "noembed", "noframes"],
  attributes: {
    ...ATTRIBUTES,
    "*": without(
      ATTRIBUTES["*"],
      "accept acceptCharset action encType htmlFor isMap maxLength method multiple prompt readOnly selected useMap",
    ),
    blockquote: [],
    del: [],
    div: [
      ...ATTRIBUTES["div"] ?? [],
      ["className", /^markdown-alert(-(note|tip|important|warning|caution))?$/],
    ],
    img: without(ATTRIBUTES["img"], "longDesc"),
    ins: [],
    p: [["className", "markdown-alert-title"]],
    q: [],
    source: [],
  },
};

const parser = unified().use(remarkParse).use(remarkGfm).freeze();
// The sanitizer puts the prefix before all ids, so it is left out here.
const toHtmlTree = unified().use(remarkRehype, {
  allowDangerousHtml: true,
  clobberPrefix: "",
  footnoteLabel: TOKEN,
}).freeze();
const sanitizer = unified().use(rehypeRaw).use(() => lowerSchemes).use(rehypeSanitize, SCHEMA)
  .use(rehypeSlug, { prefix: ID_PREFIX }).freeze();
const writer = unified().use(rehypeStringify).freeze();

/**
 * Renders the text of a Markdown file, front matter left out.
 *
 * @throws {RenderFailure} for a file whose HTML would be too large.
 * @throws {RangeError} for one that is nested too deeply: the pipeline walks trees by recursion.
 */
export function renderMarkdown(text: string): Rendered {
  const markdown = text.replace(/^\ufeff/, "");
  const source = parser.parse(markdown);
  refuseGrowth(source);
  for (const node of source.children) if (node.type === "blockquote") markAlert(node, markdown);
  const tree = sanitizer.runSync(toHtmlTree.runSync(source)) as Root;
  const footnotesHeading = elementsOf(tree).find(({ children: [text] }) =>
    text?.type === "text" && text.value === TOKEN
  );
  if (footnotesHeading) footnotesHeading.children = [{ type: "text", value: "Footnotes" }];
  removeStrayInputs(tree);
  const addresses = openAddresses(tree, TOKEN);
  const html = writer.stringify(tree);
  if (html.length > MAX_HTML_LENGTH) throw new RenderFailure("The file's HTML is too large.");
  return { parts: html.split(OPEN_ADDRESS), addresses, ...outlineOf(tree, footnotesHeading) };
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
      const { identifier, url, title } = node;
      const length = url.length + (title?.length ?? 0);
      // The first definition of a name counts; counting a longer one after it is harmless.
      definitions.set(identifier, Math.max(length, definitions.get(identifier) ?? 0));
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

/**
 * Makes a titled box of GitHub's alerts: a block quote at the top level whose first line is `[!NOTE]` or the like becomes
 * a `div` of class `markdown-alert-note`. `source` is the text that was parsed.
 */
function markAlert(quote: Blockquote, source: string): void {
  const [first, ...rest] = quote.children;
  if (first?.type !== "paragraph") return;
  const [marker, ...inline] = first.children;
  // Checked in the source too, because `\[!NOTE]` has the same text and is no alert.
  if (marker?.type !== "text" || source[marker.position?.start.offset ?? 0] !== "[") return;
  const match = /^\[!(note|tip|important|warning|caution)\][ \t]*(\n|$)/i.exec(marker.value);
  if (match === null) return;
  if (match[2] === "") {
    // The marker is alone on its line only if a line break or nothing follows it.
    if (inline.length > 0 && inline[0]!.type !== "break") return;
    inline.shift();
  }
  const text = marker.value.slice(match[0].length);
  const children = text === "" ? inline : [{ ...marker, value: text }, ...inline];
  const body = children.length === 0 ? rest : [{ ...first, children }, ...rest];
  if (body.length === 0) return;
  const kind = match[1]!.toLowerCase();
  const title: Paragraph = {
    type: "paragraph",
    children: [{ type: "text", value: kind[0]!.toUpperCase() + kind.slice(1) }],
    data: { hProperties: { className: ["markdown-alert-title"] } },
  };
  quote.children = [title, ...body];
  const className = ["markdown-alert", `markdown-alert-${kind}`];
  quote.data = { hName: "div", hProperties: { className } };
}

/** Leaves the checkboxes of task lists, and removes every other. */
function removeStrayInputs(tree: Root): void {
  const parents = [tree, ...elementsOf(tree)];
  const items = parents.filter((node) =>
    isElement(node, "li") && [node.properties.className].flat().includes("task-list-item")
  );
  // In a loose list the checkbox stands in a paragraph.
  const paragraphs = items.flatMap(({ children }) =>
    children.filter((node) => isElement(node, "p"))
  );
  const tasks = new Set<unknown>([...items, ...paragraphs]);
  for (const parent of parents) {
    if (tasks.has(parent)) continue;
    parent.children = (parent.children as Root["children"]).filter((node) =>
      !isElement(node, "input")
    ) as typeof parent.children;
  }
}
