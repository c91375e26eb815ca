// Posts with varied front matter, and what a list of them and its facets should be, by a plain program over the files: no
// caches, no batches, nothing of the service's own code.

import { parse } from "yaml";

const DATES = [
  (day: string) => day,
  (day: string) => `"${day}"`,
  (day: string) => `${day}T08:30:00Z`,
  (day: string) => `${day} 09:00:00`,
  (day: string) => `${day}T23:30:00-05:00`,
  (day: string) => `${day}T01:00:00.250+02:00`,
  () => "soon",
  () => "null",
];
const MIXED = ["3", "12.5", "true", "false", "2024-02-30", "2024-05-01", "[1, 2]", "{a: 1}", "~"];
const WORDS = ["Émile", "apple 2", "apple 10", "Apple 10", "zebra", "äpfel", "Ω", "-", "10 ways"];

/** Paths in `posts` and texts; the same count gives the same files. */
export function* writePosts(count: number): Generator<readonly [path: string, text: string]> {
  for (let number = 0; number < count; number++) {
    const folder = number % 11 === 0 ? "" : `${2016 + number % 11}/`;
    yield [`posts/${folder}post-${number}.md`, post(number)];
  }
}

function post(number: number): string {
  if (number % 41 === 0) return `# Post ${number}, without front matter\n`;
  // A stride that shares no factor with the range keeps dates out of the order of paths.
  const day = new Date(Date.UTC(2016, 0, 1 + number * 7919 % 3001)).toISOString();
  const lines = [
    `title: "${WORDS[number * 5 % WORDS.length]} ${number * 31 % 97}"`,
    `date: ${DATES[number % DATES.length]!(day.slice(0, 10))}`,
    `weight: ${number * 17 % 40 - 5}`,
    `mixed: ${MIXED[number * 7 % MIXED.length]}`,
    `tags: ${number % 3 === 0 ? "[deno, web]" : number % 3 === 1 ? "git" : "[git, 2024, true]"}`,
    `draft: ${number % 10 === 0}`,
    `author: { name: "${WORDS[number % WORDS.length]}", id: ${number % 13} }`,
  ];
  // Every key is absent somewhere.
  const present = lines.filter((_, index) => (number + index) % 19 !== 0);
  return `---\n${present.join("\n")}\n---\n\n# Post ${number}\n${"Words. ".repeat(number % 40)}\n`;
}

/** A file of the collection; `path` starts in its folder. */
export type PlainFile = ReturnType<typeof plainFile>;

/** Reads one file of {@linkcode writePosts}. */
export function plainFile(path: string, text: string) {
  const block = /^---\n(.*?)^---$/ms.exec(text)?.[1];
  return {
    path: path.slice("posts/".length),
    name: path.split("/").at(-1)!,
    size: new TextEncoder().encode(text).length,
    frontMatter: block === undefined ? undefined : parse(block) ?? {},
  };
}

/** A query by its parameters; a filter is what stands within `filter[…]`, and its value. */
export interface PlainQuery {
  readonly sort?: string;
  readonly filters?: readonly (readonly [string, string])[];
  readonly recursive?: boolean;
}

/** The globs that filters may have. */
const GLOBS: Readonly<Record<string, RegExp>> = {
  "202?/**": /^202[^/]\/.+$/,
  "2019/*": /^2019\/[^/]*$/,
  "*1.md": /^[^/]*1\.md$/,
  "post-?.md": /^post-[^/]\.md$/,
};

/** All items of the list, in order. */
export function plainList(files: readonly PlainFile[], query: PlainQuery): PlainFile[] {
  const { sort = "path", filters = [], recursive = true } = query;
  const field = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  const byPath = (a: PlainFile, b: PlainFile) => a.path < b.path ? -1 : 1;
  return files.filter((item) => recursive || !item.path.includes("/"))
    .filter((item) => filters.every(([name, given]) => matches(item, name, given)))
    .toSorted((a, b) => {
      if (field === "path") return sign * byPath(a, b);
      const [left, right] = [keyOf(valueOf(a, field)), keyOf(valueOf(b, field))];
      const order = orderOf(left, right);
      return (left.kind === "last" || right.kind === "last" ? order : sign * order) || byPath(a, b);
    });
}

function matches(item: PlainFile, name: string, given: string): boolean {
  const [field = "", operator] = name.split("][");
  const value = valueOf(item, field);
  if (operator === "exists") return (value !== undefined) === (given === "true");
  if (operator !== undefined) return compares(value, operator, given);
  const negated = given.startsWith("!");
  const text = negated ? given.slice(1) : given;
  const isMatch = GLOBS[text]?.test(String(value)) ??
    [value].flat().some((one) =>
      one !== undefined && (one === null || typeof one !== "object") && String(one) === text
    );
  return isMatch !== negated;
}

function compares(value: unknown, operator: string, given: string): boolean {
  const isBoolean = given === "true" || given === "false";
  const limit = /^-?\d+(\.\d+)?$/.test(given)
    ? Number(given)
    : isBoolean
    ? given === "true"
    : given;
  const [left, right] = [keyOf(value), keyOf(limit)];
  if (left.kind !== right.kind || left.kind === "last") return false;
  const order = orderOf(left, right);
  return operator.endsWith("e") && order === 0 ||
    (operator.startsWith("lt") ? order < 0 : order > 0);
}

/** The counts of a key's values, as `facets` gives them. */
export function plainFacet(items: readonly PlainFile[], field: string) {
  const counts = new Map<unknown, number>();
  for (const item of items) {
    for (const value of new Set([valueOf(item, field)].flat())) {
      if (value === undefined || value === null || typeof value === "object") continue;
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  return Array.from(counts, ([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || orderOf(keyOf(a.value), keyOf(b.value)))
    .slice(0, 100);
}

const collator = new Intl.Collator("en", { numeric: true });
const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;
const KINDS = ["number", "date", "text", "boolean", "last"];

function keyOf(value: unknown): { kind: string; value: unknown } {
  if (typeof value === "number" || typeof value === "boolean") return { kind: typeof value, value };
  if (typeof value !== "string") return { kind: "last", value: 0 };
  const [, day, time = "00:00", zone = "Z"] = DATE.exec(value) ?? [];
  const isDay = day !== undefined && new Date(`${day}T00:00Z`).toJSON().startsWith(day);
  return isDay
    ? { kind: "date", value: Date.parse(`${day}T${time}${zone}`) }
    : { kind: "text", value };
}

function orderOf(a: ReturnType<typeof keyOf>, b: ReturnType<typeof keyOf>): number {
  if (a.kind !== b.kind) return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind);
  if (a.kind === "text") return collator.compare(String(a.value), String(b.value));
  return Number(a.value) - Number(b.value);
}

function valueOf(item: PlainFile, field: string): unknown {
  return field.split(".").reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    item,
  );
}
