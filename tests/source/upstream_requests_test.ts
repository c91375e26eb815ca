// What the service as a whole requests from GitHub, counted by the double.

import { assertEquals } from "@std/assert";
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
  });
}

Deno.test("a cold list costs the branch and the collection", async () => {
  for (const env of [{}, NAMED]) {
    for (const collection of ["posts", "a/b/c/d/posts"]) {
      const files = { [`${collection}/a.md`]: "A\n", "other.md": "B\n" };
      await using site = await start(files, env);
      const counts = await site.cost(() => site.service.list({ collection }));
      const above = collection === "posts" ? { tree: 1 } : {};
      assertEquals(counts, { commit: 1, ...above, "tree-recursive": 1 });
    }
  }
});

Deno.test("a host without paths has the folders read one by one", async () => {
  const collection = "a/b/posts";
  await using site = await start({ [`${collection}/a.md`]: "A\n" }, NAMED);
  const { cost, gh, service } = site;
  gh.fault = ({ path }) =>
    path.includes("%3A") ? { kind: "status", status: 404 } : null;
  const list = () => service.list({ collection });
  assertEquals(await cost(list), { commit: 1, tree: 3, "tree-recursive": 2 });
});

Deno.test("the same again costs nothing for 60 s and then a 304", async () => {
  const one = ["commit again 304"];
  const rows: {
    env?: Record<string, string>;
    isId?: boolean;
    cold: object;
    checks?: string[];
  }[] = [
    { cold: { commit: 1 } },
    { isId: true, cold: { commit: 3 } },
    { env: NAMED, cold: { commit: 1 } },
    {
      env: TOKEN,
      cold: { commit: 1, repo: 1 },
      checks: ["repo again 304", ...one],
    },
  ];
  for (const { env = {}, isId = false, cold, checks = one } of rows) {
    await using site = await start({ "posts/a.md": "A\n" }, env);
    const { cost, gh, repository, service } = site;
    const branch = isId ? await repository.head() : "main";
    const list = (limit = 50) => service.list({ branch, limit });
    assertEquals(await cost(list), { ...cold, tree: 1, "tree-recursive": 1 });
    service.clock.advance(MINUTE_MS - 1);
    assertEquals(await cost(list), {});
    service.clock.advance(1_001);
    await cost(list);
    const sent = gh.requests.map(({ kind, conditional, status }) =>
      `${kind} ${conditional ? "again " : ""}${status}`
    );
    assertEquals(sent, checks);
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
  const collection = "src/content/posts";
  const files = { [`${collection}/a.md`]: "A\n", "src/other/b.md": "B\n" };
  await using site = await start(files, NAMED);
  const { cost, service } = site;
  const list = () => service.list({ collection, includeContent: true });
  await list();
  // The folders above were not read before the first commit.
  const trees = { "c.md": 3, "d.md": 1, "src/other/b.md": 2 };
  for (const [path, tree] of Object.entries(trees)) {
    await site.push({ [path]: "changed\n" });
    assertEquals(await cost(list), { commit: 1, tree });
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
