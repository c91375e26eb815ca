// Parses MDX to a Markdown tree without its program. Nothing is executed.
// Imports, exports and expressions are left out.

import type { Root, RootContent } from "mdast";
import remarkGfm from "remark-gfm";
import remarkMdx from "remark-mdx";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { RenderFailure } from "./growth.ts";
import { nodesOf } from "./nodes.ts";

const MAX_REASON_CHARS = 200;
/** Authors write `{" "}` where JSX would drop white space. */
const SPACE = /^\s*(["'`])\s+\1\s*$/;
/** A name in lower case without a dot is an HTML element. */
const HTML_NAME = /^[a-z][^.]*$/;

const parser = unified().use(remarkParse).use(remarkGfm).use(remarkMdx)
  .freeze();

/**
 * Returns the Markdown of an MDX file and the names of its components in the
 * order of their first use. A component becomes a `div` or a `span` around its
 * children. An HTML element stays itself with its attributes that are text.
 * @throws {RenderFailure} if the text is not MDX.
 */
export function parseMdx(text: string): { tree: Root; components: string[] } {
  const tree = parse(text);
  const components = new Set<string>();
  for (const node of nodesOf<Root | RootContent>(tree)) {
    if (isJsx(node)) {
      const { name, attributes } = node;
      if (name !== null && HTML_NAME.test(name)) {
        const texts = attributes.flatMap((attribute) =>
          attribute.type === "mdxJsxAttribute" &&
            typeof attribute.value !== "object" &&
            // Only a component has `data-component`. rehype-raw fails on names
            // that objects inherit.
            !/^data/i.test(attribute.name) &&
            !(attribute.name.toLowerCase() in Object.prototype)
            ? [[attribute.name, attribute.value ?? true]]
            : []
        );
        node.data = { hName: name, hProperties: Object.fromEntries(texts) };
      } else if (name !== null) {
        components.add(name);
        const hName = node.type === "mdxJsxFlowElement" ? "div" : "span";
        node.data = { hName, hProperties: { dataComponent: name } };
      }
    }
    if (!("children" in node)) continue;
    node.children = node.children.flatMap(
      withoutProgram,
    ) as typeof node.children;
  }
  return { tree, components: [...components] };
}

function parse(text: string): Root {
  try {
    return parser.parse(text);
  } catch (error) {
    const { reason, line } = error as { reason?: unknown; line?: number };
    if (typeof reason !== "string") throw error;
    const why = reason.slice(0, MAX_REASON_CHARS).toWellFormed();
    const where = line === undefined ? "The file" : `Line ${line}`;
    throw new RenderFailure(`${where} is not valid MDX: ${why}`);
  }
}

/** Returns what stays of a node. */
function withoutProgram(node: RootContent): RootContent[] {
  if (node.type === "mdxTextExpression" && SPACE.test(node.value)) {
    return [{ type: "text", value: " " }];
  }
  if (/^mdx(jsEsm|(Flow|Text)Expression)$/.test(node.type)) return [];
  // Fragments have no name.
  if (isJsx(node) && node.name === null) {
    return node.children.flatMap(withoutProgram);
  }
  // JSX alone in a paragraph is no part of it, as in MDX's own compiler.
  if (node.type === "paragraph") {
    const { children } = node;
    const hasText = children.some((child) =>
      !isJsx(child) && child.type !== "mdxTextExpression" &&
      !(child.type === "text" && /^\s*$/.test(child.value))
    );
    if (hasText || !children.some(isJsx)) return [node];
    return children.flatMap(withoutProgram).map((child) =>
      child.type === "mdxJsxTextElement"
        ? { ...child, type: "mdxJsxFlowElement" } as RootContent
        : child
    );
  }
  return [node];
}

function isJsx(node: Root | RootContent) {
  return node.type === "mdxJsxFlowElement" || node.type === "mdxJsxTextElement";
}
