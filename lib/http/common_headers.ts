// What every response says, whatever its status.

/** The methods that there are. */
export const METHODS: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/** On every response. Exposed is each header that the service sends and that a page could not read otherwise. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Accept-Ranges, Age, Allow, Cache-Status, Content-Disposition, Content-Encoding, Content-Range, " +
    "Content-Security-Policy, Cross-Origin-Resource-Policy, Date, ETag, Link, RateLimit, RateLimit-Policy, " +
    "Retry-After, Vary, X-Content-Type-Options, X-Request-Id, X-TypeScript-Types",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
};
