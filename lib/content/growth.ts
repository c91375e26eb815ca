// Rejects Markdown that is short to write but takes long to render or to lay
// out in a browser.

import type { Element } from "hast";
import type { Nodes, Root as MarkdownRoot } from "mdast";
import { nodesOf } from "./nodes.ts";

/**
 * References repeat the address of their definition. The limit is the size of
 * the largest allowed file.
 */
const MAX_REFERENCED_LENGTH = 1024 * 1024;
/**
 * Every row gets as many cells as its table has columns even if they are not
 * written. A cell counts as many times as it spans.
 */
const MAX_TABLE_CELLS = 100_000;
/** Browsers reduce larger spans to these (HTML, 4.9.11). */
const MAX_COLUMN_SPAN = 1_000;
const MAX_ROW_SPAN = 65_534;

/** Thrown if a file cannot be rendered. The message is a sentence. */
export class RenderFailure extends Error {}

/**
 * Rejects files that are short to write and long to render.
 * @throws {RenderFailure} if references or tables exceed their limits.
 */
export function refuseGrowth(tree: MarkdownRoot): void {
  const definitions = new Map<string, number>();
  const references: string[] = [];
  let cells = 0;
  for (const node of nodesOf<Nodes>(tree)) {
    if (node.type === "definition") {
      const { identifier, url, title } = node;
      const length = url.length + (title?.length ?? 0);
      // The first definition of a name counts. Counting a longer later one is
      // harmless.
      definitions.set(
        identifier,
        Math.max(length, definitions.get(identifier) ?? 0),
      );
    } else if (
      node.type === "linkReference" || node.type === "imageReference"
    ) {
      references.push(node.identifier);
    } else if (node.type === "table") {
      cells += node.children.length * (node.children[0]?.children.length ?? 0);
    }
  }
  if (cells > MAX_TABLE_CELLS) {
    throw new RenderFailure("The file's tables have too many cells.");
  }
  const referenced = references.reduce(
    (sum, name) => sum + (definitions.get(name) ?? 0),
    0,
  );
  if (referenced > MAX_REFERENCED_LENGTH) {
    throw new RenderFailure("The file refers too often to long addresses.");
  }
}

/**
 * Rejects large tables of raw HTML. Browsers take long to lay out cells that
 * span many columns.
 * @throws {RenderFailure} if the tables have too many cells.
 */
export function refuseSpans(elements: Iterable<Element>): void {
  let cells = 0;
  for (const { tagName, properties: { colSpan, rowSpan } } of elements) {
    if (tagName !== "td" && tagName !== "th") continue;
    const columns = spanOf(colSpan, { zero: 1, max: MAX_COLUMN_SPAN });
    cells += columns *
      spanOf(rowSpan, { zero: MAX_ROW_SPAN, max: MAX_ROW_SPAN });
  }
  if (cells > MAX_TABLE_CELLS) {
    throw new RenderFailure("The file's tables have too many cells.");
  }
}

/**
 * Parses a span as browsers do. A cell of zero rows covers all rows that
 * follow.
 */
function spanOf(
  value: unknown,
  { zero, max }: { zero: number; max: number },
): number {
  const span = Number.parseInt(String(value), 10);
  return span === 0 ? zero : span > 0 ? Math.min(span, max) : 1;
}
