// A token may see what the public does not. What is private answers as what is missing does, down to the questions that
// are asked for it.

import { assertEquals } from "@std/assert";
import { itemPath, listPath, type Parameters } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = "ghp_token";

async function startWithToken(): Promise<Site> {
  const site = await startSite({ "posts/a.md": "canarySecret" }, { env: { GITHUB_TOKEN: TOKEN } });
  site.gh.addToken(TOKEN, { sees: "all" });
  return site;
}

/** Everything that a caller can see of an answer but its id, with the repository's name replaced. */
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
