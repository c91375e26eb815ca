// `includeHistory`: the changes that git names, what they cost, and what happens where GitHub does not give them.

import { assert, assertEquals } from "@std/assert";
import type { GitRepository } from "../github/git_repository.ts";
import { generateHistory } from "../github/generated_history.ts";
import { itemPath, listPath, type TestService } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = { GITHUB_TOKEN: "token", MISSES_PER_MINUTE: "0" };

async function startWithToken(files: Record<string, string>): Promise<Site> {
  const site = await startSite(files, { env: TOKEN });
  site.gh.addToken("token");
  return site;
}

/** What git says of the newest or the oldest change of a path. */
async function byGit(
  repository: GitRepository,
  path: string,
  isOldest = false,
) {
  const log = await repository.git(
    "log",
    "--format=%H",
    "main",
    "--",
    path,
  );
  const lines = log.split("\n");
  return isOldest ? lines.at(-1)! : lines[0]!;
}

/** The paths of each GraphQL query from now on. */
function watchHistory({ gh }: Site): string[][] {
  const asked: string[][] = [];
  gh.intercept = async (request, { kind }) => {
    if (kind !== "graphql") return null;
    const { variables } = await request.clone().json();
    asked.push(
      Object.keys(variables).filter((name) => /^p\d+$/.test(name))
        .map((name) => variables[name]),
    );
    return null;
  };
  return asked;
}

const list = (service: TestService, limit = 100, page = 1) =>
  service.list({ includeHistory: true, limit, page });

/** Compares the changes of a page with git's. */
async function compare({ service, repository }: Site, limit = 100, page = 1) {
  const { items, repository: { commit } } = await list(service, limit, page);
  assertEquals(commit, await repository.head());
  const expected = await Promise.all(
    items.map(({ path }) => byGit(repository, path)),
  );
  assertEquals(items.map(({ lastChanged }) => lastChanged?.commit), expected);
  return items.length;
}

const files = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `posts/${String(index).padStart(3, "0")}.md`,
      `# ${index}\n`,
    ]),
  );

Deno.test("changes of 300 files are those of git log -1", async () => {
  await using site = await startWithToken({ "readme.md": "" });
  await generateHistory(site.repository, { files: 300, commits: 150, seed: 1 });
  const asked = watchHistory(site);
  let count = 0;
  for (const page of [1, 2, 3]) count += await compare(site, 100, page);
  assertEquals(count, 300);
  // The first page of a commit also reads the commit's parent.
  assertEquals(asked.map(({ length }) => length), Array(6).fill(50));
});

Deno.test("changes follow a branch with merges and reverts", async () => {
  await using site = await startWithToken({ "readme.md": "" });
  const { repository, service } = site;
  const steps = await generateHistory(repository, {
    files: 12,
    commits: 40,
    seed: 2,
  });
  // Every commit in turn, then two at once, then back and forth.
  const walk = [
    ...steps.slice(2, 20),
    ...steps.slice(20).filter((_, index) => index % 2 === 0),
    steps[5]!,
    steps[30]!,
  ];
  for (const step of walk) {
    await repository.branch("main", step);
    service.clock.advance(60_000);
    await compare(site);
  }
});

Deno.test("a change that one commit undoes is not missed", async () => {
  await using site = await startWithToken(files(2));
  const { repository, service } = site;
  await compare(site);
  await repository.commit({ "posts/000.md": "other\n" });
  await repository.commit({ "posts/000.md": "# 0\n" });
  service.clock.advance(60_000);
  await compare(site);
});

Deno.test("a force push of the same files has other commits", async () => {
  await using site = await startWithToken(files(2));
  const { repository, service } = site;
  await compare(site);
  const tree = await repository.git("rev-parse", "main^{tree}");
  const other = await repository.git("commit-tree", "-m", "Again", tree);
  await repository.branch("main", other);
  service.clock.advance(60_000);
  await compare(site);
});

Deno.test("50 files cost one request, a commit to one file asks for one", async () => {
  await using site = await startWithToken(files(50));
  const { gh, repository, service } = site;
  const asked = watchHistory(site);
  await list(service);
  assertEquals([gh.counts().graphql, asked[0]!.length], [1, 50]);
  gh.resetCounts();
  await repository.commit({ "posts/007.md": "new\n" });
  service.clock.advance(60_000);
  await compare(site);
  assertEquals(gh.counts().graphql, 1);
  assertEquals(asked.slice(1), [["posts/007.md"]]);

  gh.resetCounts();
  await repository.commit({ "other.md": "elsewhere\n" });
  service.clock.advance(60_000);
  await compare(site);
  assertEquals(asked.slice(2), [[]], "only the parent of the commit");
  await service.list({ fields: "lastChanged", limit: 20 });
  assertEquals(gh.counts().graphql, 1);
});

