// Parses untrusted YAML and TOML to plain JSON data. The depth and the text
// repeated by aliases are limited while the result is built. No check compares
// every key with every other. `Object.fromEntries()` makes every key an own
// property. This includes `__proto__`, so no file reaches a prototype.

import { parse as parseToml, TomlError } from "smol-toml";
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  Parser,
  type Scalar,
} from "yaml";
import type { PlainValue } from "./plain_value.ts";

/**
 * Limits the characters of a text and the characters that YAML aliases repeat
 * in the result.
 */
type DataLimits = Readonly<Record<"maxChars" | "maxRepeatedChars", number>>;

export type DataFormat = "json" | "toml" | "yaml";

const MAX_DEPTH = 64;
const TOO_DEEP = `The text is nested deeper than ${MAX_DEPTH} levels`;
const MAX_MESSAGE_CHARS = 160;

/**
 * Thrown if a text cannot be parsed. `message` is one short line that may be
 * shown to anyone. `line` counts from 1 in that text.
 */
export class DataError extends Error {
  override readonly name = "DataError";

  constructor(message: string, readonly line: number) {
    // Parsers quote the text at which they failed. It may be long and may
    // contain anything.
    const chars = [
      ...message.trim().split("\n", 1)[0]!.replace(/[\s\p{C}]+/gu, " ").trim(),
    ];
    const isShort = chars.length <= MAX_MESSAGE_CHARS;
    super(
      isShort
        ? chars.join("")
        : `${chars.slice(0, MAX_MESSAGE_CHARS - 1).join("")}…`,
    );
  }
}

/**
 * Parses one document. Parsing stops at the first error. Numbers that JSON
 * cannot carry become text. These are non-finite numbers and integers past
 * 2^53. YAML 1.2 is parsed with the core schema (yaml.org/spec/1.2.2, 10.3).
 * Keys are strings as written. Dates stay text. An empty document is an empty
 * mapping. TOML 1.0 dates become ISO 8601 text. The parse time is not bounded.
 * @throws {DataError} if the text does not parse, repeats a key or exceeds a
 * limit.
 */
export function parseData(
  text: string,
  { format, ...limits }: DataLimits & { format: DataFormat },
): PlainValue {
  if (text.length > limits.maxChars) {
    throw new DataError(
      `The text is longer than ${limits.maxChars} characters`,
      1,
    );
  }
  try {
    if (format === "json") return parseJson(text);
    return format === "toml" ? parseTomlText(text) : parseYaml(text, limits);
  } catch (error) {
    // The parsers are recursive, so deep text overflows the stack.
    throw error instanceof RangeError ? new DataError(TOO_DEEP, 1) : error;
  }
}

function parseTomlText(text: string): PlainValue {
  try {
    return toPlain(parseToml(text, { integersAsBigInt: "asNeeded" }), 0);
  } catch (error) {
    if (error instanceof DataError || error instanceof RangeError) throw error;
    if (!(error instanceof TomlError)) {
      throw new DataError("The text cannot be parsed", 1);
    }
    throw new DataError(
      error.message.replace("Invalid TOML document: ", ""),
      error.line,
    );
  }
}

/**
 * Parses JSON. `line` is the line at which the text begins. The parser does not
 * name the line of every error.
 * @throws {DataError} if the text does not parse or is nested too deep.
 */
export function parseJson(text: string, line = 1): PlainValue {
  try {
    return toPlain(JSON.parse(text), 0);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const message = error.message.replace(
      / at position \d+ \(line (\d+) column \d+\)$/,
      (_, at) => (line += at - 1, ""),
    );
    throw new DataError(message, line);
  }
}

function toPlain(value: unknown, depth: number): PlainValue {
  // The parser does not report the line of a table.
  if (depth > MAX_DEPTH) throw new DataError(TOO_DEEP, 1);
  if (
    value === null || typeof value === "string" || typeof value === "boolean"
  ) {
    return value;
  }
  if (typeof value === "number") {
    return Number.isFinite(value)
      ? value
      : String(value).toLowerCase().replace("infinity", "inf");
  }
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.toISOString();
  // JSON is changed in place because a copy would take as much memory again.
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      value[at] = toPlain(value[at], depth + 1);
    }
    return value;
  }
  const parent = value as Record<string, unknown>;
  if (Object.getPrototypeOf(parent) === null) {
    // A table of TOML.
    return Object.fromEntries(
      Object.entries(parent).map(([key, item]) => [
        key,
        toPlain(item, depth + 1),
      ]),
    );
  }
  // `__proto__` is an own property here, so this sets no prototype.
  for (const key of Object.keys(parent)) {
    parent[key] = toPlain(parent[key], depth + 1);
  }
  return parent as PlainValue;
}

