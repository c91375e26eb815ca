// Reads tags and attributes. This module uses no DOM.

/** A part of HTML. */
export type HtmlToken =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "end"; readonly name: string }
  | {
    readonly kind: "start";
    readonly name: string;
    readonly attributes: Attributes;
  };

/** Names and values, in their order. */
export type Attributes = readonly (readonly [name: string, value: string])[];

/** The parts of HTML that a serializer wrote. */
export function* readHtml(html: string): Generator<HtmlToken> {
  const tokens =
    /<(\/?)([a-z][a-z0-9-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>|<!--.*?-->|[^<]+|</gis;
  for (const [token, slash, tag, attributes = ""] of html.matchAll(tokens)) {
    const name = tag?.toLowerCase();
    if (name === undefined) {
      if (!token.startsWith("<!--")) {
        yield { kind: "text", text: decodeReferences(token) };
      }
    } else if (slash !== "") yield { kind: "end", name };
    else yield { kind: "start", name, attributes: readAttributes(attributes) };
  }
}

/** The attributes that are written in a tag. */
export function readAttributes(text: string): Attributes {
  const attributes =
    /([^\s=/"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+)))?/g;
  return [...text.matchAll(attributes)].map(([, name, double, single, bare]) =>
    [name!, decodeReferences(double ?? single ?? bare ?? "")] as const
  );
}

const REFERENCES: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  gt: ">",
  lt: "<",
  quot: '"',
};

/** Text in which numbers and XML's five names stand for characters. */
export function decodeReferences(text: string): string {
  return text.replaceAll(
    /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|(amp|apos|gt|lt|quot));/gi,
    (reference, hex, decimal, name) => {
      if (name !== undefined) return REFERENCES[name.toLowerCase()]!;
      const code = hex === undefined
        ? Number(decimal)
        : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : reference;
    },
  );
}
