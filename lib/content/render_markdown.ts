// Renders GitHub Flavored Markdown to sanitized HTML with unified's pipeline
// and GitHub's schema. The result depends on the text only. The time is not
// bounded, so only the content thread calls this. Constructs that let a small
// file grow without bound are rejected here.

import type { Element, Root } from "hast";
import type { Blockquote, Paragraph } from "mdast";
import rehypeRaw from "rehype-raw";
import rehypeSanitize, {
  defaultSchema,
  type Options as Schema,
} from "rehype-sanitize";
import rehypeSlug from "rehype-slug";
import rehypeStringify from "rehype-stringify";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRehype from "remark-rehype";
import { unified } from "unified";
import { refuseGrowth, refuseSpans, RenderFailure } from "./growth.ts";
import { parseMdx } from "./mdx.ts";
import { nodesOf } from "./nodes.ts";
import { MAX_HTML_LENGTH, type Rendered } from "./rendered.ts";

// deno-lint-ignore no-control-regex -- the standard names these characters
const OUTER_SPACE = /^[\x00-\x20]+|[\x00-\x20]+$/g;
/** The sanitizer puts this before every id and name. */
const ID_PREFIX = "user-content-";

/** Nested headings repeat the text of the headings inside them. */
const MAX_HEADINGS_LENGTH = 1024 * 1024;
const MAX_ADDRESSES = 5_000;
const MAX_EXCERPT_LENGTH = 300;

/**
 * Marks the generated heading of footnotes and the relative addresses while the
 * HTML is written. It is random so that no file can contain it.
 */
const TOKEN = crypto.randomUUID();
const OPEN_ADDRESS = new RegExp(` (?:href|src)="${TOKEN}\\d+"`);

const ATTRIBUTES = defaultSchema.attributes ?? {};

/**
 * GitHub's rules as narrowed by the contract. It allows fewer schemes. It
 * removes attributes that only a form or a map uses, that change how a page is
 * used by keyboard, or that describe the page to search engines.
 */
const SCHEMA: Schema = {
  ...defaultSchema,
  clobberPrefix: ID_PREFIX,
  protocols: { href: ["http", "https", "mailto"], src: ["http", "https"] },
  // The text in these elements is not text of the file.
  strip: [
    "script",
    "style",
    "template",
    "title",
    "iframe",
    "noembed",
    "noframes",
  ],
  attributes: {
    ...ATTRIBUTES,
    "*": without(
      ATTRIBUTES["*"],
      "accept acceptCharset accessKey action encType htmlFor isMap itemProp " +
        "maxLength method multiple prompt readOnly selected tabIndex useMap",
    ),
    blockquote: [],
    del: [],
    div: [
      ...without(ATTRIBUTES["div"], "itemScope itemType"),
      ["className", /^markdown-alert(-(note|tip|important|warning|caution))?$/],
    ],
    img: without(ATTRIBUTES["img"], "longDesc"),
    ins: [],
    p: [["className", "markdown-alert-title"]],
    q: [],
    source: [],
  },
};

/**
 * Elements inside a line of text. Every other element ends the word before it.
 */
const INLINE = new Set(
  ("a b code del em i img input ins kbd q rp rt ruby s samp span strike " +
    "strong sub sup tt var").split(" "),
);

const parser = unified().use(remarkParse).use(remarkGfm).freeze();
// The sanitizer adds the prefix to all ids, so `clobberPrefix` is empty.
const toHtmlTree = unified().use(remarkRehype, {
  allowDangerousHtml: true,
  clobberPrefix: "",
  footnoteLabel: TOKEN,
}).freeze();
const sanitizerOf = (schema: Schema) =>
  unified().use(rehypeRaw).use(() => lowerSchemes).use(rehypeSanitize, schema)
    .use(rehypeSlug, { prefix: ID_PREFIX }).freeze();
const sanitizer = sanitizerOf(SCHEMA);
const mdxSanitizer = sanitizerOf({
  ...SCHEMA,
  attributes: {
    ...SCHEMA.attributes,
    div: [...SCHEMA.attributes?.["div"] ?? [], "dataComponent"],
    span: ["dataComponent"],
  },
});
const writer = unified().use(rehypeStringify).freeze();

