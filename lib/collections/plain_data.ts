// Untrusted YAML and TOML as plain JSON data, and the keys that requests name in it. The work is bounded before a parser
// starts (characters, tokens), the result while it is built (depth, what aliases repeat), and no check compares every key
// with every other. A key of a file is always an own property, `__proto__` too, so that no file reaches a prototype.

import type { Lexer, Node, Scalar } from "yaml";

/** A value that JSON can carry whole. */
export type PlainValue = null | boolean | number | string | PlainValue[] | PlainObject;
/** A mapping of a file; look keys up with {@linkcode getOwn}. */
export type PlainObject = { [key: string]: PlainValue };

/** Whether a value is a mapping. */
export function isPlainObject(value: PlainValue | undefined): value is PlainObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own property of a mapping under a key, or undefined; inherited properties are ignored. */
export function getOwn(object: PlainObject, key: string): PlainValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets a key as an own property, whatever its name. */
export function setOwn(object: PlainObject, key: string, value: PlainValue): void {
  // An assignment would set the prototype.
  if (key === "__proto__") {
    const attributes = { writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, key, { value, ...attributes });
  } else object[key] = value;
}

const KEY_PREFIX = "frontMatter.";
const MAX_KEY_CHARS = 256;

/**
 * Reads `frontMatter.author.name` as the keys from the outermost mapping inwards, at least one; null where the text is not
 * of that form or over 256 characters long.
 */
export function parseFrontMatterKey(text: string): readonly string[] | null {
  if (!text.startsWith(KEY_PREFIX) || text.length > MAX_KEY_CHARS) return null;
  const keys = text.slice(KEY_PREFIX.length).split(".");
  return keys.includes("") ? null : keys;
}

/** The value that a file's front matter has under a key; undefined where it has none. */
export function readFrontMatterKey(
  frontMatter: PlainObject | null,
  key: readonly string[],
): PlainValue | undefined {
  return key.reduce<PlainValue | undefined>(
    (value, name) => isPlainObject(value) ? getOwn(value, name) : undefined,
    frontMatter ?? undefined,
  );
}

/** What one text may cost: its characters, its tokens, and the characters that YAML's aliases repeat in the result. */
type DataLimits = Readonly<Record<"maxChars" | "maxTokens" | "maxRepeatedChars", number>>;

const MAX_DEPTH = 64;
const TOO_DEEP = `The text is nested deeper than ${MAX_DEPTH} levels`;
const MAX_MESSAGE_CHARS = 160;

/** A text that cannot be read. `message`, one short line, may be shown to anyone; `line` counts from 1 in that text. */
export class DataError extends Error {
  override readonly name = "DataError";

  constructor(message: string, readonly line: number) {
    // Parsers quote the text that they failed at, which may be long and may contain anything.
    const chars = [...message.trim().split("\n", 1)[0]!.replace(/[\s\p{C}]+/gu, " ").trim()];
    const isShort = chars.length <= MAX_MESSAGE_CHARS;
    super(isShort ? chars.join("") : `${chars.slice(0, MAX_MESSAGE_CHARS - 1).join("")}…`);
  }
}

/**
 * Parses one document; each parser is loaded when the first text of its format is read. A number that JSON cannot carry
 * (not finite, an integer past 2^53) is text. YAML 1.2 is read by the core schema (yaml.org/spec/1.2.2, 10.3): keys are
 * strings as written, dates stay text, no content is the empty mapping. TOML 1.0 has its dates as ISO 8601 text.
 * @throws {DataError} for what does not parse, a repeated key, and a text over a limit.
 */
export async function parseData(
  text: string,
  { format, ...limits }: DataLimits & { readonly format: "yaml" | "toml" },
): Promise<PlainValue> {
  if (text.length > limits.maxChars) {
    throw new DataError(`The text is longer than ${limits.maxChars} characters`, 1);
  }
  return format === "toml"
    ? parseToml(text, limits, await import("smol-toml"))
    : parseYaml(text, limits, await import("yaml"));
}

const tooManyTokens = ({ maxTokens }: DataLimits, line: number) =>
  new DataError(`The text has more than ${maxTokens} tokens`, line);

