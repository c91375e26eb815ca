// What the service as a whole requests from GitHub, counted by the double.

import { assert, assertEquals } from "@std/assert";
import type { GithubDouble } from "../github/github_double.ts";
import { listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";
import { textFiles } from "./open_github.ts";

/** A deployment whose only request about a branch is the branch request. */
const NAMED = { GITHUB_TOKEN: "t1", ALLOWED_REPOS: "octo/*" };
const MINUTE_MS = 60_000;

async function start(
  files: Parameters<typeof startSite>[0],
  env: Record<string, string> = {},
): Promise<Site> {
  const site = await startSite(files, { env: { LOG_LEVEL: "error", ...env } });
  if (env.GITHUB_TOKEN !== undefined) site.gh.addToken(env.GITHUB_TOKEN);
  return site;
}

/** What some work costs, by kind. */
async function cost(gh: GithubDouble, work: () => Promise<unknown>) {
  gh.resetCounts();
  await work();
  return gh.counts();
}

function statuses(gh: GithubDouble, kind = "commit"): [conditional: boolean, status: number][] {
  return gh.requests.filter((request) => request.kind === kind)
    .map(({ conditional, status }) => [conditional, status]);
}

const nested = (depth: number) =>
  Array.from({ length: depth }, (_, index) => `d${index}`).join("/");

Deno.test("a cold list costs the branch request and the collection, and the root where that has no path", async () => {
  for (const env of [{}, NAMED]) {
    for (const depth of [1, 2, 5]) {
      const collection = nested(depth);
      await using site = await start({ [`${collection}/a.md`]: "A\n", "other.md": "B\n" }, env);
      const counts = await cost(site.gh, () => site.service.list({ collection }));
      const above = depth === 1 ? { tree: 1 } : {};
      assertEquals(counts, { commit: 1, ...above, "tree-recursive": 1 });
    }
  }
});

Deno.test("a host that takes no paths has the folders read one by one, and then the collection", async () => {
  const depths = [2, 3, 5];
  const files = Object.fromEntries(depths.map((depth) => [`${nested(depth)}/a.md`, "A\n"]));
  await using site = await start(files, NAMED);
  const { gh, repository, service } = site;
  gh.takesPaths = false;
  for (const depth of depths) {
    const branch = `branch-${depth}`;
    await repository.branch(branch);
    await repository.commit({ [`other-${depth}.md`]: "B\n" }, { branch });
    const list = () => service.list({ branch, collection: nested(depth) });
    // The folders that an earlier list read are cached.
    const expected = { commit: 1, tree: depth === 5 ? 3 : 2, "tree-recursive": 2 };
    assertEquals(await cost(gh, list), expected);
  }
});

Deno.test("a token without ALLOWED_REPOS adds one request about visibility to each check", async () => {
  await using site = await start({ "posts/a.md": "A\n" }, { GITHUB_TOKEN: "t1" });
  const { gh, service } = site;
  const cold = await cost(gh, () => service.list());
  assertEquals(cold, { repo: 1, commit: 1, tree: 1, "tree-recursive": 1 });
  service.clock.advance(MINUTE_MS);
  assertEquals(await cost(gh, () => service.list()), { repo: 1, commit: 1 });
  assertEquals([...statuses(gh, "repo"), ...statuses(gh)], [[true, 304], [true, 304]]);
  assertEquals(gh.quotaSpent("t1"), 0);
});

Deno.test("the same again costs nothing for 60 s, and after 61 s one 304", async () => {
  for (const [env, isId] of [[{}, false], [{}, true], [NAMED, false]] as const) {
    await using site = await start({ "posts/a.md": "A\n" }, env);
    const { gh, repository, service } = site;
    const branch = isId ? await repository.head() : "main";
    const list = (limit = 50) => service.list({ branch, limit });
    await list();
    service.clock.advance(MINUTE_MS - 1);
    assertEquals(await cost(gh, list), {});
    service.clock.advance(1_001);
    assertEquals(await cost(gh, list), { commit: 1 });
    assertEquals(statuses(gh), [[true, 304]]);
    assertEquals(gh.quotaSpent(env === NAMED ? "t1" : null), env === NAMED ? 0 : 1);
    assertEquals(await cost(gh, () => list(1)), {});
  }
});

Deno.test("200 identical cold requests at once cost what one costs", async () => {
  for (const contents of [{}, { graphql: 1 }]) {
    await using site = await start(textFiles(20), NAMED);
    const { gh, service } = site;
    const path = listPath({ includeContent: "graphql" in contents });
    const all = () =>
      Promise.all(Array.from({ length: 200 }, async () => await (await service.get(path)).text()));
    const counts = await cost(gh, async () => assertEquals(new Set(await all()).size, 1));
    assertEquals(counts, { commit: 1, tree: 1, "tree-recursive": 1, ...contents });
  }
});

/** An hour of the running service, with some work each second. */
async function spendHour({ service }: Site, work: () => Promise<unknown>): Promise<void> {
  for (let second = 0; second < 3600; second++) {
    await work();
    service.clock.advance(1000);
    await service.services.refreshDue();
  }
}

Deno.test("an hour on one branch costs 72 conditional requests and 3 of quota with a token, else a quota of 60", async () => {
  for (const [env, most, spent] of [[NAMED, 72, 3], [{}, 60, 60]] as const) {
    await using site = await start({ "posts/a.md": "A\n" }, env);
    const { gh, service } = site;
    gh.setQuota(null, { limit: 60, remaining: 60 });
    await spendHour(site, async () => {
      assertEquals((await service.get(listPath(), { method: "HEAD" })).status, 200);
    });
    const [first, ...checks] = statuses(gh);
    assertEquals(first, [false, 200]);
    assertEquals(new Set(checks.map(String)), new Set(["true,304"]));
    assert(checks.length <= most, `${checks.length} conditional requests`);
    assertEquals(gh.requests.length - checks.length - 1, 2, "the trees, once");
    assertEquals(gh.quotaSpent(env === NAMED ? "t1" : null), spent);
  }
});

Deno.test("an hour without requests costs nothing", async () => {
  await using site = await start({ "posts/a.md": "A\n" }, NAMED);
  await site.service.list();
  assertEquals(await cost(site.gh, () => spendHour(site, () => Promise.resolve())), {});
});

Deno.test("a commit elsewhere costs the branch request and the trees on the path, and no blob", async () => {
  for (const env of [{}, NAMED]) {
    await using site = await start(
      { "src/content/posts/a.md": "A\n", "src/other/b.md": "B\n", "c.md": "C\n" },
      env,
    );
    const { gh, repository, service } = site;
    const list = () => service.list({ collection: "src/content/posts", includeContent: true });
    await list();
    // The folders above were not read before the first commit.
    for (const [path, tree] of [["c.md", 3], ["d.md", 1], ["src/other/b.md", 2]] as const) {
      await repository.commit({ [path]: "changed\n" });
      service.clock.advance(MINUTE_MS);
      assertEquals(await cost(gh, list), { commit: 1, tree });
    }
  }
});

Deno.test("contents of 50 small items cost one query with a token, and after a commit one file", async () => {
  await using site = await start([...textFiles(50, 2000), ["other.md", "B\n"]], NAMED);
  const { gh, repository, service } = site;
  const list = () => service.list({ includeContent: true, limit: 50 });
  const cold = await cost(gh, list);
  assertEquals(cold, { commit: 1, tree: 1, "tree-recursive": 1, graphql: 1 });
  assertEquals(await cost(gh, list), {});

  await repository.commit({ "posts/post-007.md": "changed\n" });
  service.clock.advance(MINUTE_MS);
  assertEquals(await cost(gh, list), { commit: 1, tree: 1, "tree-recursive": 1, blob: 1 });
  const { items } = await list();
  assertEquals(items.find(({ name }) => name === "post-007.md")?.content, "changed\n");
});

Deno.test("contents come by the raw host without a token, outside the quota, and by the API without that", async () => {
  for (const raw of [true, false]) {
    await using site = await start(textFiles(20), raw ? {} : { GITHUB_RAW_URL: "" });
    const { gh, repository, service } = site;
    const list = () => service.list({ includeContent: true });
    const cold = await cost(gh, list);
    const kind = raw ? "raw" : "blob";
    assertEquals(cold, { commit: 1, tree: 1, "tree-recursive": 1, [kind]: 20 });
    assertEquals(gh.quotaSpent(null), raw ? 3 : 23);
    assert(gh.log.maxConcurrent <= 8, `${gh.log.maxConcurrent} at once`);
    await repository.commit({ "posts/post-007.md": "changed\n" });
    service.clock.advance(MINUTE_MS);
    const after = await cost(gh, list);
    assertEquals(after, { commit: 1, tree: 1, "tree-recursive": 1, [kind]: 1 });
  }
});

Deno.test("an item costs the trees on its path and its blob, once", async () => {
  await using site = await start({ "docs/en/a.md": "A\n", "docs/en/b.md": "B\n" }, NAMED);
  const { gh, service } = site;
  const item = (path: string) => () => service.item({ path });
  assertEquals(await cost(gh, item("docs/en/a.md")), { commit: 1, tree: 3, blob: 1 });
  assertEquals(await cost(gh, item("docs/en/b.md")), { blob: 1 });
  assertEquals(await cost(gh, item("docs/en/b.md")), {});
});

Deno.test("what is not there costs its requests once in 60 s", async () => {
  await using site = await start({ "posts/a.md": "A\n" }, NAMED);
  const { gh, service } = site;
  const cases: [parameters: Record<string, string>, code: string, most: number][] = [
    [{ repo: "absent" }, "repository-not-found", 2],
    [{ branch: "absent" }, "branch-not-found", 3],
    [{ collection: "absent" }, "collection-not-found", 2],
  ];
  for (const [parameters, code, most] of cases) {
    const list = async () => assertEquals((await service.problem(listPath(parameters))).code, code);
    await cost(gh, list);
    assert(gh.requests.length <= most, `${code}: ${gh.requests.length} requests`);
    service.clock.advance(MINUTE_MS - 1);
    assertEquals(await cost(gh, list), {});
    service.clock.advance(1);
    await cost(gh, list);
    assert(gh.requests.length > 0);
  }
});
