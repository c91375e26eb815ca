// HTTP/2 without TLS as an attacker speaks it (RFC 9113, "prior knowledge"):
// streams on one connection, whose answers are never let through, and streams
// that are reset at once. It reads what the server sends, so that the server is
// held up by flow control and not by TCP, and it keeps none of it.

import { Buffer } from "node:buffer";
import { openHttp1, writeAll } from "./http1.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7 };
const [END_STREAM, ACK, END_HEADERS] = [1, 1, 4];
/**
 * Settings: no table of headers, so that each status comes in full, and the
 * bytes that one answer may send.
 */
const SETTINGS = { headerTableSize: 1, initialWindowSize: 4 };
const [REFUSED_STREAM, CANCEL] = [7, 8];

/** The statuses that have an index of their own (RFC 7541, appendix A). */
const STATUSES = ["200", "204", "206", "304", "400", "404", "500"];
const FIRST_STATUS = 8;

/** One connection. */
export class Http2Connection implements Disposable {
  /** Whether the server closes the connection. */
  isOver = false;
  private lastStream = -1;
  private readonly waiting = new Map<number, (answer: string) => void>();

  private constructor(
    private readonly connection: Deno.TcpConn,
    private readonly port: number,
  ) {}

  /** Connects; each answer may send `windowBytes` of its body. */
  static async open(port: number, windowBytes: number, signal: AbortSignal) {
    const connection = await openHttp1(port, signal);
    const opened = new Http2Connection(connection, port);
    const settings = Buffer.alloc(12);
    settings.writeUInt16BE(SETTINGS.headerTableSize, 0);
    settings.writeUInt16BE(SETTINGS.initialWindowSize, 6);
    settings.writeUInt32BE(windowBytes, 8);
    const first = frame(TYPE.settings, 0, 0, settings);
    await writeAll(connection, Buffer.concat([Buffer.from(PREFACE), first]));
    opened.read().catch(() => {}).finally(() => opened.end());
    return opened;
  }

  /**
   * Sends one GET on a new stream. `answer` becomes the status, `refused` where
   * the server did not take the stream, `reset` where it ended it, and `no
   * answer` where the connection ends.
   */
  async request(
    target: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly stream: number; readonly answer: Promise<string> }> {
    const stream = this.lastStream += 2;
    const answer = new Promise<string>((resolve) =>
      this.waiting.set(stream, resolve)
    );
    const fields = [
      Buffer.of(0x82, 0x86), // :method: GET, :scheme: http
      Buffer.concat([Buffer.of(0x04), text(target)]), // :path
      Buffer.concat([Buffer.of(0x01), text(`127.0.0.1:${this.port}`)]), // :authority
      ...Object.entries(headers).map(([name, value]) =>
        Buffer.concat([Buffer.of(0), text(name), text(value)])
      ),
    ];
    if (this.isOver) this.end();
    else {await this.send(
        TYPE.headers,
        END_STREAM | END_HEADERS,
        stream,
        Buffer.concat(fields),
      );}
    return { stream, answer };
  }

  /** Cancels a stream. */
  async reset(stream: number): Promise<void> {
    const code = Buffer.alloc(4);
    code.writeUInt32BE(CANCEL);
    await this.send(TYPE.reset, 0, stream, code);
  }

  [Symbol.dispose](): void {
    this.connection[Symbol.dispose]();
  }

  private async send(
    type: number,
    flags: number,
    stream: number,
    payload: Uint8Array,
  ) {
    try {
      await writeAll(this.connection, frame(type, flags, stream, payload));
    } catch {
      this.end();
    }
  }

  private async read(): Promise<void> {
    let rest = Buffer.alloc(0);
    const buffer = new Uint8Array(64 << 10);
    for (;;) {
      const count = await this.connection.read(buffer);
      if (count === null) return;
      rest = Buffer.concat([rest, buffer.subarray(0, count)]);
      while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
        const end = 9 + rest.readUIntBE(0, 3);
        const stream = rest.readUInt32BE(5) & 0x7fffffff;
        await this.take(rest[3]!, rest[4]!, stream, rest.subarray(9, end));
        rest = rest.subarray(end);
      }
    }
  }

  private async take(
    type: number,
    flags: number,
    stream: number,
    payload: Buffer,
  ): Promise<void> {
    if (type === TYPE.headers) this.settle(stream, statusIn(payload));
    else if (type === TYPE.goAway) this.isOver = true;
    else if (type === TYPE.reset) {
      this.settle(
        stream,
        payload.readUInt32BE(0) === REFUSED_STREAM ? "refused" : "reset",
      );
    } else if (
      (type === TYPE.settings || type === TYPE.ping) && (flags & ACK) === 0
    ) {
      await this.send(
        type,
        ACK,
        0,
        type === TYPE.ping ? payload : Buffer.alloc(0),
      );
    }
  }

  private settle(stream: number, answer: string): void {
    this.waiting.get(stream)?.(answer);
    this.waiting.delete(stream);
  }

  private end(): void {
    this.isOver = true;
    for (const stream of [...this.waiting.keys()]) {
      this.settle(stream, "no answer");
    }
  }
}

function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * A string as HPACK writes it without Huffman's code: its length in seven bits
 * and then more, its bytes.
 */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length: number[] = [Math.min(bytes.length, 127)];
  if (bytes.length >= 127) {
    let left = bytes.length - 127;
    for (; left >= 128; left >>>= 7) length.push(left % 128 + 128);
    length.push(left);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

/** The status at the start of a block of headers, where every server has it. */
function statusIn(block: Buffer): string {
  // A server may first say that its table of headers is empty.
  const at = block.findIndex((byte) => (byte & 0xe0) !== 0x20);
  const first = block[at] ?? 0;
  const indexed = STATUSES[first - 0x80 - FIRST_STATUS];
  if (indexed !== undefined) return indexed;
  const length = block[at + 1] ?? 0;
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f));
  return length >= 128 ? digits(value) : value.toString("latin1");
}

/**
 * Digits in Huffman's code (RFC 7541, appendix B): `0` to `2` have five bits,
 * the others six.
 */
function digits(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join(
    "",
  );
  let found = "";
  for (let at = 0; at + 5 <= bits.length;) {
    const five = parseInt(bits.slice(at, at + 5), 2);
    const six = parseInt(bits.slice(at, at + 6).padEnd(6, "1"), 2);
    if (five <= 2) found += five;
    else if (six >= 0b011001 && six <= 0b011111) found += six - 0b011001 + 3;
    else break;
    at += five <= 2 ? 5 : 6;
  }
  return found;
}
