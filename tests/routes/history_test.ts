// `includeHistory`: the changes that git names, what they cost, and what
// happens where GitHub does not give them.

import { assert, assertEquals } from "@std/assert";
import { generateHistory } from "../github/generated_history.ts";
import { watchHistory } from "../github/served_repository.ts";
import { listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const env = { GITHUB_TOKEN: "token", MISSES_PER_MINUTE: "0" };

/** `000.md` and so on in `posts`. */
const files = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `posts/${String(index).padStart(3, "0")}.md`,
      `# ${index}\n`,
    ]),
  );

/** The ids of the commits that changed a path, the newest first. */
async function commitsOf({ repository }: Site, path: string) {
  const log = ["log", "--format=%H", "main", "--", path];
  return (await repository.git(...log)).split("\n");
}

/** Compares the changes of the first 100 files with git's. */
async function compare(site: Site) {
  const { items, repository: { commit } } = await site.service.list({
    includeHistory: true,
    limit: 100,
  });
  assertEquals(commit, await site.repository.head());
  const expected = await Promise.all(
    items.map(async ({ path }) => (await commitsOf(site, path))[0]),
  );
  assertEquals(items.map(({ lastChanged }) => lastChanged?.commit), expected);
  return items;
}

Deno.test("changes of 100 files are those of git log -1", async () => {
  await using site = await startSite({ "readme.md": "" }, { env });
  await generateHistory(site.repository, { files: 100, commits: 80, seed: 1 });
  const asked = watchHistory(site.gh);
  const items = await compare(site);
  assertEquals(asked.map(({ length }) => length), [50, 50]);
  assertEquals(site.gh.quota("token", "graphql").spent, 2);

  const { path } = items[70]!;
  await site.push({ [path]: "changed once more\n" });
  await compare(site);
  assertEquals(asked.slice(2), [[path]]);

  await site.push({ "other.md": "elsewhere\n" });
  await compare(site);
  assertEquals(asked.slice(3), [[]], "only the parent of the commit");
});

Deno.test("a file with a very long path has no history", async () => {
  const long = (chars: number) =>
    `posts/${"x/".repeat(2_000)}`.padEnd(chars, "x");
  await using site = await startSite(
    { "posts/a.md": "a", [long(4_096)]: "b", [long(4_097)]: "c" },
    { env },
  );
  const asked = watchHistory(site.gh);
  const { items } = await site.service.list({ includeHistory: true });
  assertEquals(
    items.map((
      { path, lastChanged },
    ) => [path.length, lastChanged !== undefined]),
    [[10, true], [4_096, true], [4_097, false]],
  );
  assertEquals(asked.map(({ length }) => length), [2]);
});

/** The paths of a list in the order of the dates that git names. */
async function sortedByGit(
  site: Site,
  paths: readonly string[],
  sign: 1 | -1,
) {
  const log = await site.repository.git("log", "--format=%H %ct", "main");
  const seconds = new Map(
    log.split("\n").map((line) => line.split(" ") as [string, string]),
  );
  const dated = await Promise.all(paths.map(async (path) => {
    const [commit] = await commitsOf(site, path);
    return { path, time: Number(seconds.get(commit!)) };
  }));
  return dated.sort((a, b) => sign * (a.time - b.time)).map(({ path }) => path);
}

