// A client that speaks HTTP/2 without TLS and takes no body: its window for
// each stream is 0 (RFC 9113, 6.9.2).

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS = 1;
const SETTINGS = 4;
const END_STREAM_AND_HEADERS = 0x05;
const NO_WINDOW = [0, 4, 0, 0, 0, 0];
/** Of one connection, by the settings that the server sends. */
const MAX_STREAMS = 200;

const bytesOf = (text: string) => [...new TextEncoder().encode(text)];

function frame(
  type: number,
  flags: number,
  stream: number,
  payload: readonly number[],
): number[] {
  const { length } = payload;
  return [
    length >> 16,
    length >> 8 & 255,
    length & 255,
    type,
    flags,
    0,
    0,
    stream >> 8,
    stream & 255,
  ]
    .concat(payload);
}

/**
 * Text as a literal that is not remembered, under a name of the static table
 * (RFC 7541, 6.2.2).
 */
function field(name: number, value: string): number[] {
  const bytes = bytesOf(value);
  const rest = bytes.length - 127;
  const length = rest < 0
    ? [bytes.length]
    : [127, ...rest < 128 ? [rest] : [rest & 127 | 128, rest >> 7]];
  return [name, ...length, ...bytes];
}

/**
 * Opens as many GET requests as that, over as few connections as may be, and
 * takes no byte of a body.
 */
export async function openStreams(
  port: number,
  path: string,
  count: number,
): Promise<Disposable> {
  const connections: Deno.TcpConn[] = [];
  for (let left = count; left > 0; left -= MAX_STREAMS) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connections.push(connection);
    // `:method: GET`, `:scheme: http`, `:path` and `:authority`.
    const headers = [
      0x82,
      0x86,
      ...field(4, path),
      ...field(1, `127.0.0.1:${port}`),
    ];
    const streams = Array.from(
      { length: Math.min(left, MAX_STREAMS) },
      (_, n) => frame(HEADERS, END_STREAM_AND_HEADERS, 2 * n + 1, headers),
    );
    const sent = [
      ...bytesOf(PREFACE),
      ...frame(SETTINGS, 0, 0, NO_WINDOW),
      ...streams.flat(),
    ];
    const writer = connection.writable.getWriter();
    await writer.write(new Uint8Array(sent));
    // The headers of responses are taken, and dropped.
    connection.readable.pipeTo(new WritableStream()).catch(() => {});
  }
  return {
    [Symbol.dispose]() {
      for (const connection of connections) connection.close();
    },
  };
}
