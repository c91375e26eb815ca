// `includeHistory`: the changes that git names, what they cost, and what
// happens where GitHub does not give them.

import { assert, assertEquals } from "@std/assert";
import type { GitRepository } from "../github/git_repository.ts";
import { generateHistory } from "../github/generated_history.ts";
import { watchHistory } from "../github/served_repository.ts";
import { itemPath, listPath, type TestService } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const TOKEN = { GITHUB_TOKEN: "token", MISSES_PER_MINUTE: "0" };

async function startWithToken(files: Record<string, string>): Promise<Site> {
  const site = await startSite(files, { env: TOKEN });
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
  const asked = watchHistory(site.gh);
  let count = 0;
  for (const page of [1, 2, 3]) count += await compare(site, 100, page);
  assertEquals(count, 300);
  // The first page of a commit also reads the commit's parent.
  assertEquals(asked.map(({ length }) => length), Array(6).fill(50));
  assertEquals(site.gh.quota("token", "graphql").spent, 6);

  const { path } = (await list(site.service)).items[0]!;
  await site.push({ [path]: "changed once more\n" });
  asked.length = 0;
  for (const page of [1, 2, 3]) await compare(site, 100, page);
  assertEquals(asked, [[path]]);

  await site.push({ "other.md": "elsewhere\n" });
  for (const page of [1, 2, 3]) await compare(site, 100, page);
  await site.service.list({ fields: "lastChanged", limit: 20 });
  assertEquals(asked.slice(1), [[]], "only the parent of the commit");
});

/** The paths of a list in the order of the dates that git names. */
async function sortedByGit(
  { repository }: Site,
  paths: readonly string[],
  sign: 1 | -1,
) {
  const log = await repository.git("log", "--format=%H %ct", "main");
  const seconds = new Map(
    log.split("\n").map((line) => line.split(" ") as [string, string]),
  );
  const dated = await Promise.all(paths.map(async (path) => {
    const time = Number(seconds.get(await byGit(repository, path)));
    return { path, time };
  }));
  return dated.sort((a, b) => sign * (a.time - b.time)).map(({ path }) => path);
}

Deno.test("sort=lastChanged.date is the order of git's dates", async () => {
  await using site = await startWithToken({ "readme.md": "" });
  const { repository, service } = site;
  await generateHistory(repository, { files: 120, commits: 80, seed: 3 });
  const asked = watchHistory(site.gh);
  const pathsOf = async (sort: string) => {
    const { items } = await service.list({ sort, limit: 1000 });
    return items.map(({ path }) => path);
  };
  const paths = await pathsOf("path");
  for (const [sort, sign] of [["", 1], ["-", -1]] as const) {
    const expected = await sortedByGit(site, paths, sign);
    assertEquals(await pathsOf(`${sort}lastChanged.date`), expected);
  }
  assertEquals(asked.map(({ length }) => length), [50, 50, 20]);

  // A commit to one file asks about one file, one elsewhere about none.
  asked.length = 0;
  for (const path of [paths[60]!, "elsewhere.md"]) {
    await site.push({ [path]: "changed\n" });
    const [first] = await pathsOf("-lastChanged.date");
    assertEquals(first, (await sortedByGit(site, paths, -1))[0]);
  }
  assertEquals(asked, [[paths[60]!], []]);

  // Pages, filters and neighbors follow the same order at no cost.
  const order = await pathsOf("-lastChanged.date");
  const query = { sort: "-lastChanged.date", "filter[name]": "file-1*" };
  const { items } = await service.list({ ...query, limit: 3, page: 2 });
  const filtered = order.filter((path) => path.startsWith("posts/file-1"));
  assertEquals(items.map(({ path }) => path), filtered.slice(3, 6));
  const { previous, next } = await service.item({
    ...query,
    collection: "posts",
    path: filtered[4]!,
    includeNeighbors: true,
  });
  assertEquals([previous?.path, next?.path], [filtered[3], filtered[5]]);
  assertEquals(asked.length, 2);
});

/**
 * Answers histories at once, without git. Returns the number of files of each
 * query, and the most at a time.
 */
function fakeHistory({ gh }: Site, isDown = () => false) {
  const seen = { sizes: [] as number[], most: 0 };
  let running = 0;
  gh.intercept = async (request, { kind }) => {
    if (kind !== "graphql") return null;
    if (isDown()) return new Response("", { status: 502 });
    seen.most = Math.max(seen.most, ++running);
    const { variables } = await request.clone().json();
    const paths = Object.entries<string>(variables)
      .filter(([name]) => /^p\d+$/.test(name));
    seen.sizes.push(paths.length);
    const histories = paths.map(([name, path]) => {
      const seconds = Number(/\d+/.exec(path)![0]);
      const committedDate = new Date(1000 * seconds).toISOString();
      const author = { name: "Ann" };
      const node = {
        oid: variables.commit,
        committedDate,
        message: "",
        author,
      };
      return [name.replace("p", "f"), { nodes: [node] }];
    });
    const parents = { nodes: [{ oid: "1".repeat(40) }] };
    const object = { parents, ...Object.fromEntries(histories) };
    running--;
    return Response.json({ data: { repository: { object } } });
  };
  return seen;
}

