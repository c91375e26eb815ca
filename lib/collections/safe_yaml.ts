// Reads untrusted YAML. The work is bounded before the parser starts (characters, tokens), the result
// while it is built (depth, what aliases repeat), and no check compares every key with every other.

import { isAlias, isMap, isScalar, isSeq, Lexer, parseDocument } from "yaml";
import type { Node, Scalar, YAMLMap } from "yaml";
import { DataError, lineAt, type PlainObject, type PlainValue, setOwn } from "./plain_data.ts";

/** The bounds of {@linkcode parseYaml}. */
export interface YamlLimits {
  /** Characters of the text. */
  readonly maxChars: number;
  /** Tokens of the text; the parser's time and memory are proportional to them. */
  readonly maxTokens: number;
  /** Characters of keys and values that aliases may repeat in the result, all together. */
  readonly maxRepeatedChars: number;
}

const MAX_DEPTH = 64;

/** An integer as the core schema writes it; past 2^53 a number would lose digits of it. */
const INTEGER = /^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$/;

/**
 * Reads one YAML 1.2 document by the core schema (yaml.org/spec/1.2.2, 10.3). Keys are strings as written, dates stay
 * text, and a number that JSON cannot carry (`.nan`, `.inf`, an integer past 2^53) stays its text. A document without
 * content is the empty mapping.
 * @throws {DataError} for what does not parse, a repeated key, and a text over a limit.
 */
export function parseYaml(text: string, limits: YamlLimits): PlainValue {
  if (text.length > limits.maxChars) {
    throw new DataError(`The text is longer than ${limits.maxChars} characters`, 1);
  }
  checkTokens(text, limits.maxTokens);
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    resolveKnownTags: false,
    stringKeys: true,
    // The parser's own check takes a time that grows with the square of the keys; DocumentReader has a set.
    uniqueKeys: false,
    prettyErrors: false,
  });
  const error = document.errors[0];
  if (error !== undefined) throw new DataError(error.message, lineAt(text, error.pos[0]));
  if (document.contents === null) return {};
  return new DocumentReader(text, limits).read(document.contents, 0).value;
}

/**
 * Bounds the parser's work before it starts. Depth is bounded here too, by what can nest without a new line and an
 * indentation: deep nesting makes the parser overflow its stack.
 */
function checkTokens(text: string, maxTokens: number): void {
  let tokens = 0;
  let line = 1;
  let flowDepth = 0;
  let indicatorsOnLine = 0;
  for (const token of new Lexer().lex(text)) {
    for (let at = token.indexOf("\n"); at !== -1; at = token.indexOf("\n", at + 1)) {
      line++;
      indicatorsOnLine = 0;
    }
    if (token === "[" || token === "{") flowDepth++;
    else if (token === "]" || token === "}") flowDepth--;
    else if (flowDepth <= 0 && (token === "-" || token === "?" || token === ":")) {
      indicatorsOnLine++;
    }
    if (++tokens > maxTokens) {
      throw new DataError(`The text has more than ${maxTokens} tokens`, line);
    }
    if (flowDepth > MAX_DEPTH || indicatorsOnLine > MAX_DEPTH) throw tooDeep(line);
  }
}

function tooDeep(line: number): DataError {
  return new DataError(`The text is nested deeper than ${MAX_DEPTH} levels`, line);
}

/** A value and about how many characters it has; aliases share the value and count its characters again. */
interface Sized {
  readonly value: PlainValue;
  readonly chars: number;
}

/** Turns the nodes of one document into plain data, in document order, as anchors have to be. */
class DocumentReader {
  private readonly anchors = new Map<string, Sized>();
  private repeatedChars = 0;

  constructor(private readonly text: string, private readonly limits: YamlLimits) {}

  read(node: unknown, depth: number): Sized {
    if (depth > MAX_DEPTH) throw tooDeep(this.lineOf(node));
    if (isAlias(node)) return this.repeat(node.source, node);
    const sized = isMap(node)
      ? this.readMap(node, depth)
      : isSeq(node)
      ? this.readList(node.items, depth)
      : isScalar(node)
      ? readScalar(node)
      : { value: null, chars: 4 };
    // Set only now: an alias inside its own anchor has no value yet.
    const anchor = (node as Node | null)?.anchor;
    if (anchor !== undefined) this.anchors.set(anchor, sized);
    return sized;
  }

  private repeat(anchor: string, node: unknown): Sized {
    const sized = this.anchors.get(anchor);
    if (sized === undefined) this.fail("An alias stands before the anchor that it names", node);
    this.repeatedChars += sized.chars;
    if (this.repeatedChars > this.limits.maxRepeatedChars) {
      this.fail(`Aliases repeat more than ${this.limits.maxRepeatedChars} characters`, node);
    }
    return sized;
  }

  private readMap(map: YAMLMap, depth: number): Sized {
    const value: PlainObject = {};
    let chars = 2;
    for (const pair of map.items) {
      const key = this.read(pair.key, depth + 1);
      // `stringKeys` leaves no other kind without an error.
      const name = String(key.value);
      if (Object.hasOwn(value, name)) this.fail("Map keys must be unique", pair.key);
      const item = this.read(pair.value, depth + 1);
      setOwn(value, name, item.value);
      chars += key.chars + item.chars;
    }
    return { value, chars };
  }

  private readList(items: readonly unknown[], depth: number): Sized {
    let chars = 2;
    const value = items.map((item) => {
      const sized = this.read(item, depth + 1);
      chars += sized.chars;
      return sized.value;
    });
    return { value, chars };
  }

  private fail(message: string, node: unknown): never {
    throw new DataError(message, this.lineOf(node));
  }

  private lineOf(node: unknown): number {
    return lineAt(this.text, (node as Node | null)?.range?.[0] ?? 0);
  }
}

function readScalar(scalar: Scalar): Sized {
  const { value, source = "" } = scalar;
  const chars = source.length + 4;
  if (value === null || typeof value === "string" || typeof value === "boolean") {
    return { value, chars };
  }
  const whole = typeof value === "number" && Number.isFinite(value) &&
    (Number.isSafeInteger(value) || !INTEGER.test(source));
  return { value: whole ? value : source, chars };
}
