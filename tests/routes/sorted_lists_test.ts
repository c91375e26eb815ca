// Sorted, filtered lists, their facets, slugs and neighbors over three thousand
// files, compared with a plain program over the same files.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parse } from "yaml";
import { watchBlobs } from "../github/served_repository.ts";
import { startSite } from "../site.ts";

const ENV = {
  GITHUB_TOKEN: "token",
  MISSES_PER_MINUTE: "0",
  LOG_LEVEL: "error",
};

const WORDS = [
  "Émile",
  "apple 2",
  "apple 10",
  "Apple 10",
  "zebra",
  "äpfel",
  "Ω",
  "-",
  "10 ways",
];
const MIXED = [
  "3",
  "12.5",
  "true",
  "false",
  "2024-02-30",
  "2024-05-01",
  "[1, 2]",
  "{a: 1}",
  "~",
];
/** With an element twice, and values that differ by their types only. */
const TAGS = [
  "[deno, web, deno]",
  "git",
  "[git, 2024, '2024', true, null, { x: 1 }]",
];
const TIMES = [
  "",
  "T08:30:00Z",
  " 09:00:00",
  "T23:30:00-05:00",
  "T01:00:00.250+02:00",
  " or so",
];

/**
 * A path in `posts`, and a text with front matter in which every key is absent
 * somewhere.
 */
function post(number: number): [path: string, text: string] {
  const folder = number % 11 === 0 ? "" : `${2016 + number % 11}/`;
  const path = `posts/${folder}post-${number}.md`;
  if (number % 41 === 0) {
    return [path, `# Post ${number}, without front matter\n`];
  }
  // Strides that share no factor with their ranges keep the values out of the
  // order of paths.
  const day = new Date(Date.UTC(2016, 0, 1 + number * 7919 % 3001))
    .toISOString().slice(0, 10);
  const lines = [
    `title: "${WORDS[number * 5 % 9]} ${number * 31 % 97}"`,
    `date: ${day}${TIMES[number % 6]}`,
    `weight: ${number * 17 % 40 - 5}`,
    `tags: ${TAGS[number % 3]}`,
    `draft: ${number % 10 === 0}`,
    `mixed: ${MIXED[number * 7 % 9]}`,
    `author: { name: "${WORDS[number % 9]}", id: ${number % 13} }`,
  ].filter((_, index) => (number + index) % 19 !== 0);
  return [
    path,
    `---\n${lines.join("\n")}\n---\n${"Words. ".repeat(number % 40)}\n`,
  ];
}

interface Item {
  readonly path: string;
  readonly name: string;
  readonly size: number;
  readonly frontMatter: Record<string, unknown> | undefined;
}

/**
 * Parameters of a list, and where in it the page and the item are, from 0 to 1.
 */
interface Query {
  readonly sort: string;
  readonly filters: readonly (readonly [name: string, value: string])[];
  readonly facets: readonly string[];
  readonly place: number;
}

const GLOBS: Readonly<Record<string, RegExp>> = {
  "202?/**": /^202[^/]\/.+$/,
  "*1.md": /^[^/]*1\.md$/,
};

// deno-lint-ignore no-explicit-any -- any value of front matter
function valueOf(item: Item, field: string): any {
  // deno-lint-ignore no-explicit-any -- see above
  return field.split(".").reduce((value: any, key) => value?.[key], item);
}

const order = <T>(a: T, b: T) => a < b ? -1 : a > b ? 1 : 0;
const collator = new Intl.Collator("en", { numeric: true });
const DATE =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?)?$/;
const KINDS = ["number", "date", "text", "boolean", "none"] as const;

