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
  sizeWords,
  snippetsFor,
  withTime,
} from "../../static/assets/requests.ts";
import { filterOf, filterParts } from "../../static/assets/panel.ts";
import {
  closed,
  EMPTY,
  feedParameters,
  filterWords,
  hasFile,
  opened,
  openParameters,
  parseFilter,
  parsePlace,
} from "../../static/assets/state.ts";
import {
  itemParameters,
  listParameters,
  operationUrl,
} from "../../static/assets/state.ts";
import { readState, stateAt, stateUrl } from "../../static/assets/state.ts";

const DOCS = {
  owner: "withastro",
  repo: "docs",
  branch: "HEAD",
  folder: "",
  file: "",
};
const BASE = "https://github.com/withastro/docs";

Deno.test("parsePlace() takes owner/repo, every address that people paste, and nothing else", () => {
  const name = "withastro/docs";
  const texts = [
    name,
    `  ${name}/ `,
    BASE,
    `http://github.com/${name}/`,
    `www.github.com/${name}`,
    name,
  ]
    .concat([
      `${BASE}.git`,
      `git@github.com:${name}.git`,
      `ssh://git@github.com/${name}.git`,
    ])
    .concat([`${BASE}?tab=readme-ov-file#readme`, `${BASE}/issues/12`])
    .concat([
      `https://github.company.example/${name}`,
      `https://cdn.jsdelivr.net/gh/${name}/`,
    ]);
  for (const text of texts) assertEquals(parsePlace(text), DOCS, text);
  assertEquals(
    parsePlace("local/blog")?.branch,
    "",
    "a local folder has one branch",
  );
  const none = [
    "",
    "docs",
    "/",
    "a b/c",
    "https://github.com/x",
    "https://cdn.jsdelivr.net/npm/x",
    "https://gitlab.com/withastro/docs",
    "https://git.example.org/withastro/docs/-/tree/main",
    "git@gitlab.com:withastro/docs.git",
    "codeberg.org/withastro/docs",
  ];
  for (const text of none) assertEquals(parsePlace(text), null, text);
});

Deno.test("parsePlace() takes branch, folder and file out of addresses of all four kinds", () => {
  const at = { ...DOCS, branch: "main" };
  const file = { ...at, folder: "a/b c", file: "a/b c/d.md" };
  const raw = "https://raw.githubusercontent.com/withastro/docs";
  const places: Record<string, typeof DOCS> = {
    [`${BASE}/tree/main`]: at,
    [`${BASE}/tree/main/a/b%20c`]: { ...at, folder: "a/b c" },
    [`${BASE}/blob/main/a/b%20c/d.md?plain=1#L3`]: file,
    [`${raw}/main/a/b%20c/d.md`]: file,
    [`${raw}/refs/heads/main/a/b%20c/d.md`]: file,
    "https://cdn.jsdelivr.net/gh/withastro/docs@main/a/b%20c/d.md": file,
    "withastro/docs/src/content": { ...DOCS, folder: "src/content" },
    "withastro/docs/tree/main/a": { ...at, folder: "a" },
  };
  for (const [text, place] of Object.entries(places)) {
    assertEquals(parsePlace(text), place, text);
  }
});

Deno.test("stateAt() takes over nothing of another collection but the size of a page", () => {
  const shown = readState(
    "?owner=o&repo=r&sort=size&page=3&limit=10&recursive=false&path=x",
  )!;
  const place = parsePlace(`${BASE}/blob/main/posts/a.md`)!;
  const state = {
    ...EMPTY,
    owner: "withastro",
    repo: "docs",
    branch: "main",
    limit: "10",
  };
  assertEquals(stateAt(place, shown), {
    ...state,
    collection: "posts",
    path: "posts/a.md",
  });
  assertEquals(stateAt(DOCS, shown).collection, "/");
});

