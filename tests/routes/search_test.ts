// Full text search: what is found, in what order, what a hostile query or
// collection does, and how the index follows a commit.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { listPath, type Parameters } from "../service.ts";
import { startSite } from "../site.ts";
import { WatchedCompute } from "../thread/watched_compute.ts";

const FILES = {
  "posts/body.md": "---\ntitle: Nothing\n---\nWe bake bread.\n",
  "posts/heading.md": "# About bread\n\nText of its own.\n",
  "posts/meta.md": "---\ntitle: Other\ntags: [Bread]\n---\nText.\n",
  "posts/none.md": "Breakfast & <b>butter</b>\n",
  "posts/title.md": "---\ntitle: Bread\n---\nText.\n",
  "posts/bread.png": "bread",
  "posts/notes.txt":
    "東京都に行く. مرحبا بالعالم. Crème brûlée 🎉 foo-bar Astroブログ9",
};

const slugsOf = (body: { items: { slug?: string }[] }) =>
  body.items.map(({ slug }) => slug);

Deno.test("search gives the best items first, with their scores", async () => {
  await using site = await startSite(FILES);
  const { items } = await site.service.list({ search: "bread" });
  assertEquals(slugsOf({ items }), ["title", "heading", "meta", "body"]);
  const scores = items.map(({ match }) => match!.score);
  assertEquals(scores, scores.toSorted((a, b) => b - a));
  assertEquals(items[3]!.match!.snippet, "We bake <mark>bread</mark>.");
});

Deno.test("a snippet is escaped text", async () => {
  await using site = await startSite({
    "posts/hostile.md": '\x02&amp; <script>x</script>\x03 "butter" \'\n',
  });
  const { items } = await site.service.list({ search: "butter" });
  assertEquals(
    items[0]!.match!.snippet,
    "&amp;amp; &lt;script&gt;x&lt;/script&gt; &quot;<mark>butter</mark>&quot; '",
  );
});

Deno.test("search combines with the other parameters", async () => {
  await using site = await startSite(FILES);
  const search = "bread";
  const rows: [slugs: string, given: Parameters][] = [
    ["body heading meta title", { sort: "name" }],
    ["heading", { limit: 1, page: 2 }],
    ["meta", { "filter[name]": "m*" }],
    ["title", { "filter[frontMatter.title][exists]": true, limit: 1 }],
  ];
  for (const [slugs, given] of rows) {
    const found = slugsOf(await site.service.list({ search, ...given }));
    assertEquals(found.join(" "), slugs);
  }
  const { items, facets, links } = await site.service.list({
    search,
    fields: "slug,match",
    facets: "frontMatter.tags",
    limit: 2,
  });
  assertEquals(Object.keys(items[0]!), ["slug", "match"]);
  assertEquals(facets, { "frontMatter.tags": [{ value: "Bread", count: 1 }] });
  assertMatch(links.next!, /&search=bread&/);
});

Deno.test("a query is words and never FTS5 syntax", async () => {
  await using site = await startSite(FILES);
  const found = {
    "bre": 5,
    "bre text": 0,
    "text bre": 3,
    "BAKE bread": 1,
    "text OR bake": 0,
    "bread NOT bake": 0,
    "title:bread": 0,
    "bread*": 4,
    '"bread"': 4,
    '"': 0,
    'bread" OR "text': 0,
    "NEAR(bread text)": 0,
    "^bread": 4,
    "{title}: bread": 0,
    "bread; DROP TABLE docs": 0,
    "\0bread": 4,
    "🎉": 0,
    "🎉 brulee": 1,
    "京都": 1,
    "都京": 0,
    "ブログ": 1,
    "astro ログ": 1,
    "Astroブログ9": 1,
    "بالع": 1,
    "foo-b": 1,
    "bar-foo": 1,
    "bar-o": 0,
  };
  for (const [search, count] of Object.entries(found)) {
    const { pagination } = await site.service.list({ search });
    assertEquals([search, pagination.totalItems], [search, count]);
  }
});

