// The same requests to two services over the same files: one computes on the
// content thread, one inline. All responses are the same, byte by byte.

import { assertEquals } from "@std/assert";
import { systemClock } from "../../lib/work/clock.ts";
import { ContentThread } from "../../lib/thread/content_thread.ts";
import { HOSTILE_FILES } from "../../bench/hostile_requests.ts";
import { itemPath, listPath, type Parameters } from "../service.ts";
import { startSite } from "../site.ts";
import { silentLog } from "../source/open_github.ts";

const FILES = {
  ...HOSTILE_FILES,
  "_config.yml": "collections: [recipes]\n",
  "_recipes/a.md": "---\ntitle: A\n---\n",
  "posts/1.md":
    "---\ntitle: Ä\ndate: 2026-01-02\ntags: [a, b]\nn: 1\n---\n# One\n\n[two](2.md) ![x](x.png)\n",
  "posts/2.md":
    "+++\ntitle = 'B'\ndate = 2026-01-01\ntags = ['b']\nn = 10\n+++\nTwo\n",
  "posts/3.md": "---\ntitle: [\n---\n| a |\n|---|\n| b |\n",
  "posts/4.mdx": "<A/>\n",
  "posts/7.mdx": "---\nn: 3\n---\n<A>\n",
  "posts/5.txt": "---\nn: 2\n---\ntext",
  "posts/6.md": "\u0000",
  "posts/twice.json": "{}",
  "posts/twice.txt": "",
  "rows.csv": "n,t\n1,a b\n10,b\n",
  "posts/x.png": "\u0089PNG\u0000",
  // The answer for its tree is too large to be read on the serving thread.
  ...Object.fromEntries(
    Array.from({ length: 800 }, (_, n) => [`many/${n}${"x".repeat(240)}`, ""]),
  ),
};

const LISTS: Parameters[] = [
  {},
  { recursive: false },
  { collection: "/" },
  { collection: "recipes" },
  { collection: "many" },
  { collection: "recipies" },
  ...[
    "name",
    "-name",
    "size",
    "-path",
    "frontMatter.n",
    "-frontMatter.date",
    "frontMatter.title",
  ]
    .map((sort) => ({ sort })),
  { includeFrontMatter: true },
  { includeContent: true, limit: 3, page: 2 },
  { includeContent: true, includeHtml: true },
  { includeHtml: true, linkTemplate: "/blog/{slug}" },
  ...["atom", "rss", "jsonfeed", "sitemap"].map((format) => (
    { format, linkTemplate: "https://example.com/{slug}" }
  )),
  { fields: "slug,frontMatter.title,html,error" },
  { fields: "body,encoding,frontMatterError" },
  { facets: "frontMatter.tags,frontMatter.n" },
  { search: "two" },
  { collection: "rows.csv", sort: "-data.n", types: "infer" },
  { collection: "rows.csv", search: "b", facets: "data.t" },
  { search: "b", sort: "-name", facets: "frontMatter.tags" },
  { "filter[name]": "*.md", "filter[path]": "!1*" },
  { "filter[frontMatter.n][gte]": 2, sort: "-frontMatter.n" },
  { "filter[frontMatter.tags]": "b", facets: "frontMatter.tags" },
];

const ITEMS: Parameters[] = [
  { path: "posts/1.md", includeHtml: true },
  { path: "posts/x.png" },
  { collection: "posts", slug: "2", includeHtml: true, includeNeighbors: true },
  {
    collection: "posts",
    slug: "2",
    includeNeighbors: true,
    sort: "-frontMatter.n",
  },
  { collection: "posts", slug: "3", includeHtml: true },
  { collection: "posts", slug: "twice" },
  { collection: "posts", slug: "none" },
];

Deno.test("every response is the same on the thread and inline", async () => {
  const compute = new ContentThread({ clock: systemClock, log: silentLog });
  try {
    // The start of a thread takes processor time.
    const env = { MISSES_PER_MINUTE: "0" };
    await using threaded = await startSite(FILES, { compute, env });
    await using inline = await startSite(FILES, { env });
    const paths = [
      ...LISTS.map((parameters) =>
        listPath({ collection: "posts", ...parameters })
      ),
      ...ITEMS.map(itemPath),
    ];
    for (const path of paths) {
      const [a, b] = [
        await threaded.service.send(path),
        await inline.service.send(path),
      ];
      const texts = await Promise.all(
        [a, b].map((response) => response.text()),
      );
      const [onThread, here] = texts.map((text) =>
        text.replace(/"requestId":"[^"]*"/, "")
      );
      assertEquals([path, a.status, onThread], [path, b.status, here]);
    }
  } finally {
    compute.close();
  }
});
