import { assert, assertEquals, assertRejects } from "@std/assert";
import { listFiles, LISTING_LIMITS } from "../../lib/collections/list_files.ts";
import { resolveCollection } from "../../lib/collections/resolve_collection.ts";
import { CollectionsError } from "../../lib/errors.ts";
import type { CachedRepository } from "../../lib/repository/cached_repository.ts";
import { generateFiles } from "../github/generated_files.ts";
import { GithubDouble } from "../github/github_double.ts";
import { type GitFiles, makeGitRepository } from "../github/git_repository.ts";
import { openCached } from "../repository/github_source.ts";
import { TestClock } from "../test_clock.ts";

const name = { owner: "octo", repo: "site" };
const caller = { miss() {} };

async function list(repository: CachedRepository, collection: string) {
  const snapshot = await repository.resolve({ ...name, branch: null }, caller);
  const reading = { repository, snapshot, caller };
  return await listFiles(await resolveCollection(collection, reading), reading, (walk) => walk());
}

async function openOver(files: GitFiles) {
  const git = await makeGitRepository(files);
  const clock = new TestClock();
  const double = await GithubDouble.start({ now: clock.now });
  double.add("octo/site", git);
  // A walk of hundreds of folders is no matter for a quota of 60.
  double.addToken("t1");
  const open = () => openCached(double, { clock, tokens: ["t1"], allowedByName: true });
  return {
    git,
    clock,
    double,
    open,
    async [Symbol.asyncDispose]() {
      await double.close();
      await git[Symbol.asyncDispose]();
    },
  };
}

Deno.test("listFiles() gives true totals of 120,000 files however GitHub truncates", async (t) => {
  await using over = await openOver(
    generateFiles({ folders: 400, filesPerFolder: 300, identical: true }),
  );
  const expected = (await over.git.lsTree("HEAD", "posts"))
    .map(({ path, oid, size }) => `${path.slice("posts/".length)} ${oid} ${size}`);
  for (const truncateAt of [100_000, 1_000, 50]) {
    await t.step(`truncated at ${truncateAt}`, async () => {
      over.double.truncateAt = truncateAt;
      over.double.truncateBytes = Infinity;
      over.double.resetCounts();
      const repository = over.open();
      const files = await list(repository, "posts");
      assertEquals(files.length, 120_000);
      for (const [index, line] of expected.entries()) {
        const { path, id, size } = files.at(index);
        if (`${path} ${id} ${size}` !== line) assertEquals(`${path} ${id} ${size}`, line);
      }
      const reads = over.double.log.requests.length;
      assert(reads <= LISTING_LIMITS.maxReads, `${reads} requests`);
      over.double.resetCounts();
      assertEquals((await list(repository, "posts")).length, 120_000);
      assertEquals(over.double.counts(), {});
    });
  }
});

Deno.test("listFiles() leaves out dotted names, links and submodules on every way", async () => {
  await using over = await openOver({
    "c/.hidden/a.md": "1",
    "c/.b.md": "2",
    "c/d/.e/f.md": "3",
    "c/d/.g": "4",
    "c/d/h.md": "5",
    "c/i.md": "6",
  });
  for (const truncateAt of [100, 1]) {
    over.double.truncateAt = truncateAt;
    const files = await list(over.open(), "c");
    const paths = Array.from({ length: files.length }, (_, index) => files.pathAt(index));
    assertEquals(paths, ["d/h.md", "i.md"]);
  }
});

Deno.test("listFiles() goes on from the trees that are kept after a spent quota", async () => {
  await using over = await openOver(generateFiles({ folders: 40, filesPerFolder: 10 }));
  over.double.truncateAt = 50;
  const repository = over.open();
  over.double.setQuota("t1", { remaining: 20, resetAtMs: over.clock.now() + 3_600_000 });
  const error = await assertRejects(() => list(repository, "posts"), CollectionsError);
  assertEquals(error.code, "source-rate-limited");
  // Of those that are asked at once, the last ones are refused.
  const before = over.double.requests
    .filter(({ kind, status }) => kind === "tree-recursive" && status === 200).length;
  assert(before > 5, `${before} folders were read`);

  over.clock.advance(3_600_000);
  over.double.resetCounts();
  assertEquals((await list(repository, "posts")).length, 400);
  const after = over.double.counts()["tree-recursive"] ?? 0;
  assert(after <= 41 - before + 1, `${after} folders were read after ${before}`);
});

Deno.test("listFiles() refuses a collection that takes too many questions", async () => {
  await using over = await openOver(
    generateFiles({ folders: LISTING_LIMITS.maxReads + 1, filesPerFolder: 1, identical: true }),
  );
  over.double.truncateAt = 50;
  const error = await assertRejects(() => list(over.open(), "posts"), CollectionsError);
  assertEquals(error.code, "collection-too-large");
  assert(over.double.log.requests.length <= LISTING_LIMITS.maxReads + 4);
});