Deno.test("sort=lastChanged.date is the order of git's dates", async () => {
  await using site = await startSite({ "readme.md": "" }, { env });
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
  const changed = paths[60]!;
  for (const path of [changed, "elsewhere.md"]) {
    await site.push({ [path]: "changed\n" });
    const expected = await sortedByGit(site, paths, -1);
    assertEquals(await pathsOf("-lastChanged.date"), expected);
  }
  assertEquals(asked, [[changed], []]);

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
      const node = {
        oid: variables.commit,
        committedDate: new Date(1000 * seconds).toISOString(),
        message: "",
        author: null,
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
  await using site = await startSite(files(2_000), { env });
  const { service } = site;
  const seen = fakeHistory(site);
  const query = { sort: "-lastChanged.date", limit: 2 };
  const { items } = await service.list(query);
  assertEquals(items.map(({ name }) => name), ["1999.md", "1998.md"]);
  assertEquals(seen.sizes, Array(40).fill(50));
  assert(seen.most <= 4, `${seen.most} at a time`);

  await site.push({ "posts/2000.md": "" });
  const { code, detail } = await service.problem(listPath(query));
  assertEquals(code, "collection-too-large");
  assert(detail.includes("at most 2000 files"), detail);
  assertEquals(seen.sizes.length, 40);
  await service.list({ ...query, "filter[name]": "19*" });
});

Deno.test("a request for the history of 50 files counts as a miss", async () => {
  await using site = await startSite(files(500), {
    env: { ...env, MISSES_PER_MINUTE: "10" },
  });
  fakeHistory(site);
  await site.service.list({ sort: "lastChanged.date" });
  const { status } = await site.service.problem(listPath({ limit: 1 }));
  assertEquals(status, 429);
});

Deno.test("a sort that an outage stops goes on where it was", async () => {
  await using site = await startSite(files(600), { env });
  const { service } = site;
  const seen = fakeHistory(site, () => seen.sizes.length >= 6);
  const query = { sort: "lastChanged.date", limit: 1 };
  await (await service.send(listPath(query))).body?.cancel();
  const before = seen.sizes.length;
  assert(before >= 6 && before < 12, `${before} queries`);
  service.clock.advance(300_000);
  const again = fakeHistory(site);
  const { items } = await service.list(query);
  assertEquals(items[0]!.name, "000.md");
  assert(again.sizes.length <= 12 - before + 1, `${again.sizes}`);
});

Deno.test("changes follow a branch with merges and reverts", async () => {
  await using site = await startSite({ "readme.md": "" }, { env });
  const { repository, service } = site;
  const history = { files: 12, commits: 40, seed: 2 };
  const steps = await generateHistory(repository, history);
  // Commits in turn, then two at once, then back and forth.
  const twoAtOnce = steps.slice(10).filter((_, index) => index % 2 === 0);
  const walk = [...steps.slice(2, 10), ...twoAtOnce, steps[5]!, steps[30]!];
  for (const step of walk) {
    await repository.branch("main", step);
    service.clock.advance(60_000);
    await compare(site);
  }
});

Deno.test("a change is not missed if the files are the same again", async () => {
  await using site = await startSite(files(2), { env });
  const { repository, service } = site;
  await compare(site);
  await repository.commit({ "posts/000.md": "other\n" });
  await site.push({ "posts/000.md": "# 0\n" });
  await compare(site);
  // A force push of the same files has other commits.
  const tree = await repository.git("rev-parse", "main^{tree}");
  const other = await repository.git("commit-tree", "-m", "Again", tree);
  await repository.branch("main", other);
  service.clock.advance(60_000);
  await compare(site);
});

Deno.test("a change has a date, a commit, a name and one line", async () => {
  await using site = await startSite(files(1), { env });
  const { repository } = site;
  const message = `${"Long ".repeat(200)}\n\nBody by x@example.org`;
  const author = ["-c", "user.name=Ann a@example.org", "-c", "user.email=e@e"];
  const tree = await repository.git("rev-parse", "main^{tree}");
  const commit = ["commit-tree", "-m", message, tree];
  await repository.branch("main", await repository.git(...author, ...commit));
  const { lastChanged } = (await compare(site))[0]!;
  const { date, author: { name }, message: line } = lastChanged!;
  const time = await repository.git("log", "-1", "--format=%ct", "main");
  assertEquals(Date.parse(date), 1000 * Number(time));
  assert(line.startsWith("Long Long") && line.length === 500);
  assert(name !== "" && !`${name}${line}`.includes("@"));
});

Deno.test("an item has its first change, for two requests at most", async () => {
  await using site = await startSite(files(1), { env });
  const { gh, repository, service } = site;
  const path = "posts/000.md";
  const changesOf = async () => {
    service.clock.advance(60_000);
    gh.resetCounts();
    const item = await service.item({ path, includeHistory: true });
    return [item.lastChanged?.commit, item.created?.commit];
  };
  for (const [index, cost] of [1, 2, 2].entries()) {
    const found = await changesOf();
    const commits = await commitsOf(site, path);
    assertEquals(found, [commits[0], commits.at(-1)]);
    assertEquals(gh.counts().graphql, cost, `after ${index} changes`);
    await repository.commit({ [path]: `${index}\n` });
  }
  // Cursors in another form tell nothing.
  gh.intercept = async (_, { kind }, real) => {
    if (kind !== "graphql") return null;
    const text = await (await real()).text();
    return new Response(text.replace(/"endCursor":"[^"]*"/, '"endCursor":"x"'));
  };
  assertEquals(await changesOf(), [await repository.head(), undefined]);
});

Deno.test("a batch that GitHub cannot answer is split", async () => {
  await using site = await startSite(files(50), { env });
  const { gh, service } = site;
  const sizes: number[] = [];
  gh.intercept = async (request, { kind }) => {
    if (kind !== "graphql") return null;
    const { variables } = await request.clone().json();
    const paths = Object.values<string>(variables)
      .filter((value) => value.startsWith("posts/"));
    sizes.push(paths.length);
    return paths.includes("posts/031.md")
      ? new Response("", { status: 502 })
      : null;
  };
  const query = { sort: "lastChanged.date", includeHistory: true };
  const { items } = await service.list(query);
  const dated = items.filter(({ lastChanged }) => lastChanged);
  assertEquals([dated.length, items.at(-1)!.name], [49, "031.md"]);
  assert(sizes.length < 17, `${sizes}`);

  // It has none for five minutes. Only this file is then asked about again.
  sizes.length = 0;
  for (const wait of [60_000, 240_000]) {
    service.clock.advance(wait);
    assertEquals((await service.list(query)).items.at(-1)!.name, "031.md");
  }
  assertEquals(sizes, [1]);
  gh.intercept = null;
  service.clock.advance(300_000);
  await compare(site);
  assertEquals((await service.list(query)).items[31]!.name, "031.md");
});

Deno.test("files that a partial answer lacks are asked about again", async () => {
  await using site = await startSite(files(50), { env });
  site.gh.graphqlMaxObjects = 20;
  await compare(site);
  assertEquals(site.gh.counts().graphql, 3);
});

Deno.test("an outage of GraphQL is a source failure after few requests", async () => {
  for (const count of [1, 2, 4, 100]) {
    await using site = await startSite(files(count), { env });
    const { gh, service } = site;
    gh.fault = { kind: "status", status: 502, only: ["graphql"] };
    const include = { includeHistory: true, limit: 100 };
    for (const query of [include, { sort: "-lastChanged.date" }]) {
      gh.resetCounts();
      const { code } = await service.problem(listPath(query));
      assertEquals([count, code], [count, "source-failed"]);
      const asked = gh.counts().graphql ?? 0;
      assert(asked <= 12, `${asked}`);
    }
  }
});

Deno.test("histories are not kept across repositories", async () => {
  await using site = await startSite(files(3), { env });
  const { gh, repository, service } = site;
  await compare(site);
  gh.add("octo/copy", repository);
  gh.resetCounts();
  await service.list({ repo: "copy", includeHistory: true });
  assertEquals(gh.counts().graphql, 1);
});