/** A value's kind, and what orders it among its kind. */
function keyOf(
  value: unknown,
): readonly [kind: typeof KINDS[number], value: unknown] {
  if (typeof value === "number") return ["number", value];
  if (typeof value === "boolean") return ["boolean", value];
  if (typeof value !== "string") return ["none", null];
  const [, day = "", time = "00:00", zone = "Z"] = DATE.exec(value) ?? [];
  const isDay = day !== "" &&
    new Date(`${day}T00:00Z`).toJSON().startsWith(day);
  return isDay
    ? ["date", Date.parse(`${day}T${time}${zone}`)]
    : ["text", value];
}

function orderOf(
  [kind, a]: ReturnType<typeof keyOf>,
  [other, b]: ReturnType<typeof keyOf>,
) {
  if (kind !== other) return KINDS.indexOf(kind) - KINDS.indexOf(other);
  return kind === "text"
    ? collator.compare(String(a), String(b))
    : Number(a) - Number(b);
}

function matches(
  item: Item,
  [name, given]: readonly [string, string],
): boolean {
  const [field = "", operator] = name.split("][");
  const value = valueOf(item, field);
  if (operator === "exists") {
    return (value !== undefined) === (given === "true");
  }
  if (operator !== undefined) {
    const limit = keyOf(
      /^(-?\d+(\.\d+)?|true|false)$/.test(given) ? JSON.parse(given) : given,
    );
    const [key, by] = [keyOf(value), orderOf(keyOf(value), limit)];
    const isMatch =
      { lt: by < 0, lte: by <= 0, gt: by > 0, gte: by >= 0 }[operator];
    return key[0] === limit[0] && isMatch!;
  }
  const text = given.replace(/^!/, "");
  const isScalar = (one: unknown) => one === null || typeof one !== "object";
  const isMatch = GLOBS[text]?.test(value) ??
    [value].flat().some((one) => isScalar(one) && String(one) === text);
  return isMatch !== given.startsWith("!");
}

/** The counts of a key's values. */
function plainFacet(items: readonly Item[], field: string) {
  const counts = new Map<unknown, number>();
  for (const item of items) {
    for (const value of new Set([valueOf(item, field)].flat())) {
      if (keyOf(value)[0] !== "none") {
        counts.set(value, (counts.get(value) ?? 0) + 1);
      }
    }
  }
  return [...counts].map(([value, count]) => ({ value, count }))
    .sort((a, b) =>
      b.count - a.count || orderOf(keyOf(a.value), keyOf(b.value))
    ).slice(0, 100);
}

/** All items of the list, in order. */
function plainList(
  items: readonly Item[],
  { sort, filters }: Query,
): Item[] {
  const field = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  return items
    .filter((item) => filters.every((filter) => matches(item, filter)))
    .toSorted((a, b) => {
      const [left, right] = [
        keyOf(valueOf(a, field)),
        keyOf(valueOf(b, field)),
      ];
      const missing = Number(left[0] === "none") - Number(right[0] === "none");
      const by = field === "path"
        ? order(a.path, b.path)
        : orderOf(left, right);
      return missing || sign * by || order(a.path, b.path);
    });
}

