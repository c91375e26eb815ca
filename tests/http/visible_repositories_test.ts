// What a deployment serves: everything that is public, or what its operator named. What is private answers as what is
// missing does, down to the requests that are sent for it.

import { assertEquals } from "@std/assert";
import { itemPath, listPath, type Parameters, startService } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const FILES = { "posts/a.md": "" };
const TOKEN = "ghp_token";

Deno.test("ALLOWED_REPOS serves what it names, in any case, and nothing else", async () => {
  await using site = await startSite(FILES, { env: { ALLOWED_REPOS: " Octo/SITE , team/* " } });
  const { service, gh, repository } = site;
  gh.add("team/any", repository);
  gh.add("octo/other", repository);
  gh.resetCounts();
  const status = async (owner: string, repo: string) =>
    (await service.get(listPath({ owner, repo }))).status;

  assertEquals(await status("octo", "other"), 403);
  assertEquals(await status("octo", "none"), 403);
  assertEquals(await status("local", "blog"), 403);
  assertEquals(gh.counts(), {});
  assertEquals(await status("octo", "site"), 200);
  assertEquals(await status("TEAM", "Any"), 200);
});

Deno.test("ALLOWED_REPOS serves private repositories that it names; otherwise none is", async () => {
  const statusWith = async (env: Record<string, string>) => {
    await using site = await startSite(FILES, { env: { GITHUB_TOKEN: TOKEN, ...env } });
    site.gh.addToken(TOKEN, { sees: "all" });
    site.gh.setVisibility("octo/site", "private");
    const { status } = await site.service.get(listPath());
    return status;
  };

  assertEquals(await statusWith({ ALLOWED_REPOS: "octo/site" }), 200);
  assertEquals(await statusWith({}), 404);
});

Deno.test("ALLOWED_REPOS refuses commit ids, which may be those of a fork", async () => {
  await using site = await startSite(FILES, { env: { ALLOWED_REPOS: "octo/*" } });
  const { service, repository } = site;
  const branch = await repository.head();

  const { code } = await service.problem(listPath({ branch }));

  assertEquals(code, "branch-not-found");
  assertEquals((await service.list({ branch: "main" })).repository.commit, branch);
});

Deno.test("LOCAL_REPOS_DIR=none leaves the owner `local` to GitHub, unset serves the examples", async () => {
  const path = listPath({ owner: "local", repo: "blog" });
  await using none = await startSite(FILES, { env: { LOCAL_REPOS_DIR: "none" } });
  await using examples = await startService({ env: { LOCAL_REPOS_DIR: "" } });

  assertEquals((await none.service.get(path)).status, 404);
  assertEquals((await examples.get(path)).status, 200);
});

async function startWithToken(): Promise<Site> {
  const site = await startSite({ "posts/a.md": "canarySecret" }, { env: { GITHUB_TOKEN: TOKEN } });
  site.gh.addToken(TOKEN, { sees: "all" });
  return site;
}

/** Everything that a caller can see of a response but its id, with the repository's name replaced. */
async function shownFor(site: Site, path: (parameters: Parameters) => string, repo: string) {
  site.gh.resetCounts();
  const response = await site.service.get(path({ repo }));
  const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
  const { requestId: _, ...body } = await response.json();
  const asked = site.gh.requests.map(({ kind, path }) => [kind, path.replace(repo, "REPO")]);
  return {
    status: response.status,
    headers,
    body: JSON.stringify(body).replaceAll(repo, "REPO"),
    asked: asked.sort(),
  };
}

for (const visibility of ["private", "internal"] as const) {
  Deno.test(`a repository that is ${visibility} answers as one that is missing`, async () => {
    await using site = await startWithToken();
    site.gh.setVisibility("octo/site", visibility);
    const paths: ((parameters: Parameters) => string)[] = [
      (given) => listPath(given),
      (given) => listPath({ ...given, branch: "none" }),
      (given) => listPath({ ...given, collection: "none" }),
      (given) => itemPath({ ...given, path: "posts/a.md" }),
      (given) => itemPath({ ...given, path: "posts/a.md", branch: "other", format: "raw" }),
    ];

    for (const path of paths) {
      const secret = await shownFor(site, path, "site");
      const missing = await shownFor(site, path, "none");
      assertEquals(secret, missing);
      assertEquals(secret.status, 404);
    }
    const lines = site.service.logLines("request").map(({ status, cache }) => [status, cache]);
    assertEquals(new Set(lines.map(String)).size, 1);
  });
}

Deno.test("a repository that becomes private is not shown after 60 s, to nobody", async () => {
  await using site = await startWithToken();
  const { service, gh } = site;
  assertEquals((await service.get(listPath({ includeContent: true }))).status, 200);
  gh.setVisibility("octo/site", "private");

  service.clock.advance(60_000);

  for (const path of [listPath({ includeContent: true }), itemPath({ path: "posts/a.md" })]) {
    const response = await service.get(path);
    assertEquals(response.status, 404);
    assertEquals((await response.text()).includes("canarySecret"), false);
  }
});
