// Lists, facets, slugs and neighbors over three thousand files, compared with a plain program over the same files.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ContentBody, ListBody } from "../../lib/api/contract.ts";
import { watchBlobs } from "../github/served_repository.ts";
import { startSite } from "../site.ts";
import { plainFacet, plainFile, plainList, type PlainQuery, writePosts } from "./plain_list.ts";

const ENV = { GITHUB_TOKEN: "token", MISSES_PER_MINUTE: "0", LOG_LEVEL: "error" };
const FIELDS = ["date", "title", "weight", "mixed", "tags", "draft", "author.name", "nowhere"];

const field = fc.constantFrom(...FIELDS.map((field) => `frontMatter.${field}`));
const value = fc.constantFrom(
  ...["deno", "git", "true", "null", "3", "12.5", "-2", "2024", "2019-05-01", "soon"],
  ...["2020-02-03T10:00:00+02:00", "apple 10", "Émile 31", "nowhere", "0", "2017-01-01"],
);
/** Values that a field has, or that fall between them. */
const COMPARED: readonly (readonly [string, readonly string[]])[] = [
  ["weight", ["-5", "0", "7", "7.5", "34", "x"]],
  ["draft", ["true", "false"]],
  ["mixed", ["3", "12.5", "true", "2024-05-01", "2024-05-01T00:00:00Z"]],
  ["author.name", ["zebra", "apple 10", "Apple 10", "-"]],
  ["date", ["2019-05-01", "2020-02-03T10:00:00+02:00", "soon", "2017-01-01"]],
];
const GLOBS: readonly (readonly [string, string])[] = [
  ...[["path", "202?/**"], ["path", "!2019/*"]] as const,
  ...[["name", "*1.md"], ["name", "!post-?.md"]] as const,
];
const operator = fc.constantFrom("lt", "lte", "gt", "gte");
const filter = fc.oneof(
  fc.tuple(field, fc.oneof(value, value.map((text) => `!${text}`))),
  fc.constantFrom(...COMPARED).chain(([field, values]) =>
    fc.tuple(operator.map((one) => `frontMatter.${field}][${one}`), fc.constantFrom(...values))
  ),
  fc.tuple(field.map((field) => `${field}][exists`), fc.constantFrom("true", "false")),
  fc.constantFrom(...GLOBS),
);
const query = fc.record({
  sort: fc.tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constantFrom("path", "name", "size"), field),
  ).map((parts) => parts.join("")),
  filters: fc.array(filter, { maxLength: 2 }),
  recursive: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  facets: fc.uniqueArray(field, { maxLength: 2 }),
  /** Where in the list the page and the item are, from 0 to 1. */
  place: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** The address of a request with this query and more. */
function address(
  endpoint: string,
  { sort, filters = [], recursive }: PlainQuery,
  more: Record<string, string>,
): string {
  const parameters = { owner: "octo", repo: "site", collection: "posts", sort: sort!, ...more };
  const query = new URLSearchParams({ ...parameters, recursive: `${recursive}` });
  for (const [field, given] of filters) query.append(`filter[${field}]`, given);
  return `/api/${endpoint}?${query}`;
}

Deno.test("200 random lists of 3,000 files are those of a plain program", async () => {
  const files = [...writePosts(3_000)];
  await using site = await startSite(files, { env: ENV });
  const { service, gh } = site;
  gh.addToken("token");
  const requested = watchBlobs(gh);
  const plain = files.map(([path, text]) => plainFile(path, text));
  let items = 0;
  await service.list({ sort: "frontMatter.date" });
  assertEquals(requested.length, new Set(files.map(([, text]) => text)).size, "each blob once");
  gh.resetCounts();

  await fc.assert(
    fc.asyncProperty(query, async ({ facets, place, ...given }) => {
      const expected = plainList(plain, given);
      const page = Math.max(1, Math.ceil(place * Math.ceil(expected.length / 20)));
      const list: ListBody = await (await service.get(address("list-collection-items", given, {
        ...{ page: `${page}`, limit: "20", fields: "path,frontMatter" },
        ...facets.length === 0 ? {} : { facets: facets.join() },
      }))).json();
      assertEquals(
        list.items as unknown[],
        expected.slice((page - 1) * 20, page * 20).map(({ path, frontMatter }) => ({
          path: `posts/${path}`,
          ...frontMatter === undefined ? {} : { frontMatter },
        })),
      );
      assertEquals(list.pagination.totalItems, expected.length);
      for (const facet of facets) assertEquals(list.facets![facet], plainFacet(expected, facet));
      const at = Math.floor(place * (expected.length - 1));
      const slugOf = (item?: { path: string }) => item?.path.replace(".md", "") ?? null;
      const item = expected[at] ?? plain[0]!;
      const { path, previous, next }: ContentBody = await (await service.get(
        address("get-item-content", given, { slug: slugOf(item)!, includeNeighbors: "1" }),
      )).json();
      const around = at < 0 ? [] : [expected[at - 1], expected[at + 1]];
      assertEquals(
        [path, previous?.slug ?? null, next?.slug ?? null],
        [`posts/${item.path}`, slugOf(around[0]), slugOf(around[1])],
      );
      items += list.items.length;
    }),
    { numRuns: 200, seed: 11, endOnFailure: true },
  );
  assert(items > 500, `${items} items were compared`);
  // Warm, only the folder itself is read, for recursive=false.
  const { tree = 0, ...others } = gh.counts();
  assert(tree <= 1, `${tree} folders`);
  assertEquals(others, {});
});
