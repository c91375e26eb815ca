// Against Git itself: every answer comes from `git upload-pack`.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { lsRefs, type LsRefsResult } from "../../../lib/source/github/ls_refs.ts";
import { GitHttpBridge } from "../../github/git_http_bridge.ts";
import { type GitRepository, makeGitRepository } from "../../github/git_repository.ts";
import { GithubRegistry } from "../../github/github_registry.ts";

/** One bridge with one repository, `octo/site`. */
async function serve(files: Record<string, string> = { "a.md": "# A\n" }, branch = "main") {
  const repository = await makeGitRepository(files, { branch });
  const registry = new GithubRegistry();
  registry.add("octo/site", { git: repository });
  const bridge = new GitHttpBridge(registry);
  return {
    repository,
    registry,
    bridge,
    ask: (ref: string, repo = "site") => ask(bridge.url, ref, repo),
    async [Symbol.asyncDispose]() {
      await bridge[Symbol.asyncDispose]();
      await repository[Symbol.asyncDispose]();
    },
  };
}

function ask(gitUrl: string, ref: string, repo = "site"): Promise<LsRefsResult> {
  const signal = new AbortController().signal;
  return lsRefs({ owner: "octo", repo, ref }, { gitUrl, fetch, signal, now: Date.now });
}

const answered = { owner: "octo", repo: "site", defaultBranch: "main" };
const found = (as: "branch" | "tag" | "HEAD", commit: string) => ({
  kind: "found" as const,
  as,
  commit,
  ...answered,
});

/** Points many refs at HEAD by one process. */
async function addRefs(repository: GitRepository, names: Iterable<string>): Promise<void> {
  const head = await repository.git("rev-parse", "HEAD");
  const lines = Array.from(names, (name) => `${head} ${name}\n`).toSorted((a, b) =>
    a.slice(41) < b.slice(41) ? -1 : 1
  );
  const header = "# pack-refs with: peeled fully-peeled sorted \n";
  await Deno.writeTextFile(`${repository.dir}/packed-refs`, header + lines.join(""));
}

Deno.test("lsRefs() finds branches, those with slashes and letters beyond ASCII too, and no others", async () => {
  await using served = await serve();
  const { repository, ask } = served;
  for (const name of ["main-2", "mai", "feature/a", "feature/a-b", "féé/𝒳", "HEADS"]) {
    await repository.commit({ [`${name}.md`]: name }, { branch: name });
  }
  for (const name of ["main", "main-2", "mai", "feature/a", "feature/a-b", "féé/𝒳", "HEADS"]) {
    assertEquals(await ask(name), found("branch", await repository.head(name)));
  }
  for (const name of ["ma", "main-", "feature", "heads/main", "refs/heads/main", "féé/𝒴", "zz"]) {
    assertEquals(await ask(name), { kind: "missing", ...answered }, name);
  }
});

Deno.test("lsRefs() prefers a branch to a tag of its name, and peels tags", async () => {
  await using served = await serve();
  const { repository, ask } = served;
  const first = await repository.head();
  const second = await repository.commit({ "b.md": "b" });
  await repository.git("update-ref", "refs/heads/both", second);
  await repository.tag("both", { at: first });
  await repository.tag("light", { at: first });
  await repository.tag("noted", { at: first, annotated: true });
  await repository.git("tag", "--annotate", "--message", "x", "nested", "refs/tags/noted");
  assertEquals(await ask("both"), found("branch", second));
  assertEquals(await ask("light"), found("tag", first));
  assertEquals(await ask("noted"), found("tag", first));
  assertEquals(await ask("nested"), found("tag", first));
});

Deno.test("lsRefs() cannot distinguish a tag on a tree from one on a commit, and reports that it is a tag", async () => {
  await using served = await serve();
  const tree = await served.repository.git("rev-parse", "HEAD^{tree}");
  await served.repository.git("update-ref", "refs/tags/tree", tree);
  assertEquals(await served.ask("tree"), found("tag", tree));
});

