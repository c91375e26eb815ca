// What GitHub no longer shows is not served, within 60 s, by any tier or process, whatever happens to GitHub afterwards.
// That failures leave no tombstone is in ref_checks_test.ts.

import { assert, assertEquals } from "@std/assert";
import { openFile } from "../kv_connect/shared_stores.ts";
import { itemPath, listPath, startService, type TestService } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const MINUTE_MS = 60_000;
const ENV = { LOG_LEVEL: "silent" };

const PATHS = [
  listPath(),
  listPath({ includeContent: true }),
  itemPath({ path: "posts/a.md" }),
  itemPath({ path: "posts/a.md", format: "raw" }),
];

const removals: [name: string, code: string, act: (site: Site) => unknown][] = [
  ["deleted", "repository-not-found", ({ gh }) => gh.remove("octo/site")],
  ["made private", "repository-not-found", ({ gh }) => gh.setVisibility("octo/site", "private")],
  ["blocked by law", "repository-blocked", ({ gh }) => gh.get("octo/site").blocked = 451],
  ["forbidden", "repository-not-found", ({ gh }) => gh.get("octo/site").blocked = 403],
  ["without its branch", "branch-not-found", async ({ repository }) => {
    await repository.branch("other");
    await repository.deleteBranch("main");
  }],
];

async function answers(service: TestService): Promise<(number | string)[]> {
  const found = await Promise.all(PATHS.map(async (path) => {
    const response = await service.get(path);
    return response.status === 200 ? 200 : (await response.json()).code as string;
  }));
  return [...new Set(found)];
}

for (const [name, code, act] of removals) {
  Deno.test(`a repository that is ${name} is not served after 60 s, by any tier or process`, async () => {
    await using store = await openFile();
    const kv = await store.open();
    // A tombstone is written whatever was written before.
    const env = { ...ENV, KV_WRITE_MB_PER_HOUR: "0" };
    await using site = await startSite({ "posts/a.md": "A\n" }, { env, kv });
    const { gh, service } = site;
    const { clock } = service;
    const start = async () =>
      await startService({ env: ENV, github: gh, clock, kv: await store.open() });
    await using second = await start();
    for (const process of [service, second]) assertEquals(await answers(process), [200]);

    clock.advance(MINUTE_MS - 1);
    await act(site);
    for (const process of [service, second]) assertEquals(await answers(process), [200]);
    clock.advance(1);
    assertEquals(await answers(service), [code]);
    // The second process can only read it from the store: GitHub sends it nothing.
    gh.fault = { kind: "status", status: 500 };
    assertEquals(await answers(second), [code]);
    await using third = await start();
    assert(!(await answers(third)).includes(200));
    clock.advance(3_600_000);
    assertEquals(await answers(service), ["source-failed"]);
    assertEquals(await answers(second), [code]);
    gh.fault = null;
    clock.advance(MINUTE_MS);
    const processes = [service, second, third];
    for (const process of processes) assertEquals(await answers(process), [code]);
    if (name === "made private") {
      gh.setVisibility("octo/site", "public");
      for (const process of processes) assertEquals(await answers(process), [code]);
      clock.advance(MINUTE_MS);
      for (const process of processes) assertEquals(await answers(process), [200]);
    }
  });
}

Deno.test("what a check ahead of need finds missing is not served any more", async () => {
  const env = { ...ENV, GITHUB_TOKEN: "t1" };
  await using site = await startSite({ "posts/a.md": "A\n" }, { env });
  const { gh, service } = site;
  gh.addToken("t1");
  assertEquals(await answers(service), [200]);
  gh.remove("octo/site");
  service.clock.advance(50_000);
  assertEquals(await answers(service), [200]);
  await service.services.refreshDue();
  assertEquals(await answers(service), ["repository-not-found"]);
});
