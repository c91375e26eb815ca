// Parses the JSON of GitHub's responses.

import { sourceFailed } from "../../errors.ts";

export const OBJECT_ID = /^[0-9a-f]{40}$/;

/**
 * No response of GitHub is nested deeper. Parsing takes 40 times as much memory
 * as there are opening brackets.
 */
const MAX_DEPTH = 32;

/**
 * Returns the parsed JSON of a response. `maxValues` limits the elements of
 * lists and objects together. `onDecoded` is called when the bytes are not
 * needed any longer.
 * @throws {CollectionsError} source-failed for anything else.
 */
export function parseJson(
  bytes: Uint8Array,
  maxValues = Infinity,
  onDecoded = () => {},
): unknown {
  const { depth, values } = measure(bytes);
  if (depth > MAX_DEPTH || values > maxValues) {
    const state = values > maxValues ? "too long" : "nested too deeply";
    throw sourceFailed(`Cannot read "answer": it is ${state}`);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    onDecoded();
    return JSON.parse(text);
  } catch (error) {
    throw sourceFailed(`Cannot read "answer": it is not JSON`, {
      cause: error,
    });
  }
}

/**
 * Returns about how many values there are, and the greatest depth. Stops where
 * that is too deep.
 */
function measure(bytes: Uint8Array) {
  const [quote, backslash] = [0x22, 0x5c];
  let [depth, values, open] = [0, 1, 0];
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText) {
      if (byte === backslash) at++;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === 0x2c) values++;
    else if (byte === 0x5b || byte === 0x7b) {
      values++;
      depth = Math.max(depth, ++open);
      if (depth > MAX_DEPTH) break;
    } else if (byte === 0x5d || byte === 0x7d) open--;
  }
  return { depth, values };
}
