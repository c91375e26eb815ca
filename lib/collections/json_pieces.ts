// JSON of a page, put together from pieces. Each piece is small, and other requests have their turn in between.

import { yieldToEventLoop } from "../work/clock.ts";
import type { ReadContext } from "./read_context.ts";

/** Bytes of JSON that an answer has at most. */
export const MAX_JSON_BYTES = 16 << 20;

const encoder = new TextEncoder();

/** Each value as JSON without its braces, made in time slices and charged to the client. */
export async function encodeAll<T>(
  values: Iterable<T>,
  encode: (value: T) => object,
  { clock, context }: ReadContext,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let usedMs = 0;
  for (const value of values) {
    await yieldToEventLoop(context.signal);
    const startedAtMs = clock.monotonicMs();
    pieces.push(encoder.encode(JSON.stringify(encode(value)).slice(1, -1)));
    usedMs += clock.monotonicMs() - startedAtMs;
  }
  context.charge(usedMs);
  return pieces;
}

/** The bytes of pieces, which are text or bytes, one after the other. */
export async function joinPieces(
  given: readonly (string | Uint8Array)[],
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces = given.map((piece) => typeof piece === "string" ? encoder.encode(piece) : piece);
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    await yieldToEventLoop();
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** An object of properties that were encoded apart: `more` is empty or begins with a comma. */
export function objectOf(properties: Uint8Array, more?: Uint8Array): (string | Uint8Array)[] {
  if (more === undefined || more.length === 0) return ["{", properties, "}"];
  return ["{", properties, properties.length === 0 ? more.subarray(1) : more, "}"];
}
