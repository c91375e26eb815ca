// The client against a real server, as a page, Deno or Node uses it.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
// @ts-types="../../static/client.d.ts"
import { CollectionsClient, ProblemError } from "../../static/client.js";
import { startSite } from "../site.ts";

const POSTS = { owner: "octo", repo: "site", collection: "posts" };
const FILES = Object.fromEntries(
  Array.from(
    { length: 7 },
    (_, n) => [`posts/p${n}.md`, `---\nn: ${n}\nodd: ${n % 2 === 1}\n---\n# ${n}\n`],
  ),
);

/** A client of a fresh site, and the requests that it sent. */
async function startClient(options: { reuse?: boolean } = {}) {
  const site = await startSite(FILES);
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
  return { site, client, sent, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() };
}

Deno.test("CollectionsClient.listItems() gives a page", async () => {
  await using parts = await startClient();

  const page = await parts.client.listItems({ ...POSTS, page: 2, limit: 3 });

  assertEquals(page.items.map(({ slug }) => slug), ["p3", "p4", "p5"]);
  assertEquals(page.pagination.totalItems, 7);
});

Deno.test("CollectionsClient.listItems() sends every parameter, filters under their names", async () => {
  await using parts = await startClient();

  const { items } = await parts.client.listItems({
    ...POSTS,
    branch: "main",
    includeFrontMatter: true,
    includeContent: undefined,
    sort: "-frontMatter.n",
    filter: { "frontMatter.odd": "true", "path": ["!p1.md", "p*.md"] },
  });

  assertEquals(items.map(({ frontMatter }) => frontMatter?.["n"]), [5, 3]);
});

Deno.test("CollectionsClient.items() walks all pages, and asks for each when it is needed", async () => {
  await using parts = await startClient();
  const slugs: string[] = [];

  for await (const { slug } of parts.client.items({ ...POSTS, limit: 3 })) {
    if (slugs.length === 2) assertEquals(parts.sent.length, 1);
    slugs.push(slug);
  }

  assertEquals(slugs, ["p0", "p1", "p2", "p3", "p4", "p5", "p6"]);
  assertEquals(parts.sent.length, 3);
  for await (const _ of parts.client.items(POSTS)) break;
  assertEquals(parts.sent.length, 4);
});

Deno.test("CollectionsClient.getItem() gives a file with its front matter", async () => {
  await using parts = await startClient();

  const item = await parts.client.getItem({ owner: "octo", repo: "site", path: "posts/p3.md" });

  assertEquals([item.frontMatter, item.body], [{ n: 3, odd: true }, "# 3\n"]);
});

Deno.test("CollectionsClient throws a problem as a ProblemError", async () => {
  await using parts = await startClient();

  const error = await assertRejects(
    () => parts.client.listItems({ ...POSTS, collection: "post" }),
    ProblemError,
  );

  assertEquals([error.status, error.code], [404, "collection-not-found"]);
  assertEquals(error.problem.suggestions, ["posts"]);
  assertEquals(error.message, error.problem.detail);
});

Deno.test("CollectionsClient says so where something else than the service answers", async () => {
  for (
    const response of [
      new Response("<h1>Bad gateway</h1>", { status: 502, statusText: "Bad Gateway" }),
      new Response("<h1>Log in</h1>"),
    ]
  ) {
    const client = new CollectionsClient("http://localhost", {
      fetch: () => Promise.resolve(response),
    });
    const error = await assertRejects(() => client.listItems(POSTS), ProblemError);
    assertEquals([error.status, error.code], [502, "not-a-service-answer"]);
  }
});

Deno.test("CollectionsClient wants the service's address where it was not loaded from one", () => {
  const own = new URL("../../static/", import.meta.url).href;
  assertThrows(
    () => new CollectionsClient(),
    TypeError,
    `Cannot ask "${own}": give the service's address`,
  );
  for (const baseUrl of ["localhost:8000", "blob:http://h/1", new URL("data:text/plain,x")]) {
    assertThrows(() => new CollectionsClient(baseUrl), TypeError, `Cannot ask "${baseUrl}"`);
  }
});

Deno.test("CollectionsClient takes an address within a page's own site", async () => {
  const asked: string[] = [];
  for (const baseUrl of ["", "/collections/", "HTTPS://h"]) {
    const client = new CollectionsClient(baseUrl, {
      fetch: (url) => Promise.resolve(Response.json({ url: asked.push(String(url)) })),
    });
    await client.listItems(POSTS);
  }
  assertEquals(asked.map((url) => url.split("?")[0]), [
    "/api/list-collection-items",
    "/collections/api/list-collection-items",
    "HTTPS://h/api/list-collection-items",
  ]);
});

Deno.test("CollectionsClient stops when its signal aborts, between pages too", async () => {
  await using parts = await startClient();
  const controller = new AbortController();
  const reason = new Error("enough");

  const error = await assertRejects(async () => {
    for await (const _ of parts.client.items({ ...POSTS, limit: 1 }, controller)) {
      controller.abort(reason);
    }
  });

  assertEquals([error, parts.sent.length], [reason, 2]);
});

Deno.test("CollectionsClient with reuse asks by ETag and gives the kept body, a copy each time", async () => {
  await using parts = await startClient({ reuse: true });
  const { client, sent } = parts;
  const first = await client.listItems(POSTS);
  first.items.length = 0;

  const second = await client.listItems(POSTS);
  second.items.length = 0;
  const third = await client.listItems(POSTS);

  assert(sent[0]!.headers.get("if-none-match") === null);
  assert(sent[1]!.headers.get("if-none-match") !== null);
  assertEquals(third.items.length, 7);
  await parts.site.repository.commit({ "posts/p8.md": "# 8\n" });
  parts.site.service.clock.advance(60_000);
  assertEquals((await client.listItems(POSTS)).items.length, 8);
});

Deno.test("CollectionsClient without reuse sends no ETag", async () => {
  await using parts = await startClient();
  await parts.client.listItems(POSTS);
  await parts.client.listItems(POSTS);

  assertEquals(parts.sent.map(({ headers }) => headers.get("if-none-match")), [null, null]);
});

Deno.test("GET /client.js is the client, with its types named and beside it", async () => {
  await using parts = await startClient();
  const { service } = parts.site;

  const response = await service.get("/client.js");

  assertEquals(response.status, 200);
  assertEquals(response.headers.get("content-type"), "text/javascript; charset=utf-8");
  const types = new URL(response.headers.get("x-typescript-types")!, "http://localhost/client.js");
  assertEquals(types.pathname, "/client.d.ts");
  const text = await response.text();
  assertEquals(text, await Deno.readTextFile(new URL("../../static/client.js", import.meta.url)));
  assert(!/^\s*(import|export .* from)\b/m.test(text));
  const declared = await service.get(types.pathname);
  assertEquals(declared.headers.get("content-type"), "application/typescript; charset=utf-8");
  await declared.body?.cancel();
});
