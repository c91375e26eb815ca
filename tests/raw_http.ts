// HTTP as bytes on a connection, for what a client library would mend, hide or refuse to send.

/** A response as it came; names of headers are in lower case. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Sends the lines of a request's head to a port of the loopback interface, and reads until the server hangs up. */
export async function rawRequest(port: number, ...lines: string[]): Promise<RawResponse> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = [...lines, "Connection: close", "", ""].join("\r\n");
  await connection.write(new TextEncoder().encode(head));
  return parse(await new Response(connection.readable).bytes());
}

/** The JSON of a response's body. */
export function json<T>({ body }: RawResponse): T {
  return JSON.parse(new TextDecoder().decode(body));
}

function parse(bytes: Uint8Array<ArrayBuffer>): RawResponse {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...fields] = text.slice(0, end).split("\r\n");
  const headers = new Headers(fields.map((field): [string, string] => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon), field.slice(colon + 1).trim()];
  }));
  return { status: Number(statusLine.split(" ")[1]), headers, body: bytes.slice(end + 4) };
}