Deno.test("a change has a date, a commit, a name and one line", async () => {
  await using site = await startWithToken(files(1));
  const { repository, service } = site;
  const message = `${"Long ".repeat(200)}\n\nBody by x@example.org`;
  const env = ["-c", "user.name=Ann ann@example.org", "-c", "user.email=e@e"];
  const tree = await repository.git("rev-parse", "main^{tree}");
  const first = await repository.git(
    ...env,
    "commit-tree",
    "-m",
    message,
    tree,
  );
  await repository.branch("main", first);
  const { items } = await list(service);
  const { date, commit, author, message: line } = items[0]!.lastChanged!;
  assertEquals(commit, first);
  assertEquals(
    Date.parse(date),
    1000 * Number(await repository.git("log", "-1", "--format=%ct", "main")),
  );
  assert(line.startsWith("Long Long") && line.length === 500);
  assert(!JSON.stringify([author, line]).includes("@"));
});

Deno.test("an item has its first change, for two requests at most", async () => {
  await using site = await startWithToken(files(2));
  const { gh, repository, service } = site;
  const path = "posts/000.md";
  for (const [index, cost] of [1, 2, 2].entries()) {
    service.clock.advance(60_000);
    gh.resetCounts();
    const { created, lastChanged } = await service.item({
      path,
      includeHistory: true,
    });
    assertEquals(lastChanged!.commit, await byGit(repository, path));
    assertEquals(created!.commit, await byGit(repository, path, true));
    assertEquals(gh.counts().graphql, cost, `after ${index} changes`);
    await repository.commit({ [path]: `${index}\n` });
  }
});

Deno.test("created is left out where cursors have another form", async () => {
  await using site = await startWithToken(files(1));
  const { gh, repository, service } = site;
  await repository.commit({ "posts/000.md": "new\n" });
  gh.intercept = async (_, { kind }, real) => {
    if (kind !== "graphql") return null;
    const text = await (await real()).text();
    return new Response(text.replace(/"endCursor":"[^"]*"/, '"endCursor":"x"'));
  };
  const { created, lastChanged } = await service.item({
    path: "posts/000.md",
    includeHistory: true,
  });
  assertEquals(created, undefined);
  assert(lastChanged);
});

Deno.test("a batch that GitHub cannot answer is split", async () => {
  await using site = await startWithToken(files(50));
  const { gh, service } = site;
  const sizes: number[] = [];
  gh.intercept = async (request, { kind }) => {
    if (kind !== "graphql") return null;
    const { variables } = await request.clone().json();
    const paths = Object.values(variables).filter((value) =>
      String(value).startsWith("posts/")
    );
    sizes.push(paths.length);
    return paths.includes("posts/031.md")
      ? new Response("", { status: 502 })
      : null;
  };
  const first = await list(service);
  const without = first.items.filter(({ lastChanged }) => !lastChanged);
  assertEquals(without.map(({ name }) => name), ["031.md"]);
  assert(sizes.length < 16, `${sizes}`);

  // It has none for five minutes. Only this file is then asked about again.
  sizes.length = 0;
  for (const wait of [60_000, 240_000]) {
    service.clock.advance(wait);
    assertEquals((await list(service)).items.length, 50);
  }
  assertEquals(sizes, [1]);
  gh.intercept = null;
  service.clock.advance(300_000);
  await compare(site);
});

Deno.test("files that a partial answer lacks are asked about again", async () => {
  await using site = await startWithToken(files(50));
  site.gh.graphqlMaxObjects = 20;
  await compare(site);
  assertEquals(site.gh.counts().graphql, 3);
});

Deno.test("an outage of GraphQL is a source failure after few requests", async () => {
  await using site = await startWithToken(files(100));
  const { gh, service } = site;
  gh.fault = { kind: "status", status: 502, only: ["graphql"] };
  const { code } = await service.problem(listPath({
    includeHistory: true,
    limit: 100,
  }));
  assertEquals(code, "source-failed");
  assert(gh.counts().graphql! <= 12, `${gh.counts().graphql}`);
});

Deno.test("history needs a token, in lists and items", async () => {
  await using site = await startSite(files(1));
  const { gh, service } = site;
  const item = { path: "posts/000.md", includeHistory: true };
  for (const path of [listPath({ includeHistory: true }), itemPath(item)]) {
    assertEquals((await service.problem(path)).code, "history-unavailable");
  }
  assertEquals(gh.counts().graphql, undefined);
});

Deno.test("histories are kept in the store, and not across repositories", async () => {
  await using site = await startWithToken(files(3));
  const { gh, repository, service } = site;
  await list(service);
  gh.add("octo/copy", repository);
  gh.resetCounts();
  await service.list({ repo: "copy", includeHistory: true });
  assertEquals(gh.counts().graphql, 1);
});
