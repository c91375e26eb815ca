// What a list and its facets should be, by a plain program over the files: no caches, no batches, nothing of the
// service's own code.

import { parse } from "yaml";

/** A file of the collection; `path` starts in its folder. */
export interface PlainFile {
  readonly path: string;
  readonly name: string;
  readonly size: number;
  readonly frontMatter: Record<string, unknown> | undefined;
}

/** A query by its parameters. */
export interface PlainQuery {
  readonly sort?: string;
  /** What stands behind `filter`, without its outer brackets, and its value: `frontMatter.a][gte`, for example. */
  readonly filters?: readonly (readonly [string, string])[];
  readonly recursive?: boolean;
}

const collator = new Intl.Collator("en", { numeric: true });
const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;
const encoder = new TextEncoder();

/** Reads one file. */
export function plainFile(path: string, text: string): PlainFile {
  const block = /^---\n(.*?)^---$/ms.exec(text)?.[1];
  return {
    path,
    name: path.split("/").at(-1)!,
    size: encoder.encode(text).length,
    frontMatter: block === undefined ? undefined : parse(block) ?? {},
  };
}

/** All items of the list, in order. */
export function plainList(files: readonly PlainFile[], query: PlainQuery): PlainFile[] {
  const { sort = "path", filters = [], recursive = true } = query;
  const items = files.filter(({ path }) => recursive || !path.includes("/"));
  const wanted = items.filter((item) =>
    filters.every(([name, given]) => {
      const [field = "", operator] = name.split("][");
      const value = valueOf(item, field);
      if (operator === "exists") return (value !== undefined) === (given === "true");
      if (operator !== undefined) return compares(value, operator, given);
      const negated = given.startsWith("!");
      const text = negated ? given.slice(1) : given;
      const matches = field === "name" || field === "path"
        ? globOf(text).test(String(value))
        : [value].flat().some((one) =>
          (one === null || typeof one !== "object") && String(one) === text
        );
      return matches !== negated && !(value === undefined && !negated);
    })
  );
  const field = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  return wanted.toSorted((a, b) => {
    const [left, right] = [keyFor(a, field), keyFor(b, field)];
    if (left.kind === "last" || right.kind === "last") {
      return Number(left.kind === "last") - Number(right.kind === "last") || byPath(a, b);
    }
    return sign * orderOf(left, right, field === "path") || byPath(a, b);
  });

  function keyFor(item: PlainFile, field: string): Key {
    const value = valueOf(item, field);
    return field === "name" || field === "path" ? { kind: "text", value } : keyOfValue(value);
  }
}

/** The counts of a key's values, as `facets` gives them. */
export function plainFacet(items: readonly PlainFile[], field: string) {
  const counts: { value: unknown; count: number }[] = [];
  for (const item of items) {
    for (const value of new Set([valueOf(item, field)].flat())) {
      if (value === undefined || value === null || typeof value === "object") continue;
      const known = counts.find((one) => one.value === value);
      if (known === undefined) counts.push({ value, count: 1 });
      else known.count++;
    }
  }
  return counts.toSorted((a, b) =>
    b.count - a.count || orderOf(keyOfValue(a.value), keyOfValue(b.value), false)
  ).slice(0, 100);
}

interface Key {
  readonly kind: string;
  readonly value: unknown;
}

const KINDS = ["number", "date", "text", "boolean", "last"];

function keyOfValue(value: unknown): Key {
  if (typeof value === "number" || typeof value === "boolean") return { kind: typeof value, value };
  if (typeof value !== "string") return { kind: "last", value };
  const [, day, time = "00:00", zone = "Z"] = DATE.exec(value) ?? [];
  const isDay = day !== undefined && new Date(`${day}T00:00Z`).toJSON().startsWith(day);
  return isDay
    ? { kind: "date", value: Date.parse(`${day}T${time}${zone}`) }
    : { kind: "text", value };
}

function orderOf(a: Key, b: Key, byBytes: boolean): number {
  if (a.kind !== b.kind) return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind);
  if (a.kind !== "text") return Number(a.value) - Number(b.value);
  const [left, right] = [String(a.value), String(b.value)];
  if (byBytes) return left < right ? -1 : left > right ? 1 : 0;
  return collator.compare(left, right);
}

function compares(value: unknown, operator: string, given: string): boolean {
  const limit = /^-?\d+(\.\d+)?$/.test(given)
    ? Number(given)
    : given === "true" || given === "false"
    ? given === "true"
    : given;
  const [left, right] = [keyOfValue(value), keyOfValue(limit)];
  if (left.kind !== right.kind || left.kind === "last") return false;
  const order = orderOf(left, right, false);
  return operator === "lt"
    ? order < 0
    : operator === "lte"
    ? order <= 0
    : operator === "gt"
    ? order > 0
    : order >= 0;
}

function valueOf(item: PlainFile, field: string): unknown {
  if (!field.startsWith("frontMatter.")) return item[field as "path" | "name" | "size"];
  return field.split(".").slice(1).reduce<unknown>(keyOf, item.frontMatter);
}

function keyOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function globOf(glob: string): RegExp {
  const source = glob.replaceAll(
    /\*\*\/|\*\*|[*?]|[^*?]/g,
    (part) =>
      part === "**/"
        ? "(?:[^/]+/)*"
        : part === "**"
        ? ".+"
        : part === "*"
        ? "[^/]*"
        : part === "?"
        ? "[^/]"
        : RegExp.escape(part),
  );
  return new RegExp(`^${source}$`, "s");
}

function byPath(a: PlainFile, b: PlainFile): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
