// The parts of the playground without a page: parsing of what is typed and of
// the address, rows and previews.

import { assertEquals } from "@std/assert";
import {
  columnsOf,
  facetKeysOf,
  keysOf,
  titleOf,
  valueOf,
} from "../../static/assets/list.ts";
import {
  durationWords,
  freshWords,
  snippetsFor,
  withTime,
} from "../../static/assets/requests.ts";
import { filterOf, filterParts } from "../../static/assets/panel.ts";
import {
  closed,
  EMPTY,
  feedParameters,
  filterWords,
  opened,
  operationUrl,
  parseFilter,
  parsePlace,
  readState,
  stateAt,
  stateUrl,
} from "../../static/assets/state.ts";

const DOCS = {
  owner: "withastro",
  repo: "docs",
  branch: "HEAD",
  folder: "",
  file: "",
};
const BASE = "https://github.com/withastro/docs";

Deno.test("parsePlace() takes the addresses that people paste", () => {
  const at = { ...DOCS, branch: "main" };
  const file = { ...at, folder: "a/b c", file: "a/b c/d.md" };
  const name = "withastro/docs";
  const raw = `https://raw.githubusercontent.com/${name}`;
  const places: Record<string, typeof DOCS | null> = {
    [`  ${name}/ `]: DOCS,
    [`http://github.com/${name}/`]: DOCS,
    [`www.github.com/${name}`]: DOCS,
    [`${BASE}.git`]: DOCS,
    [`git@github.com:${name}.git`]: DOCS,
    [`ssh://git@github.com/${name}.git`]: DOCS,
    [`${BASE}?tab=readme-ov-file#readme`]: DOCS,
    [`${BASE}/issues/12`]: DOCS,
    [`https://github.company.example/${name}`]: DOCS,
    [`https://cdn.jsdelivr.net/gh/${name}/`]: DOCS,
    // A local folder has one branch.
    "local/docs": { ...DOCS, owner: "local", branch: "" },
    [`${BASE}/tree/main`]: at,
    [`${BASE}/tree/main/a/b%20c`]: { ...at, folder: "a/b c" },
    [`${BASE}/blob/main/a/b%20c/d.md?plain=1#L3`]: file,
    [`${raw}/main/a/b%20c/d.md`]: file,
    [`${raw}/refs/heads/main/a/b%20c/d.md`]: file,
    [`https://cdn.jsdelivr.net/gh/${name}@main/a/b%20c/d.md`]: file,
    [`${name}/src/content`]: { ...DOCS, folder: "src/content" },
    [`${name}/tree/main/a`]: { ...at, folder: "a" },
    "": null,
    "docs": null,
    "/": null,
    "a b/c": null,
    "https://github.com/x": null,
    "https://cdn.jsdelivr.net/npm/x": null,
    "https://gitlab.com/withastro/docs": null,
    "https://git.example.org/withastro/docs/-/tree/main": null,
    "git@gitlab.com:withastro/docs.git": null,
    "codeberg.org/withastro/docs": null,
  };
  for (const [text, place] of Object.entries(places)) {
    assertEquals(parsePlace(text), place, text);
  }
});

Deno.test("stateAt() keeps only the page size of another collection", () => {
  const shown = readState(
    "?owner=o&repo=r&sort=size&page=3&limit=10&recursive=false&path=x",
  )!;
  const place = parsePlace(`${BASE}/blob/main/posts/a.md`)!;
  assertEquals(stateAt(place, shown), {
    ...EMPTY,
    owner: "withastro",
    repo: "docs",
    branch: "main",
    limit: "10",
    collection: "posts",
    path: "posts/a.md",
  });
});

Deno.test("stateUrl() writes what readState() reads", () => {
  const url =
    "?owner=o&repo=r&collection=a%20b%2F%C3%BC%27%281%29&branch=feature%2Fx&page=2&limit=10" +
    "&sort=-frontMatter.date&recursive=false&filter%5BfrontMatter.a%5D=1%20%26%202" +
    "&filter%5BfrontMatter.d%5D%5Bgte%5D=2025&path=a%2F%C3%9F.md&view=source";
  assertEquals(stateUrl(readState(url)!), url);
  assertEquals(readState("?utm_source=x"), null);
  assertEquals(readState("?owner=o&repo=r"), {
    ...EMPTY,
    owner: "o",
    repo: "r",
    collection: "/",
  });
});