/**
 * Renders the text of a Markdown or MDX file without its front matter.
 * @throws {RenderFailure} if the HTML would be too large, if the file has more
 * than 5,000 relative addresses, or if it is not MDX.
 * @throws {RangeError} if the file is nested too deeply. The pipeline walks
 * trees by recursion.
 */
export function renderMarkdown(text: string, isMdx = false): Rendered {
  const markdown = text.replace(/^\ufeff/, "");
  const mdx = isMdx ? parseMdx(markdown) : null;
  const source = mdx?.tree ?? parser.parse(markdown);
  refuseGrowth(source);
  for (const node of source.children) {
    if (node.type === "blockquote") markAlert(node, markdown);
  }
  const sanitize = isMdx ? mdxSanitizer : sanitizer;
  const tree = sanitize.runSync(toHtmlTree.runSync(source)) as Root;
  const footnotesHeading = elementsOf(tree).find(({ children: [text] }) =>
    text?.type === "text" && text.value === TOKEN
  );
  if (footnotesHeading) {
    footnotesHeading.children = [{ type: "text", value: "Footnotes" }];
  }
  removeStrayInputs(tree);
  refuseSpans(elementsOf(tree));
  const addresses = openAddresses(tree);
  const html = writer.stringify(tree);
  if (html.length > MAX_HTML_LENGTH) {
    throw new RenderFailure("The file's HTML is too large.");
  }
  return {
    parts: html.split(OPEN_ADDRESS),
    addresses,
    ...outlineOf(tree, footnotesHeading),
    ...(mdx && { mdxComponents: mdx.components }),
  };
}

/**
 * The sanitizer compares schemes as written. Schemes are case-insensitive (RFC
 * 3986, 3.1).
 */
function lowerSchemes(tree: Root) {
  for (const { properties } of elementsOf(tree)) {
    for (const name of ["href", "src"]) {
      const value = properties[name];
      if (typeof value !== "string") continue;
      properties[name] = value.replace(
        /^[a-z][a-z0-9+.-]*:/i,
        (scheme) => scheme.toLowerCase(),
      );
    }
  }
}

function without<Item>(
  attributes: readonly Item[] | null | undefined,
  names: string,
): Item[] {
  const removed = new Set<unknown>(names.split(" "));
  return (attributes ?? []).filter((attribute) => !removed.has(attribute));
}

/**
 * Makes a titled box of GitHub's alerts. An alert is a block quote at the top
 * level whose first line is `[!NOTE]` or similar. It becomes a `div` of class
 * `markdown-alert-note`. `source` is the text that was parsed.
 */
