// Parses the filters of a list: `filter[frontMatter.tags]=deno`,
// `filter[name]=*.md`, `filter[path]=!drafts/**`,
// `filter[frontMatter.date][gte]=2026-01-01`, `filter[name][contains]=guide`.
// An item must satisfy all filters. Every invalid filter is reported.

import type { ParameterError } from "../errors.ts";
import { decompose } from "./decompose.ts";
import { fileName } from "./file_names.ts";
import { compileGlob } from "./glob.ts";
import {
  parseItemKey,
  type PlainObject,
  type PlainValue,
  readItemKey,
} from "./plain_value.ts";
import { compareKeys, sortKeyOf } from "./sort.ts";

const MAX_FILTERS = 20;
/**
 * Limits all values together because each item is matched against each value.
 */
const MAX_TOTAL_CHARS = 4096;

const GRAMMAR =
  "must be filter[name], filter[path], filter[frontMatter.<key>] or " +
  "filter[data.<key>], each also with [contains], the last two also with " +
  "[lt|lte|gt|gte|exists]";

const FILTER_NAME = /^filter\[((?:(?!\]\[).)*)\](?:\[([^[\]]*)\])?$/s;

/** Tests the order of the item's value relative to the filter's value. */
const COMPARISONS: ReadonlyMap<string, (order: number) => boolean> = new Map([
  ["lt", (order) => order < 0],
  ["lte", (order) => order <= 0],
  ["gt", (order) => order > 0],
  ["gte", (order) => order >= 0],
]);

/** Tests a file by its path from the collection's folder. */
type PathTest = (path: string) => boolean;
/** Tests a file by its front matter. Null means that it has no front matter. */
type FrontMatterTest = (item: PlainObject | null) => boolean;

/** Returns whether a query parameter is a valid or invalid filter. */
export function isFilterParameter(name: string): boolean {
  return name === "filter" || name.startsWith("filter[");
}

/**
 * Returns the tests and errors for the filters of a query. The same key may
 * occur twice. A value that begins with `!` is negated.
 */
export function parseFilters(
  given: Iterable<readonly [name: string, value: string]>,
) {
  const byPath: PathTest[] = [];
  const byFrontMatter: FrontMatterTest[] = [];
  const errors: ParameterError[] = [];
  let chars = 0;
  for (const [name, value] of given) {
    chars += [...value].length;
    const isLong = chars > MAX_TOTAL_CHARS;
    if (
      isLong ||
      byPath.length + byFrontMatter.length + errors.length === MAX_FILTERS
    ) {
      const message = isLong
        ? `must have at most ${MAX_TOTAL_CHARS} characters in all filters ` +
          "together"
        : `must be given at most ${MAX_FILTERS} times`;
      errors.push({ parameter: "filter", message });
      break;
    }
    try {
      const [, field = "", operator] = FILTER_NAME.exec(name) ?? [];
      const negated = operator === undefined && value.startsWith("!");
      const text = negated ? value.slice(1) : value;
      const isPlain = field === "name" || field === "path";
      if (isPlain && operator === "contains") {
        const contains = containsTest(text);
        byPath.push((path) =>
          contains(field === "path" ? path : fileName(path))
        );
      } else if (isPlain && operator === undefined) {
        const test = globTest(field, text);
        byPath.push((path) => test(path) !== negated);
      } else {
        const key = parseItemKey(field);
        const test = key && valueTest(operator, text);
        if (!test) throw new SyntaxError(GRAMMAR);
        byFrontMatter.push((item) => test(readItemKey(item, key)) !== negated);
      }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      errors.push({ parameter: name, message: error.message });
    }
  }
  return { byPath, byFrontMatter, errors };
}

function globTest(field: "name" | "path", pattern: string): PathTest {
  if (field === "name" && pattern.includes("/")) {
    throw new SyntaxError("must be a glob without a slash: a name has none");
  }
  try {
    const matches = compileGlob(pattern);
    return field === "path" ? matches : (path) => matches(fileName(path));
  } catch (error) {
    throw new SyntaxError(
      `must be a glob that can match: ${(error as Error).message}`,
    );
  }
}

/**
 * Removes case and diacritics. Upper case makes `ß` and `SS` equal. The text is
 * composed again so that Korean and Japanese letters stay whole.
 */
const fold = (text: string) =>
  decompose(text).replace(/[\u0300-\u036f]/g, "").normalize("NFC")
    .toUpperCase();

function containsTest(given: string): (text: string) => boolean {
  const wanted = fold(given);
  return (text) => fold(text).includes(wanted);
}

/**
 * Returns the test of a front matter value, or null for an unknown operator. A
 * value matches by its text. Numbers, booleans and null match by their JSON. A
 * list matches if one element matches. A mapping never matches. Comparisons
 * only match values of the filter's own kind and use the sort order.
 */
function valueTest(
  operator: string | undefined,
  given: string,
): ((value: PlainValue | undefined) => boolean) | null {
  if (operator === undefined) {
    const isText = (one: PlainValue | undefined) =>
      (one === null || typeof one !== "object") && one !== undefined &&
      String(one) === given;
    return (value) => [value].flat(1).some(isText);
  }
  if (operator === "contains") {
    const contains = containsTest(given);
    return (value) =>
      [value].flat(1).some((one) =>
        one !== undefined && typeof one !== "object" && contains(String(one))
      );
  }
  const isBoolean = given === "true" || given === "false";
  if (operator === "exists") {
    if (!isBoolean) throw new SyntaxError("must be true or false");
    return (value) => (value !== undefined) === (given === "true");
  }
  const holds = COMPARISONS.get(operator);
  if (holds === undefined) return null;
  const isNumber = /^-?\d+(\.\d+)?$/.test(given);
  const wanted = sortKeyOf(
    isNumber ? Number(given) : isBoolean ? given === "true" : given,
  )!;
  return (value) => {
    const found = sortKeyOf(value);
    return found?.kind === wanted.kind && holds(compareKeys(found, wanted));
  };
}
