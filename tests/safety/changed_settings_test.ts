// A store outlives its settings. What was served under others is never shown again, not even while the source fails and
// older answers stand in.

import { assertEquals } from "@std/assert";
import { itemPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

const TOKEN = "ghp_token";
const PATHS = [listPath({ includeContent: true }), itemPath({ path: "posts/a.md" })];

/** What a service on a store of its own shows first, and another one with changed settings while GitHub is down. */
async function statusAfter(change: Readonly<Record<string, string>>): Promise<number[]> {
  const dir = await Deno.makeTempDir({ prefix: "changed_settings_" });
  const openStore = () => Deno.openKv(`${dir}/store.sqlite`);
  const env = { GITHUB_TOKEN: TOKEN, ALLOWED_REPOS: "octo/site" };
  try {
    await using site = await startSite({ "posts/a.md": "canarySecret" }, {
      env,
      kv: await openStore(),
    });
    const { gh, service: { clock } } = site;
    gh.addToken(TOKEN, { sees: "all" });
    gh.setVisibility("octo/site", "private");
    for (const path of PATHS) assertEquals((await site.service.get(path)).status, 200);
    await site.service.services.close();
    await gh.down();
    clock.advance(60_000);
    await using again = await startService({
      github: gh,
      clock,
      kv: await openStore(),
      env: { ...env, ...change },
    });
    return await Promise.all(PATHS.map(async (path) => (await again.get(path)).status));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("a restart with the same settings shows what stood in the store", async () => {
  assertEquals(await statusAfter({}), [200, 200]);
});

Deno.test("without ALLOWED_REPOS nothing of what it allowed is shown from the store", async () => {
  assertEquals(await statusAfter({ ALLOWED_REPOS: "" }), [502, 502]);
});

Deno.test("ALLOWED_REPOS that name another repository leave nothing of the first", async () => {
  assertEquals(await statusAfter({ ALLOWED_REPOS: "octo/other" }), [403, 403]);
});

Deno.test("with another GitHub nothing of the first is shown from the store", async () => {
  assertEquals(await statusAfter({ GITHUB_API_URL: "http://127.0.0.1:2" }), [502, 502]);
});
