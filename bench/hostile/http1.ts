// HTTP/1.1 as an attacker speaks it: each request on a connection of its own,
// addresses sent as they are, and answers of any size counted and not kept.

import { Buffer } from "node:buffer";

/** A request; its address goes out as it is. */
export interface Http1Request {
  readonly method?: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** An answer; names of headers are in lower case. */
export interface Http1Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Bytes of the body that came. */
  readonly length: number;
  /** The first of them. */
  readonly start: Uint8Array;
  /** Whether the body has its `Content-Length`. */
  readonly isWhole: boolean;
}

/** What is kept of a body: all of an ordinary answer. */
const KEPT_BYTES = 1 << 20;
const READ_BYTES = 64 << 10;

/**
 * Sends one request to a port of the loopback interface and reads its answer to
 * the end.
 * @throws {Error} where no head of an answer comes, or the signal aborts.
 */
export async function sendHttp1(
  port: number,
  request: Http1Request,
  signal: AbortSignal,
): Promise<Http1Answer> {
  using connection = await openHttp1(port, signal);
  // A server may refuse a request and hang up before it has read all of it.
  writeRequest(connection, port, request).catch(() => {});
  return await readAnswer(connection, request.method ?? "GET");
}

/** A connection that closes when the signal aborts. */
export async function openHttp1(
  port: number,
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({
    hostname: "127.0.0.1",
    port,
    signal,
  });
  const dispose = connection[Symbol.dispose].bind(connection);
  // Deno's signal ends the connecting alone.
  signal.addEventListener("abort", dispose);
  connection[Symbol.dispose] = () => {
    signal.removeEventListener("abort", dispose);
    dispose();
  };
  if (signal.aborted) dispose();
  return connection;
}

/**
 * Writes a request whole, and asks the server to close the connection after its
 * answer.
 */
export async function writeRequest(
  connection: Deno.Conn,
  port: number,
  { method = "GET", target, headers = {}, body = "" }: Http1Request,
): Promise<void> {
  const content = Buffer.from(body);
  const fields: Record<string, string> = {
    host: `127.0.0.1:${port}`,
    connection: "close",
  };
  if (content.length > 0) fields["content-length"] = `${content.length}`;
  const lines = Object.entries({ ...fields, ...headers }).map((field) =>
    field.join(": ")
  );
  const head = [`${method} ${target} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  await writeAll(connection, Buffer.concat([Buffer.from(head), content]));
}

/** Writes all of some bytes. */
export async function writeAll(
  connection: Deno.Conn,
  bytes: Uint8Array,
): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await connection.write(bytes.subarray(at));
  }
}

async function readAnswer(
  connection: Deno.Conn,
  method: string,
): Promise<Http1Answer> {
  const kept: Uint8Array[] = [];
  let [keptBytes, length, headBytes] = [0, 0, -1];
  let [status, headers] = [0, new Headers()];
  const buffer = new Uint8Array(READ_BYTES);
  for (;;) {
    const count = await connection.read(buffer).catch((error) => {
      if (headBytes < 0) throw error;
      return null;
    });
    if (count === null) break;
    length += count;
    if (keptBytes < KEPT_BYTES) kept.push(buffer.slice(0, count));
    keptBytes += count;
    if (headBytes >= 0) continue;
    const start = Buffer.concat(kept);
    const end = start.indexOf("\r\n\r\n");
    if (end < 0) continue;
    headBytes = end + 4;
    ({ status, headers } = parseHead(
      start.subarray(0, end).toString("latin1"),
    ));
  }
  if (headBytes < 0) {
    throw new Error("Cannot read an answer: the connection ended early");
  }
  const hasNoBody = method === "HEAD" || status === 204 || status === 304;
  const announced = hasNoBody ? "0" : headers.get("content-length");
  return {
    status,
    headers,
    length: length - headBytes,
    start: Buffer.concat(kept).subarray(headBytes),
    isWhole: announced === null || length - headBytes === Number(announced),
  };
}

function parseHead(text: string): Pick<Http1Answer, "status" | "headers"> {
  const [statusLine = "", ...fields] = text.split("\r\n");
  const headers = new Headers(fields.map((field): [string, string] => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon), field.slice(colon + 1).trim()];
  }));
  return { status: Number(statusLine.split(" ")[1]), headers };
}
