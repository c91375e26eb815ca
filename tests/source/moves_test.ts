import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import type { CachedRepository } from "../../lib/source/cached_repository.ts";
import { serveRepository } from "../github/served_repository.ts";
import { TestClock } from "../test_clock.ts";
import { openCached, type SourceOptions } from "./github_source.ts";
import { freeCaller } from "./repository_suite.ts";

const HOUR_MS = 3_600_000;

/** `octo/site`, and a reader of it under the name that it had. */
async function open(options: Omit<SourceOptions, "clock"> = {}) {
  const clock = new TestClock();
  const served = await serveRepository({ "a.md": "A\n", "b.md": "B\n" }, { now: clock.now });
  for (const token of options.tokens ?? []) served.gh.addToken(token);
  const repository = openCached(served.gh, { clock, ...options });
  return {
    ...served,
    clock,
    git: served.repository,
    repository,
    resolve: () => resolve(repository),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

function resolve(repository: CachedRepository, repo = "site") {
  return repository.resolve({ owner: "octo", repo, branch: null }, freeCaller);
}

async function notFound(repository: CachedRepository) {
  const error = await assertRejects(() => resolve(repository), CollectionsError);
  assertEquals(error.code, "repository-not-found");
  assertEquals(error.detail.includes('"octo/site"'), true, error.detail);
}

Deno.test("a renamed repository is followed, and answers under the name that was asked for", async () => {
  for (const location of ["numeric", "named"] as const) {
    await using opened = await open();
    const { gh, git } = opened;
    gh.rename("octo/site", "other/place", { location });
    const snapshot = await opened.resolve();
    assertEquals(snapshot.name, { owner: "octo", repo: "site" });
    assertEquals(snapshot.commit, await git.head());
    assertEquals(gh.counts(), { redirect: 1, commit: 1 });
  }
});

Deno.test("the target of a move is remembered with the branch, for trees and checks alike", async () => {
  await using opened = await open();
  const { clock, gh, repository } = opened;
  gh.rename("octo/site", "other/place");
  const snapshot = await opened.resolve();
  gh.resetCounts();
  assertEquals((await repository.readTree(snapshot, snapshot.rootTreeId, freeCaller)).length, 2);
  clock.advance(60_000);
  assertEquals((await opened.resolve()).freshness, "revalidated");
  assertEquals(gh.counts(), { tree: 1, commit: 1 });
  assertEquals(gh.requests.map(({ status }) => status), [200, 304]);
});

Deno.test("a moved repository's old name is asked again after an hour, since it may be another's by then", async () => {
  await using opened = await open();
  const { clock, gh } = opened;
  gh.rename("octo/site", "other/place");
  await opened.resolve();
  await using successor = await serveRepository({ "c.md": "C\n" });
  gh.add("octo/site", successor.repository);
  clock.advance(HOUR_MS - 1);
  const before = await opened.resolve();
  clock.advance(60_000);
  const after = await opened.resolve();
  assertEquals(before.commit, await opened.git.head());
  assertEquals(after.commit, await successor.repository.head());
});

Deno.test("a move while the branch is known costs its one 301 and keeps the answer", async () => {
  await using opened = await open();
  const { clock, gh } = opened;
  await opened.resolve();
  gh.rename("octo/site", "other/place");
  gh.resetCounts();
  clock.advance(60_000);
  assertEquals((await opened.resolve()).freshness, "revalidated");
  assertEquals(gh.counts(), { redirect: 1, commit: 1 });
});

Deno.test("two moves in a row are followed, three are not", async () => {
  await using opened = await open();
  const { gh, clock, repository } = opened;
  gh.redirect("octo/one", "{api}/repos/octo/site{rest}");
  gh.redirect("octo/two", "{api}/repos/octo/one{rest}");
  gh.redirect("octo/three", "{api}/repos/octo/two{rest}");
  gh.redirect("octo/loop", "{api}/repos/octo/loop{rest}");
  assertEquals((await resolve(repository, "two")).commit, await opened.git.head());
  assertEquals(gh.counts(), { redirect: 2, commit: 1 });
  for (const repo of ["three", "loop"]) {
    gh.resetCounts();
    const error = await assertRejects(() => resolve(repository, repo), CollectionsError);
    assertEquals([repo, error.code], [repo, "repository-not-found"]);
    // The branch question and the one that asks whether it is the branch or the repository that is missing.
    assertEquals(gh.counts(), { redirect: 6 });
    clock.advance(1);
  }
});

Deno.test("a move that leads to another host, elsewhere on this one or nowhere is not followed", async () => {
  for (
    const location of [
      "none",
      "other-host",
      "{api}/user/repos",
      "{api}/repos/octo",
      "{api}/repos/../user{rest}",
      "//127.0.0.1:1/repos/octo/site{rest}",
      "file:///repos/octo/site",
    ] as const
  ) {
    await using opened = await open({ tokens: ["t1"] });
    const { gh, repository } = opened;
    if (location === "none" || location === "other-host") {
      gh.rename("octo/site", "other/place", { location });
    } else {
      gh.remove("octo/site");
      gh.redirect("octo/site", location);
    }
    await notFound(repository);
    // Nothing but the two questions about the name as it was asked.
    assertEquals([location, gh.counts()], [location, { redirect: 2 }]);
  }
});

Deno.test("what leads elsewhere for a while is a failure, and withdraws nothing", async () => {
  for (const status of [302, 307]) {
    await using opened = await open();
    const { clock, gh, resolve } = opened;
    const { commit } = await resolve();
    clock.advance(60_000);
    gh.intercept = () => new Response(null, { status, headers: { location: "/maintenance" } });
    const stale = await resolve();
    assertEquals([stale.commit, stale.freshness], [commit, "stale"]);
  }
});

Deno.test("a moved repository is seen as its target is: public, or not at all", async () => {
  await using opened = await open({ tokens: ["t1"] });
  const { clock, gh, repository } = opened;
  gh.addToken("t1", { sees: "all" });
  gh.rename("octo/site", "other/place");
  assertEquals((await opened.resolve()).commit, await opened.git.head());
  assertEquals(gh.counts(), { redirect: 2, commit: 1, repo: 1 });
  gh.setVisibility("other/place", "private");
  clock.advance(60_000);
  await notFound(repository);

  await using hidden = await open({ tokens: ["t1"] });
  hidden.gh.addToken("t1", { sees: "all" });
  hidden.gh.rename("octo/site", "other/place");
  hidden.gh.setVisibility("other/place", "private");
  await notFound(hidden.repository);
});

Deno.test("files of a moved repository are read by GraphQL, the raw host and the blobs API", async () => {
  for (const options of [{ tokens: ["t1"] }, {}, { raw: false }]) {
    await using opened = await open(options);
    const { gh, git, repository } = opened;
    gh.rename("octo/site", "other/place");
    const snapshot = await opened.resolve();
    const files = (await git.lsTree("HEAD")).map(({ path, oid, size }) => ({
      path,
      id: oid,
      size: size!,
    }));
    const blobs = await repository.readBlobs(snapshot, files, freeCaller);
    for (const { id } of files) {
      const bytes = blobs.get(id);
      assertInstanceOf(bytes, Uint8Array);
      assertEquals(bytes, await git.blob(id));
    }
  }
});
