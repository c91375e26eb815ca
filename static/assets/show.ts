/// <reference lib="dom" />
// Puts previews into the page: in pieces, between which the page answers its
// reader, and within a deadline, because the time to lay out a text depends on
// what is in it.

import type { TreeNode } from "./tree.ts";
import { DEADLINE_MS } from "./work.ts";

const PIECE_ELEMENTS = 4_000;
const PIECE_CHARACTERS = 5_000;

/** A document of its own, so that nothing loads from what is not shown. */
const inert = document.implementation.createHTMLDocument();

/** Nodes as they are in a tree. No text becomes markup. */
export function fragmentOf(nodes: readonly TreeNode[]): DocumentFragment {
  const fragment = inert.createDocumentFragment();
  for (const node of nodes) {
    if (typeof node === "string") {
      fragment.append(node);
      continue;
    }
    const element = inert.createElement(node.name);
    for (const [name, value] of Object.entries(node.attributes)) {
      element.setAttribute(name, value);
    }
    element.append(fragmentOf(node.children));
    fragment.append(element);
  }
  return fragment;
}

/**
 * Replaces what is in elements by copies of nodes. Gives whether all of it is
 * there: past the deadline the rest is left out.
 * @throws when the signal aborts.
 */
export async function show(
  parts: readonly (readonly [target: Element, nodes: DocumentFragment])[],
  signal: AbortSignal,
): Promise<boolean> {
  let [elements, characters, spentMs, startedAtMs] = [
    0,
    0,
    0,
    performance.now(),
  ];
  for (const [target, nodes] of parts) {
    target.replaceChildren();
    for (const node of copies(nodes, target)) {
      elements++;
      characters += node.nodeValue?.length ?? 0;
      if (elements < PIECE_ELEMENTS && characters < PIECE_CHARACTERS) continue;
      // Lays out what is there by now.
      target.getBoundingClientRect();
      spentMs += performance.now() - startedAtMs;
      if (spentMs > DEADLINE_MS) return false;
      await new Promise((resolve) => setTimeout(resolve));
      signal.throwIfAborted();
      [elements, characters, startedAtMs] = [0, 0, performance.now()];
    }
  }
  return true;
}

/** Copies what is in a node into another one, in the order of the document. */
function* copies(from: Node, to: Node): Generator<Node> {
  for (const child of from.childNodes) {
    const copy = to.appendChild(document.importNode(child, false));
    yield copy;
    yield* copies(child, copy);
  }
}
