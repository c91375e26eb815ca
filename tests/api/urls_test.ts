import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { branchProblem, pathProblem } from "../../lib/api/names.ts";
import {
  type ItemParameters,
  itemUrl,
  linkHeader,
  type ListParameters,
  listUrl,
  parseItemQuery,
  parseListQuery,
} from "../../lib/api/parameters.ts";

const BASE = "https://service.test:8080/base";

const character = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
  fc.constantFrom(..."%25&=+?#;:@,<>\"' /\\.._-~^*[]{}|$!()é💥٣".split("")),
);
const text = fc.array(character, { minLength: 1, maxLength: 12 }).map((parts) =>
  parts.join("").toWellFormed()
);
const path = fc.array(text, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"))
  .filter((path) => pathProblem(path) === null);
const branch = text.filter((name) => branchProblem(name) === null);
const owner = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/);
const repo = fc.stringMatching(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}x$/);

function optional<T>(value: fc.Arbitrary<T>) {
  return fc.option(value, { nil: undefined });
}

/** Omits absent parameters, as parsing does. */
function withoutGaps<T extends object>(given: T): T {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as T;
}

const list = fc.record({
  ...{ owner, repo, branch: optional(branch), collection: fc.oneof(path, fc.constant("")) },
  page: optional(fc.integer({ min: 1, max: 999_999_999 })),
  limit: optional(fc.integer({ min: 1, max: 100 })),
  includeContent: optional(fc.boolean()),
  includeFrontMatter: optional(fc.boolean()),
  recursive: optional(fc.boolean()),
  filter: optional(fc.array(
    fc.tuple(fc.constantFrom("filter[name]", "filter[path]", "filter[frontMatter.a b&c]"), text),
    { minLength: 1, maxLength: 3 },
  )),
}).map((given) => withoutGaps(given) as ListParameters);

const item = fc.record({
  ...{ owner, repo, branch: optional(branch), path, format: optional(fc.constant("raw" as const)) },
}).map((given) => withoutGaps(given) as ItemParameters);

Deno.test("listUrl() leads back to the parameters that it was made of", () => {
  fc.assert(
    fc.property(list, (given) => {
      let parsed: ListParameters;
      const url = new URL(listUrl(BASE, given));
      try {
        parsed = parseListQuery(url.search.slice(1));
      } catch (error) {
        // A glob that is none stands in no address.
        if (given.filter !== undefined) return;
        throw error;
      }
      assertEquals(withoutGaps(parsed), { ...given, page: given.page ?? 1 });
      assertEquals(url.origin + url.pathname, `${BASE}/api/list-collection-items`);
      // The same query has one address, and so one key.
      assertEquals(listUrl(BASE, parsed), listUrl(BASE, given));
    }),
    { numRuns: 300 },
  );
});

Deno.test("itemUrl() leads back to the parameters that it was made of", () => {
  fc.assert(fc.property(item, (given) => {
    const url = new URL(itemUrl(BASE, given));
    assertEquals(withoutGaps(parseItemQuery(url.search.slice(1))), given);
    assertEquals(url.origin + url.pathname, `${BASE}/api/get-item-content`);
  }));
});

Deno.test("linkHeader() is four links in one line, whatever they lead to", () => {
  fc.assert(fc.property(list, (given) => {
    const url = listUrl(BASE, given);
    const header = linkHeader({ first: url, previous: url, next: url, last: url });
    const links = header.split(", ").map((link) => /^<([\x21-\x7e]*)>; rel="(\w+)"$/.exec(link));
    const relations = ["first", "prev", "next", "last"];
    assertEquals(links.map((link) => link?.slice(1)), relations.map((rel) => [url, rel]));
  }));
});

Deno.test("pathProblem() leaves no path that leads elsewhere, as a URL or as a file", () => {
  const any = fc.array(
    fc.oneof(
      fc.constantFrom("..", ".", "/", "//", "%2e", "%2f", "\\", "a", "\0", "\r", "\u0085"),
      text,
    ),
    { maxLength: 8 },
  ).map((parts) => parts.join("").toWellFormed());
  let accepted = 0;
  fc.assert(
    fc.property(any, (path) => {
      if (pathProblem(path) !== null) return;
      accepted++;
      const escaped = path.split("/").map(encodeURIComponent).join("/");
      const { origin, pathname, search, hash } = new URL(`https://host.test/base/${escaped}`);
      assertEquals([origin, search, hash], ["https://host.test", "", ""]);
      assertEquals(pathname, `/base/${escaped}`);
      assertEquals(pathname.split("/").slice(2).map(decodeURIComponent).join("/"), path);
    }),
    { numRuns: 2_000 },
  );
  assert(accepted > 100);
});

Deno.test("branchProblem() leaves no name that is more than one segment once it is escaped", () => {
  fc.assert(
    fc.property(text, (name) => {
      if (branchProblem(name) !== null) return;
      const { pathname, search, hash } = new URL(
        `https://host.test/commits/${encodeURIComponent(`heads/${name}`)}`,
      );
      assertEquals([pathname.split("/").length, search, hash], [3, "", ""]);
      assertEquals(decodeURIComponent(pathname.split("/")[2]!), `heads/${name}`);
    }),
    { numRuns: 2_000 },
  );
});
