// The result of rendering a Markdown file, and the last step to HTML. A result depends on the file's text alone, so it is
// cached by blob id and RENDERER_VERSION; relative addresses are left open until the HTML is joined, because they depend
// on the file's path, its commit and the request. This module loads no part of the renderer.

/** Changes whenever the same text gives another `Rendered`; part of the cache key. */
export const RENDERER_VERSION = 2;

/** A relative address of the file, which only the request can resolve. */
export interface RelativeAddress {
  kind: "link" | "image";
  /** As the author wrote it, percent-decoded, without query and fragment; "" is the file itself. */
  path: string;
  /** With its `#`, or "". */
  fragment: string;
}

/** A heading, listed in the order of the HTML. */
export interface Heading {
  /** 1 to 6. */
  depth: number;
  /** The element's id as it is in the HTML. */
  id: string;
  text: string;
}

/** A rendered file, as plain JSON: one address stands between each two parts of the HTML. */
export interface Rendered {
  parts: string[];
  addresses: RelativeAddress[];
  headings: Heading[];
  /** At most 300 UTF-16 units. */
  excerpt: string;
  words: number;
}

/** Why a file has no HTML, as a sentence. */
export interface RenderError {
  message: string;
}

const ATTRIBUTES = { link: "href", image: "src" } as const;

/**
 * The HTML of a rendered file. `resolve` gives the address of a link or an image; null leaves the attribute out. Costs
 * time in proportion to the HTML, of which a file has at most some MiB: yield between files of a page. Files of one
 * folder may share `written`, since what is written there leads to the same places.
 */
export function joinHtml(
  { parts, addresses }: Rendered,
  resolve: (address: RelativeAddress) => string | null,
  written: Map<string, string> = new Map(),
): string {
  let html = parts[0] ?? "";
  addresses.forEach((address, i) => {
    const { kind, path, fragment } = address;
    // Either may contain any character, so that the length tells where the path ends.
    const key = `${kind}${path.length} ${path}${fragment}`;
    let attribute = written.get(key);
    if (attribute === undefined) {
      const value = resolve(address);
      attribute = value === null ? "" : ` ${ATTRIBUTES[kind]}="${escapeAttribute(value)}"`;
      // An empty path is the file itself.
      if (path !== "") written.set(key, attribute);
    }
    html += attribute + (parts[i + 1] ?? "");
  });
  return html;
}

function escapeAttribute(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