Deno.test("lsRefs() resolves HEAD to the default branch, and names it for a missing one", async () => {
  await using served = await serve({ "a.md": "a" }, "trunk/é");
  const commit = await served.repository.head("trunk/é");
  const defaultBranch = "trunk/é";
  assertEquals(await served.ask("HEAD"), { ...found("HEAD", commit), defaultBranch });
  assertEquals(await served.ask("main"), { kind: "missing", ...answered, defaultBranch });
});

Deno.test("lsRefs() gives no name for a detached HEAD", async () => {
  await using served = await serve();
  const commit = await served.repository.head();
  await served.repository.git("update-ref", "--no-deref", "HEAD", commit);
  assertEquals(await served.ask("HEAD"), { ...found("HEAD", commit), defaultBranch: null });
});

Deno.test("lsRefs() says of an empty repository that its HEAD is unborn", async () => {
  await using served = await serve();
  served.registry.add("octo/empty");
  const unborn = { kind: "unborn" as const, ...answered, repo: "empty" };
  assertEquals(await served.ask("main", "empty"), unborn);
  assertEquals(await served.ask("HEAD", "empty"), unborn);
});

Deno.test("lsRefs() finds another branch where HEAD names one that is not there", async () => {
  await using served = await serve();
  const commit = await served.repository.commit({ "b.md": "b" }, { branch: "other" });
  await served.repository.git("symbolic-ref", "HEAD", "refs/heads/gone");
  const defaultBranch = "gone";
  assertEquals(await served.ask("other"), { ...found("branch", commit), defaultBranch });
  assertEquals(await served.ask("nope"), { kind: "unborn", ...answered, defaultBranch });
});

Deno.test("lsRefs() answers for a commit id that the repository is visible and has no such ref", async () => {
  await using served = await serve();
  const commit = await served.repository.head();
  assertEquals(await served.ask(commit), { kind: "missing", ...answered });
  await served.repository.git("update-ref", `refs/tags/${commit}`, commit);
  assertEquals(await served.ask(commit), found("tag", commit));
});

Deno.test("lsRefs() follows a ref that appears, moves and vanishes", async () => {
  await using served = await serve();
  const { repository, ask } = served;
  assertEquals((await ask("new")).kind, "missing");
  for (const text of ["1", "2"]) {
    const commit = await repository.commit({ "n.md": text }, { branch: "new" });
    assertEquals(await ask("new"), found("branch", commit));
  }
  await repository.deleteBranch("new");
  assertEquals((await ask("new")).kind, "missing");
});

Deno.test("lsRefs() finds one of 10,000 refs of one prefix, and stops past the name", async () => {
  await using served = await serve();
  const commit = await served.repository.head();
  const names = Array.from({ length: 10_000 }, (_, n) => `v${String(n).padStart(5, "0")}`);
  await addRefs(served.repository, [
    "refs/heads/main",
    ...names.map((name) => `refs/heads/${name}`),
    ...names.map((name) => `refs/tags/${name}`),
    "refs/tags/v",
  ]);
  for (const name of ["v00000", "v05000", "v09999"]) {
    assertEquals(await served.ask(name), found("branch", commit));
  }
  // All 10,000 branches come before the tag, whose own name comes before those of the other tags.
  assertEquals(await served.ask("v"), found("tag", commit));
  assertEquals(await served.ask("v0000"), { kind: "missing", ...answered });
});

Deno.test("lsRefs() gives up on more than 4 MiB of refs", async () => {
  await using served = await serve();
  const long = "x".repeat(200);
  await addRefs(
    served.repository,
    Array.from({ length: 18_000 }, (_, n) => `refs/heads/v${String(n).padStart(5, "0")}${long}`),
  );
  const result = await served.ask("v");
  assert(result.kind === "unusable" && result.reason.includes("4194304"), JSON.stringify(result));
});

Deno.test("lsRefs() is denied what is missing, private or private behind an old name", async () => {
  await using served = await serve();
  served.registry.add("octo/secret", { git: served.repository, visibility: "private" });
  served.registry.add("octo/old", { git: served.repository, visibility: "private" });
  served.registry.rename("octo/old", "octo/hidden", "named");
  for (const repo of ["nothing", "secret", "old"]) {
    assertEquals(await served.ask("main", repo), { kind: "denied" });
  }
});

