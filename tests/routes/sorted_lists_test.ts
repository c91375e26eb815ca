// Lists by front matter over three thousand files, held item for item to a plain program over the same files.

import { assertEquals } from "@std/assert";
import type { ListBody } from "../../lib/api/contract.ts";
import { watchBlobs } from "../github/asked_blobs.ts";
import { startSite } from "../site.ts";
import { plainFile, plainList, type PlainQuestion } from "./plain_list.ts";
import { writePosts } from "./three_thousand_posts.ts";

const TOKEN = { env: { GITHUB_TOKEN: "token", MISSES_PER_MINUTE: "0" } };

const QUESTIONS: readonly PlainQuestion[] = [
  { sort: "-frontMatter.date" },
  { sort: "frontMatter.date", filters: [["frontMatter.draft", "!true"]] },
  { sort: "frontMatter.title" },
  { sort: "-frontMatter.weight", filters: [["frontMatter.tags", "deno"]] },
  { sort: "frontMatter.author.name", filters: [["path", "202?/**"]] },
  { sort: "frontMatter.mixed" },
  { sort: "-frontMatter.mixed", filters: [["frontMatter.tags", "2024"]] },
  { sort: "-frontMatter.draft", filters: [["name", "*1.md"], ["frontMatter.tags", "!git"]] },
  { sort: "-name", filters: [["frontMatter.author.id", "7"]] },
  { sort: "size", filters: [["path", "!2019/*"], ["path", "!2020/**"]] },
  { sort: "-path", filters: [["frontMatter.tags", "deno"], ["frontMatter.tags", "web"]] },
  { sort: "-frontMatter.date", recursive: false },
  { sort: "frontMatter.nowhere", filters: [["frontMatter.mixed", "null"]] },
  { filters: [["frontMatter.title", "nowhere"]] },
];

/** A page of a question: ten items with their front matter, or a thousand without. */
function pathOf(question: PlainQuestion, page: number, limit: 10 | 1000 = 10): string {
  const { sort, filters = [], recursive } = question;
  const query = new URLSearchParams([
    ["owner", "octo"],
    ["repo", "site"],
    ["collection", "posts"],
    ["limit", `${limit}`],
    ["page", `${page}`],
    ["includeFrontMatter", `${limit === 10}`],
    ...sort === undefined ? [] : [["sort", sort]],
    ...recursive === undefined ? [] : [["recursive", `${recursive}`]],
    ...filters.map(([field, value]) => [`filter[${field}]`, value]),
  ]);
  return `/api/list-collection-items?${query}`;
}

Deno.test("a sorted and filtered list of 3,000 files is that of a plain program", async (t) => {
  const files = [...writePosts(3_000)];
  await using site = await startSite(files, TOKEN);
  const { service, gh } = site;
  gh.addToken("token");
  const asked = watchBlobs(gh);
  const plain = files.map(([path, text]) => plainFile(path.slice(6), text));
  let asks = 0;
  for (const question of QUESTIONS) {
    await t.step(JSON.stringify(question), async () => {
      const expected = plainList(plain, question);
      const pages = Math.ceil(expected.length / 10);
      for (const page of new Set([1, Math.max(1, Math.ceil(pages / 2)), Math.max(1, pages)])) {
        const response = await service.get(pathOf(question, page));
        const { items, pagination }: ListBody = await response.json();
        assertEquals(
          items.map(({ path, frontMatter }) => ({ path: path.slice(6), frontMatter })),
          expected.slice((page - 1) * 10, page * 10)
            .map(({ path, frontMatter }) => ({ path, frontMatter })),
        );
        assertEquals([pagination.totalItems, pagination.totalPages], [expected.length, pages]);
      }
      const paths: string[] = [];
      for (let page = 1; page <= 3; page++) {
        const { items }: ListBody = await (await service.get(pathOf(question, page, 1000))).json();
        paths.push(...items.map(({ path }) => path.slice(6)));
      }
      assertEquals(paths, expected.map(({ path }) => path));
      if (question.recursive === false) assertEquals(gh.counts(), { tree: 1 });
      else if (asks > 0) assertEquals(gh.counts(), {}, "warm, nothing is asked of the source");
      asks++;
      gh.resetCounts();
    });
  }
  assertEquals(asks, QUESTIONS.length);
  assertEquals(asked.length, new Set(files.map(([, text]) => text)).size, "each blob once");
});
