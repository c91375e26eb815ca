// What a deployment serves: everything that is public, or what its operator named.

import { assertEquals } from "@std/assert";
import { listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

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