/** Values that a key has, or that fall between them. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "frontMatter.date": [
    "2019-05-01",
    "2020-02-03T10:00:00+02:00",
    "soon",
    "2017-01-01",
  ],
  "frontMatter.title": ["apple 10", "zebra"],
  "frontMatter.weight": ["-5", "0", "7", "7.5", "34", "x"],
  "frontMatter.mixed": [
    "3",
    "12.5",
    "true",
    "null",
    "2024-05-01",
    "2024-05-01T00:00:00Z",
  ],
  "frontMatter.tags": ["deno", "git", "2024", "true"],
  "frontMatter.draft": ["true", "false"],
  "frontMatter.author.name": ["zebra", "apple 10", "Apple 10", "-"],
  "frontMatter.nowhere": ["null", "0"],
};
const field = fc.constantFrom(...Object.keys(VALUES));
const keyAndValue = fc.constantFrom(...Object.entries(VALUES)).chain((
  [key, values],
) => fc.tuple(fc.constant(key), fc.constantFrom(...values)));
const comparison = fc.constantFrom("lt", "lte", "gt", "gte");
const filter: fc.Arbitrary<[name: string, value: string]> = fc.oneof(
  keyAndValue,
  keyAndValue.map(([key, value]): [string, string] => [key, `!${value}`]),
  fc.tuple(keyAndValue, comparison)
    .map((
      [[key, value], operator],
    ): [string, string] => [`${key}][${operator}`, value]),
  fc.tuple(
    field.map((key) => `${key}][exists`),
    fc.constantFrom("true", "false"),
  ),
  fc.tuple(fc.constant("path"), fc.constant("202?/**")),
  fc.tuple(fc.constant("name"), fc.constant("!*1.md")),
);
const query: fc.Arbitrary<Query> = fc.record({
  sort: fc.tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constantFrom("path", "name", "size"), field),
  ).map((parts) => parts.join("")),
  filters: fc.uniqueArray(filter, {
    maxLength: 2,
    selector: ([name]) => name,
  }),
  facets: fc.uniqueArray(field, { maxLength: 2 }),
  place: fc.double({ min: 0, max: 1, noNaN: true }),
});

Deno.test("200 random lists are those of a plain program", async () => {
  const files = Array.from({ length: 3_000 }, (_, number) => post(number));
  await using site = await startSite(files, { env: ENV });
  const { service, gh } = site;
  const requested = watchBlobs(gh);
  const all = files.map(([path, text]): Item => {
    const block = /^---\n(.*?)^---$/ms.exec(text)?.[1];
    return {
      path: path.slice(6),
      name: path.split("/").at(-1)!,
      size: new TextEncoder().encode(text).length,
      frontMatter: block === undefined ? undefined : parse(block),
    };
  });
  await service.list({ sort: "frontMatter.date" });
  const blobs = new Set(files.map(([, text]) => text));
  assertEquals(requested.length, blobs.size, "each blob once");
  gh.resetCounts();
  let items = 0;

  const check = async (given: Query) => {
    const { place, facets, sort, filters } = given;
    const expected = plainList(all, given);
    const pages = Math.ceil(expected.length / 20);
    const page = Math.max(1, Math.ceil(place * pages));
    const order = {
      sort,
      ...Object.fromEntries(
        filters.map(([name, value]) => [`filter[${name}]`, value]),
      ),
    };
    const fields = "path,frontMatter";
    const list = await service.list({
      ...order,
      page,
      limit: 20,
      fields,
      facets: facets.join(),
    });
    const shown = expected.slice((page - 1) * 20, page * 20).map((
      { path, frontMatter },
    ) => ({
      path: `posts/${path}`,
      ...frontMatter === undefined ? {} : { frontMatter },
    }));
    assertEquals<unknown>(list.items, shown);
    items += shown.length;
    assertEquals(list.pagination.totalItems, expected.length);
    for (const facet of facets) {
      assertEquals(list.facets![facet], plainFacet(expected, facet));
    }

    const slugOf = (item?: Item) => item?.path.replace(".md", "") ?? null;
    // Often an item of the list, otherwise one that it may lack.
    const last = expected.length - 1;
    const chosen = place < 0.2 ? undefined : expected[Math.floor(place * last)];
    const item = chosen ?? all[0]!;
    const at = expected.indexOf(item);
    const { path, previous, next } = await service.item({
      ...order,
      collection: "posts",
      slug: slugOf(item)!,
      includeNeighbors: true,
    });
    const around = at < 0 ? [] : [expected[at - 1], expected[at + 1]];
    assertEquals(
      [path, previous?.slug ?? null, next?.slug ?? null],
      [`posts/${item.path}`, slugOf(around[0]), slugOf(around[1])],
    );
  };
  const property = fc.asyncProperty(query, check);
  await fc.assert(property, { numRuns: 200, seed: 11, endOnFailure: true });
  assert(items > 500, `${items} items were compared`);
  assertEquals(gh.counts(), {}, "warm, nothing is read");
});
