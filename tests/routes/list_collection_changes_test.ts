// Changes between two commits, against git and at the edges.

import { assert, assertEquals } from "@std/assert";
import type { ChangedFileBody } from "../../lib/api/contract.ts";
import type { CollectionChanges } from "../../packages/client/client.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { makeSampleFolder } from "../local/sample_folder.ts";
import { changesPath, listPath, startService } from "../service.ts";
import { startSite } from "../site.ts";

/** The changes as lines of `git diff --name-status`, in its letters. */
function linesOf(changes: CollectionChanges): string[] {
  const line = (letter: string) => ({ path }: ChangedFileBody) =>
    `${letter}\t${path}`;
  return [
    ...changes.added.map(line("A")),
    ...changes.changed.map(line("M")),
    ...changes.removed.map(line("D")),
    ...changes.renamed.map(({ from, path }) => `R100\t${from}\t${path}`),
  ].sort();
}

/** Numbers from 0 to 1 that are the same in each run. */
function randomNumbers(seed: number): () => number {
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return seed / 2 ** 32;
  };
}

Deno.test("changes of random pairs of commits are those of git diff", async () => {
  const random = randomNumbers(7);
  const pick = <T>(values: readonly T[]) =>
    values[Math.floor(random() * values.length)]!;
  const names = ["a.md", "b.md", "ä.md", "z", "a-b.md", "😀.md", "\uffff.md"];
  const folders = ["", "x/", "x/y/", "x-y/", "é/"];
  const pathIn = () => `posts/${pick(folders)}${pick(names)}`;
  await using site = await startSite({ "posts/a.md": "0", "other.md": "0" });
  const { repository, service } = site;
  const commits = [await repository.head()];
  let present: Record<string, string> = { "posts/a.md": "0" };
  for (let n = 0; n < 30; n++) {
    const changes: Record<string, string | null> = {};
    for (let step = 0; step < 6; step++) {
      const path = pathIn();
      const content = { ...present, ...changes }[path];
      if (typeof content === "string" && random() < 0.5) {
        changes[path] = null;
        if (random() < 0.8) changes[pathIn()] = content;
      } else changes[path] = pick(["", "1", "2", "3", "4"]);
    }
    changes["posts/a.md"] ??= `${n}`;
    const after = Object.entries({ ...present, ...changes });
    present = Object.fromEntries(
      after.filter((entry): entry is [string, string] => entry[1] !== null),
    );
    commits.push(await repository.commit(changes));
  }
  let renames = 0;
  for (let n = 0; n < 50; n++) {
    const [since, commit] = [pick(commits), pick(commits)];
    const found = await service.changes({ since, branch: commit });
    assertEquals(found.repository.commit, commit);
    const diff = ["diff", "--name-status", "-M100%", "-l0", since, commit];
    const plain = ["-c", "core.quotePath=false", ...diff, "--", "posts"];
    const lines = (await repository.git(...plain)).split("\n");
    const expected = lines.filter((line) => line !== "").sort();
    assertEquals(linesOf(found), expected, `${since} ${commit}`);
    renames += found.renamed.length;
  }
  assert(renames > 50, `${renames} renames`);
});

Deno.test("changes name files from the root, with id and size", async () => {
  await using site = await startSite({ "posts/a.md": "a", "posts/b.md": "b" });
  const { repository, service } = site;
  const since = await repository.head();
  await site.push({
    "posts/a.md": null,
    "posts/new/c.md": "a",
    "posts/.hidden": "",
    "posts/link": { symlink: "b.md" },
    "posts/d.md": "dd",
  });
  const changes = await service.changes({ since });
  const of = (revision: string) => repository.find(revision)!.oid;
  assertEquals(changes.added, [
    { path: "posts/d.md", sha: of("main:posts/d.md"), size: 2 },
  ]);
  assertEquals([changes.changed, changes.removed], [[], []]);
  assertEquals(changes.renamed, [{
    path: "posts/new/c.md",
    sha: of(`${since}:posts/a.md`),
    size: 1,
    from: "posts/a.md",
  }]);
});

const CMS = (folder: string) =>
  `content:\n  - { name: news, type: collection, path: ${folder} }\n`;

interface Edge {
  readonly collection?: string;
  readonly before: GitFiles;
  readonly after: GitFiles;
  readonly lines: readonly string[];
}

const EDGES: Readonly<Record<string, Edge>> = {
  "of a new folder are all added": {
    before: { "a.md": "" },
    after: { "posts/a.md": "1", "posts/b.md": "2" },
    lines: ["A\tposts/a.md", "A\tposts/b.md"],
  },
  "of a removed folder are all removed": {
    before: { "posts/a.md": "1", "b.md": "" },
    after: { "posts/a.md": null },
    lines: ["D\tposts/a.md"],
  },
  "of a folder that moved are renames": {
    before: { "content/posts/a.md": "1" },
    after: { "content/posts/a.md": null, "src/content/posts/a.md": "1" },
    lines: ["R100\tcontent/posts/a.md\tsrc/content/posts/a.md"],
  },
  "of a declared collection follow its rule": {
    collection: "news",
    before: {
      ".pages.yml": CMS("texts"),
      "texts/a.md": "1",
      "texts/a.png": "1",
    },
    after: { "texts/a.md": "3", "texts/a.png": "3", "texts/b.png": "2" },
    lines: ["M\ttexts/a.md"],
  },
  "of a declaration that moved compare both folders": {
    collection: "news",
    before: { ".pages.yml": CMS("x"), "x/a.md": "1", "y/b.md": "2" },
    after: { ".pages.yml": CMS("y") },
    lines: ["A\ty/b.md", "D\tx/a.md"],
  },
  "with hostile names are files": {
    before: { "posts/a.md": "" },
    after: { "posts/__proto__": "1", "posts/constructor": "2" },
    lines: ["A\tposts/__proto__", "A\tposts/constructor"],
  },
};

