// What is not served: repositories that the operator did not allow, private
// ones that a token can read, and store entries from other settings. A private
// repository answers as a missing one does, down to its cost and its requests.

import { assertEquals } from "@std/assert";
import { nextRequestId } from "../../lib/http/state.ts";
import type { Fault } from "../github/github_faults.ts";
import {
  itemPath,
  listPath,
  type Parameters,
  startService,
  type TestService,
} from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = "ghp_token";
const FILES = { "posts/a.md": "canarySecret" };
/**
 * `octo/site` is private, `octo/void` is internal and has no commit,
 * `octo/none` does not exist.
 */
async function startWithSecrets(
  env: Record<string, string> = {},
  kv?: Deno.Kv,
): Promise<Site> {
  const settings = { GITHUB_TOKEN: TOKEN, ...env };
  const site = await startSite(FILES, { env: settings, ...kv && { kv } });
  site.gh.setVisibility("octo/site", "private");
  site.gh.add("octo/void", null, { visibility: "internal" });
  return site;
}

const SAME = ["site", "void", "none"];

const statusOf = async ({ service }: { service: TestService }, path: string) =>
  (await service.get(path)).status;

Deno.test("ALLOWED_REPOS serves what it names and nothing else", async () => {
  await using site = await startWithSecrets({
    ALLOWED_REPOS: " Octo/SITE , team/* ",
  });
  const { gh, repository } = site;
  for (const name of ["team/any", "octo/other"]) gh.add(name, repository);
  const status = (owner: string, repo: string, branch = "main") =>
    statusOf(site, listPath({ owner, repo, branch }));

  for (
    const name of ["octo/other", "octo/site2", "teammate/any", "local/blog"]
  ) {
    const [owner = "", repo = ""] = name.split("/");
    assertEquals([name, await status(owner, repo)], [name, 403]);
  }
  assertEquals(gh.counts(), {});
  assertEquals(await status("octo", "site"), 200);
  assertEquals(await status("OCTO", "Site"), 200);
  assertEquals(await status("TEAM", "Any"), 200);
  // A commit id may be that of a fork.
  assertEquals(await status("octo", "site", await repository.head()), 404);
});

/**
 * Everything that a client can see of a response but its id, and its requests,
 * the repository's name replaced.
 */
async function shownFor(
  site: Site,
  path: (parameters: Parameters) => string,
  repo: string,
) {
  site.gh.resetCounts();
  const response = await site.service.get(path({ repo }));
  const headers = [...response.headers].filter(([name]) =>
    name !== "x-request-id"
  );
  const { requestId: _, ...body } = await response.json();
  const requests = site.gh.requests.map(({ kind, path }) =>
    `${kind} ${path.replace(repo, "REPO")}`
  );
  const text = JSON.stringify(body).replaceAll(repo, "REPO");
  return { status: response.status, headers, text, requests: requests.sort() };
}

Deno.test("a private repository answers as one that is missing", async () => {
  await using site = await startWithSecrets();
  const { gh, repository } = site;
  // Ids of one length, since problems carry them.
  while (nextRequestId().length < "12345678-100".length);
  await repository.branch("canaryBranch");
  gh.get("octo/site").defaultBranch = "canaryBranch";
  const branches = [
    "main",
    "none",
    "HEAD",
    "canaryBranch",
    await repository.head(),
  ];
  const paths: ((parameters: Parameters) => string)[] = [
    ...branches.map((branch) => (given: Parameters) =>
      listPath({ ...given, branch })
    ),
    (given) => listPath({ ...given, collection: "none" }),
    (given) => itemPath({ ...given, path: "posts" }),
    (given) => itemPath({ ...given, path: "posts/a.md" }),
    (given) =>
      itemPath({
        ...given,
        path: "posts/a.md",
        branch: "other",
        format: "raw",
      }),
  ];
  for (const path of paths) {
    const missing = await shownFor(site, path, "none");
    assertEquals([missing.status, JSON.parse(missing.text).code], [
      404,
      "repository-not-found",
    ]);
    for (const repo of ["site", "void"]) {
      assertEquals(await shownFor(site, path, repo), missing);
    }
  }
  const lines = site.service.logLines("request").map(({ status, cache }) =>
    `${status} ${cache}`
  );
  assertEquals(new Set(lines).size, 1);
});

Deno.test("a repository is public if GitHub says nothing else", async () => {
  const rows: [said: Record<string, unknown>, status: number][] = [
    [{ private: false }, 200],
    [{ private: false, visibility: "public" }, 200],
    [{ private: false, visibility: "internal" }, 404],
    [{ private: true, visibility: "public" }, 404],
  ];
  for (const [said, status] of rows) {
    await using site = await startWithSecrets();
    site.gh.intercept = (_request, { kind }) =>
      kind === "repo" ? Response.json(said) : null;
    assertEquals([said, await statusOf(site, listPath())], [said, status]);
  }
});

