// Whether a browser draws an SVG file in a short time. A drawing that refers to
// its own parts again and again is small as a file, and keeps the page from
// answering for hours. This module uses no DOM.

import { decodeReferences, readAttributes } from "./markup.ts";
import { ConvertError } from "./tree.ts";

/**
 * Elements that are drawn, each as often as it is referred to. Characters of
 * text count as elements.
 */
const MAX_DRAWN = 10_000;
/** As much of a path as takes the time of an element. */
const ATTRIBUTE_CHARACTERS = 200;

/** These are drawn at every point of a line, or are documents of their own. */
const REFUSED = new Set(["foreignobject", "iframe", "marker"]);

interface DrawnElement {
  readonly name: string;
  /** How long it takes to draw it, without its children. */
  cost: number;
  readonly children: DrawnElement[];
  readonly references: ReadonlySet<string>;
}

/**
 * @throws {ConvertError} for a drawing that may take long, and for one whose
 * parts cannot be told.
 */
export function checkDrawing(text: string): void {
  const root: DrawnElement = {
    name: "",
    cost: 0,
    children: [],
    references: new Set(),
  };
  const byId = new Map<string, DrawnElement[]>();
  const open = [root];
  for (const { kind, value, attributes } of readXml(text)) {
    const parent = open.at(-1)!;
    if (kind === "end") open.length = Math.max(1, open.length - 1);
    else if (kind === "text") {
      const words = decodeReferences(value);
      if (parent.name !== "style") parent.cost += words.trim().length;
      else if (/url\(|@import|\\/i.test(words)) {
        throw refusal("its styles refer to its parts");
      }
    } else {
      const element = addElement(parent, value, attributes, byId);
      if (kind === "start") open.push(element);
    }
  }
  if (drawnCost(root, byId) > MAX_DRAWN) throw refusal("it has too many parts");
}

function refusal(why: string): ConvertError {
  return new ConvertError(`The picture may take long to draw, because ${why}.`);
}

interface XmlToken {
  readonly kind: "start" | "empty" | "end" | "text";
  /** The name of an element without its prefix and in lower case, or a text. */
  readonly value: string;
  readonly attributes: string;
}

function* readXml(text: string): Generator<XmlToken> {
  const tokens =
    /<!--.*?-->|<\?(?!xml-s).*?\?>|<!\[CDATA\[(.*?)\]\]>|<!DOCTYPE[^[\]<>]*>|<(\/?)(?:[\w.-]+:)?([\w.-]+)((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>|([^<]+)|</gs;
  for (
    const [token, data, slash, name, attributes = "", words] of text.matchAll(
      tokens,
    )
  ) {
    const value = data ?? words;
    if (value !== undefined) yield { kind: "text", value, attributes };
    else if (name !== undefined) {
      const kind = slash !== ""
        ? "end"
        : attributes.endsWith("/")
        ? "empty"
        : "start";
      yield { kind, value: name.toLowerCase(), attributes };
    } else if (token === "<") throw refusal("it is written in an unusual way");
  }
}

function addElement(
  parent: DrawnElement,
  name: string,
  text: string,
  byId: Map<string, DrawnElement[]>,
): DrawnElement {
  if (REFUSED.has(name)) throw refusal("it has parts of unusual kinds");
  const references = new Set<string>();
  const cost = 1 + text.length / ATTRIBUTE_CHARACTERS;
  const element: DrawnElement = { name, cost, children: [], references };
  parent.children.push(element);
  for (const [attribute, value] of readAttributes(text)) {
    if (attribute.toLowerCase() === "id") {
      byId.set(idOf(value), [...byId.get(idOf(value)) ?? [], element]);
    }
    // Where a link leads is not drawn.
    if (name === "a" && attribute.endsWith("href")) continue;
    for (const reference of referencesIn(attribute, value)) {
      references.add(reference);
    }
  }
  return element;
}

/**
 * What an attribute may refer to. Any that has a `#` can: `href`,
 * `fill="url(#a)"`, the values of an animation. A color refers to something
 * only if an element has its name as an id.
 */
function referencesIn(attribute: string, value: string): string[] {
  const plain = value.replace(/[\t\n\r]/g, "").trim();
  const isDocument = /^data:(?!image\/(png|jpeg|gif|webp)[;,])/i.test(plain);
  const isEscaped = plain.includes("\\") && !attribute.includes(":");
  if (isDocument || isEscaped) throw refusal("it has parts of unusual kinds");
  return plain.split("#").slice(1).flatMap((
    rest,
  ) => [idOf(rest), idOf(decode(rest))]);
}

/**
 * An id up to its first unusual character; elements whose ids are alike until
 * there count as one.
 */
function idOf(text: string): string {
  return text.match(/^[^\s"'(),;#%&\\]*/)![0];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * What it costs to draw everything. A paint that is referred to counts for
 * every element inside, since it is inherited.
 */
function drawnCost(
  root: DrawnElement,
  byId: ReadonlyMap<string, DrawnElement[]>,
): number {
  interface Cost {
    readonly drawn: number;
    readonly elements: number;
  }
  const costs = new Map<DrawnElement, Cost>();
  const costOf = (element: DrawnElement): Cost => {
    const known = costs.get(element);
    if (known !== undefined) return known;
    // For what refers to itself.
    costs.set(element, { drawn: Infinity, elements: 1 });
    const children = element.children.map(costOf);
    const elements = children.reduce((sum, child) => sum + child.elements, 1);
    let drawn = children.reduce(
      (sum, child) => sum + child.drawn,
      element.cost,
    );
    for (const id of element.references) {
      for (const target of byId.get(id) ?? []) {
        drawn += elements * costOf(target).drawn;
      }
    }
    costs.set(element, { drawn, elements });
    return { drawn, elements };
  };
  return costOf(root).drawn;
}
