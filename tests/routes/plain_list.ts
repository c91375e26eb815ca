// What a list should be, by a plain program over the files: no caches, no batches, nothing of the service's own code.

import { parse } from "yaml";

/** A file of the collection; `path` starts in its folder. */
export interface PlainFile {
  readonly path: string;
  readonly name: string;
  readonly size: number;
  readonly frontMatter: Record<string, unknown> | undefined;
}

/** A question as its parameters say it. */
export interface PlainQuestion {
  readonly sort?: string;
  /** What stands between the brackets of `filter[…]`, and its value. */
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
export function plainList(files: readonly PlainFile[], question: PlainQuestion): PlainFile[] {
  const { sort = "path", filters = [], recursive = true } = question;
  const items = files.filter(({ path }) => recursive || !path.includes("/"));
  const valueOf = (item: PlainFile, field: string) =>
    field.startsWith("frontMatter.")
      ? field.split(".").slice(1).reduce<unknown>(
        (value, key) => keyOf(value, key),
        item.frontMatter,
      )
      : item[field as "path" | "name" | "size"];
  const wanted = items.filter((item) =>
    filters.every(([field, given]) => {
      const negated = given.startsWith("!");
      const text = negated ? given.slice(1) : given;
      const value = valueOf(item, field);
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
    const kinds = ["number", "date", "text", "boolean"];
    const order = kinds.indexOf(left.kind) - kinds.indexOf(right.kind) ||
      (left.kind === "text"
        ? field === "path"
          ? byPath(a, b)
          : collator.compare(String(left.value), String(right.value))
        : Number(left.value) - Number(right.value));
    return sign * order || byPath(a, b);
  });

  function keyFor(item: PlainFile, field: string): { kind: string; value: unknown } {
    const value = valueOf(item, field);
    if (typeof value === "number" || typeof value === "boolean") {
      return { kind: typeof value, value };
    }
    if (typeof value !== "string") return { kind: "last", value };
    const [, day, time = "00:00", zone = "Z"] = DATE.exec(value) ?? [];
    const isDay = day !== undefined && new Date(`${day}T00:00Z`).toJSON().startsWith(day);
    if (!isDay || field === "name" || field === "path") return { kind: "text", value };
    return { kind: "date", value: Date.parse(`${day}T${time}${zone}`) };
  }
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
