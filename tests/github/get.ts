// Asks once and gives the whole answer, so that no test leaves a body unread.

/** Status, headers and body of an answer, redirects not followed. */
export async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers, redirect: "manual" });
  const bytes = await response.bytes();
  const text = new TextDecoder().decode(bytes);
  return { status: response.status, headers: response.headers, bytes, text };
}
