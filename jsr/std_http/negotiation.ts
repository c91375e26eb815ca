// Content negotiation by Accept-Encoding (RFC 9110, 12.5.3).

interface Choice {
  name: string;
  quality: number;
  order: number;
}

/** The encodings that a request accepts, the best first; `*` alone when it names none. */
export function acceptsEncodings(request: Pick<Request, "headers">): string[];
/** The best of the given encodings for a request; undefined when it accepts none of them. */
export function acceptsEncodings(
  request: Pick<Request, "headers">,
  ...encodings: string[]
): string | undefined;
export function acceptsEncodings(
  request: Pick<Request, "headers">,
  ...encodings: string[]
): string | string[] | undefined {
  const header = request.headers.get("accept-encoding");
  if (!header) return encodings.length === 0 ? ["*"] : encodings[0];

  const choices = parse(header);
  if (encodings.length === 0) {
    return choices
      .filter(({ quality }) => quality > 0)
      .sort((a, b) => b.quality - a.quality || a.order - b.order)
      .map(({ name }) => name);
  }
  return encodings
    .map((encoding) => ({ encoding, choice: findChoice(choices, encoding) }))
    .filter(({ choice }) => choice !== null && choice.quality > 0)
    .sort((a, b) => compare(a.choice!, b.choice!))[0]?.encoding;
}

/** The choice that decides about an encoding: the one that names it, or else the wildcard. */
function findChoice(choices: Choice[], encoding: string): Choice | null {
  const naming = choices.filter(({ name }) => name.toLowerCase() === encoding.toLowerCase());
  const deciding = naming.length > 0 ? naming : choices.filter(({ name }) => name === "*");
  return deciding.sort((a, b) => b.quality - a.quality || b.order - a.order)[0] ?? null;
}

/** Orders by quality; an encoding that is named goes before one that a wildcard covers. */
function compare(a: Choice, b: Choice): number {
  return b.quality - a.quality ||
    Number(a.name === "*") - Number(b.name === "*") ||
    a.order - b.order;
}

function parse(header: string): Choice[] {
  const parts = header.split(",");
  const choices = parts.flatMap((part, order) => {
    const [name = "", ...params] = part.split(";").map((text) => text.trim());
    return name === "" || /\s/.test(name) ? [] : [{ name, quality: toQuality(params), order }];
  });
  if (!choices.some(({ name }) => name === "*" || name.toLowerCase() === "identity")) {
    // Left unsaid, no encoding at all is acceptable, but the last choice.
    const quality = Math.min(1, ...choices.map((choice) => choice.quality || 1));
    choices.push({ name: "identity", quality, order: parts.length - 1 });
  }
  return choices;
}

function toQuality(params: string[]): number {
  const value = params.map((param) => param.split("=")).find(([name, q]) => name === "q" && q)?.[1];
  return value === undefined ? 1 : parseFloat(value);
}