for (const [name, edge] of Object.entries(EDGES)) {
  Deno.test(`changes ${name}`, async () => {
    const { collection = "posts", before, after, lines } = edge;
    await using site = await startSite(before);
    const since = await site.repository.head();
    await site.repository.commit(after);
    const changes = await site.service.changes({ since, collection });
    assertEquals(linesOf(changes), lines);
  });
}

Deno.test("changes read no file, and only lists that differ", async () => {
  await using site = await startSite({ "posts/a.md": "1", "b.md": "1" });
  const { gh, service } = site;
  const { repository: { commit: since } } = await service.list();
  await site.push({ "b.md": "2" });
  const before = gh.requests.length;
  assertEquals(linesOf(await service.changes({ since })), []);
  const kinds = gh.requests.slice(before).map(({ kind }) => kind);
  assertEquals(kinds, ["commit", "tree"]);
});

Deno.test("changes after a force push compare with the lost commit", async () => {
  await using site = await startSite({ "posts/a.md": "1" });
  const { repository, service } = site;
  const first = await repository.head();
  await repository.commit({ "posts/b.md": "2" });
  const { repository: { commit: since } } = await service.list();
  await repository.branch("main", first);
  service.clock.advance(60_000);
  assertEquals(linesOf(await service.changes({ since })), ["D\tposts/b.md"]);
});

Deno.test("changes since a dropped commit are since-unknown", async () => {
  await using site = await startSite({ "posts/a.md": "1", "b.md": "" });
  const { gh, repository, service } = site;
  const since = await repository.head();
  gh.fault = ({ kind }) =>
    kind.startsWith("tree") ? { kind: "status", status: 500 } : null;
  await service.problem(listPath());
  await site.push({ "posts/b.md": "2" });
  gh.fault = ({ path }) =>
    path.includes(since) ? { kind: "status", status: 404 } : null;
  const { code } = await service.problem(changesPath({ since }));
  assertEquals(code, "since-unknown");
});

Deno.test("changes of a data file are those of the file", async () => {
  await using site = await startSite({ "a.csv": "n\n1\n", "b.md": "" });
  const { repository, service } = site;
  const collection = "a.csv";
  let since = await repository.head();
  const steps: [lines: string, GitFiles][] = [
    ["", { "b.md": "1" }],
    ["M\ta.csv", { "a.csv": "n\n2\n" }],
    ["D\ta.csv", { "a.csv": null, "c.csv": "n\n2\n" }],
    ["A\ta.csv", { "a.csv": "n\n" }],
    ["A\ta.csv/b,D\ta.csv", { "a.csv": null, "a.csv/b": "other" }],
  ];
  for (const [lines, files] of steps) {
    await site.push(files);
    const changes = await service.changes({ since, collection });
    assertEquals(linesOf(changes).join(), lines);
    since = changes.repository.commit;
  }
});

Deno.test("changes of what is not there are its problem", async () => {
  await using site = await startSite({ "posts/a.md": "1" });
  const { repository, service } = site;
  await repository.branch("next");
  const since = await repository.head();
  await service.changes({ since, branch: "next" });
  await repository.deleteBranch("next");
  await site.push({ "posts/a.md": "2" });
  const rows = {
    "branch-not-found": { branch: "next" },
    "collection-not-found": { collection: "post" },
  };
  for (const [expected, query] of Object.entries(rows)) {
    const { code } = await service.problem(changesPath({ since, ...query }));
    assertEquals(code, expected);
  }
});

Deno.test("changes of over 10,000 files are collection-too-large", async () => {
  await using site = await startSite({ "posts/a.md": "" });
  const { repository, service } = site;
  const since = await repository.head();
  const files = Array.from({ length: 10_000 }, (_, n) => [`posts/${n}.md`, ""]);
  await repository.commit(Object.fromEntries(files));
  const most = await service.changes({ since });
  assertEquals(most.added.length, 10_000);
  await site.push({ "posts/one-more.md": "" });
  const { code, detail } = await service.problem(changesPath({ since }));
  assertEquals(code, "collection-too-large");
  assert(detail.includes("more than 10000 files"), detail);
});

Deno.test("changes of chosen repositories know the commits they saw", async () => {
  await using site = await startSite({ "posts/a.md": "1" }, {
    env: { ALLOWED_REPOS: "octo/site" },
  });
  const { repository, service } = site;
  const unseen = await repository.head();
  const since = await repository.commit({ "posts/a.md": "2" });
  await service.list();
  await site.push({ "posts/b.md": "3" });
  assertEquals(linesOf(await service.changes({ since })), ["A\tposts/b.md"]);
  const { code } = await service.problem(changesPath({ since: unseen }));
  assertEquals(code, "since-unknown");
});

Deno.test("changes of a local folder know its last two states", async () => {
  await using folder = await makeSampleFolder({ "posts/a.md": "1" });
  const env = { LOCAL_REPOS_DIR: folder.root };
  await using service = await startService({ env });
  const local = { owner: "local", repo: "blog" };
  const { repository: { commit: since } } = await service.list(local);
  await folder.write("posts/b.md", "2");
  service.clock.advance(60_000);
  const changes = await service.changes({ ...local, since });
  assertEquals(linesOf(changes), ["A\tposts/b.md"]);
  await folder.write("posts/c.md", "3");
  service.clock.advance(60_000);
  await service.list(local);
  const path = changesPath({ ...local, since });
  assertEquals((await service.problem(path)).code, "since-unknown");
});