const LIST = readState("?owner=o&repo=r&collection=p")!;
const queryOf = (pairs: readonly (readonly [string, string])[] | null) =>
  operationUrl("x", pairs ?? [], "http://h").split("?")[1];

Deno.test("feedParameters() are those of the list, with a host", () => {
  const state = { ...LIST, page: "2", limit: "100", search: "a", fields: "b" };
  assertEquals(feedParameters({ ...state, linkTemplate: "/{slug}" }), null);
  assertEquals(
    queryOf(feedParameters({ ...state, linkTemplate: "http://h/{slug}" })),
    "owner=o&repo=r&collection=p&search=a&format=atom&linkTemplate=http%3A%2F%2Fh%2F%7Bslug%7D",
  );
});

Deno.test("opened() and closed() leave the list as it is", () => {
  const state = { ...LIST, page: "2", slug: "a", view: "request" as const };
  const list = { ...LIST, page: "2", view: "preview" as const };
  assertEquals(opened(state, "b"), { ...list, path: "b" });
  assertEquals(closed({ ...state, path: "b" }), list);
});

Deno.test("filterParts() reads what filterOf() writes", () => {
  for (const sign of ["", "!", "[gte]"]) {
    const parts = { subject: "frontMatter.a", sign, text: "x" };
    assertEquals(filterParts(filterOf(parts)), parts);
  }
});

Deno.test("snippetsFor() has options that fit the client's types", () => {
  const query = "owner=o&repo=r&collection=p&limit=5&recursive=false" +
    "&filter%5BfrontMatter.tags%5D=a&filter%5BfrontMatter.tags%5D=b" +
    "&filter%5Bsize%5D%5Bexists%5D=true";
  const clientOf = (url: string) =>
    snippetsFor(url).find(({ name }) => name === "Client")?.text;
  const list = "http://h/x/api/list-collection-items";
  assertEquals(
    clientOf(`${list}?${query}`),
    `import { CollectionsClient } from "http://h/x/client.js";

const client = new CollectionsClient();
const { items } = await client.listItems({
  owner: "o",
  repo: "r",
  collection: "p",
  limit: 5,
  recursive: false,
  filter: {
    "frontMatter.tags": ["a", "b"],
    size: {
      exists: true,
    },
  },
});
`,
  );
  const item = "http://h/api/get-item-content?owner=o&repo=r";
  assertEquals(
    clientOf(`${item}&collection=p&slug=a`)?.includes(".getItemBySlug({"),
    true,
  );
  // What the client cannot send has no tab of it.
  const twice = "filter%5Ba%5D=1&filter%5Ba%5D%5Bgt%5D=0";
  assertEquals(clientOf(`${list}?${twice}`), undefined);
  assertEquals(clientOf(`${item}&path=a&format=raw`), undefined);
  assertEquals(
    snippetsFor("http://h/api/collection-types.ts?owner=o").map(({ name }) =>
      name
    ),
    ["Address", "curl", "fetch", "Python"],
  );
});

Deno.test("parseFilter() reads what filterWords() says", () => {
  const cases: Record<string, [string, string, string]> = {
    "#news": ["filter[frontMatter.tags]", "news", "tags: news"],
    "draft=true": ["filter[frontMatter.draft]", "true", "draft: true"],
    "author != tom": ["filter[frontMatter.author]", "!tom", "author: not tom"],
    "date>=2025-01-01": [
      "filter[frontMatter.date][gte]",
      "2025-01-01",
      "date ≥ 2025-01-01",
    ],
    "frontMatter.a.b < 3": ["filter[frontMatter.a.b][lt]", "3", "a.b < 3"],
    "name=!*.png": ["filter[name]", "!*.png", "name: not *.png"],
    "apple": ["search", "apple", "“apple”"],
    "why? apples": ["search", "why? apples", "“why? apples”"],
    "2026/app": ["filter[path][contains]", "2026/app", "path has 2026/app"],
    "*.md": ["filter[name]", "*.md", "name: *.md"],
    "2026/*": ["filter[path]", "2026/*", "path: 2026/*"],
  };
  for (const [text, [name, value, words]] of Object.entries(cases)) {
    const filter = parseFilter(text);
    assertEquals(filter, [name, value], text);
    assertEquals(filterWords(filter!), words);
  }
  assertEquals(parseFilter(" "), null);
  assertEquals(
    filterWords(["filter[frontMatter.cover][exists]", "false"]),
    "no cover",
  );
});

