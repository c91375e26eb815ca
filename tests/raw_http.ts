// HTTP as bytes on a connection, for what a client library would mend, hide or
// refuse to send.

import { Buffer } from "node:buffer";

/** A response as it came; names of headers are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A response that has not ended by then never will. */
const GIVE_UP_MS = 60_000;

/**
 * Sends the lines of a request's head to a port of the loopback interface, and
 * reads until the server hangs up.
 * @throws {Error} where it does so before the response is whole.
 */
export async function rawRequest(
  port: number,
  ...lines: string[]
): Promise<RawResponse> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const timer = setTimeout(() => connection[Symbol.dispose](), GIVE_UP_MS);
  try {
    const head = Buffer.from(
      [...lines, "Connection: close", "", ""].join("\r\n"),
    );
    for (let at = 0; at < head.length;) {
      at += await connection.write(head.subarray(at));
    }
    const response = parse(await new Response(connection.readable).bytes());
    const { status, headers, body } = response;
    const hasNoBody = lines[0]!.startsWith("HEAD ") || status === 204 ||
      status === 304;
    const wanted = hasNoBody
      ? 0
      : Number(headers.get("content-length") ?? body.length);
    if (body.length === wanted) return response;
    throw new Error(`Cannot read "${lines[0]}": the connection ended early`);
  } finally {
    clearTimeout(timer);
  }
}

/** The JSON of a response's body. */
export function json<T>({ body }: RawResponse): T {
  return JSON.parse(new TextDecoder().decode(body));
}

function parse(bytes: Uint8Array<ArrayBuffer>): RawResponse {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = all.indexOf("\r\n\r\n");
  if (end < 0) {
    throw new Error("Cannot read a response: the connection ended early");
  }
  const [statusLine = "", ...fields] = all.subarray(0, end).toString("latin1")
    .split("\r\n");
  const headers = new Headers(fields.map((field): [string, string] => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon), field.slice(colon + 1).trim()];
  }));
  return {
    status: Number(statusLine.split(" ")[1]),
    headers,
    body: bytes.slice(end + 4),
  };
}
