// One persistent HTTP/1.1 connection that gives answers unchanged: no decompression, no redirect, no cache. Cheap
// enough to run beside a load generator.

/** An answer; names of headers are in lower case. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array<ArrayBuffer>;
}

type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const HEAD_END = [13, 10, 13, 10];

/** A connection to `origin`; one request at a time. Answers must carry their length, or be 304 or 204. */
export class RawClient implements Disposable {
  private readonly buffer = new Uint8Array(256 * 1024);
  private pending: Bytes = new Uint8Array(0);

  private constructor(private readonly connection: Deno.TcpConn, private readonly host: string) {}

  /** Connects to an `http:` origin. */
  static async connect(origin: string): Promise<RawClient> {
    const { hostname, port, host } = new URL(origin);
    const connection = await Deno.connect({ hostname, port: Number(port) });
    connection.setNoDelay();
    return new RawClient(connection, host);
  }

  /** Sends a GET and reads its answer. @throws {Error} where the connection ends early. */
  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<RawAnswer> {
    const fields = Object.entries({ host: this.host, ...headers });
    const lines = [`GET ${path} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)];
    await this.write(encoder.encode(`${lines.join("\r\n")}\r\n\r\n`));
    const head = await this.readHead();
    const [first = "", ...rest] = head.split("\r\n");
    const status = Number(first.split(" ")[1]);
    const answered = new Map(rest.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    if (status === 304 || status === 204) {
      return { status, headers: answered, body: new Uint8Array(0) };
    }
    const length = answered.get("content-length");
    if (length === undefined) throw new Error(`Cannot read "${path}": no content-length`);
    return { status, headers: answered, body: await this.take(Number(length)) };
  }

  /** Closes the connection. */
  [Symbol.dispose](): void {
    this.connection.close();
  }

  private async write(bytes: Bytes): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.connection.write(bytes.subarray(at));
  }

  private async readHead(): Promise<string> {
    for (let from = 0;;) {
      const end = findEnd(this.pending, from);
      if (end >= 0) return decoder.decode(await this.take(end + HEAD_END.length)).trimEnd();
      from = Math.max(0, this.pending.length - HEAD_END.length);
      const chunk = await this.read();
      const joined = new Uint8Array(this.pending.length + chunk.length);
      joined.set(this.pending);
      joined.set(chunk, this.pending.length);
      this.pending = joined;
    }
  }

  private async take(length: number): Promise<Bytes> {
    const taken = new Uint8Array(length);
    let at = Math.min(length, this.pending.length);
    taken.set(this.pending.subarray(0, at));
    this.pending = this.pending.slice(at);
    while (at < length) {
      const chunk = await this.read();
      const wanted = Math.min(chunk.length, length - at);
      taken.set(chunk.subarray(0, wanted), at);
      at += wanted;
      if (wanted < chunk.length) this.pending = chunk.slice(wanted);
    }
    return taken;
  }

  private async read(): Promise<Bytes> {
    const count = await this.connection.read(this.buffer);
    if (count === null) throw new Error(`Cannot read "${this.host}": the connection ended`);
    return this.buffer.subarray(0, count);
  }
}

function findEnd(bytes: Bytes, from: number): number {
  for (let at = bytes.indexOf(13, from); at >= 0; at = bytes.indexOf(13, at + 1)) {
    if (HEAD_END.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}
