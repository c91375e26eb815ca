// Renamed and moved repositories: every check goes to the name that was
// requested.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { CollectionsError } from "../../lib/errors.ts";
import { serveRepository } from "../github/served_repository.ts";
import { uncharged } from "./open_github.ts";
import { openRefs } from "./open_refs.ts";

/** Forms of a redirect to the new name. */
const LOCATIONS = ["{api}/repositories/{id}{rest}", "{api}/repos/{name}{rest}"];

/** The code of an error that names the repository as the request did. */
async function denialOf(resolving: Promise<unknown>): Promise<string> {
  const { code, detail } = await assertRejects(
    () => resolving,
    CollectionsError,
  );
  assert(detail.includes('"octo/'), detail);
  return code;
}

Deno.test("a renamed repository is followed under its old name", async () => {
  for (const location of LOCATIONS) {
    await using opened = await openRefs();
    const { cached, clock, gh, git, outcome, resolve, statuses } = opened;
    gh.rename("octo/site", "other/place", location);
    const snapshot = await resolve();
    assertEquals(snapshot.name, { owner: "octo", repo: "site" });
    assertEquals(snapshot.commit, await git.head());
    assertEquals(gh.counts(), { redirect: 1, commit: 1 });
    gh.resetCounts();
    assertEquals(
      (await cached.tree(snapshot, snapshot.commit, uncharged)).length,
      2,
    );
    clock.advance(60_000);
    assertEquals(await outcome(), "unchanged");
    assertEquals(gh.counts(), { tree: 1, redirect: 1, commit: 1 });
    assertEquals(statuses(), [200, 301, 304]);
  }
});

Deno.test("files of a moved repository are read by all three ways", async () => {
  for (const options of [{ tokens: ["t1"] }, {}, { raw: false }]) {
    await using opened = await openRefs(options);
    const { cached, gh, git, resolve } = opened;
    gh.rename("octo/site", "other/place");
    const files = (await git.lsTree("HEAD")).map(({ path, oid }) => ({
      path,
      id: oid,
      size: 2,
    }));
    const blobs = await cached.blobs(await resolve(), files, uncharged);
    for (const { id } of files) assertEquals(blobs.get(id), await git.blob(id));
  }
});

Deno.test("a name given to another repository shows that one", async () => {
  for (const tokens of [[], ["t1"]]) {
    await using opened = await openRefs({ tokens });
    const { clock, gh, git, resolve } = opened;
    gh.rename("octo/site", "other/place");
    assertEquals((await resolve()).commit, await git.head());
    await using successor = await serveRepository({ "c.md": "C\n" });
    gh.add("octo/site", successor.repository);
    clock.advance(60_000);
    const { commit, freshness } = await resolve();
    assertEquals([commit, freshness], [
      await successor.repository.head(),
      "moved",
    ]);
  }
});

Deno.test("a moved repository must be allowed under its own name", async () => {
  for (const location of LOCATIONS) {
    const options = { tokens: ["t1"], allowed: "octo/site,OTHER/fine" };
    await using opened = await openRefs(options);
    const { clock, gh, git, resolve } = opened;
    const known = await resolve();
    gh.rename("octo/site", "other/internal", location);
    gh.setVisibility("other/internal", "private");
    await git.commit({ "secret.md": "secret\n" });
    clock.advance(60_000);
    assertEquals(await denialOf(resolve()), "repository-not-allowed");
    assertEquals(
      known.ref.checkedAtMs,
      0,
      "no cached response of it is sent any more",
    );
    // Neither its other content nor its default branch is revealed.
    assertEquals(
      await denialOf(resolve({ branch: "absent" })),
      "repository-not-allowed",
    );
    await gh.down();
    clock.advance(60_000);
    assertEquals(await opened.outcome(), "source-failed");

    await using fine = await openRefs(options);
    fine.gh.rename("octo/site", "other/fine", location);
    assertEquals((await fine.resolve()).commit, await fine.git.head());
  }
});

Deno.test("a moved repository is seen as its target is", async () => {
  await using opened = await openRefs({ tokens: ["t1"] });
  const { clock, gh, git, resolve } = opened;
  gh.rename("octo/site", "other/place");
  assertEquals((await resolve()).commit, await git.head());
  assertEquals(gh.counts(), { redirect: 2, commit: 1, repo: 1 });
  gh.setVisibility("other/place", "private");
  clock.advance(60_000);
  assertEquals(await denialOf(resolve()), "repository-not-found");
  // A process that did not know it as public sees nothing either.
  assertEquals(
    await denialOf(opened.start({ kv: null }).resolve()),
    "repository-not-found",
  );
});

Deno.test("two moves in a row are followed and no third", async () => {
  await using opened = await openRefs();
  const { gh, outcome } = opened;
  const cases: [repo: string, location: string, redirects: number][] = [
    ["one", "{api}/repos/octo/site{rest}", 1],
    ["two", "{api}/repos/octo/one{rest}", 2],
    // Twice: the request about the branch, and the one that finds out whether
    // it or the repository is missing.
    ["three", "{api}/repos/octo/two{rest}", 6],
    ["loop", "{api}/repos/octo/loop{rest}", 6],
    [
      "away",
      `${gh.apiUrl.replace("127.0.0.1", "localhost")}/repos/octo/site{rest}`,
      2,
    ],
    ["port", "//127.0.0.1:1/repos/octo/site{rest}", 2],
    ["user", "{api}/user/repos", 2],
    ["owner", "{api}/repos/octo", 2],
    ["nowhere", "", 2],
  ];
  for (const [repo, location, redirects] of cases) {
    gh.redirect(`octo/${repo}`, location);
    gh.resetCounts();
    const found = await outcome({ repo });
    const expected = ["one", "two"].includes(repo)
      ? ["new", { redirect: redirects, commit: 1 }]
      : ["repository-not-found", { redirect: redirects }];
    assertEquals([repo, found, gh.counts()], [repo, ...expected]);
  }
});
