// A preview as plain data: the worker makes it, and the page shows it. One
// budget bounds all of it, because a browser lays it out on the thread that the
// reader waits for. This module uses no DOM.

/** An element; a text is a node too. */
export interface TreeElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: TreeNode[];
  readonly depth: number;
}

export type TreeNode = TreeElement | string;

/** A preview. It is cut where the file has more than is shown. */
export interface Tree {
  readonly nodes: readonly TreeNode[];
  readonly isCut: boolean;
}

const MAX_ELEMENTS = 10_000;
const MAX_CHARACTERS = 100_000;
const MAX_DEPTH = 100;
/**
 * Of text in one block, whose layout takes time by the square of its length
 * where the text changes its direction, or where many marks stand on one
 * letter.
 */
const MAX_BLOCK_CHARACTERS = 5_000;
/**
 * Longer preformatted text is divided into blocks of some more characters,
 * which end with a line.
 */
export const BLOCK_CHARACTERS = 1_000;

/** Elements that stand in a line of text; every other one is a block. */
const INLINE = new Set(
  "a b br code del em i img input ins kbd picture q rp rt ruby s samp source span strike strong sub sup tt var"
    .split(" "),
);

/** A file that has no preview, with the reason as a sentence. */
export class ConvertError extends Error {}

/** The budget is spent. */
class Full extends Error {}

/** Makes a tree; what is past its budget is left out. */
export function buildTree(write: (tree: TreeBuilder) => void): Tree {
  const tree = new TreeBuilder();
  try {
    write(tree);
  } catch (error) {
    if (!(error instanceof Full)) throw error;
    tree.isCut = true;
  }
  return { nodes: tree.root.children, isCut: tree.isCut };
}

/**
 * Adds elements and texts to a tree, in any order, until its budget is spent.
 */
export class TreeBuilder {
  readonly root: TreeElement = {
    name: "div",
    attributes: {},
    children: [],
    depth: 0,
  };
  isCut = false;
  #elements = 0;
  #characters = 0;
  #blockCharacters = 0;

  /**
   * Whether so little of the budget is left that colors must end, so that the
   * text does not.
   */
  get isNearlyFull(): boolean {
    return this.#elements > MAX_ELEMENTS / 2;
  }

  /**
   * Adds an element that counts as `size` elements. What is nested too deeply
   * stands in the deepest element.
   */
  add(
    parent: TreeElement,
    name: string,
    attributes: Readonly<Record<string, string>> = {},
    size = 1,
  ): TreeElement {
    this.end(name);
    this.#elements += size;
    if (this.#elements > MAX_ELEMENTS) throw new Full();
    if (parent.depth === MAX_DEPTH) return parent;
    const element = { name, attributes, children: [], depth: parent.depth + 1 };
    parent.children.push(element);
    return element;
  }

  /**
   * Adds text in the line; of a block's text that is too long the end is left
   * out.
   */
  text(parent: TreeElement, text: string): void {
    const room = Math.min(
      MAX_BLOCK_CHARACTERS - this.#blockCharacters,
      MAX_CHARACTERS - this.#characters,
    );
    const shown = cutText(text, room);
    this.#blockCharacters += shown.length;
    this.count(shown.length);
    if (shown !== "") parent.children.push(shown);
    if (shown.length === text.length) return;
    this.isCut = true;
    if (this.#characters >= MAX_CHARACTERS - 1) throw new Full();
  }

  /**
   * Adds preformatted text, which is divided into blocks; `classes` are those
   * of elements around each part of it.
   */
  code(
    parent: TreeElement,
    parts: Iterable<readonly [text: string, classes: readonly string[]]>,
  ) {
    let block: TreeElement | null = null;
    for (const [text, classes] of parts) {
      let rest = text.slice(0, MAX_CHARACTERS + 1);
      while (rest !== "") {
        if (block === null) {
          block = this.add(parent, "span", { class: "block" });
          this.#blockCharacters = 0;
        }
        const newline = rest.indexOf(
          "\n",
          Math.max(0, BLOCK_CHARACTERS - this.#blockCharacters),
        );
        const end = newline < 0 ? rest.length : newline + 1;
        const part = cutText(
          rest.slice(0, end),
          MAX_BLOCK_CHARACTERS - this.#blockCharacters,
        );
        let element = block;
        for (const name of classes) {
          element = this.add(element, "span", { class: name });
        }
        this.text(element, part);
        if (part.length < end || newline >= 0) block = null;
        rest = rest.slice(part.length);
      }
    }
  }

  /** Counts characters that stand in no text. */
  count(characters: number): void {
    this.#characters += characters;
    if (this.#characters > MAX_CHARACTERS) throw new Full();
  }

  /** What follows the start or the end of a block stands in another one. */
  end(name: string): void {
    if (!INLINE.has(name)) this.#blockCharacters = 0;
  }
}

/** The beginning of a text, without half a character at its end. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, "");
}
