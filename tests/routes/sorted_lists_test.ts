// Sorted, filtered lists, slugs and neighbors over three thousand files, compared with a plain program over the same
// files. How values of any kind are ordered and compared is in sort_test.ts and filter_test.ts, facets in html_test.ts.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parse } from "yaml";
import type { ContentBody, ListBody } from "../../lib/api/contract.ts";
import { watchBlobs } from "../github/served_repository.ts";
import { startSite } from "../site.ts";

const ENV = { GITHUB_TOKEN: "token", MISSES_PER_MINUTE: "0", LOG_LEVEL: "error" };

/** A path in `posts`, and a text with front matter in which every key is absent somewhere. */
function post(number: number): [path: string, text: string] {
  const folder = number % 11 === 0 ? "" : `${2016 + number % 11}/`;
  const path = `posts/${folder}post-${number}.md`;
  if (number % 41 === 0) return [path, `# Post ${number}, without front matter\n`];
  // Strides that share no factor with their ranges keep the values out of the order of paths.
  const day = new Date(Date.UTC(2016, 0, 1 + number * 7919 % 3001)).toISOString().slice(0, 10);
  const lines = [
    `title: ${["zebra", "apple", "mango"][number * 5 % 3]} ${100 + number * 31 % 97}`,
    `date: ${day}`,
    `weight: ${number * 17 % 40 - 5}`,
    `tags: ${["[deno, web]", "git", "[git, 2024, true]"][number % 3]}`,
    `draft: ${number % 10 === 0}`,
    `author: { name: ${["ada", "bob", "eve"][number % 3]}, id: ${number % 13} }`,
  ].filter((_, index) => (number + index) % 19 !== 0);
  return [path, `---\n${lines.join("\n")}\n---\n${"Words. ".repeat(number % 40)}\n`];
}

interface Item {
  readonly path: string;
  readonly name: string;
  readonly size: number;
  readonly frontMatter: Record<string, unknown> | undefined;
}

/** Parameters of a list, and where in it the page and the item are, from 0 to 1. */
interface Query {
  readonly sort: string;
  readonly filters: readonly (readonly [name: string, value: string])[];
  readonly recursive: boolean;
  readonly place: number;
}

const GLOBS: Readonly<Record<string, RegExp>> = {
  "202?/**": /^202[^/]\/.+$/,
  "2019/*": /^2019\/[^/]*$/,
  "*1.md": /^[^/]*1\.md$/,
  "post-?.md": /^post-[^/]\.md$/,
};

// deno-lint-ignore no-explicit-any -- any value of front matter
function valueOf(item: Item, field: string): any {
  // deno-lint-ignore no-explicit-any -- see above
  return field.split(".").reduce((value: any, key) => value?.[key], item);
}

const order = <T>(a: T, b: T) => a < b ? -1 : a > b ? 1 : 0;

function matches(item: Item, [field, given]: readonly [string, string]): boolean {
  const value = valueOf(item, field);
  const text = given.replace(/^!/, "");
  const isMatch = GLOBS[text]?.test(value) ?? [value].flat().some((one) => String(one) === text);
  return isMatch !== given.startsWith("!");
}

/** All items of the list, in order. */
function plainList(items: readonly Item[], { sort, filters, recursive }: Query): Item[] {
  const field = sort.replace(/^-/, "");
  const sign = sort.startsWith("-") ? -1 : 1;
  return items.filter((item) => recursive || !item.path.includes("/"))
    .filter((item) => filters.every((filter) => matches(item, filter)))
    .toSorted((a, b) => {
      const [left, right] = [valueOf(a, field), valueOf(b, field)];
      const missing = Number(left === undefined) - Number(right === undefined);
      return missing || sign * order(left, right) || order(a.path, b.path);
    });
}

const FIELDS = ["date", "title", "weight", "draft", "author.name", "nowhere"];
const field = fc.constantFrom(...FIELDS.map((field) => `frontMatter.${field}`));
const value = fc.constantFrom(
  ...["deno", "git", "true", "2024", "3", "-2", "2019-05-01", "apple 110", "eve", "nowhere"],
);
const filter = fc.oneof(
  fc.tuple(
    fc.oneof(field, fc.constant("frontMatter.tags")),
    fc.oneof(value, value.map((text) => `!${text}`)),
  ),
  fc.tuple(fc.constant("path"), fc.constantFrom("202?/**", "!2019/*")),
  fc.tuple(fc.constant("name"), fc.constantFrom("*1.md", "!post-?.md")),
);
const query: fc.Arbitrary<Query> = fc.record({
  sort: fc.tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constantFrom("path", "size"), field),
  ).map((parts) => parts.join("")),
  filters: fc.array(filter, { maxLength: 2 }),
  recursive: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  place: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** The address of a request with this query and more. */
function address(endpoint: string, { sort, filters, recursive }: Query, more: object): string {
  const parameters = { owner: "octo", repo: "site", collection: "posts", sort, ...more };
  const query = new URLSearchParams({ ...parameters, recursive: `${recursive}` });
  for (const [field, given] of filters) query.append(`filter[${field}]`, given);
  return `/api/${endpoint}?${query}`;
}

Deno.test("200 random lists of 3,000 files are those of a plain program", async () => {
  const files = Array.from({ length: 3_000 }, (_, number) => post(number));
  await using site = await startSite(files, { env: ENV });
  const { service, gh } = site;
  gh.addToken("token");
  const requested = watchBlobs(gh);
  const all = files.map(([path, text]): Item => {
    const block = /^---\n(.*?)^---$/ms.exec(text)?.[1];
    const frontMatter = block === undefined ? undefined : parse(block);
    return { path: path.slice(6), name: path.split("/").at(-1)!, size: text.length, frontMatter };
  });
  let items = 0;
  await service.list({ sort: "frontMatter.date" });
  assertEquals(requested.length, new Set(files.map(([, text]) => text)).size, "each blob once");
  gh.resetCounts();

  const check = async (given: Query) => {
    const { place } = given;
    const expected = plainList(all, given);
    const page = Math.max(1, Math.ceil(place * Math.ceil(expected.length / 20)));
    const shown = { page, limit: 20, fields: "path,frontMatter" };
    const list: ListBody = await (await service.get(
      address("list-collection-items", given, shown),
    )).json();
    assertEquals(
      list.items as unknown[],
      expected.slice((page - 1) * 20, page * 20).map(({ path, frontMatter }) => ({
        path: `posts/${path}`,
        ...frontMatter === undefined ? {} : { frontMatter },
      })),
    );
    assertEquals(list.pagination.totalItems, expected.length);
    const at = Math.floor(place * (expected.length - 1));
    const slugOf = (item?: Item) => item?.path.replace(".md", "") ?? null;
    const item = expected[at] ?? all[0]!;
    const { path, previous, next }: ContentBody = await (await service.get(
      address("get-item-content", given, { slug: slugOf(item), includeNeighbors: 1 }),
    )).json();
    const around = at < 0 ? [] : [expected[at - 1], expected[at + 1]];
    assertEquals(
      [path, previous?.slug ?? null, next?.slug ?? null],
      [`posts/${item.path}`, slugOf(around[0]), slugOf(around[1])],
    );
    items += list.items.length;
  };
  const property = fc.asyncProperty(query, check);
  await fc.assert(property, { numRuns: 200, seed: 11, endOnFailure: true });
  assert(items > 500, `${items} items were compared`);
  // Warm, only the folder itself is read, for recursive=false.
  const { tree = 0, ...others } = gh.counts();
  assert(tree <= 1, `${tree} folders`);
  assertEquals(others, {});
});