function markAlert(quote: Blockquote, source: string) {
  const [first, ...others] = quote.children;
  if (first?.type !== "paragraph") return;
  const [marker, ...inline] = first.children;
  // The source is checked too. `\[!NOTE]` has the same text and is not an
  // alert.
  if (
    marker?.type !== "text" ||
    source[marker.position?.start.offset ?? 0] !== "["
  ) return;
  const match = /^\[!(note|tip|important|warning|caution)\][ \t]*(\n|$)/i.exec(
    marker.value,
  );
  if (match === null) return;
  if (match[2] === "") {
    // The marker is alone on its line only if a line break or nothing follows.
    if (inline.length > 0 && inline[0]!.type !== "break") return;
    inline.shift();
  }
  const text = marker.value.slice(match[0].length);
  const children = text === ""
    ? inline
    : [{ ...marker, value: text }, ...inline];
  const body = children.length === 0
    ? others
    : [{ ...first, children }, ...others];
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

/** Removes all inputs except the checkboxes of task lists. */
function removeStrayInputs(tree: Root) {
  const parents = [tree, ...elementsOf(tree)];
  const items = parents.filter((node) =>
    isElement(node, "li") &&
    [node.properties.className].flat().includes("task-list-item")
  );
  // Loose lists wrap the checkbox in a paragraph.
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

/** Yields every element below a node in document order. */
const elementsOf = (parent: Root | Element) =>
  nodesOf<Root | Root["children"][number]>(parent).filter(
    (node): node is Element => node.type === "element" && node !== parent,
  );

/**
 * Replaces each relative address with `TOKEN` and its number. Returns the
 * addresses. In-page addresses get the sanitizer's prefix. Protocol-relative
 * addresses become https.
 */
function openAddresses(tree: Root): Rendered["addresses"] {
  const elements = [...elementsOf(tree)];
  const names = new Set(
    elements.flatMap(({ properties: { id, name } }) => [id, name]),
  );
  const addresses: Rendered["addresses"] = [];
  for (const { tagName, properties } of elements) {
    if (tagName !== "a" && tagName !== "img") continue;
    const attribute = tagName === "a" ? "href" : "src";
    const value = properties[attribute];
    if (typeof value !== "string") continue;
    // Browsers ignore tabs, line ends and outer white space (WHATWG URL, 4.4).
    const url = value.replace(/[\t\n\r]/g, "").replace(OUTER_SPACE, "");
    const absolute = url.startsWith("//") ? `https:${url}` : url;
    if (url === "" || url.startsWith("#")) {
      properties[attribute] = tagName === "a"
        ? inPageAddress(url, names)
        : undefined;
    } else if (/^[a-z][a-z0-9+.-]*:/i.test(absolute)) {
      // An address that no browser can parse is dropped.
      properties[attribute] = URL.canParse(absolute) ? absolute : undefined;
    } else {
      if (addresses.length === MAX_ADDRESSES) {
        throw new RenderFailure(
          `The file has more than ${MAX_ADDRESSES} relative addresses.`,
        );
      }
      properties[attribute] = `${TOKEN}${addresses.length}`;
      const [, path = "", fragment = ""] =
        /^([^?#]*)[^#]*(#[^]*)?$/.exec(url) ?? [];
      addresses.push({
        kind: tagName === "a" ? "link" : "image",
        path: decode(path),
        fragment,
      });
    }
  }
  return addresses;
}

function inPageAddress(url: string, names: ReadonlySet<unknown>): string {
  const fragment = url.slice(1);
  const isName = (prefix: string) =>
    [fragment, decode(fragment)].some((name) => names.has(prefix + name));
  // An author may write the prefix. This works on GitHub too. `#` and `#top`
  // are the top of the page (HTML, 7.4.6.4).
  const isComplete = isName("") || fragment === "" ||
    fragment.toLowerCase() === "top";
  return isComplete && !isName(ID_PREFIX) ? url : `#${ID_PREFIX}${fragment}`;
}

/** Percent-decodes once. Invalid escapes stay as they are. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Returns the outline of a post for lists. It omits the generated heading of
 * footnotes.
 */
function outlineOf(tree: Root, generated: Element | undefined) {
  const headings: Rendered["headings"] = [];
  let length = 0;
  for (const element of elementsOf(tree)) {
    const depth = Number(/^h([1-6])$/.exec(element.tagName)?.[1]);
    if (!(depth > 0) || element === generated) continue;
    const heading = {
      depth,
      id: String(element.properties.id),
      text: collapse(textOf(element)),
    };
    length += heading.id.length + heading.text.length;
    if (length > MAX_HEADINGS_LENGTH) {
      throw new RenderFailure("The file's headings are too long.");
    }
    headings.push(heading);
  }
  const paragraphs = tree.children.values().filter((node) =>
    isElement(node, "p")
  );
  const text = paragraphs.map((node) => collapse(textOf(node))).find((text) =>
    text !== ""
  );
  const words = textOf(tree).match(/\S+/g)?.length ?? 0;
  return { headings, excerpt: cutAtWord(text ?? ""), words };
}

function isElement(
  node: Root | Root["children"][number],
  name: string,
): node is Element {
  return node.type === "element" && node.tagName === name;
}

/** Returns the text of a node with a space at each block boundary. */
function textOf(parent: Root | Element): string {
  let text = "";
  for (const node of parent.children) {
    if (node.type === "text") text += node.value;
    else if (node.type === "element") {
      text += INLINE.has(node.tagName) ? textOf(node) : ` ${textOf(node)} `;
    }
  }
  return text;
}

function collapse(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function cutAtWord(text: string): string {
  if (text.length <= MAX_EXCERPT_LENGTH) return text;
  const space = text.lastIndexOf(" ", MAX_EXCERPT_LENGTH);
  if (space > 0) return text.slice(0, space);
  // Cuts one long word or a script without spaces. A surrogate pair is not
  // split.
  return text.slice(0, MAX_EXCERPT_LENGTH).replace(/[\ud800-\udbff]$/, "");
}
