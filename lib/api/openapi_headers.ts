// Every header that a response carries beside those of plain HTTP, for the OpenAPI document.

/** A header as the document describes it. */
export interface HeaderPart {
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example: string | number;
}

const text = (pattern?: string) =>
  pattern === undefined ? { type: "string" } : { type: "string", pattern };
const whole = { type: "integer", minimum: 0 };

/** All headers by name. */
export const HEADERS: Readonly<Record<string, HeaderPart>> = {
  "Access-Control-Allow-Origin": {
    description: "Every page may read every response.",
    schema: { type: "string", const: "*" },
    example: "*",
  },
  "Access-Control-Expose-Headers": {
    description: "The headers that a page may read.",
    schema: text(),
    example: "Age, Cache-Status, ETag, Link",
  },
  "Age": {
    description: "Whole seconds since the data was last checked at its source.",
    schema: whole,
    example: 18,
  },
  "Allow": {
    description: "The methods that exist.",
    schema: text(),
    example: "GET, HEAD, OPTIONS",
  },
  "Cache-Control": {
    description:
      "`public, max-age=60`; `no-cache` for a local folder, `no-store` for what must not be cached.",
    schema: { type: "string", enum: ["public, max-age=60", "no-cache", "no-store"] },
    example: "public, max-age=60",
  },
  "Cache-Status": {
    description: "How the cache produced the response (RFC 9211).",
    schema: text("^collections; "),
    example: "collections; hit; ttl=42",
  },
  "Content-Disposition": {
    description: "With `format=raw`: the file's name.",
    schema: text("^inline; "),
    example: `inline; filename="hello.md"; filename*=UTF-8''hello.md`,
  },
  "Content-Security-Policy": {
    description: "With `format=raw`: nothing in the file runs.",
    schema: text(),
    example: "sandbox; default-src 'none'",
  },
  "Cross-Origin-Resource-Policy": {
    description: "Pages of every origin may embed the response.",
    schema: { type: "string", const: "cross-origin" },
    example: "cross-origin",
  },
  "ETag": {
    description: "A strong tag of this representation and coding, for `If-None-Match`.",
    schema: text('^"[^"]+"$'),
    example: '"5a3-x1rC0mPaZxZ6GQ2Qb4hZ1m2Qn9k"',
  },
  "Link": {
    description: "The first, previous, next and last page (RFC 8288).",
    schema: text('^<[^>]*>; rel="'),
    example:
      '<http://localhost:8000/api/list-collection-items?owner=local&repo=blog&collection=posts&page=2>; rel="next"',
  },
  "RateLimit": {
    description: "How many cache misses this address may still cause.",
    schema: text(),
    example: '"misses";r=0;t=60',
  },
  "RateLimit-Policy": {
    description: "How many cache misses an address may cause a minute.",
    schema: text(),
    example: '"misses";q=120;w=60',
  },
  "Retry-After": {
    description: "Seconds after which the same request can succeed.",
    schema: { ...whole, minimum: 1 },
    example: 60,
  },
  "Vary": {
    description: "What else the response depends on.",
    schema: { type: "string", const: "Accept-Encoding" },
    example: "Accept-Encoding",
  },
  "X-Content-Type-Options": {
    description: "The content type holds.",
    schema: { type: "string", const: "nosniff" },
    example: "nosniff",
  },
  "X-Request-Id": {
    description: "The id of this request, in the log too.",
    schema: text("^[0-9a-f]{8}-[0-9a-z]+$"),
    example: "5f0c1a2b-1z",
  },
};

const ALWAYS = [
  "Access-Control-Allow-Origin",
  "Access-Control-Expose-Headers",
  "Cache-Control",
  "Cross-Origin-Resource-Policy",
  "X-Content-Type-Options",
  "X-Request-Id",
];

/** References to the headers of a response: those of its kind, and `more`. */
export function headersOf(
  kind: "data" | "problem",
  ...more: string[]
): Record<string, { $ref: string }> {
  const ofKind = kind === "data" ? ["Age", "Cache-Status", "ETag", "Vary"] : [];
  const names = [...ALWAYS, ...ofKind, ...more].sort();
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