Deno.test("the index reads only what a commit changed", async () => {
  const compute = new WatchedCompute();
  await using site = await startSite(FILES, { compute });
  await site.service.list({ search: "bread" });
  await site.service.list({ search: "text" });
  assertEquals(compute.filesOf("index"), 6);

  const { "posts/title.md": _, ...others } = FILES;
  const added = { "posts/new.md": "Bread bread bread" };
  await site.push({ "posts/title.md": null, ...added });
  const { items } = await site.service.list({ search: "bread" });
  assertEquals(compute.filesOf("index"), 7);
  assertEquals(slugsOf({ items }).toSorted(), [
    "body",
    "heading",
    "meta",
    "new",
  ]);

  await using fresh = await startSite({ ...others, ...added });
  const again = await fresh.service.list({ search: "bread" });
  assertEquals(
    again.items.map(({ match }) => match),
    items.map(({ match }) => match),
  );
});

Deno.test("a search of too many files is an error", async () => {
  const files = Array.from({ length: 5_001 }, (_, n) => [`posts/${n}.md`, "a"]);
  await using site = await startSite(Object.fromEntries(files));
  const { code } = await site.service.problem(listPath({ search: "same" }));
  assertEquals(code, "collection-too-large");
});

const WORDS =
  "bread butter Äpfel apfel crème creme 北京 foo-bar bar foo x1 x12 Straße naïve re-bake bake"
    .split(" ");

/** Numbers that are the same in each run. */
function* numbers(seed: number) {
  for (;;) yield (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) >> 8;
}

/** The words of a text as the tokenizer should see them. */
function tokensOf(text: string): string[] {
  return text.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase()
    .match(
      /\p{Script=Han}|[\p{L}\p{N}]+?(?=\p{Script=Han}|[^\p{L}\p{N}]|$)/gu,
    ) ??
    [];
}

function hasTerm(tokens: string[], term: string[], isLast: boolean): boolean {
  return tokens.some((_, at) =>
    term.every((word, n) => {
      const token = tokens[at + n] ?? "";
      return isLast && n === term.length - 1
        ? token.startsWith(word)
        : token === word;
    })
  );
}

Deno.test("50 searches find what a plain search finds", async () => {
  const random = numbers(1);
  const next = (below: number) => random.next().value! % below;
  const some = (count: number) =>
    Array.from({ length: count }, () => WORDS[next(WORDS.length)]!).join(" ");
  const texts = Array.from({ length: 200 }, () => some(1 + next(8)));
  await using site = await startSite(
    Object.fromEntries(texts.map((text, n) => [`posts/${n}.md`, text])),
  );
  for (let query = 0; query < 50; query++) {
    const words = some(1 + next(3));
    const search = words.slice(0, Math.max(2, words.length - next(3)));
    const terms = search.trim().split(/[ -]/).filter((term) => term !== "")
      .map(tokensOf);
    const expected = texts.flatMap((text, n) =>
      terms.every((term, at) =>
          hasTerm(tokensOf(text), term, at === terms.length - 1)
        )
        ? [`${n}`]
        : []
    );
    const { items } = await site.service.list({ search, limit: 1000 });
    assertEquals([search, slugsOf({ items }).toSorted()], [
      search,
      expected.toSorted(),
    ]);
  }
});

Deno.test("a search that waits too long for its index is told so", async () => {
  const compute = new WatchedCompute();
  const gate = Promise.withResolvers<void>();
  compute.answer = async (task) => {
    if (task === "index") await gate.promise;
  };
  await using site = await startSite(FILES, { compute });
  const waiting = site.service.problem(listPath({ search: "bread" }));
  while (!compute.runs.some(({ task }) => task === "index")) {
    await new Promise((resolve) => setTimeout(resolve));
  }
  site.service.clock.advance(60_000);
  const { code, retryAfterSeconds } = await waiting;
  assertEquals([code, retryAfterSeconds], ["collection-not-ready", 5]);
  gate.resolve();
  const { items } = await site.service.list({ search: "bread" });
  assertEquals(items.length, 4);
});

Deno.test("a large collection is indexed in several turns", async () => {
  const compute = new WatchedCompute();
  const text = "bread ".repeat(50_000);
  const files = Array.from(
    { length: 12 },
    (_, n) => [`posts/${n}.md`, text + n],
  );
  await using site = await startSite(Object.fromEntries(files), { compute });
  await site.service.list({ search: "bread" });
  const turns = compute.runs.filter(({ task }) => task === "index").length;
  assert(turns >= 4, `${turns} turns`);
});
