// Tests that the double answers as GitHub documents (data as in git, quotas, redirects, visibility) and refuses what it
// does not expect. Its faults have no tests of their own: a test that uses one expects its effect.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { GithubTree } from "./github_api.ts";
import { type ServedRepository, serveRepository } from "./served_repository.ts";

const files = {
  "README.md": "# Site\n",
  "posts/a.md": "\ufeff# A\n",
  "posts/2026/b é.md": new Uint8Array([0xef, 0xbb, 0xbf, 0x62]),
  "posts/latin.txt": new Uint8Array([0x61, 0xe9]),
  "posts/link": { symlink: "a.md" },
  "vendor/lib": { submodule: "a".repeat(40) },
  "bin/run": { executable: "#!/bin/sh\0\n" },
  "long.txt": "x".repeat(512_001),
};
const SHA = { accept: "application/vnd.github.sha" };

/** Status, headers and body of an answer, redirects not followed. */
async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers, redirect: "manual" });
  const bytes = await response.bytes();
  const text = new TextDecoder().decode(bytes);
  return { status: response.status, headers: response.headers, bytes, text };
}

/** What a server answers to a GET with just these lines in its head. */
async function sendRaw(url: URL, ...lines: string[]): Promise<string> {
  using connection = await Deno.connect({ hostname: url.hostname, port: Number(url.port) });
  const head = [`GET ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`, ...lines];
  const text = `${head.join("\r\n")}\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(text));
  return await new Response(connection.readable).text();
}

Deno.test("GithubDouble lists trees as git does, truncated at its limit, compressed on request", async () => {
  await using double = await serveRepository(files);
  const { gh, url, repository } = double;
  const read = async (query: string): Promise<GithubTree> =>
    JSON.parse((await get(`${url}/git/trees/main${query}`)).text);
  const whole = await read("?recursive=1");
  const listed = whole.tree.filter(({ type }) => type !== "tree")
    .map(({ mode, type, sha, size, path }) => ({ mode, type, oid: sha, size: size ?? null, path }));
  assertEquals([listed, whole.truncated], [await repository.lsTree("main"), false]);
  const top = ["README.md", "bin", "long.txt", "posts", "vendor"];
  assertEquals((await read("")).tree.map(({ path }) => path), top);
  gh.truncateAt = 4;
  const cut = await read("?recursive=0");
  assertEquals([cut.tree, cut.truncated], [whole.tree.slice(0, 4), true]);
  assertEquals((await read("")).truncated, false);
  gh.truncateAt = 100_000;
  gh.truncateBytes = JSON.stringify(whole.tree).length - 1;
  assertEquals((await read("?recursive=1")).tree.length, whole.tree.length - 1);
  assertEquals(gh.counts(), { "tree-recursive": 3, tree: 2 });
  const address = new URL(`${url}/git/trees/main?recursive=1`);
  const coded = await sendRaw(address, "User-Agent: test", "Accept-Encoding: br, gzip");
  assertStringIncludes(coded, "content-encoding: gzip");
  assertStringIncludes(await sendRaw(address, "User-Agent: test"), '"truncated":true');
});

Deno.test("GithubDouble gives the commits, blobs and raw files that git has", async () => {
  await using double = await serveRepository(files);
  const { gh, url, repository } = double;
  const commit = await repository.head();
  for (const ref of ["heads%2Fmain", "main", "HEAD", commit]) {
    assertEquals((await get(`${url}/commits/${ref}`, SHA)).text, commit, ref);
  }
  const { status, text } = await get(`${url}/commits/heads%2Fnone`, SHA);
  assertEquals([status, JSON.parse(text).message], [422, "No commit found for SHA: heads/none"]);
  for (const { oid, type, path } of await repository.lsTree("main")) {
    if (type !== "blob") continue;
    const bytes = await repository.blob(oid);
    const accept = "application/vnd.github.raw+json";
    assertEquals((await get(`${url}/git/blobs/${oid}`, { accept })).bytes, bytes);
    const file = await get(`${gh.rawUrl}/OCTO/site/${commit}/${encodeURI(path)}`);
    assertEquals([file.bytes, file.headers.get("cache-control")], [bytes, "max-age=300"]);
  }
  const rawStatus = async (path: string) =>
    (await get(`${gh.rawUrl}/octo/site/${commit}/${path}`)).status;
  assertEquals([await rawStatus("posts"), await rawStatus("README.md/c")], [404, 404]);
  gh.setVisibility("octo/site", "internal");
  assertEquals(await rawStatus("README.md"), 404);
});

async function post(double: ServedRepository, paths: string[], { token = "t1", query = "" } = {}) {
  const ids = await Promise.all(paths.map((path) => double.repository.resolve(`main:${path}`)));
  const objects = ids.map((id, index) =>
    `f${index}: object(oid: "${id ?? "0".repeat(40)}") { ... on Blob { text } }`
  );
  const whole = `query ($owner: String!, $name: String!) {
    repository(owner: $owner, name: $name) { ${objects.join(" ")} }
  }`;
  const response = await fetch(double.gh.graphqlUrl, {
    method: "POST",
    headers: { authorization: `bearer ${token}` },
    body: JSON.stringify({ query: query || whole, variables: { owner: "octo", name: "site" } }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

Deno.test("GithubDouble reads blobs by GraphQL, with each of GitHub's ways to give less", async () => {
  await using double = await serveRepository(files);
  const { gh } = double;
  gh.addToken("t1");
  const paths = ["posts/a.md", "bin/run", "long.txt", "posts/latin.txt", "absent", "posts"];
  const { body } = await post(double, paths);
  assertEquals(body.data.repository, {
    ...{ f0: { text: "\ufeff# A\n" }, f1: { text: null }, f2: { text: "x".repeat(512_000) } },
    ...{ f3: { text: "a\ufffd" }, f4: null, f5: {} },
  });
  gh.graphqlStripsBom = true;
  gh.graphqlMaxObjects = 1;
  const partial = (await post(double, ["posts/a.md", "README.md"])).body;
  assertEquals([partial.data.repository.f0.text, partial.data.repository.f1], ["# A\n", null]);
  assertEquals(partial.errors[0].type, "RESOURCE_LIMITS_EXCEEDED");
  assertEquals([gh.quotaSpent("t1", "graphql"), gh.quotaSpent("t1")], [2, 0]);
  gh.setQuota("t1", { resource: "graphql", remaining: 0 });
  const spent = await post(double, ["README.md"]);
  assertEquals([spent.status, spent.body.errors[0].type], [200, "RATE_LIMITED"]);
  assertEquals(spent.headers.get("x-ratelimit-remaining"), "0");
  assertEquals((await post(double, ["README.md"], { token: "nobody" })).status, 401);
  gh.setQuota("t1", { resource: "graphql", remaining: 9 });
  gh.setVisibility("octo/site", "private");
  assertEquals((await post(double, ["README.md"])).body.errors[0].type, "NOT_FOUND");
});

Deno.test("GithubDouble charges a 304 only without a token, and refuses until the quota's reset", async () => {
  let nowMs = 1_000_000;
  await using double = await serveRepository(files, { now: () => nowMs });
  const { gh } = double;
  gh.addToken("t1");
  const request = async (token: boolean, tag: string | null = null) => {
    const { status, headers } = await get(`${double.url}/commits/heads%2Fmain`, {
      ...{ ...SHA, ...(tag === null ? {} : { "if-none-match": tag }) },
      ...(token ? { authorization: "Bearer t1" } : {}),
    });
    return { etag: headers.get("etag"), answer: [status, headers.get("x-ratelimit-remaining")] };
  };
  const [{ etag }, { etag: ownTag }] = [await request(false), await request(true)];
  assertEquals((await request(false, etag)).answer, [304, "58"]);
  assertEquals((await request(true, ownTag)).answer, [304, "4999"]);
  // A validator belongs to the token that got it.
  assertEquals((await request(true, etag)).answer, [200, "4998"]);
  assertEquals([gh.quotaSpent(null), gh.quotaSpent("t1")], [2, 2]);
  await double.repository.commit({ "x": "x" });
  assertEquals((await request(true, ownTag)).answer, [200, "4997"]);
  gh.setQuota(null, { remaining: 0, resetAtMs: 2_000_000 });
  assertEquals((await request(false)).answer, [403, "0"]);
  nowMs = 2_000_000;
  assertEquals((await request(false)).answer, [200, "59"]);
});

Deno.test("GithubDouble redirects a renamed repository, in each form", async () => {
  await using double = await serveRepository(files);
  const { gh, url } = double;
  const byId = `${gh.apiUrl}/repositories/1001/commits/main`;
  const forms = [
    ["numeric", byId],
    ["named", `${gh.apiUrl}/repos/octo/moved/commits/main`],
    ["other-host", byId.replace("127.0.0.1", "localhost")],
    ["none", null],
  ] as const;
  for (const [location, expected] of forms) {
    gh.rename("octo/site", "octo/moved", { location });
    const { status, headers } = await get(`${url}/commits/main`, SHA);
    assertEquals([location, status, headers.get("location")], [location, 301, expected]);
    gh.rename("octo/moved", "octo/site");
  }
  assertEquals((await get(byId, SHA)).text, await double.repository.head());
  assertEquals(gh.counts(), { redirect: 4, commit: 1 });
  gh.rename("octo/site", "octo/hidden");
  gh.setVisibility("octo/hidden", "private");
  assertEquals((await get(url)).status, 404);
});

Deno.test("GithubDouble answers for empty, blocked, removed and private repositories, and bad tokens", async () => {
  await using double = await serveRepository(files);
  const { gh } = double;
  gh.addEmpty("o/empty");
  gh.addBlocked("o/blocked");
  gh.addToken("blind");
  gh.addToken("owner", { sees: "all" });
  const expect = async (status: number, path: string, token = "") => {
    const headers = token === "" ? {} : { authorization: `token ${token}` };
    const answer = await get(`${gh.apiUrl}/repos/${path}`, headers);
    assertEquals([path, token, answer.status], [path, token, status]);
  };
  await expect(409, "o/empty/git/trees/main");
  await expect(451, "o/blocked");
  await expect(200, "octo/site");
  await expect(401, "octo/site", "nobody");
  gh.setVisibility("octo/site", "private");
  await expect(404, "octo/site");
  await expect(404, "octo/site", "blind");
  await expect(200, "octo/site", "owner");
  gh.remove("octo/site");
  await expect(404, "octo/site", "owner");
  gh.revokeToken("owner");
  await expect(401, "octo/site", "owner");
});

Deno.test("GithubDouble.close() throws on every request that it does not expect", async () => {
  await using double = await serveRepository(files, { assert: false });
  const { gh, url } = double;
  gh.addToken("t1");
  const raw = `${gh.rawUrl}/octo/site/${await double.repository.head()}/README.md`;
  const refused: [url: string, headers: Record<string, string>, reason: string][] = [
    [`${url}/issues`, {}, "no such endpoint"],
    [url, { accept: "text/html" }, 'media type "text/html"'],
    [`${url}/git/trees/main?page=2`, {}, 'query parameter "page"'],
    [`${gh.apiUrl}/user`, {}, "no such path"],
    [`${gh.rawUrl}/octo/site/main/README.md`, {}, "not a GET of /owner/repo/commit/path"],
    [raw, { authorization: "Bearer t1" }, "a token at the raw host"],
    [url.replace("127.0.0.1", "localhost"), {}, "host localhost"],
  ];
  for (const [url, headers, reason] of refused) {
    assertEquals((await get(url, headers)).status, 418, url);
    assertStringIncludes(gh.unexpected.at(-1)!, reason);
  }
  for (const query of ["{ viewer { login } }", "mutation { x }"]) {
    assertEquals((await post(double, [], { query })).status, 418);
  }
  assertStringIncludes(await sendRaw(new URL(url)), "418");
  assertStringIncludes(gh.unexpected.at(-1)!, "no User-Agent");
  const error = await assertRejects(() => gh.close(), Error, "Cannot accept requests");
  assertEquals(error.message.split("\n").length, 1 + refused.length + 2 + 1);
});