function parseToml(
  text: string,
  limits: DataLimits,
  { parse, TomlError }: typeof import("smol-toml"),
): PlainValue {
  // Characters that accompany keys, values and openings; they also count within strings, where few occur.
  if ((text.match(/[=,[{]/g)?.length ?? 0) > limits.maxTokens) throw tooManyTokens(limits, 1);
  try {
    return toPlain(parse(text, { integersAsBigInt: "asNeeded" }), 0);
  } catch (error) {
    if (error instanceof DataError) throw error;
    if (!(error instanceof TomlError)) throw new DataError("The text cannot be parsed", 1);
    throw new DataError(error.message.replace("Invalid TOML document: ", ""), error.line);
  }
}

function toPlain(value: unknown, depth: number): PlainValue {
  // The parser does not say where a table stood.
  if (depth > MAX_DEPTH) throw new DataError(TOO_DEEP, 1);
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    return Number.isFinite(value) ? value : String(value).toLowerCase().replace("infinity", "inf");
  }
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => toPlain(item, depth + 1));
  const object: PlainObject = {};
  for (const [key, item] of Object.entries(value as object)) {
    setOwn(object, key, toPlain(item, depth + 1));
  }
  return object;
}

function parseYaml(text: string, limits: DataLimits, yaml: typeof import("yaml")): PlainValue {
  checkTokens(text, limits, new yaml.Lexer());
  const document = yaml.parseDocument(text, {
    schema: "core",
    resolveKnownTags: false,
    stringKeys: true,
    // The parser's own check takes a time that grows with the square of the keys.
    uniqueKeys: false,
    prettyErrors: false,
  });
  const error = document.errors[0];
  if (error !== undefined) throw new DataError(error.message, lineAt(text, error.pos[0]));

  const anchors = new Map<string, PlainValue>();
  let repeatedChars = 0;
  const failAt = (node: unknown, message: string) =>
    new DataError(message, lineAt(text, (node as Node | null)?.range?.[0] ?? 0));

  /** In document order, as anchors have to be. */
  const read = (node: unknown, depth: number): PlainValue => {
    if (depth > MAX_DEPTH) throw failAt(node, TOO_DEEP);
    if (yaml.isAlias(node)) {
      const value = anchors.get(node.source);
      if (value === undefined) {
        throw failAt(node, "An alias stands before the anchor that it names");
      }
      repeatedChars += JSON.stringify(value).length;
      if (repeatedChars <= limits.maxRepeatedChars) return value;
      throw failAt(node, `Aliases repeat more than ${limits.maxRepeatedChars} characters`);
    }
    const value = readContent(node, depth);
    // Set only now: an alias inside its own anchor has no value yet.
    const anchor = (node as Node | null)?.anchor;
    if (anchor !== undefined) anchors.set(anchor, value);
    return value;
  };

  const readContent = (node: unknown, depth: number): PlainValue => {
    if (yaml.isScalar(node)) return readScalar(node);
    if (yaml.isSeq(node)) return node.items.map((item) => read(item, depth + 1));
    if (!yaml.isMap(node)) return null;
    const object: PlainObject = {};
    for (const pair of node.items) {
      // `stringKeys` leaves no other kind without an error.
      const key = String(read(pair.key, depth + 1));
      if (Object.hasOwn(object, key)) throw failAt(pair.key, "Map keys must be unique");
      setOwn(object, key, read(pair.value, depth + 1));
    }
    return object;
  };
  return document.contents === null ? {} : read(document.contents, 0);
}

/** Bounds the tokens, and what nests without a new line and an indentation: the parser would overflow its stack. */
function checkTokens(text: string, limits: DataLimits, lexer: Lexer): void {
  let tokens = 0;
  let line = 1;
  let flowDepth = 0;
  let indicatorsOnLine = 0;
  for (const token of lexer.lex(text)) {
    const newlines = token.split("\n").length - 1;
    line += newlines;
    if (newlines > 0) indicatorsOnLine = 0;
    if (token === "[" || token === "{") flowDepth++;
    else if (token === "]" || token === "}") flowDepth--;
    else if (flowDepth <= 0 && /^[-?:]$/.test(token)) indicatorsOnLine++;
    if (++tokens > limits.maxTokens) throw tooManyTokens(limits, line);
    if (Math.max(flowDepth, indicatorsOnLine) > MAX_DEPTH) throw new DataError(TOO_DEEP, line);
  }
}

function readScalar({ value, source = "" }: Scalar): PlainValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  // An integer as the core schema writes it; past 2^53 a number would lose digits of it.
  const isInteger = /^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$/.test(source);
  const isExact = Number.isSafeInteger(value) || (Number.isFinite(value) && !isInteger);
  return isExact ? value as number : source;
}

/** The line, from 1, on which the character at `offset` stands. */
function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
