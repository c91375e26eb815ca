// What is not served: repositories that the operator did not allow, private ones that a token can read, and store entries
// from other settings. A private repository answers as a missing one does, down to its cost and its requests.

import { assertEquals } from "@std/assert";
import { makeGitRepository } from "../github/git_repository.ts";
import { itemPath, listPath, type Parameters, startService } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = "ghp_token";
const FILES = { "posts/a.md": "canarySecret" };
const PATHS = [listPath({ includeContent: true }), itemPath({ path: "posts/a.md" })];

/** `octo/site` is private, `octo/void` is internal and has no commit, `octo/none` does not exist. */
async function startWithSecrets(env: Record<string, string> = {}, kv?: Deno.Kv): Promise<Site> {
  const site = await startSite(FILES, {
    env: { GITHUB_TOKEN: TOKEN, ...env },
    ...(kv === undefined ? {} : { kv }),
  });
  site.gh.addToken(TOKEN, { sees: "all" });
  site.gh.setVisibility("octo/site", "private");
  site.gh.addEmpty("octo/void");
  site.gh.setVisibility("octo/void", "internal");
  return site;
}

const SAME = ["site", "void", "none"];

Deno.test("ALLOWED_REPOS serves what it names, in any case, and nothing else", async () => {
  await using site = await startSite(FILES, { env: { ALLOWED_REPOS: " Octo/SITE , team/* " } });
  const { service, gh, repository } = site;
  for (const name of ["team/any", "octo/other"]) gh.add(name, repository);
  const status = async (owner: string, repo: string, branch = "main") =>
    (await service.get(listPath({ owner, repo, branch }))).status;

  for (const [owner, repo] of [["octo", "other"], ["octo", "none"], ["local", "blog"]] as const) {
    assertEquals(await status(owner, repo), 403);
  }
  assertEquals(gh.counts(), {});
  assertEquals(await status("octo", "site"), 200);
  assertEquals(await status("TEAM", "Any"), 200);
  // A commit id may be that of a fork.
  assertEquals(await status("octo", "site", await repository.head()), 404);
});

Deno.test("ALLOWED_REPOS serves private repositories that it names; otherwise none is", async () => {
  const statusWith = async (env: Record<string, string>) => {
    await using site = await startWithSecrets(env);
    return (await site.service.get(listPath())).status;
  };
  assertEquals(await statusWith({ ALLOWED_REPOS: "octo/site" }), 200);
  assertEquals(await statusWith({}), 404);
});

Deno.test("LOCAL_REPOS_DIR=none leaves the owner `local` to GitHub, unset serves the examples", async () => {
  const path = listPath({ owner: "local", repo: "blog" });
  await using none = await startSite(FILES, { env: { LOCAL_REPOS_DIR: "none" } });
  await using examples = await startService({ env: { LOCAL_REPOS_DIR: "" } });

  assertEquals((await none.service.get(path)).status, 404);
  assertEquals((await examples.get(path)).status, 200);
});

/** Everything that a client can see of a response but its id, and its requests, the repository's name replaced. */
async function shownFor(site: Site, path: (parameters: Parameters) => string, repo: string) {
  site.gh.resetCounts();
  const response = await site.service.get(path({ repo }));
  const headers = [...response.headers].filter(([name]) => name !== "x-request-id");
  const { requestId: _, ...body } = await response.json();
  const requests = site.gh.requests.map(({ kind, path }) =>
    `${kind} ${path.replace(repo, "REPO")}`
  );
  const text = JSON.stringify(body).replaceAll(repo, "REPO");
  return { status: response.status, headers, text, requests: requests.sort() };
}

Deno.test("a private or internal repository answers as one that is missing", async () => {
  await using site = await startWithSecrets();
  const paths: ((parameters: Parameters) => string)[] = [
    (given) => listPath(given),
    (given) => listPath({ ...given, branch: "none" }),
    (given) => listPath({ ...given, collection: "none" }),
    (given) => itemPath({ ...given, path: "posts/a.md" }),
    (given) => itemPath({ ...given, path: "posts/a.md", branch: "other", format: "raw" }),
  ];
  for (const path of paths) {
    const missing = await shownFor(site, path, "none");
    assertEquals(missing.status, 404);
    for (const repo of ["site", "void"]) assertEquals(await shownFor(site, path, repo), missing);
  }
  const lines = site.service.logLines("request").map(({ status, cache }) => `${status} ${cache}`);
  assertEquals(new Set(lines).size, 1);
});

