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
    await cached.tree(snapshot, snapshot.commit, uncharged);
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
  await using opened = await openRefs();
  const { clock, gh, resolve } = opened;
  gh.rename("octo/site", "other/place");
  await resolve();
  await using successor = await serveRepository({ "c.md": "C\n" });
  gh.add("octo/site", successor.repository);
  clock.advance(60_000);
  const { commit } = await resolve();
  assertEquals(commit, await successor.repository.head());
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
    // No cached response of it is sent any more.
    assertEquals(known.ref.checkedAtMs, 0);
    // Neither its other content nor its default branch is revealed.
    const absent = resolve({ branch: "absent" });
    assertEquals(await denialOf(absent), "repository-not-allowed");

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
  gh.redirect("octo/one", "{api}/repos/octo/site{rest}");
  gh.redirect("octo/two", "{api}/repos/octo/one{rest}");
  gh.redirect("octo/three", "{api}/repos/octo/two{rest}");
  assertEquals(await outcome({ repo: "two" }), "new");
  assertEquals(gh.counts(), { redirect: 2, commit: 1 });
  gh.resetCounts();
  assertEquals(await outcome({ repo: "three" }), "repository-not-found");
  // Twice: the request about the branch, and the one that finds out whether it
  // or the repository is missing.
  assertEquals(gh.counts(), { redirect: 6 });
});
