// What a token sees beyond the public stays unseen: in what is asked, in when an answer comes, in what it costs, and in
// what is kept of it.

import { assertEquals } from "@std/assert";
import { makeGitRepository } from "../github/git_repository.ts";
import { itemPath, listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = "ghp_token";

/** `octo/site` is private, `octo/empty` is private and has no commit, `octo/none` is not there. */
async function startWithSecrets(env: Record<string, string> = {}, kv?: Deno.Kv): Promise<Site> {
  const site = await startSite({ "posts/a.md": "canarySecret" }, {
    env: { GITHUB_TOKEN: TOKEN, ...env },
    ...(kv === undefined ? {} : { kv }),
  });
  site.gh.addToken(TOKEN, { sees: "all" });
  site.gh.setVisibility("octo/site", "private");
  site.gh.addEmpty("octo/empty");
  site.gh.setVisibility("octo/empty", "internal");
  return site;
}

const SAME = ["site", "empty", "none"];

Deno.test("an answer waits for every question, whichever has told enough", async () => {
  for (const kind of ["commit", "repo"] as const) {
    for (const repo of SAME) {
      await using site = await startWithSecrets();
      const { gh, service, repository } = site;
      const held = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      gh.intercept = async (_request, logged) => {
        if (logged.kind === kind && logged.path.startsWith(`/repos/octo/${repo}`)) {
          held.resolve();
          await gate.promise;
        }
        return null;
      };
      let isAnswered = false;
      const answer = service.get(listPath({ repo })).finally(() => isAnswered = true);
      // Either, so that a service that does not wait fails here and does not hang.
      await Promise.race([held.promise, answer]);
      for (const owner of ["other", "another"]) {
        // By the time that a request has gone all the way, what was answered before it has been read.
        gh.add(`${owner}/site`, repository);
        assertEquals((await service.get(listPath({ owner }))).status, 200);
        await gh.log.until(() => gh.log.inFlight <= 1);
      }
      const isEarly = isAnswered;
      const asked = gh.requests.filter(({ path }) => path.startsWith(`/repos/octo/${repo}`)).length;
      gate.resolve();
      const { status } = await answer;
      assertEquals([kind, repo, { asked, isEarly, status }], [kind, repo, {
        asked: 2,
        isEarly: false,
        status: 404,
      }]);
    }
  }
});

Deno.test("what is private fails as what is missing does, while the source fails", async () => {
  const faults = [
    { kind: "status", status: 500 },
    { kind: "garbage" },
    { kind: "forbidden" },
    { kind: "status", status: 451 },
    { kind: "status", status: 409 },
    { kind: "status", status: 422 },
  ] as const;
  for (const fault of faults) {
    for (const kind of ["commit", "repo"] as const) {
      const shown = [];
      for (const repo of SAME) {
        await using site = await startWithSecrets();
        site.gh.fault = { ...fault, only: [kind] };
        const response = await site.service.get(listPath({ repo }));
        const { code } = await response.json();
        const asked = site.gh.requests.map(({ path }) => path.replace(repo, "REPO")).sort();
        shown.push([response.status, code, asked]);
      }
      assertEquals([fault.kind, kind, shown[0]], [fault.kind, kind, shown[2]]);
      assertEquals([fault.kind, kind, shown[1]], [fault.kind, kind, shown[2]]);
    }
  }
});

Deno.test("a private repository costs the miss of a missing one, and is asked for again as late", async () => {
  for (const repo of SAME) {
    await using site = await startWithSecrets({ MISSES_PER_MINUTE: "1" });
    const { service, gh } = site;
    const status = async (path: string) => (await service.get(path)).status;

    assertEquals(await status(listPath({ repo })), 404);
    // A second miss is one too many.
    assertEquals(await status(listPath({ repo: "other" })), 429);
    gh.resetCounts();
    assertEquals(await status(listPath({ repo })), 404);
    assertEquals(await status(itemPath({ repo, path: "posts/a.md" })), 404);
    service.clock.advance(59_999);
    assertEquals(await status(listPath({ repo })), 404);
    assertEquals([repo, gh.counts()], [repo, {}]);
    service.clock.advance(1);
    assertEquals(await status(listPath({ repo })), 404);
    assertEquals([repo, gh.counts()], [repo, { commit: 1, repo: 1 }]);
  }
});

Deno.test("nothing is kept of a private repository, as of a missing one", async () => {
  const dir = await Deno.makeTempDir({ prefix: "visibility_" });
  const path = `${dir}/store.sqlite`;
  try {
    await using site = await startWithSecrets({}, await Deno.openKv(path));
    for (const repo of SAME) {
      await site.service.get(listPath({ repo, includeContent: true }));
      await site.service.get(itemPath({ repo, path: "posts/a.md" }));
    }
    // Closing writes what waits.
    await site.service.services.close();
    using kv = await Deno.openKv(path);
    assertEquals(await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => key.join()), []);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("no branch, tree or default branch of a private repository is told", async () => {
  await using site = await startWithSecrets();
  const { service, gh, repository } = site;
  await repository.branch("canaryBranch");
  gh.registry.get("octo/site").defaultBranch = "canaryBranch";
  for (
    const path of [
      listPath({ branch: "none" }),
      listPath({ branch: "HEAD" }),
      listPath({ branch: "canaryBranch" }),
      listPath({ branch: await repository.head() }),
      listPath({ collection: "post" }),
      itemPath({ path: "posts" }),
    ]
  ) {
    const response = await service.get(path);
    const { code } = await response.json();
    assertEquals([path, response.status, code], [path, 404, "repository-not-found"]);
  }
  assertEquals(Object.keys(gh.counts()).sort(), ["commit", "repo"]);
});

Deno.test("a repository that becomes private takes nothing along: not its other branches, not its tree, not its name", async () => {
  await using other = await makeGitRepository({ "posts/b.md": "public" });
  await using site = await startWithSecrets();
  const { service, gh, repository } = site;
  gh.setVisibility("octo/site", "public");
  await repository.branch("dev");
  const paths = [
    listPath({ includeContent: true }),
    listPath({ branch: "dev", includeContent: true }),
    itemPath({ branch: "dev", path: "posts/a.md", format: "raw" }),
  ];
  for (const path of paths) assertEquals((await service.get(path)).status, 200);

  gh.setVisibility("octo/site", "private");
  service.clock.advance(60_000);
  // One branch is asked for while GitHub answers, then it fails: none may stand in.
  assertEquals((await service.get(paths[0]!)).status, 404);
  gh.fault = { kind: "status", status: 500 };
  for (const path of paths) {
    const response = await service.get(path);
    assertEquals([path, response.status], [path, 404]);
    assertEquals((await response.text()).includes("canary"), false);
  }

  gh.fault = null;
  gh.add("octo/site", other);
  service.clock.advance(60_000);
  assertEquals((await service.list()).items.map(({ name }) => name), ["b.md"]);
});
