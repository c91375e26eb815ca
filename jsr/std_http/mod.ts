// The part of @std/http that this service uses, under the published package's
// name; see ../README.md.

/**
 * The strong entity tag of some content (RFC 9110, 8.8.3): "<size in hex>-<27
 * characters of a digest>".
 */
export async function eTag(entity: string | Uint8Array): Promise<string> {
  const bytes = typeof entity === "string"
    ? new TextEncoder().encode(entity)
    : entity;
  const digest = await crypto.subtle.digest("SHA-256", bytes.slice());
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)));
  return `"${bytes.length.toString(16)}-${base64.slice(0, 27)}"`;
}

interface Choice {
  readonly name: string;
  readonly quality: number;
  readonly order: number;
}

/**
 * The best of the given encodings by Accept-Encoding (RFC 9110, 12.5.3);
 * undefined when none of them is accepted.
 */
export function acceptsEncodings(
  request: Pick<Request, "headers">,
  ...encodings: [string, ...string[]]
): string | undefined {
  const header = request.headers.get("accept-encoding");
  if (!header) return encodings[0];
  const choices = parse(header);
  const byName = (name: string) =>
    choices.find((choice) => choice.name === name);
  return encodings
    .map((encoding) => ({
      encoding,
      choice: byName(encoding.toLowerCase()) ?? byName("*"),
    }))
    .filter(({ choice }) => choice !== undefined && choice.quality > 0)
    .sort((a, b) => compare(a.choice!, b.choice!))[0]?.encoding;
}

/**
 * Orders by quality; an encoding that is named goes before one that a wildcard
 * covers.
 */
function compare(a: Choice, b: Choice): number {
  return b.quality - a.quality ||
    Number(a.name === "*") - Number(b.name === "*") ||
    a.order - b.order;
}

function parse(header: string): Choice[] {
  const choices = header.toLowerCase().split(",").map((part, order) => {
    const [name = "", ...parameters] = part.split(";").map((text) =>
      text.trim()
    );
    const quality = parameters.find((text) => /^q=./.test(text))?.slice(2) ??
      "1";
    return { name, quality: parseFloat(quality), order };
  });
  if (!choices.some(({ name }) => name === "*" || name === "identity")) {
    // Left unsaid, no encoding at all is acceptable, but the last choice.
    const quality = Math.min(
      1,
      ...choices.map((choice) => choice.quality || 1),
    );
    choices.push({ name: "identity", quality, order: choices.length });
  }
  return choices;
}
