import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  DELIMITER,
  encodePktLines,
  FLUSH,
  type PktLine,
  PktLineParser,
} from "../../../lib/source/github/pkt_line.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The bytes in pieces of these lengths, again and again. */
function* inPieces(bytes: Uint8Array, lengths: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const length = lengths[n % lengths.length] ?? bytes.length;
    yield bytes.slice(at, at += length);
  }
}

function parse(bytes: Uint8Array, lengths: readonly number[] = [bytes.length || 1]): PktLine[] {
  const parser = new PktLineParser();
  const lines: PktLine[] = [];
  for (const piece of inPieces(bytes, lengths)) {
    for (const line of parser.push(piece)) lines.push(line);
    piece.fill(0);
  }
  return lines;
}

const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

Deno.test("encodePktLines() gives the bytes of the protocol's own examples", () => {
  assertEquals(
    decoder.decode(encodePktLines(["a", DELIMITER, "foobar", FLUSH])),
    "0006a\n0001000bfoobar\n0000",
  );
  assertEquals(decoder.decode(encodePktLines(["é"])), "0007é\n");
  assertEquals(encodePktLines(["x".repeat(65_515)]).length, 65_520);
  assertThrows(() => encodePktLines(["x".repeat(65_516)]), RangeError, "65521");
});

Deno.test("PktLineParser.push() gives back what was encoded, however it is cut", () => {
  const line = fc.oneof(fc.constant(FLUSH), fc.constant(DELIMITER), fc.string({ unit: "binary" }));
  fc.assert(fc.property(fc.array(line), pieces, (lines, lengths) => {
    const parsed = parse(encodePktLines(lines), lengths);
    const texts = parsed.map((line) => typeof line === "symbol" ? line : decoder.decode(line));
    assertEquals(texts, lines.map((line) => typeof line === "symbol" ? line : `${line}\n`));
  }));
});

Deno.test("PktLineParser.push() gives an empty line for 0004, and takes digits of either case", () => {
  assertEquals(parse(encoder.encode("0004000Aabcdef000aABCDEF")), [
    new Uint8Array(0),
    encoder.encode("abcdef"),
    encoder.encode("ABCDEF"),
  ]);
});

Deno.test("PktLineParser.push() takes the longest line byte by byte", () => {
  const bytes = encodePktLines(["x".repeat(65_515)]);
  assertEquals(parse(bytes, [1]), [bytes.slice(4)]);
});

for (
  const length of [
    "0002",
    "0003",
    "fff1",
    "ffff",
    "00g0",
    " 0a0",
    "-001",
    "+00a",
    "0x0a",
    "\0\0\0\0",
    "1e1 ",
    "PACK",
  ]
) {
  Deno.test(`PktLineParser.push() refuses the length ${JSON.stringify(length)}`, () => {
    assertThrows(() => parse(encoder.encode(`${length}${"x".repeat(20)}`)), SyntaxError, "invalid");
  });
}

Deno.test("PktLineParser.push() gives nothing of a line that is cut off", () => {
  const bytes = encodePktLines(["one", "two"]);
  for (let end = 0; end < bytes.length; end++) {
    assertEquals(parse(bytes.subarray(0, end)).length, end < 8 ? 0 : 1);
  }
});

Deno.test("PktLineParser.push() parses any bytes as a plain parser of the format does", () => {
  // Lengths that are often good, so that the parser gets beyond the first line.
  const chunk = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.constantFrom("0000", "0001", "0002", "0005", "000a", "0010", "ffff", "zzzz")
      .map((text) => encoder.encode(text)),
  );
  const bytes = fc.array(chunk).map((chunks) => new Uint8Array(chunks.flatMap((c) => [...c])));
  let refused = 0;
  fc.assert(fc.property(bytes, pieces, (bytes, lengths) => {
    const expected = plainReading(bytes);
    if (expected !== null) return assertEquals(parse(bytes, lengths), expected);
    refused++;
    assertThrows(() => parse(bytes, lengths), SyntaxError);
  }));
  assert(refused > 5);
});

/** Null where a length is invalid. */
function plainReading(bytes: Uint8Array): PktLine[] | null {
  const lines: PktLine[] = [];
  for (let at = 0; at + 4 <= bytes.length;) {
    const digits = String.fromCharCode(...bytes.subarray(at, at + 4));
    const length = [...digits].every((digit) => "0123456789abcdefABCDEF".includes(digit))
      ? Number(`0x${digits}`)
      : 2;
    if (length === 2 || length === 3 || length > 65_520) return null;
    const end = at + Math.max(length, 4);
    if (end > bytes.length) break;
    lines.push(length === 0 ? FLUSH : length === 1 ? DELIMITER : bytes.slice(at + 4, end));
    at = end;
  }
  return lines;
}
