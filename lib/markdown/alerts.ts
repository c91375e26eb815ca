// GitHub's alerts: a block quote at the top level whose first line is `[!NOTE]` or the like becomes a titled box.

import type { Blockquote, Paragraph, Root } from "mdast";

const TITLES: Record<string, string> = {
  note: "Note",
  tip: "Tip",
  important: "Important",
  warning: "Warning",
  caution: "Caution",
};

/** Turns the alerts of a tree into `div`s of class `markdown-alert-<kind>`; `source` is the text that was parsed. */
export function markAlerts(tree: Root, source: string): void {
  for (const node of tree.children) if (node.type === "blockquote") markAlert(node, source);
}

function markAlert(quote: Blockquote, source: string): void {
  const [first, ...rest] = quote.children;
  if (first?.type !== "paragraph") return;
  const [marker, ...inline] = first.children;
  if (marker?.type !== "text") return;
  // Checked in the source, because `\[!NOTE]` has the same text and is no alert.
  if (source[marker.position?.start.offset ?? 0] !== "[") return;
  const match = /^\[!([a-z]+)\][ \t]*(\n|$)/i.exec(marker.value);
  const kind = match?.[1]?.toLowerCase() ?? "";
  if (match === null || !Object.hasOwn(TITLES, kind)) return;

  const text = marker.value.slice(match[0].length);
  if (match[2] === "") {
    // The marker is alone on its line only if a line break or nothing follows it.
    if (inline.length > 0 && inline[0]!.type !== "break") return;
    inline.shift();
  }
  const children = text === "" ? inline : [{ ...marker, value: text }, ...inline];
  const body = children.length === 0 ? rest : [{ ...first, children }, ...rest];
  if (body.length === 0) return;
  const title: Paragraph = {
    type: "paragraph",
    children: [{ type: "text", value: TITLES[kind]! }],
    data: { hProperties: { className: ["markdown-alert-title"] } },
  };
  quote.children = [title, ...body];
  quote.data = {
    hName: "div",
    hProperties: { className: ["markdown-alert", `markdown-alert-${kind}`] },
  };
}
