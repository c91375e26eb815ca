// The client against a real server, as a page, Deno or Node uses it.

import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { z } from "zod";
import type {
  ClientOptions,
  ListParameters,
} from "../../packages/client/client.ts";
import {
  assetUrl,
  CollectionsClient,
  ProblemError,
  savePictures,
  SchemaError,
} from "../../packages/client/client.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { startSite } from "../site.ts";

const POSTS = { owner: "octo", repo: "site", collection: "posts" };
const FILES: GitFiles = {};
for (let n = 0; n < 7; n++) {
  FILES[`posts/p${n}.md`] = `---\nn: ${n}\nodd: ${n % 2 === 1}\n---\n# ${n}\n`;
}

/** A client of a new site, and the requests that it sent. */
async function startClient(
  options: ClientOptions = {},
  files = FILES,
  env = {},
) {
  const site = await startSite(files, { env });
  const baseUrl = `http://127.0.0.1:${site.service.listen()}`;
  const sent: Request[] = [];
  const client = new CollectionsClient(baseUrl, {
    ...options,
    fetch(input, init) {
      const request = new Request(input, init);
      sent.push(request);
      return fetch(request);
    },
  });
  return {
    site,
    client,
    sent,
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

/** A client of a service whose answers the test gives. */
function clientOf(
  answer: (url: string, init?: RequestInit) => Response,
  options: ClientOptions = {},
) {
  return new CollectionsClient("http://localhost", {
    fetch: (url, init) => Promise.try(answer, String(url), init),
    ...options,
  });
}

Deno.test("CollectionsClient sends every parameter", async () => {
  await using parts = await startClient();
  const page = await parts.client.listItems({
    ...POSTS,
    branch: "main",
    limit: 2,
    sort: "-frontMatter.n",
    facets: "frontMatter.odd",
    includeFrontMatter: true,
    includeContent: undefined,
    filter: {
      "frontMatter.odd": true,
      "frontMatter.n": { gte: 2, lt: 6 },
      "frontMatter.cover": { exists: false },
      "path": ["!p1.md", "p*.md"],
    },
  });
  const byNumber = {
    filter: { "frontMatter.n": 5, "frontMatter.odd": ["!false", true] },
  };
  assertEquals(
    (await parts.client.listItems({ ...POSTS, ...byNumber })).items[0]?.slug,
    "p5",
  );
  assertEquals(page.items.map(({ frontMatter }) => frontMatter?.["n"]), [5, 3]);
  assertEquals(page.facets, { "frontMatter.odd": [{ value: true, count: 2 }] });

  const item = await parts.client.getItemBySlug({
    ...POSTS,
    slug: "p3",
    includeNeighbors: true,
    includeHtml: true,
    filter: { "frontMatter.n": { gte: 2, lt: 5 } },
  });
  assertEquals([item.previous?.slug, item.name, item.next?.slug], [
    "p2",
    "p3.md",
    "p4",
  ]);
  assertEquals(item.headings?.map(({ text }) => text), ["3"]);
});

Deno.test("CollectionsClient lists collections", async () => {
  await using parts = await startClient();
  const { client } = parts;
  const site = { owner: "octo", repo: "site" };
  const { collections } = await client.listCollections({
    ...site,
    includeSchema: true,
  });
  assertEquals(collections[0]?.schema?.["required"], ["n", "odd"]);
  const missing = { ...site, path: "nope" };
  await assertRejects(() => client.listCollections(missing), ProblemError);
});

Deno.test("CollectionsClient rejects filters that would be left out", async () => {
  const client = clientOf(() => {
    throw new Error("a request");
  });
  const bad = [null, undefined, [], {}, new Date(0), () => true, [null], [[
    "a",
  ]], { gte: null }];
  for (const value of [...bad, { gte: [1] }, { gte: undefined }]) {
    const parameters = {
      ...POSTS,
      filter: { "frontMatter.n": "1", "frontMatter.draft": value },
    };
    await assertRejects(
      () => client.listItems(parameters as unknown as ListParameters),
      TypeError,
      'Cannot send the filter "frontMatter.draft": give it a text, number or boolean',
    );
  }
});

Deno.test("CollectionsClient throws problems as a ProblemError", async () => {
  await using parts = await startClient();
  const { status, code, message, problem } = await assertRejects(
    () => parts.client.listItems({ ...POSTS, collection: "post" }),
    ProblemError,
  );
  assertEquals([status, code], [404, "collection-not-found"]);
  assertEquals(message, problem.detail);
  assertEquals(problem.suggestions, ["posts"]);

  const others = [
    new Response("<h1>Bad</h1>", { status: 502 }),
    new Response("<h1>Log in</h1>"),
    Response.json({}),
    Response.json([]),
  ];
  for (const response of others) {
    const client = clientOf(() => response);
    const error = await assertRejects(
      () => client.listItems(POSTS),
      ProblemError,
    );
    assertEquals([error.status, error.code], [502, "not-a-service-answer"]);
  }
});

Deno.test("CollectionsClient takes absolute and relative addresses", async () => {
  // @ts-expect-error: the package has no service of its own.
  const withoutAddress = () => new CollectionsClient();
  assertThrows(withoutAddress, TypeError, 'Cannot use "undefined"');
  const others = [
    "localhost:8000",
    "blob:http://h/1",
    "http://h/?key=1",
    "http://h/#a",
    "/c?",
    new URL("data:text/plain,x"),
  ];
  for (const baseUrl of others) {
    const create = () => new CollectionsClient(baseUrl);
    assertThrows(create, TypeError, `Cannot use "${baseUrl}"`);
  }
  const asked: string[] = [];
  const fetch = (url: unknown) => {
    asked.push(String(url).split("api/")[0]!);
    return Promise.resolve(Response.json({ items: [] }));
  };
  for (const baseUrl of ["", "/c/", "HTTPS://h"]) {
    await new CollectionsClient(baseUrl, { fetch }).listItems(POSTS);
  }
  assertEquals(asked, ["/", "/c/", "HTTPS://h/"]);
});

Deno.test("CollectionsClient stops when its signal aborts", async () => {
  await using parts = await startClient();
  const controller = new AbortController();
  const reason = new Error("enough");
  const pages = { ...POSTS, pageSize: 1 };
  const reading = async () => {
    for await (const _ of parts.client.items(pages, controller)) {
      controller.abort(reason);
    }
  };
  assertEquals(await assertRejects(reading, Error), reason);
  assertEquals(parts.sent.length, 2);

  const later = new AbortController();
  const headers = { "retry-after": "25" };
  const client = clientOf(() => {
    queueMicrotask(() => later.abort(reason));
    return Response.json({}, { status: 503, headers });
  });
  await assertRejects(() => client.listItems(POSTS, later), Error, "enough");
});

Deno.test("CollectionsClient with reuse revalidates by ETag", async () => {
  const headers = { authorization: "Bearer x" };
  await using parts = await startClient({ reuse: true, headers });
  const { client, sent } = parts;
  for (let n = 0; n < 2; n++) (await client.listItems(POSTS)).items.length = 0;
  const third = await client.listItems(POSTS);

  assertEquals(sent.map((request) => request.headers.has("if-none-match")), [
    false,
    true,
    true,
  ]);
  assertEquals(sent[1]!.headers.get("authorization"), "Bearer x");
  assertEquals(third.items.length, 7);
  await parts.site.push({ "posts/p8.md": "# 8\n" });
  assertEquals((await client.listItems(POSTS)).items.length, 8);
});

Deno.test("CollectionsClient.items() pins the commit of its first page", async () => {
  const many: GitFiles = {};
  for (let n = 0; n < 1003; n++) many[`posts/${n + 10_000}.txt`] = `${n}`;
  await using parts = await startClient({}, many);
  const names: string[] = [];
  for await (const { name } of parts.client.items(POSTS)) {
    if (names.push(name) > 1) continue;
    // A file that comes first moves every other: by the branch, the last of
    // page 1 would come again.
    await parts.site.push({ "posts/00000.txt": "new" });
  }
  for await (
    const _ of parts.client.items({ ...POSTS, includeContent: true })
  ) break;
  for await (
    const _ of parts.client.items({ ...POSTS, fields: "slug,htmlError" })
  ) break;
  for await (const _ of parts.client.items({ ...POSTS, limit: 7 })) break;

  const queries = parts.sent.map(({ url }) => new URL(url).searchParams);
  assertEquals(queries.map((query) => query.get("limit")), [
    "1000",
    "1000",
    "100",
    "100",
    "7",
  ]);
  assertEquals([names.length, new Set(names).size], [1003, 1003]);
  assertEquals(
    queries.map((query) => query.get("branch")?.length).slice(0, 2),
    [undefined, 40],
  );
});

Deno.test("CollectionsClient.items() requests a page when it is needed", async () => {
  await using parts = await startClient({}, FILES, {
    ALLOWED_REPOS: "octo/site",
  });
  const slugs: string[] = [];
  for await (const { slug } of parts.client.items({ ...POSTS, pageSize: 3 })) {
    if (slugs.push(slug) === 3) assertEquals(parts.sent.length, 1);
  }
  assertEquals(slugs.join(), "p0,p1,p2,p3,p4,p5,p6");
  const asked = parts.sent.map(({ url }) =>
    new URL(url).searchParams.get("branch")?.length
  );
  assertEquals(asked, [undefined, 40, undefined, undefined]);
});

Deno.test("CollectionsClient.items() stops at the limit", async () => {
  await using parts = await startClient();
  const rows = [
    { limit: 3, pageSize: 2, found: 3, limits: ["2", "2"] },
    { limit: 4, pageSize: 2, found: 4, limits: ["2", "2"] },
    { limit: 99, pageSize: undefined, found: 7, limits: ["99"] },
  ];
  for (const { limit, pageSize, found, limits } of rows) {
    parts.sent.length = 0;
    const request = { ...POSTS, limit, pageSize };
    const items = await Array.fromAsync(parts.client.items(request));
    const sent = parts.sent.map(({ url }) =>
      new URL(url).searchParams.get("limit")
    );
    assertEquals([items.length, sent], [found, limits]);
  }
});

Deno.test("CollectionsClient types front matter by a schema", async () => {
  const schema = z.object({ n: z.number().transform((n) => `number ${n}`) });
  await using parts = await startClient();
  const { client } = parts;

  const { items } = await client.listItems({
    ...POSTS,
    includeFrontMatter: true,
  }, { schema });
  const name: string | undefined = items[3]!.frontMatter?.n;
  assertEquals(name, "number 3");
  const item = await client.getItem({ ...POSTS, path: "posts/p3.md" }, {
    schema,
  });
  assertEquals(item.frontMatter?.n satisfies string | undefined, "number 3");

  const wrong = z.object({ n: z.string() });
  const refused = () =>
    client.getItem({ ...POSTS, path: "posts/p3.md" }, { schema: wrong });
  const text = 'The front matter of "posts/p3.md" does not fit: n: ';
  const error = await assertRejects(refused, SchemaError, text);
  assertEquals([error.path, error.issues.length], ["posts/p3.md", 1]);
  const bySlug = { ...POSTS, fields: "slug,frontMatter.n" };
  await assertRejects(
    () => client.listItems(bySlug, { schema: wrong }),
    SchemaError,
    'of "p0" does',
  );
  // A type alone decides.
  const typed = client.items<{ n: number }>({
    ...POSTS,
    includeFrontMatter: true,
  });
  const [first] = await Array.fromAsync(typed);
  assertEquals(first?.frontMatter?.n satisfies number | undefined, 0);
});

Deno.test("CollectionsClient.bytes() decodes content or reads it", async () => {
  const bytes = new Uint8Array([0, 255, 10]);
  await using parts = await startClient({}, {
    "posts/a b.bin": bytes,
    "posts/a.txt": "ü\n",
  });
  const { client } = parts;
  for (const includeContent of [false, true]) {
    const { items } = await client.listItems({ ...POSTS, includeContent });
    assertEquals(await client.bytes(items[0]!), bytes);
    assertEquals(
      await client.bytes(items[1]!),
      new TextEncoder().encode("ü\n"),
    );
  }
  const { items: [item] } = await client.listItems({
    ...POSTS,
    fields: "content,contentUrl",
  });
  assertEquals(await client.bytes(item!), bytes);
  // Headers of the client go to its own service, whatever an item says.
  const query = "?owner=octo&repo=site&path=";
  const elsewhere = {
    contentUrl: `http://elsewhere.test/x${query}posts%2Fa.txt`,
  };
  assertEquals((await client.bytes(elsewhere)).length, 3);
  for (const item of [{}, { content: "AP8K" }]) {
    await assertRejects(
      () => client.bytes(item),
      TypeError,
      "it has no contentUrl",
    );
  }
  await assertRejects(
    () => client.bytes({ contentUrl: `${query}none` }),
    ProblemError,
  );
});

const WAITS: readonly {
  retryAfter: readonly (number | string)[];
  maxWaitMs?: number;
  waited: readonly number[];
  isRefused?: boolean;
}[] = [
  { retryAfter: [2, 0, 5], waited: [2000, 1000, 5000] },
  { retryAfter: [20, 20], waited: [20_000], isRefused: true },
  { retryAfter: [1], maxWaitMs: 0, waited: [], isRefused: true },
  // As a date, by the service's clock.
  { retryAfter: ["Tue, 10 Nov 2026 08:00:20 GMT"], waited: [20_000] },
  {
    retryAfter: ["Tue, 10 Nov 2026 08:00:31 GMT"],
    waited: [],
    isRefused: true,
  },
];

Deno.test("CollectionsClient waits as long as Retry-After says", async () => {
  for (const { retryAfter, waited, isRefused = false, ...limit } of WAITS) {
    const waits: number[] = [];
    const answers = retryAfter.map((value) => {
      const headers = {
        "retry-after": `${value}`,
        "date": "Tue, 10 Nov 2026 08:00:00 GMT",
      };
      const problem = { code: "collection-not-ready", detail: "Later." };
      return Response.json(problem, { status: 503, headers });
    });
    const client = clientOf(
      () => answers.shift() ?? Response.json({ items: [] }),
      { ...limit, wait: (ms) => Promise.resolve(void waits.push(ms)) },
    );
    const code = await client.listItems(POSTS).then(
      () => null,
      (error) => error.code,
    );
    assertEquals(code, isRefused ? "collection-not-ready" : null);
    assertEquals(waits, waited);
  }
});

Deno.test("CollectionHandle lists, reads and searches one collection", async () => {
  const files = {
    ...FILES,
    "posts/p1.png": "png",
    "posts/rye.md": "---\nn: 9\n---\n# Rye\nBread with seeds.\n",
    "other.md": "# Bread\n",
  };
  await using parts = await startClient({}, files);
  const posts = parts.client.collection<{ n: number }>(POSTS);
  const filter = { name: { contains: "P1" } };

  const page = await posts.list({ filter, facets: ["frontMatter.n"] });
  assertEquals(page.items.map(({ name }) => name), ["p1.md", "p1.png"]);
  assertEquals(page.facets?.["frontMatter.n"], [{ value: 1, count: 1 }]);
  const newest = {
    sort: "-frontMatter.n",
    kind: ["markdown", "data"],
    fields: ["slug", "frontMatter.n"],
  } as const;
  const all = await posts.all({ ...newest, limit: 2 });
  const rye = { slug: "rye", frontMatter: { n: 9 } };
  assertEquals(all, [rye, { slug: "p6", frontMatter: { n: 6 } }]);
  assertEquals(await posts.first(newest), rye);
  assertEquals(await posts.first({ filter: { name: "none" } }), null);
  const items = await Array.fromAsync(posts.items({ filter, pageSize: 1 }));
  assertEquals(items.map(({ slug }) => slug), ["p1", "p1"]);
  const { items: [found] } = await posts.search("seeds bre");
  assertEquals(found?.slug, "rye");
  assertStringIncludes(found!.match.snippet!, "<mark>Bread</mark>");
  assertEquals((await posts.get("posts/p3.md")).frontMatter?.n, 3);
  const post = await posts.bySlug("p3", { includeNeighbors: true });
  assertEquals([post.previous?.slug, post.next?.slug], ["p2", "p4"]);
  const error = await assertRejects(() => posts.get("other.md"), ProblemError);
  assertEquals(error.code, "item-not-found");

  const { collection, ...site } = POSTS;
  const named = parts.client.collection(collection, site);
  assertEquals(await named.first(), await posts.first());
  const schema = z.object({ n: z.string() });
  const checked = parts.client.collection(POSTS, { schema });
  await assertRejects(() => checked.bySlug("p3"), SchemaError);
});

Deno.test("CollectionsClient gives up a request after its time-out", async () => {
  // A shutdown would wait for the answers.
  const ended = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: ended.signal },
    ({ url }) =>
      url.includes("whole") ? new Promise<Response>(() => {}) : new Response(
        new ReadableStream({
          start: (body) => body.enqueue(new Uint8Array(1)),
        }),
      ),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  const client = new CollectionsClient(url, { timeoutMs: 1 });
  for (const collection of ["whole", "body"]) {
    for (const own of [undefined, new AbortController()]) {
      const listing = () => client.listItems({ ...POSTS, collection }, own);
      assertEquals((await assertRejects(listing, Error)).name, "TimeoutError");
    }
  }
  ended.abort();
  const isLimited = async (options: ClientOptions) => {
    let has = false;
    await clientOf((_url, init) => {
      has = init?.signal instanceof AbortSignal;
      return Response.json({ items: [] });
    }, options).listItems(POSTS);
    return has;
  };
  assertEquals(await isLimited({ timeoutMs: 0 }), false);
  assertEquals(await isLimited({}), true);
});

Deno.test("assetUrl() resolves an address as in Markdown", async () => {
  const picture = (text: string) => new TextEncoder().encode(text);
  await using parts = await startClient({}, {
    "posts/2026/ä b.md": "![](../img/a%20b.png)\n![](/c.png)\n",
    "posts/img/a b.png": picture("a b"),
    "c.png": picture("c"),
    "posts/2026/d?.png": picture("d"),
  });
  const { client } = parts;
  const item = await client.getItemBySlug({
    ...POSTS,
    slug: "2026/ä b",
    includeHtml: true,
  });
  const html = item.html!.replaceAll("&amp;", "&");
  const rows = [
    ["../img/a%20b.png", "a b"],
    ["../img/a b.png?v=1#top", "a b"],
    ["../../../../posts/img/a b.png", "a b"],
    ["/c.png", "c"],
    ["./d%3F.png", "d"],
  ];
  for (const [reference, content] of rows) {
    const contentUrl = assetUrl(item, reference!);
    assertEquals(await (await fetch(contentUrl)).text(), content);
    assertEquals(await client.bytes({ contentUrl }), picture(content!));
  }
  for (const [reference] of [rows[0]!, rows[3]!]) {
    assertStringIncludes(html, `src="${assetUrl(item, reference!)}"`);
  }
  for (const other of ["https://a.test/b.png", "//a.test", "data:,x"]) {
    assertEquals(assetUrl({}, other), other);
  }
  assertStringIncludes(
    assetUrl(item, "100%.png"),
    "&path=posts%2F2026%2F100%25",
  );
  assertThrows(() => assetUrl({}, "a.png"), TypeError, "no contentUrl");
});

Deno.test("savePictures() saves each picture once, and no other file", async () => {
  const markdown = `
![a > b](img/a.png) ![](img/a.png#x) <img title="2 > 1" src="img/%24%26 b.svg">
![](none.png) ![](page.html) ![](https://a.test/api/x.png)
`;
  await using parts = await startClient({}, {
    "posts/a.md": markdown,
    "posts/img/a.png": "a",
    "posts/img/$& b.svg": "<svg/>",
    "posts/page.html": "<script>alert(1)</script>",
  });
  const { client, sent } = parts;
  const { html } = await client.getItemBySlug({
    ...POSTS,
    slug: "a",
    includeHtml: true,
  });
  const saved: [name: string, text: string][] = [];
  const withPictures = savePictures(client, ({ name, bytes }) => {
    saved.push([name, new TextDecoder().decode(bytes)]);
    return name.endsWith(".png") ? `/p/${name}?"&` : undefined;
  });
  const before = sent.length;
  const result = await withPictures(html);
  assertEquals(await withPictures(html), result);

  assertEquals(sent.length - before, 3, "a.png, the SVG and none.png");
  assertEquals(saved.map(([, text]) => text), ["a", "<svg/>"]);
  assertMatch(saved[0]![0], /^[0-9a-f]{16}-a\.png$/);
  assertMatch(saved[1]![0], /^[0-9a-f]{16}--b\.svg$/);
  const sources = (text: string) =>
    [...text.matchAll(/ src="([^"]*)"/g)].map(([, src]) => src!);
  const own = `/p/${saved[0]![0]}?&quot;&amp;`;
  assertEquals(sources(result), [own, `${own}#x`, ...sources(html!).slice(2)]);
  assertEquals(await withPictures(undefined), "");

  const broken = clientOf(() => new Response(null, { status: 500 }));
  await assertRejects(
    () => savePictures(broken, () => "x")(html),
    ProblemError,
  );
});
