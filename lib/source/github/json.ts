// Parses the JSON of GitHub's responses.

import { sourceFailed } from "../../errors.ts";

export const OBJECT_ID = /^[0-9a-f]{40}$/;

/**
 * No response of GitHub is nested deeper. Parsing takes 40 times as much memory
 * as there are opening brackets.
 */
const MAX_DEPTH = 32;

/**
 * Returns the parsed JSON of a response.
 * @throws {CollectionsError} source-failed for anything else.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (!isShallow(bytes)) {
    throw sourceFailed(`Cannot read "answer": it is nested too deeply`);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw sourceFailed(`Cannot read "answer": it is not JSON`, {
      cause: error,
    });
  }
}

function isShallow(bytes: Uint8Array): boolean {
  const [quote, backslash] = [0x22, 0x5c];
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText) {
      if (byte === backslash) at++;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > MAX_DEPTH) return false;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return true;
}