Deno.test("lsRefs() follows two moves on the same origin and says where it arrived", async () => {
  await using served = await serve();
  const { registry, repository, bridge, ask } = served;
  registry.rename("octo/site", "Other/New.Name", "named");
  const commit = await repository.head();
  const there = { ...found("branch", commit), owner: "Other", repo: "New.Name" };
  assertEquals(await ask("main"), there);
  registry.addRedirect("octo/hop", "{git}/octo/site/git-upload-pack");
  assertEquals(await ask("main", "hop"), there);
  assertEquals(bridge.requests.slice(-3), ["octo/hop", "octo/site", "Other/New.Name"]);
  registry.addRedirect("octo/three", "/octo/hop.git/git-upload-pack");
  assertEquals((await ask("main", "three")).kind, "unusable");
  registry.addRedirect("octo/loop", "/octo/loop.git/git-upload-pack");
  bridge.requests.length = 0;
  assertEquals((await ask("main", "loop")).kind, "unusable");
  assertEquals(bridge.requests.length, 3);
});

Deno.test("lsRefs() follows no other redirect", async () => {
  await using served = await serve();
  const { registry, bridge, ask } = served;
  const good = "/octo/site.git/git-upload-pack";
  const port = new URL(bridge.url).port;
  const locations = [
    `http://localhost:${port}${good}`,
    `https://127.0.0.1:${port}${good}`,
    `//elsewhere.test${good}`,
    `${good}?a=b`,
    "/octo/site.git/info/refs",
    "/octo/site.git",
    "/a/octo/site.git/git-upload-pack",
    "/octo/../../git-upload-pack",
    "/octo/%2e%2e/git-upload-pack",
    "/octo/s%2Fite/git-upload-pack",
    "/login/oauth",
    "http://[",
    "data:text/plain,x",
  ];
  for (const location of locations) {
    registry.addRedirect("octo/moved", location as `${string}/${string}`);
    bridge.requests.length = 0;
    assertEquals((await ask("main", "moved")).kind, "unusable", location);
    assertEquals(bridge.requests, ["octo/moved"], location);
  }
  registry.addRedirect("octo/moved", "none");
  assertEquals((await ask("main", "moved")).kind, "unusable");
  for (const status of [302, 303, 307, 308]) {
    bridge.intercept = () => new Response(null, { status, headers: { location: good } });
    assertEquals((await ask("main")).kind, "unusable");
  }
});

Deno.test("lsRefs() stays below a base with a path", async () => {
  await using served = await serve();
  const { bridge } = served;
  const seen: string[] = [];
  bridge.intercept = (request) => {
    seen.push(new URL(request.url).pathname);
    const location = seen.length === 1
      ? "/git/octo/b.git/git-upload-pack"
      : "/tig/octo/c.git/git-upload-pack";
    return new Response(null, { status: 301, headers: { location } });
  };
  assertEquals((await ask(`${bridge.url}/git`, "main", "a")).kind, "unusable");
  assertEquals(seen, ["/git/octo/a.git/git-upload-pack", "/git/octo/b.git/git-upload-pack"]);
});

Deno.test("lsRefs() sends nothing once its signal has aborted, and throws the reason", async () => {
  await using served = await serve();
  const reason = new Error("the client left");
  const asked = lsRefs({ owner: "octo", repo: "site", ref: "main" }, {
    gitUrl: served.bridge.url,
    fetch,
    signal: AbortSignal.abort(reason),
    now: Date.now,
  });
  assertEquals(await assertRejects(() => asked), reason);
  assertEquals(served.bridge.requests, []);
});

Deno.test("lsRefs() of a host that is down is unusable", async () => {
  await using served = await serve();
  await served.bridge.down();
  assertEquals(await served.ask("main"), { kind: "unusable", reason: "the connection failed" });
});