const FILE = { name: "a.md", path: "a.md", size: 1 };
const item = (frontMatter: Record<string, unknown>) => ({
  ...FILE,
  frontMatter,
});

Deno.test("columnsOf() chooses a date, a list, then common values", () => {
  const dates = { updated: "2025-02-03", date: "2025-01-02" };
  const items = [
    item({ title: "A", draft: false, tags: ["x"], ...dates, seo: { a: 1 } }),
    item({
      title: "B",
      draft: true,
      tags: [],
      date: "2025-01-03T10:00:00Z",
      body: "x".repeat(60),
    }),
    item({}),
  ];
  const columns = columnsOf(items).map(({ key, kind }) => `${key} ${kind}`);
  assertEquals(columns, ["date date", "tags list", "draft text"]);
  assertEquals(columnsOf([item({ a: 1, b: 2, c: 3, d: 4 })]).length, 3);
  assertEquals(columnsOf([]), []);
  const constant = { layout: "post", description: "One", author: "t" };
  assertEquals(
    columnsOf([item(constant), item({ ...constant, author: "u" })]),
    [{ key: "author", kind: "text" }],
  );
  assertEquals(facetKeysOf([...items, item({ draft: true, author: "t" })]), [
    "tags",
    "draft",
  ]);
  const refused = ["", "x,y", "Q.", "a.b", "a][b", "k".repeat(245)].map((
    key,
  ) => [key, ["x"]]);
  assertEquals(
    facetKeysOf([item({ ...Object.fromEntries(refused), tags: ["x"] })]),
    ["tags"],
  );
});

Deno.test("keysOf() names the keys of front matter and of rows", () => {
  const items = [item({ title: "A", "a.b": 1 }), { data: { team: "core" } }];
  assertEquals(keysOf(items), ["frontMatter.title", "data.team"]);
});

Deno.test("titleOf() falls back to the name, path or slug", () => {
  const titles = [
    item({ title: " " }),
    { path: "a/b.md" },
    { slug: "a/b" },
    { size: 1 },
  ].map(titleOf);
  assertEquals(titles, ["a.md", "b.md", "a/b", "Without a name"]);
});

Deno.test("names that every object inherits have no words and no value", () => {
  for (const name of ["constructor", "__proto__"]) {
    assertEquals(valueOf(item({}), name), undefined);
    const filter = [`filter[frontMatter.a][${name}]`, "1"] as const;
    assertEquals(filterWords(filter), `a ${name} 1`);
  }
});

Deno.test("freshWords() says how old an answer is", () => {
  const headers = {
    age: "310",
    "cache-status": "collections; hit; ttl=-250; detail=stale-if-error",
  };
  assertEquals(
    freshWords(new Headers(headers)),
    "5 min old, the source does not answer",
  );
  const current = { "cache-control": "no-cache", age: "0" };
  assertEquals(freshWords(new Headers(current)), "as it is now");
  assertEquals([42, 7200].map(durationWords), ["42 s", "2 h"]);
});

Deno.test("withTime() says until when to wait, not for how long", () => {
  const now = new Date(2026, 0, 1, 15, 9, 30);
  const detailOf = (seconds: number) => {
    const detail = `Try again in ${seconds} seconds.`;
    const problem = { title: "", detail, retryAfterSeconds: seconds };
    return withTime(problem, now.getTime()).detail;
  };
  assertEquals(detailOf(60), "Try again in 60 seconds.");
  const options = { hour: "2-digit", minute: "2-digit" } as const;
  const time = new Date(2026, 0, 1, 15, 40).toLocaleTimeString([], options);
  assertEquals(detailOf(1800), `Try again at ${time}.`);
});
