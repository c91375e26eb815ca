// Tests that the double answers as GitHub documents where no test of the
// service would notice a difference, and that it refuses what it does not
// expect. Its data are compared with git's by the suite of tests/source.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { rawRequest } from "../raw_http.ts";
import type { GithubTree } from "./github_api.ts";
import { serveRepository } from "./served_repository.ts";

const files = {
  "README.md": "# Site\n",
  "posts/a.md": "# A\n",
  "posts/2026/b.md": "# B\n",
};
const SHA = { accept: "application/vnd.github.sha" };

async function statusOf(
  url: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const response = await fetch(url, { headers });
  await response.body?.cancel();
  return response.status;
}

Deno.test("GithubDouble truncates recursive trees only", async () => {
  await using double = await serveRepository(files);
  const { gh, url } = double;
  const read = async (query: string): Promise<GithubTree> =>
    await (await fetch(`${url}/git/trees/main${query}`)).json();
  const { tree, truncated } = await read("?recursive=1");
  assertEquals(truncated, false);
  assertEquals(tree.map(({ path }) => path), [
    "README.md",
    "posts",
    "posts/2026",
    "posts/2026/b.md",
    "posts/a.md",
  ]);
  gh.truncateAt = 1;
  const first = await read("?recursive=0");
  assertEquals([first.tree, first.truncated], [tree.slice(0, 1), true]);
  const plain = await read("");
  assertEquals([plain.tree, plain.truncated], [tree.slice(0, 2), false]);
  gh.truncateAt = 100_000;
  gh.truncateBytes = JSON.stringify(tree).length - 1;
  assertEquals((await read("?recursive=1")).tree, tree.slice(0, -1));
});

Deno.test("GithubDouble charges a 304 only without a token", async () => {
  let nowMs = 1_000_000;
  await using double = await serveRepository(files, { now: () => nowMs });
  const { gh } = double;
  gh.addToken("t1");
  const request = async (token: boolean, tag: string | null = null) => {
    const headers = new Headers(SHA);
    if (token) headers.set("authorization", "Bearer t1");
    if (tag !== null) headers.set("if-none-match", tag);
    const response = await fetch(`${double.url}/commits/heads%2Fmain`, {
      headers,
    });
    await response.text();
    const remaining = response.headers.get("x-ratelimit-remaining");
    return {
      etag: response.headers.get("etag"),
      answer: [response.status, remaining],
    };
  };
  const [{ etag }, { etag: ownTag }] = [
    await request(false),
    await request(true),
  ];
  assertEquals((await request(false, etag)).answer, [304, "58"]);
  assertEquals((await request(true, ownTag)).answer, [304, "4999"]);
  // A validator belongs to the token that got it.
  assertEquals((await request(true, etag)).answer, [200, "4998"]);
  await double.repository.commit({ "x": "x" });
  assertEquals((await request(true, ownTag)).answer, [200, "4997"]);
  Object.assign(gh.quota(null), { remaining: 0, resetAtMs: 2_000_000 });
  assertEquals((await request(false)).answer, [403, "0"]);
  nowMs = 2_000_000;
  assertEquals((await request(false)).answer, [200, "59"]);
});

Deno.test("GithubDouble shows what is not public to tokens only", async () => {
  await using double = await serveRepository(files);
  const { gh, url } = double;
  const raw = `${gh.rawUrl}/octo/site/${await double.repository
    .head()}/README.md`;
  gh.addToken("t1");
  const statuses = async () => [
    await statusOf(url, { authorization: "Bearer t1" }),
    await statusOf(url, { authorization: "Bearer nobody" }),
    await statusOf(url),
    await statusOf(raw),
  ];
  assertEquals(await statuses(), [200, 401, 200, 200]);
  for (const visibility of ["private", "internal"] as const) {
    gh.setVisibility("octo/site", visibility);
    assertEquals(await statuses(), [200, 401, 404, 404]);
  }
});

Deno.test("GithubDouble ends with an error for unexpected requests", async () => {
  await using double = await serveRepository(files);
  const { gh, url } = double;
  const raw = `${gh.rawUrl}/octo/site/${await double.repository
    .head()}/README.md`;
  const token = { authorization: "Bearer t1" };
  gh.addToken("t1");
  const query = (query: string): RequestInit => ({
    method: "POST",
    headers: token,
    body: JSON.stringify({ query, variables: { owner: "octo", name: "site" } }),
  });
  const refused: [url: string, init: RequestInit, reason: string][] = [
    [`${url}/issues`, {}, "no such endpoint"],
    [url, { headers: { accept: "text/html" } }, 'media type "text/html"'],
    [url, { method: "POST" }, "method POST"],
    [`${url}/git/trees/main?page=2`, {}, 'query parameter "page"'],
    [`${gh.apiUrl}/user`, {}, "no such path"],
    [
      `${gh.rawUrl}/octo/site/main/README.md`,
      {},
      "not a GET of /owner/repo/commit/path",
    ],
    [raw, { headers: token }, "a token at the raw host"],
    [url.replace("127.0.0.1", "localhost"), {}, "host localhost"],
    [gh.graphqlUrl, query("{ viewer { login } }"), "GraphQL"],
    [gh.graphqlUrl, query("mutation { x }"), "GraphQL"],
  ];
  for (const [url, init, reason] of refused) {
    const response = await fetch(url, init);
    assertEquals([response.status, (await response.json()).status], [
      418,
      "418",
    ], url);
    assertStringIncludes(gh.unexpected.at(-1)!, reason);
  }
  const { host, port, pathname } = new URL(url);
  const { status } = await rawRequest(
    Number(port),
    `GET ${pathname} HTTP/1.1`,
    `Host: ${host}`,
  );
  assertEquals(status, 418);
  assertStringIncludes(gh.unexpected.at(-1)!, "no User-Agent");
  const ending = () => gh[Symbol.asyncDispose]();
  const { message } = await assertRejects(
    ending,
    Error,
    "Cannot accept requests",
  );
  assertEquals(message.split("\n").length, 1 + refused.length + 1);
  gh.unexpected.length = 0;
});
