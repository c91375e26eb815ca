// JSON as bytes, made piece by piece: a page of long paths has 28 MiB, and as one text it takes three times as much and
// blocks the thread for as long as other clients may wait.

import { yieldToEventLoop } from "../yield.ts";

const FIRST_BYTES = 16 * 1024;
/** UTF-8 takes at most three bytes for each UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** The bytes of `JSON.stringify(value)`; the elements of its arrays are encoded one by one. */
export async function jsonBytes(
  value: Readonly<Record<string, unknown>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let bytes = new Uint8Array(FIRST_BYTES);
  let used = 0;
  const write = (text: string) => {
    const wanted = used + text.length * MAX_BYTES_PER_UNIT;
    if (wanted > bytes.length) {
      // A transfer frees the old bytes at once, without waiting for a garbage collection.
      bytes = new Uint8Array(
        bytes.buffer.transfer(Math.max(wanted, Math.ceil(bytes.length * 1.5))),
      );
    }
    used += encoder.encodeInto(text, bytes.subarray(used)).written;
  };
  let before = "{";
  for (const [name, part] of Object.entries(value)) {
    if (part === undefined) continue;
    write(`${before}${JSON.stringify(name)}:`);
    before = ",";
    if (!Array.isArray(part)) {
      write(JSON.stringify(part));
      continue;
    }
    for (const [index, element] of part.entries()) {
      await yieldToEventLoop();
      write((index === 0 ? "[" : ",") + JSON.stringify(element));
    }
    write(part.length === 0 ? "[]" : "]");
  }
  write(before === "{" ? "{}" : "}");
  return new Uint8Array(bytes.buffer.transfer(used));
}
