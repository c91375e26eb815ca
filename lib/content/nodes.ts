// Walks the trees of Markdown and HTML.

/**
 * Yields a node and the nodes below it in document order. The children of a
 * node may be replaced while it is the last one. This code does not recurse
 * because hostile trees are deep.
 */
export function* nodesOf<Node extends object>(root: Node): Generator<Node> {
  const stack = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    yield node;
    const children = "children" in node ? node.children as Node[] : [];
    for (let at = children.length - 1; at >= 0; at--) stack.push(children[at]!);
  }
}