Deno.test("2,000 files are sorted by 40 queries, one more is an error", async () => {
  await using site = await startWithToken(files(2_000));
  const { service } = site;
  const seen = fakeHistory(site);
  const query = { sort: "-lastChanged.date", limit: 2 };
  const { items } = await service.list(query);
  assertEquals(items.map(({ name }) => name), ["1999.md", "1998.md"]);
  assertEquals(seen.sizes, Array(40).fill(50));
  assert(seen.most <= 4, `${seen.most} at a time`);

  await site.push({ "posts/2000.md": "" });
  const { status, code, detail } = await service.problem(listPath(query));
  assertEquals([status, code], [422, "collection-too-large"]);
  assert(detail.includes("at most 2000 files"), detail);
  assertEquals(seen.sizes.length, 40);
  await service.list({ ...query, "filter[name]": "19*" });
});

Deno.test("a request for the history of 50 files counts as a miss", async () => {
  const env = { GITHUB_TOKEN: "token", MISSES_PER_MINUTE: "10" };
  await using site = await startSite(files(500), { env });
  fakeHistory(site);
  await site.service.list({ sort: "lastChanged.date" });
  const { status } = await site.service.problem(listPath({ limit: 1 }));
  assertEquals(status, 429);
});

Deno.test("a sort that an outage stops goes on where it was", async () => {
  await using site = await startWithToken(files(600));
  const { service } = site;
  const seen = fakeHistory(site, () => seen.sizes.length >= 6);
  const path = listPath({ sort: "lastChanged.date", limit: 1 });
  const first = await service.send(path);
  await first.body?.cancel();
  const before = seen.sizes.length;
  assert(before >= 6 && before < 12, `${before} queries`);
  service.clock.advance(300_000);
  const again = fakeHistory(site);
  const { items } = await service.list({ sort: "lastChanged.date", limit: 1 });
  assertEquals(items[0]!.name, "000.md");
  assert(again.sizes.length <= 12 - before + 1, `${again.sizes}`);
});

Deno.test("a file without history comes last for five minutes", async () => {
  await using site = await startWithToken(files(3));
  const { gh, service } = site;
  let isBad = true;
  gh.intercept = async (request, { kind }) => {
    if (kind !== "graphql" || !isBad) return null;
    const { variables } = await request.clone().json();
    return Object.values(variables).includes("posts/000.md")
      ? new Response("", { status: 502 })
      : null;
  };
  const namesOf = async () =>
    (await service.list({ sort: "lastChanged.date" })).items
      .map(({ name }) => name);
  assertEquals(await namesOf(), ["001.md", "002.md", "000.md"]);
  isBad = false;
  service.clock.advance(300_000);
  assertEquals(await namesOf(), ["000.md", "001.md", "002.md"]);
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
  const { repository } = site;
  await compare(site);
  await repository.commit({ "posts/000.md": "other\n" });
  await site.push({ "posts/000.md": "# 0\n" });
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

Deno.test("an outage of GraphQL is a source failure for few files too", async () => {
  for (const count of [1, 2, 4]) {
    await using site = await startWithToken(files(count));
    site.gh.fault = { kind: "status", status: 502, only: ["graphql"] };
    const queries = [{ includeHistory: true }, { sort: "-lastChanged.date" }];
    for (const query of queries) {
      const { code } = await site.service.problem(listPath(query));
      assertEquals([count, code], [count, "source-failed"]);
    }
  }
});

Deno.test("history needs a token, in lists, items and orders", async () => {
  await using site = await startSite(files(1));
  const { gh, service } = site;
  const item = { path: "posts/000.md", includeHistory: true };
  const paths = [
    listPath({ includeHistory: true }),
    listPath({ sort: "-lastChanged.date" }),
    itemPath(item),
  ];
  for (const path of paths) {
    assertEquals((await service.problem(path)).code, "history-unavailable");
  }
  assertEquals(gh.counts().graphql, undefined);
});

Deno.test("histories are not kept across repositories", async () => {
  await using site = await startWithToken(files(3));
  const { gh, repository, service } = site;
  await list(service);
  gh.add("octo/copy", repository);
  gh.resetCounts();
  await service.list({ repo: "copy", includeHistory: true });
  assertEquals(gh.counts().graphql, 1);
});
