// Reads untrusted TOML into the same plain data as YAML: dates are ISO 8601 text, a number that JSON
// cannot carry is text, and depth is bounded.

import { parse, TomlError } from "smol-toml";
import { DataError, type PlainObject, type PlainValue, setOwn } from "./plain_data.ts";

const MAX_DEPTH = 64;

/** The bounds of {@linkcode parseToml}. */
export interface TomlLimits {
  /** Characters of the text. */
  readonly maxChars: number;
  /** Keys, values and openings of lists and tables, all together; memory is proportional to them. */
  readonly maxTokens: number;
}

/** Characters that accompany those tokens; they also count within strings, where few occur. */
const TOKEN = /[=,[{]/g;

/**
 * Reads one TOML 1.0 document (toml.io). Dates and times are ISO 8601 text, `nan`, `inf` and integers past 2^53 text.
 * @throws {DataError} for what does not parse and for a text over a limit.
 */
export function parseToml(text: string, limits: TomlLimits): PlainObject {
  if (text.length > limits.maxChars) {
    throw new DataError(`The text is longer than ${limits.maxChars} characters`, 1);
  }
  if ((text.match(TOKEN)?.length ?? 0) > limits.maxTokens) {
    throw new DataError(`The text has more than ${limits.maxTokens} tokens`, 1);
  }
  let table: Record<string, unknown>;
  try {
    table = parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw new DataError("The text cannot be parsed", 1);
    throw new DataError(error.message.replace("Invalid TOML document: ", ""), error.line);
  }
  return toPlainObject(table, 0);
}

function toPlainObject(table: Record<string, unknown>, depth: number): PlainObject {
  const object: PlainObject = {};
  for (const [key, value] of Object.entries(table)) setOwn(object, key, toPlain(value, depth + 1));
  return object;
}

function toPlain(value: unknown, depth: number): PlainValue {
  // The parser does not say where a table stood.
  if (depth > MAX_DEPTH) {
    throw new DataError(`The text is nested deeper than ${MAX_DEPTH} levels`, 1);
  }
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : nonFinite(value);
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => toPlain(item, depth + 1));
  return toPlainObject(value as Record<string, unknown>, depth);
}

/** As TOML writes it. */
function nonFinite(value: number): string {
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}