Deno.test("a response waits for all of its requests, even when one would be enough", async () => {
  for (const kind of ["commit", "repo"] as const) {
    for (const repo of SAME) {
      await using site = await startWithSecrets();
      const { gh, service, repository } = site;
      const held = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      const isOwn = (path: string) => path.startsWith(`/repos/octo/${repo}`);
      gh.intercept = async (_request, logged) => {
        if (logged.kind === kind && isOwn(logged.path)) {
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
        // Once a request has gone all the way, answers before it have been read.
        gh.add(`${owner}/site`, repository);
        assertEquals((await service.get(listPath({ owner }))).status, 200);
        await gh.log.until(() => gh.log.inFlight <= 1);
      }
      const seen = { isAnswered, requests: gh.requests.filter(({ path }) => isOwn(path)).length };
      gate.resolve();
      const { status } = await answer;
      const expected = { isAnswered: false, requests: 2, status: 404 };
      assertEquals([kind, repo, { ...seen, status }], [kind, repo, expected]);
    }
  }
});

Deno.test("what is private fails as what is missing does, while the source fails", async () => {
  const faults = [
    ...[500, 451, 409, 422].map((status) => ({ kind: "status", status } as const)),
    { kind: "garbage" } as const,
    { kind: "forbidden" } as const,
  ];
  for (const fault of faults) {
    for (const kind of ["commit", "repo"] as const) {
      const shown = [];
      for (const repo of SAME) {
        await using site = await startWithSecrets();
        site.gh.fault = { ...fault, only: [kind] };
        const { status, text, requests } = await shownFor(site, listPath, repo);
        shown.push([status, text, requests]);
      }
      assertEquals([fault.kind, kind, shown[0]], [fault.kind, kind, shown[2]]);
      assertEquals([fault.kind, kind, shown[1]], [fault.kind, kind, shown[2]]);
    }
  }
});

Deno.test("a private repository costs the miss of a missing one, and is checked again as late", async () => {
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

Deno.test("no branch, tree or default branch of a private repository is revealed", async () => {
  await using site = await startWithSecrets();
  const { service, gh, repository } = site;
  await repository.branch("canaryBranch");
  gh.registry.get("octo/site").defaultBranch = "canaryBranch";
  const branches = ["none", "HEAD", "canaryBranch", await repository.head()];
  const paths = [
    ...branches.map((branch) => listPath({ branch })),
    listPath({ collection: "post" }),
    itemPath({ path: "posts" }),
  ];
  for (const path of paths) {
    const { status, code } = await service.problem(path);
    assertEquals([path, status, code], [path, 404, "repository-not-found"]);
  }
  assertEquals(Object.keys(gh.counts()).sort(), ["commit", "repo"]);
});

Deno.test("a repository that becomes private takes all of its branches and its name with it", async () => {
  await using other = await makeGitRepository({ "posts/b.md": "public" });
  await using site = await startWithSecrets();
  const { service, gh, repository } = site;
  gh.setVisibility("octo/site", "public");
  await repository.branch("dev");
  const paths = [
    ...PATHS,
    listPath({ branch: "dev", includeContent: true }),
    itemPath({ branch: "dev", path: "posts/a.md", format: "raw" }),
  ];
  for (const path of paths) assertEquals((await service.get(path)).status, 200);

  gh.setVisibility("octo/site", "private");
  service.clock.advance(60_000);
  // One branch is checked while GitHub answers, then it fails: no older response is sent.
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

async function withStore(test: (open: () => Promise<Deno.Kv>) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "visibility_" });
  try {
    await test(() => Deno.openKv(`${dir}/store.sqlite`));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("nothing of a private repository is stored, as of a missing one", () =>
  withStore(async (open) => {
    await using site = await startWithSecrets({}, await open());
    for (const repo of SAME) {
      await site.service.get(listPath({ repo, includeContent: true }));
      await site.service.get(itemPath({ repo, path: "posts/a.md" }));
    }
    await site.service.services.close();
    using kv = await open();
    assertEquals(await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => key.join()), []);
  }));

const CHANGES: [change: Record<string, string>, statuses: number][] = [
  [{}, 200],
  [{ ALLOWED_REPOS: "" }, 502],
  [{ ALLOWED_REPOS: "octo/other" }, 403],
  [{ GITHUB_API_URL: "http://127.0.0.1:2" }, 502],
];

for (const [change, status] of CHANGES) {
  Deno.test(`a restart with ${JSON.stringify(change)} on the same store answers ${status} while GitHub is down`, () =>
    withStore(async (open) => {
      const env = { ALLOWED_REPOS: "octo/site" };
      await using site = await startWithSecrets(env, await open());
      const { gh, service: { clock, services } } = site;
      for (const path of PATHS) assertEquals((await site.service.get(path)).status, 200);
      await services.close();
      await gh.down();
      clock.advance(60_000);
      await using again = await startService({
        github: gh,
        clock,
        kv: await open(),
        env: { GITHUB_TOKEN: TOKEN, ...env, ...change },
      });
      for (const path of PATHS) assertEquals((await again.get(path)).status, status);
    }));
}
