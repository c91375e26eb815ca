// Text that is made whole before it is sent. Its length is given, so that HEAD, of which the framework drops the body, tells
// the same as GET (RFC 9110, 9.3.2).

/** 200, or the status given, with `text` in UTF-8. */
export function textResponse(
  text: string,
  { status = 200, headers }: { status?: number; headers: Readonly<Record<string, string>> },
): Response {
  const bytes = new TextEncoder().encode(text);
  return new Response(bytes, {
    status,
    headers: { ...headers, "content-length": String(bytes.length) },
  });
}
