// Full text search: what is found, in what order, what a hostile query or
// collection does, and how the index follows a commit.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../lib/work/clock.ts";
import { ContentThread } from "../../lib/thread/content_thread.ts";
import { listPath } from "../service.ts";
import { silentLog } from "../source/open_github.ts";
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
  const body = await site.service.list({ search: "bread" });
  assertEquals(slugsOf(body), ["title", "heading", "meta", "body"]);
  const scores = body.items.map(({ match }) => match!.score);
  assertEquals(scores, scores.toSorted((a, b) => b - a));
  assertEquals(body.pagination.totalItems, 4);
  assertEquals(
    body.items.at(-1)!.match!.snippet,
    "We bake <mark>bread</mark>.",
  );
});

Deno.test("a snippet is escaped text", async () => {
  await using site = await startSite({
    ...FILES,
    "posts/hostile.md": '\x02&amp; <script>x</script>\x03 "butter" \'\n',
  });
  const { items } = await site.service.list({ search: "butter" });
  const snippets = items.map(({ match }) => match!.snippet);
  assertEquals(snippets.toSorted(), [
    "&amp;amp; &lt;script&gt;x&lt;/script&gt; &quot;<mark>butter</mark>&quot; '",
    "Breakfast &amp; &lt;b&gt;<mark>butter</mark>&lt;/b&gt;",
  ]);
});

Deno.test("search combines with the other parameters", async () => {
  await using site = await startSite(FILES);
  const search = "bread";
  const rows = [
    { given: { sort: "name" }, slugs: ["body", "heading", "meta", "title"] },
    { given: { limit: 1, page: 2 }, slugs: ["heading"] },
    { given: { "filter[name]": "m*" }, slugs: ["meta"] },
    {
      given: { "filter[frontMatter.title][exists]": true, limit: 1 },
      slugs: ["title"],
    },
  ];
  for (const { given, slugs } of rows) {
    assertEquals(slugsOf(await site.service.list({ search, ...given })), slugs);
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
  const rows = [
    { search: "bre", found: 5 },
    { search: "bre text", found: 0 },
    { search: "text bre", found: 3 },
    { search: "BAKE bread", found: 1 },
    { search: "text OR bake", found: 0 },
    { search: "bread NOT bake", found: 0 },
    { search: "title:bread", found: 0 },
    { search: "bread*", found: 4 },
    { search: '"bread"', found: 4 },
    { search: '"', found: 0 },
    { search: 'bread" OR "text', found: 0 },
    { search: "NEAR(bread text)", found: 0 },
    { search: "^bread", found: 4 },
    { search: "{title}: bread", found: 0 },
    { search: "bread; DROP TABLE docs", found: 0 },
    { search: "\0bread", found: 4 },
    { search: "🎉", found: 0 },
    { search: "🎉 brulee", found: 1 },
    { search: "京都", found: 1 },
    { search: "都京", found: 0 },
    { search: "ブログ", found: 1 },
    { search: "astro ログ", found: 1 },
    { search: "Astroブログ9", found: 1 },
    { search: "بالع", found: 1 },
    { search: "foo-b", found: 1 },
    { search: "bar-foo", found: 1 },
    { search: "bar-o", found: 0 },
    { search: "constructor", found: 0 },
    { search: "x".repeat(1_000), found: 0 },
  ];
  for (const { search, found } of rows) {
    const { pagination } = await site.service.list({ search });
    assertEquals([search, pagination.totalItems], [search, found]);
  }
});

Deno.test("search has a limit of characters and words", async () => {
  await using site = await startSite(FILES);
  for (const search of ["x".repeat(1_001), "a ".repeat(33), "京".repeat(129)]) {
    const { code, errors } = await site.service.problem(listPath({ search }));
    assertEquals(code, "invalid-parameters");
    assertEquals(errors?.map(({ parameter }) => parameter), ["search"]);
  }
});

Deno.test("the index reads only what a commit changed", async () => {
  const compute = new WatchedCompute();
  await using site = await startSite(FILES, { compute });
  await site.service.list({ search: "bread" });
  assertEquals(compute.filesOf("index"), 6);
  await site.service.list({ search: "text" });
  assertEquals(compute.filesOf("index"), 6);

  const { "posts/title.md": _, ...others } = FILES;
  await site.push({
    "posts/title.md": null,
    "posts/new.md": "Bread bread bread",
  });
  const body = await site.service.list({ search: "bread" });
  assertEquals(compute.filesOf("index"), 7);
  assertEquals(slugsOf(body).toSorted(), ["body", "heading", "meta", "new"]);

  await using fresh = await startSite({
    ...others,
    "posts/new.md": "Bread bread bread",
  });
  const { items } = await fresh.service.list({ search: "bread" });
  assertEquals(
    items.map(({ match }) => match),
    body.items.map(({ match }) => match),
  );
});

Deno.test("a search of too many files is an error", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 5_001 }, (_, n) => [`posts/${n}.md`, "same"]),
  );
  await using site = await startSite(files);
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

Deno.test("the content thread searches without permissions", async () => {
  const thread = new ContentThread({ clock: systemClock, log: silentLog });
  using _ = { [Symbol.dispose]: () => thread.close() };
  await using site = await startSite(FILES, { compute: thread });
  await using inline = await startSite(FILES);
  for (const search of ["bread", "京", "🎉"]) {
    assertEquals(
      (await site.service.list({ search })).items,
      (await inline.service.list({ search })).items,
    );
  }
  assert(!site.service.logText.includes("no content thread"));
});

Deno.test("a search that waits too long for its index is told so", async () => {
  const compute = new WatchedCompute();
  const gate = Promise.withResolvers<void>();
  compute.answer = async (task) => {
    if (task === "index") await gate.promise;
  };
  await using site = await startSite(FILES, { compute });
  const waiting = site.service.problem(listPath({ search: "bread" }));
  while (!compute.runs.some(({ task }) => task === "index")) await tick();
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
  await using site = await startSite(
    Object.fromEntries(
      Array.from({ length: 12 }, (_, n) => [`posts/${n}.md`, `${n} ${text}`]),
    ),
    { compute },
  );
  await site.service.list({ search: "bread" });
  const turns = compute.runs.filter(({ task }) => task === "index").length;
  assert(turns >= 4, `${turns} turns`);
});

const tick = () => new Promise((resolve) => setTimeout(resolve));
