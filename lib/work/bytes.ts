// Copies of long blocks of bytes. New memory costs the thread about 1 ms a MiB,
// so they are made in pieces.

import { yieldToEventLoop } from "./clock.ts";

const PIECE_BYTES = 256 << 10;

/** Returns texts in UTF-8 and bytes as one block. */
export async function joinBytes(
  parts: readonly (string | Uint8Array)[],
): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const blocks = parts.map((part) =>
    typeof part === "string" ? encoder.encode(part) : part
  );
  const joined = new Uint8Array(
    blocks.reduce((sum, { length }) => sum + length, 0),
  );
  let at = 0;
  let copied = 0;
  for (const block of blocks) {
    copied += block.length;
    if (copied > PIECE_BYTES) {
      await yieldToEventLoop();
      copied = 0;
    }
    await copyBytes(block, joined, at);
    at += block.length;
  }
  return joined;
}

/** Copies a block to a position of another. */
export async function copyBytes(
  from: Uint8Array,
  to: Uint8Array,
  position = 0,
  signal?: AbortSignal,
): Promise<void> {
  for (let at = 0; at < from.length; at += PIECE_BYTES) {
    if (at > 0) await yieldToEventLoop(signal);
    to.set(from.subarray(at, at + PIECE_BYTES), position + at);
  }
}