Deno.test("a response waits for all of its requests", async () => {
  for (const kind of ["commit", "repo"] as const) {
    for (const repo of SAME) {
      await using site = await startWithSecrets();
      const { gh, repository } = site;
      const reached = Promise.withResolvers<void>();
      const barrier = Promise.withResolvers<void>();
      const isOwn = (path: string) => path.startsWith(`/repos/octo/${repo}`);
      gh.intercept = async (_request, logged) => {
        if (logged.kind === kind && isOwn(logged.path)) {
          reached.resolve();
          await barrier.promise;
        }
        return null;
      };
      let isAnswered = false;
      const answer = statusOf(site, listPath({ repo })).finally(() =>
        isAnswered = true
      );
      // Either, so that a service that does not wait fails here and does not
      // hang.
      await Promise.race([reached.promise, answer]);
      // Once a request has gone all the way, answers before it have been read.
      gh.add("other/site", repository);
      assertEquals(await statusOf(site, listPath({ owner: "other" })), 200);
      await gh.log.until(() => gh.log.inFlight <= 1);
      const requests = gh.requests.filter(({ path }) => isOwn(path)).length;
      const seen = [kind, repo, isAnswered, requests];
      barrier.resolve();
      assertEquals([...seen, await answer], [kind, repo, false, 2, 404]);
    }
  }
});

Deno.test("what is private fails as what is missing does", async () => {
  const faults: Fault[] = [
    ...[500, 451, 409, 422, 403].map((status): Fault => ({
      kind: "status",
      status,
    })),
    { kind: "garbage" },
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
      assertEquals(shown, Array(3).fill(shown[2]), `${fault.kind} ${kind}`);
    }
  }
});

Deno.test("a private repository costs the miss of a missing one", async () => {
  for (const repo of SAME) {
    await using site = await startWithSecrets({ MISSES_PER_MINUTE: "1" });
    const { service, gh } = site;
    const path = listPath({ repo });

    assertEquals(await statusOf(site, path), 404);
    // A second miss is one too many.
    assertEquals(await statusOf(site, listPath({ repo: "other" })), 429);
    gh.resetCounts();
    assertEquals(await statusOf(site, path), 404);
    assertEquals(
      await statusOf(site, itemPath({ repo, path: "posts/a.md" })),
      404,
    );
    service.clock.advance(59_999);
    assertEquals(await statusOf(site, path), 404);
    assertEquals([repo, gh.counts()], [repo, {}]);
    service.clock.advance(1);
    assertEquals(await statusOf(site, path), 404);
    assertEquals([repo, gh.counts()], [repo, { commit: 1, repo: 1 }]);
  }
});

const PATHS = [
  listPath({ includeContent: true }),
  itemPath({ path: "posts/a.md" }),
];

const CHANGES: [change: Record<string, string>, status: number][] = [
  [{}, 200],
  [{ ALLOWED_REPOS: "" }, 502],
  [{ ALLOWED_REPOS: "octo/other" }, 403],
  [{ GITHUB_API_URL: "http://127.0.0.1:2" }, 502],
];

Deno.test("other settings on the same store give nothing private", async () => {
  const dir = await Deno.makeTempDir({ prefix: "visibility_" });
  const env = { ALLOWED_REPOS: "octo/site" };
  for (const [index, [change, status]] of CHANGES.entries()) {
    const open = () => Deno.openKv(`${dir}/${index}.sqlite`);
    await using site = await startWithSecrets(env, await open());
    const { gh, service: { clock, services } } = site;
    for (const path of PATHS) assertEquals(await statusOf(site, path), 200);
    await services.close();
    await gh.down();
    clock.advance(60_000);
    await using service = await startService({
      github: gh,
      clock,
      kv: await open(),
      env: { GITHUB_TOKEN: TOKEN, ...env, ...change },
    });
    for (const path of PATHS) {
      assertEquals([change, await statusOf({ service }, path)], [
        change,
        status,
      ]);
    }
  }
  await Deno.remove(dir, { recursive: true });
});

Deno.test("nothing of a private repository is stored", async () => {
  const path = await Deno.makeTempFile({ suffix: ".sqlite" });
  {
    await using site = await startWithSecrets({}, await Deno.openKv(path));
    for (const repo of SAME) {
      await statusOf(site, listPath({ repo, includeContent: true }));
      await statusOf(site, itemPath({ repo, path: "posts/a.md" }));
    }
  }
  using kv = await Deno.openKv(path);
  assertEquals(
    await Array.fromAsync(kv.list({ prefix: [] }), ({ key }) => key.join()),
    [],
  );
  await Deno.remove(path);
});
