// Reads HTML with a real parser, and lists what must not be in HTML from strangers.

import { type DefaultTreeAdapterTypes, parseFragment } from "parse5";

type Node = DefaultTreeAdapterTypes.ChildNode;

/** Text, pictures, links, lists, tables, and the checkboxes of tasks. */
const ELEMENTS = new Set(
  ("a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img input ins kbd li ol p picture pre q " +
    "rp rt ruby s samp section source span strike strong sub summary sup table tbody td tfoot th thead tr tt ul var")
    .split(" "),
);
const SCHEMES = ["http:", "https:", "mailto:"];
/** Attributes that load, lead, send, name a style, or reach into the page. */
const ATTRIBUTES =
  /^(on.*|style|srcset|srcdoc|action|formaction|background|cite|longdesc|usemap|ping|xlink.*|slot|is|form|method|target|popover|contenteditable|autofocus)$/;
const CLASSES =
  /^(language-.+|task-list-item|contains-task-list|footnotes|sr-only|data-footnote-backref|markdown-alert(-[a-z]+)?)$/;

/** A line for each thing that is not allowed. */
export function unsafeIn(html: string): string[] {
  const found: string[] = [];
  const visit = (node: Node, parents: readonly string[]) => {
    if (node.nodeName === "#text") return;
    if (!("tagName" in node)) {
      found.push(node.nodeName);
      return;
    }
    const { tagName, attrs, childNodes } = node;
    const attributes = Object.fromEntries(attrs.map(({ name, value }) => [name, value]));
    if (!ELEMENTS.has(tagName)) found.push(`<${tagName}>`);
    if (tagName === "input") {
      const isTask = attributes.type === "checkbox" && "disabled" in attributes &&
        parents.some((parent) => parent === "li.task-list-item");
      if (!isTask) found.push("<input>");
    }
    for (const { name, value } of attrs) {
      if (ATTRIBUTES.test(name)) found.push(`${tagName} ${name}`);
      if ((name === "id" || name === "name") && !value.startsWith("user-content-")) {
        found.push(`${name}="${value}"`);
      }
      if (name === "class") {
        found.push(...value.split(/\s+/).filter((one) => one !== "" && !CLASSES.test(one)));
      }
      if (name === "href" || name === "src") {
        const { protocol } = new URL(value, "https://page.example/");
        if (!SCHEMES.includes(protocol)) found.push(`${name}="${value}"`);
      }
    }
    const self = `${tagName}.${attributes.class ?? ""}`;
    for (const child of childNodes) visit(child, [...parents, self]);
  };
  for (const node of parseFragment(html).childNodes) visit(node, []);
  return found;
}
