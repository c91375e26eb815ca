// What GitHub no longer shows is not served, within 60 s, by any tier or process, whatever happens to GitHub afterwards.

import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type { GithubDouble } from "../github/github_double.ts";
import { itemPath, listPath, startService, type TestService } from "../service.ts";
import { startSite } from "../site.ts";

const MINUTE_MS = 60_000;
const ENV = { LOG_LEVEL: "silent" };

const PATHS = [
  listPath(),
  listPath({ includeContent: true }),
  itemPath({ path: "posts/a.md" }),
  itemPath({ path: "posts/a.md", format: "raw" }),
];

const removals: [name: string, code: string, act: (gh: GithubDouble) => void][] = [
  ["deleted", "repository-not-found", (gh) => gh.remove("octo/site")],
  ["made private", "repository-not-found", (gh) => gh.setVisibility("octo/site", "private")],
  ["blocked by law", "repository-blocked", (gh) => gh.addBlocked("octo/site")],
  ["forbidden", "repository-not-found", (gh) => gh.addBlocked("octo/site", { status: 403 })],
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
    const folder = await Deno.makeTempDir();
    const path = join(folder, "kv");
    await using site = await startSite({ "posts/a.md": "A\n" }, {
      env: ENV,
      kv: await Deno.openKv(path),
    });
    const { gh, service } = site;
    const { clock } = service;
    const start = async () =>
      await startService({ env: ENV, github: gh, clock, kv: await Deno.openKv(path) });
    await using second = await start();
    for (const process of [service, second]) assertEquals(await answers(process), [200]);

    act(gh);
    clock.advance(MINUTE_MS - 1);
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
    for (const process of [service, second, third]) assertEquals(await answers(process), [code]);
    await Deno.remove(folder, { recursive: true });
  });
}

Deno.test("what a check ahead of need finds missing is not served any more", async () => {
  await using site = await startSite({ "posts/a.md": "A\n" }, {
    env: { ...ENV, GITHUB_TOKEN: "t1" },
  });
  const { gh, service } = site;
  gh.addToken("t1");
  assertEquals(await answers(service), [200]);
  gh.remove("octo/site");
  service.clock.advance(50_000);
  assertEquals(await answers(service), [200]);
  await service.services.refreshDue();
  assertEquals(await answers(service), ["repository-not-found"]);
});

Deno.test("a branch that is deleted is not served after 60 s", async () => {
  await using site = await startSite({ "posts/a.md": "A\n" }, { env: ENV });
  const { gh, repository, service } = site;
  assertEquals(await answers(service), [200]);
  await repository.branch("other");
  await repository.deleteBranch("main");
  service.clock.advance(MINUTE_MS);
  assertEquals(await answers(service), ["branch-not-found"]);
  await gh.down();
  service.clock.advance(MINUTE_MS);
  assertEquals(await answers(service), ["source-failed"]);
});

Deno.test("a repository that comes back is served again after its 60 s", async () => {
  await using site = await startSite({ "posts/a.md": "A\n" }, { env: ENV });
  const { gh, service } = site;
  assertEquals(await answers(service), [200]);
  gh.setVisibility("octo/site", "private");
  service.clock.advance(MINUTE_MS);
  assertEquals(await answers(service), ["repository-not-found"]);
  gh.setVisibility("octo/site", "public");
  assertEquals(await answers(service), ["repository-not-found"]);
  service.clock.advance(MINUTE_MS);
  assertEquals(await answers(service), [200]);
});

Deno.test("a rate limit leaves no tombstone", async () => {
  for (const kind of ["quota403", "quota429", "secondary403", "secondary429"] as const) {
    await using site = await startSite({ "posts/a.md": "A\n" }, { env: ENV });
    const { gh, service } = site;
    assertEquals(await answers(service), [200]);
    gh.fault = { kind };
    for (let times = 0; times < 5; times++) {
      service.clock.advance(MINUTE_MS);
      assertEquals(await answers(service), [200]);
    }
    gh.fault = { kind: "secondary403", retryAfterSeconds: null };
    service.clock.advance(2 * 3_600_000);
    assertEquals(await answers(service), [200]);
  }
});
