// Proves the double's accounts, names and log: quotas, redirects, who sees what, what is refused.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { get } from "./get.ts";
import { serveRepository } from "./served_repository.ts";

const files = { "README.md": "# Site\n", "posts/a.md": "# A\n" };
const sha = { accept: "application/vnd.github.sha" };

Deno.test("GithubDouble charges a 304 only to callers without a token", async () => {
  await using double = await serveRepository(files, { now: () => 1_000_000 });
  const { gh, url: api } = double;
  gh.addToken("t1");
  const url = `${api}/commits/heads%2Fmain`;
  const anonymous = await get(url, sha);
  const named = await get(url, { ...sha, authorization: "Bearer t1" });
  const [tag, ownTag] = [anonymous.headers.get("etag")!, named.headers.get("etag")!];
  const again = await get(url, { ...sha, "if-none-match": tag });
  assertEquals([again.status, again.headers.get("x-ratelimit-remaining")], [304, "58"]);
  const ask = (tag: string) =>
    get(url, { ...sha, authorization: "Bearer t1", "if-none-match": tag });
  const free = await ask(ownTag);
  assertEquals([free.status, free.headers.get("x-ratelimit-remaining")], [304, "4999"]);
  assertEquals((await ask(tag)).status, 200, "a validator belongs to the token that got it");
  assertEquals([gh.quotaSpent(null), gh.quotaSpent("t1")], [2, 2]);
  await double.repository.commit({ "x": "x" });
  assertEquals((await ask(ownTag)).status, 200);
});

Deno.test("GithubDouble refuses when the quota is spent, until its reset", async () => {
  let nowMs = 1_000_000;
  await using double = await serveRepository(files, { now: () => nowMs });
  double.gh.setQuota(null, { remaining: 1, resetAtMs: 2_000_000 });
  assertEquals((await get(double.url)).status, 200);
  const refused = await get(double.url);
  assertEquals([refused.status, refused.headers.get("x-ratelimit-reset")], [403, "2000"]);
  assertEquals(refused.headers.get("x-ratelimit-remaining"), "0");
  nowMs = 2_000_000;
  assertEquals((await get(double.url)).status, 200);
});

Deno.test("GithubDouble redirects a renamed repository to its id", async () => {
  await using double = await serveRepository(files);
  double.gh.rename("octo/site", "Octo/Moved");
  const moved = await get(`${double.url}/commits/heads%2Fmain`, sha);
  assertEquals(moved.status, 301);
  const location = moved.headers.get("location")!;
  assertEquals(new URL(location).pathname, "/repositories/1001/commits/heads%2Fmain");
  assertEquals((await get(location, sha)).text, await double.repository.head());
  assertEquals(double.gh.counts(), { redirect: 1, commit: 1 });
});

Deno.test("GithubDouble knows empty, blocked, removed and private repositories", async () => {
  await using double = await serveRepository(files);
  const { gh } = double;
  gh.addEmpty("o/empty");
  gh.addBlocked("o/blocked");
  gh.addToken("blind");
  gh.addToken("owner", { sees: ["OCTO/site"] });
  const status = async (path: string, token?: string) => {
    const headers = token ? { authorization: `token ${token}` } : {};
    return (await get(`${gh.apiUrl}/repos/${path}`, headers as Record<string, string>)).status;
  };
  assertEquals(await status("o/empty/commits/heads%2Fmain"), 409);
  assertEquals(await status("o/empty/git/trees/main"), 409);
  assertEquals(await status("o/blocked/commits/heads%2Fmain"), 451);
  assertEquals(await status("octo/site", "nobody"), 401);
  gh.setVisibility("octo/site", "private");
  assertEquals(await status("octo/site"), 404);
  assertEquals(await status("octo/site", "blind"), 404);
  assertEquals(await status("octo/site", "owner"), 200);
  gh.remove("octo/site");
  assertEquals(await status("octo/site", "owner"), 404);
});

Deno.test("GithubDouble redirects in each form, loops included", async () => {
  await using double = await serveRepository(files);
  const { gh, url } = double;
  const location = async () => (await get(`${url}/commits/main`)).headers.get("location");
  gh.rename("octo/site", "octo/moved", { location: "named" });
  assertEquals(await location(), `${gh.apiUrl}/repos/octo/moved/commits/main`);
  gh.redirect("octo/site", "{api}/repos/octo/site{rest}");
  assertEquals(await location(), `${url}/commits/main`);
  gh.rename("octo/moved", "octo/site");
  gh.rename("octo/site", "octo/moved", { location: "none" });
  assertEquals(await location(), null);
  gh.setVisibility("octo/moved", "private");
  assertEquals((await get(url)).status, 404);
});

Deno.test("GithubDouble refuses a revoked token", async () => {
  await using double = await serveRepository(files);
  double.gh.addToken("t1");
  const authorization = "Bearer t1";
  assertEquals((await get(double.url, { authorization })).status, 200);
  double.gh.revokeToken("t1");
  const refused = await get(double.url, { authorization });
  assertEquals([refused.status, JSON.parse(refused.text).message], [401, "Bad credentials"]);
  assertEquals([double.gh.quotaSpent("t1"), double.gh.requests[1]?.token], [1, null]);
});

Deno.test("GithubDouble.close() throws on a request that it does not expect", async () => {
  await using double = await serveRepository(files, { assert: false });
  assertEquals((await get(`${double.url}/issues`)).status, 418);
  assertEquals((await get(double.url, { accept: "text/html" })).status, 418);
  const refused = await assertRejects(() => double.gh.close(), Error);
  assertStringIncludes(refused.message, "GET /repos/octo/site/issues: no such endpoint");
  assertStringIncludes(refused.message, 'GET /repos/octo/site: media type "text/html"');
});

Deno.test("GithubDouble expects a User-Agent", async () => {
  await using double = await serveRepository(files, { assert: false });
  const { hostname, port, pathname, host } = new URL(double.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const request = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  assertStringIncludes(await new Response(connection.readable).text(), "418");
  assertEquals(double.gh.unexpected, ["GET /repos/octo/site: no User-Agent"]);
});
