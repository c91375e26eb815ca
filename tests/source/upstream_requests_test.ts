// What the service as a whole requests from GitHub, counted by the double.

import { assert, assertEquals } from "@std/assert";
import type { GitFiles } from "../github/git_repository.ts";
import { listPath } from "../service.ts";
import { startSite } from "../site.ts";
import { textFiles } from "./open_github.ts";

/** A deployment whose only request about a branch is the branch request. */
const NAMED = { GITHUB_TOKEN: "t1", ALLOWED_REPOS: "octo/*" };
/** A deployment that must find out of each repository whether it is public. */
const TOKEN = { GITHUB_TOKEN: "t1" };
const MINUTE_MS = 60_000;

async function start(files: GitFiles, env: Record<string, string> = {}) {
  const site = await startSite(files, { env: { LOG_LEVEL: "error", ...env } });
  const { gh } = site;
  return Object.assign(site, {
    /** What some work costs, by kind. */
    async cost(work: () => Promise<unknown>) {
      gh.resetCounts();
      await work();
      return gh.counts();
    },
    /** The requests of the checks so far. */
    checks: () =>
      gh.requests.filter(({ kind }) => kind === "commit" || kind === "repo")
        .map(({ kind, conditional, status }) =>
          `${kind} ${conditional ? "again " : ""}${status}`
        ),
  });
}

const nested = (depth: number) =>
  Array.from({ length: depth }, (_, index) => `d${index}`).join("/");

Deno.test("a cold list costs the branch and the collection", async () => {
  for (const env of [{}, NAMED]) {
    for (const depth of [1, 2, 5]) {
      const collection = nested(depth);
      const files = { [`${collection}/a.md`]: "A\n", "other.md": "B\n" };
      await using site = await start(files, env);
      const counts = await site.cost(() => site.service.list({ collection }));
      const above = depth === 1 ? { tree: 1 } : {};
      assertEquals(counts, { commit: 1, ...above, "tree-recursive": 1 });
    }
  }
});

Deno.test("a host without paths has the folders read one by one", async () => {
  const depths = [2, 3, 5];
  const files = Object.fromEntries(
    depths.map((depth) => [`${nested(depth)}/a.md`, "A\n"]),
  );
  await using site = await start(files, NAMED);
  const { cost, gh, repository, service } = site;
  gh.fault = ({ path }) =>
    path.includes("%3A") ? { kind: "status", status: 404 } : null;
  for (const depth of depths) {
    const branch = `branch-${depth}`;
    await repository.branch(branch);
    await repository.commit({ [`other-${depth}.md`]: "B\n" }, { branch });
    const list = () => service.list({ branch, collection: nested(depth) });
    // The folders that an earlier list read are cached.
    const expected = {
      commit: 1,
      tree: depth === 5 ? 3 : 2,
      "tree-recursive": 2,
    };
    assertEquals(await cost(list), expected);
  }
});

Deno.test("the same again costs nothing for 60 s and then a 304", async () => {
  const one = ["commit again 304"];
  const rows: [
    env: Record<string, string>,
    isId: boolean,
    cold: object,
    checks: string[],
  ][] = [
    [{}, false, { commit: 1 }, one],
    [{}, true, { commit: 3 }, one],
    [NAMED, false, { commit: 1 }, one],
    [TOKEN, false, { commit: 1, repo: 1 }, ["repo again 304", ...one]],
  ];
  for (const [env, isId, cold, expected] of rows) {
    await using site = await start({ "posts/a.md": "A\n" }, env);
    const { checks, cost, gh, repository, service } = site;
    const branch = isId ? await repository.head() : "main";
    const list = (limit = 50) => service.list({ branch, limit });
    assertEquals(await cost(list), { ...cold, tree: 1, "tree-recursive": 1 });
    service.clock.advance(MINUTE_MS - 1);
    assertEquals(await cost(list), {});
    service.clock.advance(1_001);
    await cost(list);
    assertEquals(checks(), expected);
    const { GITHUB_TOKEN: token = null } = env;
    assertEquals(gh.quota(token).spent, token === null ? 1 : 0);
    assertEquals(await cost(() => list(1)), {});
  }
});

Deno.test("200 identical cold requests at once cost what one costs", async () => {
  for (const contents of [{}, { graphql: 1 }]) {
    await using site = await start(textFiles(20), NAMED);
    const path = listPath({ includeContent: "graphql" in contents });
    const read = async () => await (await site.service.get(path)).text();
    const all = async () => {
      const texts = await Promise.all(Array.from({ length: 200 }, read));
      assertEquals(new Set(texts).size, 1);
    };
    assertEquals(await site.cost(all), {
      commit: 1,
      tree: 1,
      "tree-recursive": 1,
      ...contents,
    });
  }
});

Deno.test("a commit elsewhere costs the trees on the path only", async () => {
  const files = {
    "src/content/posts/a.md": "A\n",
    "src/other/b.md": "B\n",
    "c.md": "C\n",
  };
  for (const env of [{}, NAMED]) {
    await using site = await start(files, env);
    const { cost, service } = site;
    const list = () =>
      service.list({ collection: "src/content/posts", includeContent: true });
    await list();
    // The folders above were not read before the first commit.
    for (
      const [path, tree] of [["c.md", 3], ["d.md", 1], [
        "src/other/b.md",
        2,
      ]] as const
    ) {
      await site.push({ [path]: "changed\n" });
      assertEquals(await cost(list), { commit: 1, tree });
    }
  }
});

Deno.test("an item costs the trees on its path and its blob, once", async () => {
  await using site = await start({
    "docs/en/a.md": "A\n",
    "docs/en/b.md": "B\n",
  }, NAMED);
  const item = (path: string) => site.cost(() => site.service.item({ path }));
  assertEquals(await item("docs/en/a.md"), { commit: 1, tree: 3, blob: 1 });
  assertEquals(await item("docs/en/b.md"), { blob: 1 });
  assertEquals(await item("docs/en/b.md"), {});
});

Deno.test("what is not there costs its requests once in 60 s", async () => {
  await using site = await start({ "posts/a.md": "A\n" }, NAMED);
  const { cost, gh, service } = site;
  const cases: [
    parameters: Record<string, string>,
    code: string,
    most: number,
  ][] = [
    [{ repo: "absent" }, "repository-not-found", 2],
    [{ branch: "absent" }, "branch-not-found", 3],
    [{ collection: "absent" }, "collection-not-found", 2],
  ];
  for (const [parameters, code, most] of cases) {
    const list = async () =>
      assertEquals((await service.problem(listPath(parameters))).code, code);
    await cost(list);
    assert(
      gh.requests.length <= most,
      `${code}: ${gh.requests.length} requests`,
    );
    service.clock.advance(MINUTE_MS - 1);
    assertEquals(await cost(list), {});
    service.clock.advance(1);
    await cost(list);
    assert(gh.requests.length > 0);
  }
});
