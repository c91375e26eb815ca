// The filters of a list: `filter[frontMatter.tags]=deno`, `filter[name]=*.md`, `filter[path]=!drafts/**`,
// `filter[frontMatter.date][gte]=2026-01-01`. An item must satisfy all of them, and an error names every bad one.

import type { ParameterError } from "../errors.ts";
import { compileGlob } from "./glob.ts";
import {
  parseFrontMatterKey,
  type PlainObject,
  type PlainValue,
  readFrontMatterKey,
} from "./plain_value.ts";
import { compareKeys, sortKeyOf } from "./sort.ts";

const MAX_FILTERS = 20;
/** Of all values together, since each item is matched against each of them. */
const MAX_TOTAL_CHARS = 4096;

const GRAMMAR = "must be filter[name], filter[path], filter[frontMatter.<key>] or " +
  "filter[frontMatter.<key>][lt|lte|gt|gte|exists]";

const FILTER_NAME = /^filter\[((?:(?!\]\[).)*)\](?:\[([^[\]]*)\])?$/s;

/** Each comparison, as a test of the order of the item's value against the filter's. */
const COMPARISONS: ReadonlyMap<string, (order: number) => boolean> = new Map([
  ["lt", (order) => order < 0],
  ["lte", (order) => order <= 0],
  ["gt", (order) => order > 0],
  ["gte", (order) => order >= 0],
]);

/** Whether a file passes a filter, by its path from the collection's folder. */
type PathTest = (path: string) => boolean;
/** The same by its front matter, which is null where there is none. */
type FrontMatterTest = (frontMatter: PlainObject | null) => boolean;

/** Whether a query parameter is a filter, good or bad. */
export function isFilterParameter(name: string): boolean {
  return name === "filter" || name.startsWith("filter[");
}

/** Reads the filters of a query by name and value; the same key may come twice. */
export function parseFilters(given: Iterable<readonly [name: string, value: string]>) {
  const byPath: PathTest[] = [];
  const byFrontMatter: FrontMatterTest[] = [];
  const errors: ParameterError[] = [];
  let chars = 0;
  for (const [name, value] of given) {
    chars += [...value].length;
    const isLong = chars > MAX_TOTAL_CHARS;
    if (isLong || byPath.length + byFrontMatter.length + errors.length === MAX_FILTERS) {
      const message = isLong
        ? `must have at most ${MAX_TOTAL_CHARS} characters in all filters together`
        : `must be given at most ${MAX_FILTERS} times`;
      errors.push({ parameter: "filter", message });
      break;
    }
    try {
      const [, field = "", operator] = FILTER_NAME.exec(name) ?? [];
      const isOfPath = (field === "name" || field === "path") && operator === undefined;
      if (isOfPath) byPath.push(parsePathTest(field, value));
      else byFrontMatter.push(parseFrontMatterTest(field, operator, value));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      errors.push({ parameter: name, message: error.message });
    }
  }
  return { byPath, byFrontMatter, errors };
}

/** A glob, negated by `!` in front. */
function parsePathTest(field: "name" | "path", value: string): PathTest {
  const negated = value.startsWith("!");
  const pattern = negated ? value.slice(1) : value;
  if (field === "name" && pattern.includes("/")) {
    throw new SyntaxError("must be a glob without a slash: a name has none");
  }
  try {
    const matches = compileGlob(pattern);
    if (field === "path") return (path) => matches(path) !== negated;
    return (path) => matches(path.slice(path.lastIndexOf("/") + 1)) !== negated;
  } catch (error) {
    throw new SyntaxError(`must be a glob that can match: ${(error as Error).message}`);
  }
}

/**
 * A value matches by its text (that of numbers, booleans and null is their JSON), a list by any of its elements, a mapping
 * by nothing; `!` in front negates, so that an absent key passes. Comparisons match values of the filter's own kind, in
 * the order of sorting.
 */
function parseFrontMatterTest(
  field: string,
  operator: string | undefined,
  value: string,
): FrontMatterTest {
  const key = parseFrontMatterKey(field);
  if (key === null) throw new SyntaxError(GRAMMAR);
  if (operator === undefined) {
    const negated = value.startsWith("!");
    const text = negated ? value.slice(1) : value;
    return (frontMatter) =>
      [readFrontMatterKey(frontMatter, key)].flat(1).some((one) => textOf(one) === text) !==
        negated;
  }
  if (operator === "exists") {
    if (value !== "true" && value !== "false") throw new SyntaxError("must be true or false");
    return (frontMatter) =>
      (readFrontMatterKey(frontMatter, key) !== undefined) === (value === "true");
  }
  const holds = COMPARISONS.get(operator);
  if (holds === undefined) throw new SyntaxError(GRAMMAR);
  const isNumber = /^-?\d+(\.\d+)?$/.test(value);
  const isBoolean = value === "true" || value === "false";
  const wanted = sortKeyOf(isNumber ? Number(value) : isBoolean ? value === "true" : value)!;
  return (frontMatter) => {
    const found = sortKeyOf(readFrontMatterKey(frontMatter, key));
    return found?.kind === wanted.kind && holds(compareKeys(found, wanted));
  };
}

/** Null for what has no text: lists, mappings, nothing. */
function textOf(value: PlainValue | undefined): string | null {
  if (value === undefined || (typeof value === "object" && value !== null)) return null;
  return String(value);
}