Deno.test("stateUrl() writes what readState() reads, and can stand in quotes", () => {
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

Deno.test("operationUrl() leaves out what is not given", () => {
  const state = readState("?owner=o&repo=r&collection=p&path=it%27s")!;
  const list = operationUrl(
    "list-collection-items",
    listParameters(state),
    "http://h/x/?y=1",
  );
  const query = "owner=o&repo=r&collection=p&includeFrontMatter=true";
  assertEquals(list, `http://h/x/api/list-collection-items?${query}`);
  const item = operationUrl(
    "get-item-content",
    itemParameters(state),
    "http://h/",
  );
  assertEquals(
    item,
    "http://h/api/get-item-content?owner=o&repo=r&path=it%27s",
  );
});

const LIST = readState("?owner=o&repo=r&collection=p")!;
const queryOf = (pairs: readonly (readonly [string, string])[] | null) =>
  operationUrl("x", pairs ?? [], "http://h").split("?")[1];

Deno.test("listParameters() includes front matter unless not wanted, nothing beside fields", () => {
  const state = {
    ...LIST,
    includeHtml: "true",
    includeContent: "false",
    facets: "name",
    linkTemplate: "/{slug}",
  };
  const place = "owner=o&repo=r&collection=p";
  const others = "linkTemplate=%2F%7Bslug%7D&facets=name";
  assertEquals(
    queryOf(listParameters(state)),
    `${place}&includeFrontMatter=true&includeHtml=true&${others}`,
  );
  assertEquals(
    queryOf(listParameters({ ...state, includeFrontMatter: "false" })),
    `${place}&includeHtml=true&${others}`,
  );
  assertEquals(
    queryOf(listParameters({ ...state, fields: "slug" })),
    `${place}&fields=slug&${others}`,
  );
});

Deno.test("openParameters() names a file by path or slug, and orders only neighbors", () => {
  const state = { ...LIST, sort: "size", kind: "data", path: "p/a.md" };
  const start = "owner=o&repo=r";
  assertEquals(
    queryOf(openParameters(state)),
    `${start}&path=p%2Fa.md&includeHtml=true`,
  );
  const both = { ...state, includeNeighbors: "true", includeHtml: "false" };
  assertEquals(
    queryOf(openParameters(both)),
    `${start}&path=p%2Fa.md&collection=p&includeNeighbors=true&sort=size&kind=data`,
  );
  assertEquals(
    queryOf(openParameters({ ...both, path: "", slug: "a" })),
    `${start}&collection=p&slug=a&includeNeighbors=true&sort=size&kind=data`,
  );
});

Deno.test("feedParameters() are those of the list, with addresses that have a host", () => {
  const state = { ...LIST, page: "2", limit: "100", search: "a", fields: "b" };
  assertEquals(feedParameters({ ...state, linkTemplate: "/{slug}" }), null);
  assertEquals(
    queryOf(feedParameters({ ...state, linkTemplate: "http://h/{slug}" })),
    "owner=o&repo=r&collection=p&search=a&format=atom&linkTemplate=http%3A%2F%2Fh%2F%7Bslug%7D",
  );
});

Deno.test("opened() and closed() leave the list as it is", () => {
  const state = { ...LIST, page: "2", slug: "a", view: "request" as const };
  assertEquals([hasFile(LIST), hasFile(state)], [false, true]);
  assertEquals(opened(state, "b"), {
    ...LIST,
    page: "2",
    path: "b",
    view: "preview",
  });
  assertEquals(closed(state), { ...LIST, page: "2" });
});

Deno.test("filterOf() writes what filterParts() reads", () => {
  const filters = [
    ["filter[name]", "*.md"],
    ["filter[frontMatter.draft]", "!true"],
    ["filter[frontMatter.date][gte]", "2025"],
    ["filter[frontMatter.a][exists]", "false"],
    ["filter[frontMatter.a][contains]", "!x"],
  ] as const;
  for (const filter of filters) {
    assertEquals(filterOf(filterParts(filter)), filter);
  }
  assertEquals(filterOf({ subject: "a", sign: "[exists]", text: "" }), [
    "filter[a][exists]",
    "true",
  ]);
});

Deno.test("snippetsFor() has the client's options as its types want them", () => {
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

Deno.test("parseFilter() reads tags, comparisons, globs and plain text, filterWords() says them", () => {
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

Deno.test("columnsOf() chooses a date, a list, then what most items have; a mapping makes none", () => {
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
  assertEquals([titleOf(items[0]!), titleOf(item({ title: " " }))], [
    "A",
    "a.md",
  ]);
});

Deno.test("keysOf() names the keys of front matter and of rows", () => {
  const items = [item({ title: "A", "a.b": 1 }), item({ date: "2025" })];
  assertEquals(keysOf(items), ["frontMatter.title", "frontMatter.date"]);
  assertEquals(keysOf([{ index: 0, data: { team: "core" } }]), ["data.team"]);
});

Deno.test("titleOf() of an item without a name is its path or slug", () => {
  assertEquals(titleOf({ path: "a/b.md" }), "b.md");
  assertEquals(titleOf({ slug: "a/b" }), "a/b");
  assertEquals(titleOf({ size: 1 }), "Without a name");
});

Deno.test("names that every object inherits have no words and no value", () => {
  for (
    const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]
  ) {
    assertEquals(valueOf(item({}), name), undefined);
    assertEquals(
      filterWords([`filter[frontMatter.a][${name}]`, "1"]),
      `a ${name} 1`,
    );
  }
  assertEquals(valueOf(item({ a: 1 }), "a"), 1);
});

Deno.test("sizes, times and freshness in words", () => {
  const sizes = [0, 1023, 1024, 1834, 1_048_575, 5 << 20].map(sizeWords);
  assertEquals(sizes.join(), "0 B,1023 B,1.0 KB,1.8 KB,1.0 MB,5.0 MB");
  assertEquals([42, 310, 7200].map(durationWords), ["42 s", "5 min", "2 h"]);
  const fresh = (headers: Record<string, string>) =>
    freshWords(new Headers(headers));
  assertEquals(
    fresh({ "cache-control": "public, max-age=60", age: "18" }),
    "fresh 42 s",
  );
  assertEquals(
    fresh({ "cache-control": "no-cache", age: "0" }),
    "as it is now",
  );
  assertEquals(
    fresh({
      age: "310",
      "cache-status": "collections; hit; ttl=-250; detail=stale-if-error",
    }),
    "5 min old, the source does not answer",
  );
});

Deno.test("withTime() says until when to wait, not for how long", () => {
  const nowMs = new Date(2026, 0, 1, 15, 9, 30).getTime();
  const detailOf = (seconds: number) =>
    withTime({
      title: "",
      detail: `Try again in ${seconds} seconds.`,
      retryAfterSeconds: seconds,
    }, nowMs).detail;
  assertEquals(detailOf(60), "Try again in 60 seconds.");
  const time = new Date(2026, 0, 1, 15, 40).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
  });
  assertEquals(detailOf(1800), `Try again at ${time}.`);
});
