// Git's pkt-line framing (gitprotocol-common, gitprotocol-v2): four hex digits of length, themselves included, then
// that many bytes less four. Whatever the peer sends, the parser buffers no more than one line.

/** Ends a message (`0000`). */
export const FLUSH = Symbol("flush");
/** Separates the sections of a message (`0001`). */
export const DELIMITER = Symbol("delimiter");

/** One parsed pkt-line: the bytes of its payload, or a marker. */
export type PktLine = Uint8Array | typeof FLUSH | typeof DELIMITER;

const LENGTH_DIGITS = 4;
const MAX_LINE_BYTES = 65_520;
const encoder = new TextEncoder();

/**
 * Encodes markers and lines of text, each line with the line feed that the protocol recommends.
 * @throws {RangeError} for a line longer than the protocol allows.
 */
export function encodePktLines(
  lines: readonly (string | typeof FLUSH | typeof DELIMITER)[],
): Uint8Array<ArrayBuffer> {
  const encoded = lines.map((line) => {
    if (line === FLUSH) return "0000";
    if (line === DELIMITER) return "0001";
    const bytes = LENGTH_DIGITS + encoder.encode(line).length + 1;
    if (bytes > MAX_LINE_BYTES) {
      throw new RangeError(`Cannot encode "pkt-line": it would have ${bytes} bytes`);
    }
    return `${bytes.toString(16).padStart(LENGTH_DIGITS, "0")}${line}\n`;
  });
  return encoder.encode(encoded.join(""));
}

/** Parses pkt-lines that arrive in chunks of any size. */
export class PktLineParser {
  /** The length or the payload that is being read. */
  private part = new Uint8Array(LENGTH_DIGITS);
  private filled = 0;
  private isPayload = false;

  /**
   * Takes the next chunk and yields each line that it completes; no line shares memory with the chunk.
   * @throws {SyntaxError} for a length that is not hex, is reserved (`0002`, `0003`) or over 65,520.
   */
  *push(chunk: Uint8Array): Generator<PktLine, void> {
    for (let at = 0; at < chunk.length;) {
      const taken = chunk.subarray(at, at + this.part.length - this.filled);
      this.part.set(taken, this.filled);
      this.filled += taken.length;
      at += taken.length;
      if (this.filled < this.part.length) return;
      const { part, isPayload } = this;
      const length = isPayload ? 0 : parseLength(part);
      this.isPayload = length > LENGTH_DIGITS;
      this.part = new Uint8Array(this.isPayload ? length - LENGTH_DIGITS : LENGTH_DIGITS);
      this.filled = 0;
      if (isPayload) yield part;
      else if (length === 0) yield FLUSH;
      else if (length === 1) yield DELIMITER;
      else if (length === LENGTH_DIGITS) yield new Uint8Array(0);
    }
  }
}

function parseLength(digits: Uint8Array): number {
  const text = String.fromCharCode(...digits);
  const length = /^[0-9a-f]{4}$/i.test(text) ? parseInt(text, 16) : NaN;
  if (length <= MAX_LINE_BYTES && length !== 2 && length !== 3) return length;
  throw new SyntaxError(`Cannot parse "pkt-line": the length ${JSON.stringify(text)} is invalid`);
}