/**
 * Composes the document of a text. The parser's own `parseDocument()` collects
 * all errors. Hostile text has very many.
 */
function composeYaml(text: string): Document.Parsed | undefined {
  const composer = new Composer({
    schema: "core",
    resolveKnownTags: false,
    stringKeys: true,
    // The parser's own check takes quadratic time in the number of keys.
    uniqueKeys: false,
  });
  let first: DataError | null = null;
  // The composer takes its error handler from this property. It catches what
  // the handler throws and reports it again.
  (composer as unknown as { onError: ErrorHandler }).onError = (
    at,
    code,
    message,
    isWarning,
  ) => {
    if (isWarning === true) return;
    const isDeep = code === "RESOURCE_EXHAUSTION";
    const offset = typeof at === "number"
      ? at
      : "offset" in at
      ? at.offset
      : at[0]!;
    throw first ??= new DataError(
      isDeep ? TOO_DEEP : message,
      lineAt(text, offset),
    );
  };
  const documents = composer.compose(tokensOf(text)) as Iterable<
    Document.Parsed
  >;
  const [document, second] = documents;
  if (second !== undefined) {
    const message =
      "Source contains multiple documents; please use YAML.parseAllDocuments()";
    throw new DataError(message, lineAt(text, second.range[0]));
  }
  const error = document?.errors[0];
  if (error !== undefined) {
    throw new DataError(error.message, lineAt(text, error.pos[0]));
  }
  return document;
}

function* tokensOf(text: string) {
  for (const token of new Parser().parse(text)) {
    if (token.type === "error") {
      const source = token.source ? `: ${JSON.stringify(token.source)}` : "";
      throw new DataError(token.message + source, lineAt(text, token.offset));
    }
    yield token;
  }
}

type ErrorHandler = (
  at: number | readonly number[] | { offset: number },
  code: string,
  message: string,
  isWarning?: boolean,
) => void;

function parseYaml(text: string, limits: DataLimits): PlainValue {
  const document = composeYaml(text);
  const anchors = new Map<string, PlainValue>();
  let repeatedChars = 0;
  const failAt = (node: unknown, message: string) =>
    new DataError(
      message,
      lineAt(text, (node as Node | null)?.range?.[0] ?? 0),
    );

  /**
   * Converts nodes in document order so that anchors come before their aliases.
   */
  const read = (node: unknown, depth: number): PlainValue => {
    if (depth > MAX_DEPTH) throw failAt(node, TOO_DEEP);
    if (isAlias(node)) {
      const value = anchors.get(node.source);
      if (value === undefined) {
        throw failAt(node, "An alias stands before the anchor that it names");
      }
      repeatedChars += JSON.stringify(value).length;
      if (repeatedChars <= limits.maxRepeatedChars) return value;
      throw failAt(
        node,
        `Aliases repeat more than ${limits.maxRepeatedChars} characters`,
      );
    }
    const value = readContent(node, depth);
    // Set only now. An alias inside its own anchor has no value yet.
    const anchor = (node as Node | null)?.anchor;
    if (anchor !== undefined) anchors.set(anchor, value);
    return value;
  };

  const readContent = (node: unknown, depth: number): PlainValue => {
    if (isScalar(node)) return readScalar(node);
    if (isSeq(node)) return node.items.map((item) => read(item, depth + 1));
    if (!isMap(node)) return null;
    const entries = new Map<string, PlainValue>();
    for (const pair of node.items) {
      // `stringKeys` makes any other kind of key an error.
      const key = String(read(pair.key, depth + 1));
      if (entries.has(key)) throw failAt(pair.key, "Map keys must be unique");
      entries.set(key, read(pair.value, depth + 1));
    }
    return Object.fromEntries(entries);
  };
  return document?.contents ? read(document.contents, 0) : {};
}

function readScalar({ value, source = "" }: Scalar): PlainValue {
  if (
    value === null || typeof value === "string" || typeof value === "boolean"
  ) return value;
  // Matches integers of the core schema. Past 2^53 a number would lose digits.
  const isInteger = /^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$/.test(source);
  const isExact = Number.isSafeInteger(value) ||
    (Number.isFinite(value) && !isInteger);
  return isExact ? value as number : source;
}

/** Returns the line of the character at `offset`. Lines count from 1. */
function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
