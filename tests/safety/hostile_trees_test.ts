// Trees as no Git would make them. An answer is right as far as it goes, or
// says that the source failed; it never leads out of the repository, and never
// costs more than its bounds.

import { assert, assertEquals } from "@std/assert";
import type { ListBody } from "../../lib/api/contract.ts";
import { itemPath, listPath } from "../service.ts";
import { type Site, startSite } from "../site.ts";

const ID = "1".repeat(40);
const FILE = { path: "x.md", mode: "100644", type: "blob", sha: ID, size: 3 };

function startHostile(env: Record<string, string> = {}): Promise<Site> {
  return startSite({ "posts/a.md": "# A\n" }, {
    env: { MISSES_PER_MINUTE: "0", ...env },
  });
}

/**
 * Answers for trees in place of the double, by tree id; any other tree is the
 * double's.
 */
function answerTrees(
  { gh }: Site,
  treeOf: (id: string, recursive: boolean) => unknown,
): { trees: number } {
  const count = { trees: 0 };
  gh.intercept = (request) => {
    const url = new URL(request.url);
    const id = /\/git\/trees\/([0-9a-f]{40})$/.exec(url.pathname)?.[1];
    if (id === undefined) return null;
    count.trees++;
    const body = treeOf(id, url.searchParams.has("recursive"));
    return body === undefined ? null : Response.json(body);
  };
  return count;
}

/**
 * One folder of files for every requested tree, below a root that has it as
 * `posts`.
 */
function folderOf(tree: unknown[], truncated = false) {
  return (id: string) =>
    id === ID ? { sha: ID, truncated, tree } : {
      sha: id,
      truncated: false,
      tree: [{ path: "posts", mode: "040000", sha: ID }],
    };
}

const UNUSABLE: Record<string, unknown> = {
  "a parent": { ...FILE, path: ".." },
  "a way out": { ...FILE, path: "../../etc/passwd" },
  "an absolute path": { ...FILE, path: "/etc/passwd" },
  "an empty segment": { ...FILE, path: "a//b.md" },
  "a NUL": { ...FILE, path: "a\0.md" },
  "half a character": { ...FILE, path: "a\ud800.md" },
  "a name that is none": { ...FILE, path: { toString: "x" } },
  "a mode of a prototype": { ...FILE, mode: "constructor" },
  "an id that leads away": { ...FILE, sha: `../../../user?${"x".repeat(27)}` },
  "a size below nothing": { ...FILE, size: -1 },
  "a size without end": { ...FILE, size: 1e300 },
  "a broken size": { ...FILE, size: 0.5 },
  "no size": { ...FILE, size: undefined },
  "nothing": null,
};

Deno.test("a tree with an impossible entry is a source failure", async () => {
  for (const [what, entry] of Object.entries(UNUSABLE)) {
    await using site = await startHostile();
    answerTrees(site, folderOf([FILE, entry]));
    for (const path of [listPath(), listPath({ recursive: false })]) {
      assertEquals([what, path, (await site.service.get(path)).status], [
        what,
        path,
        502,
      ]);
      // The source is requested again.
      site.service.clock.advance(3_600_000);
    }
  }
  // Only a recursive answer may be truncated.
  await using site = await startHostile();
  answerTrees(site, folderOf([FILE], true));
  assertEquals(
    (await site.service.get(listPath({ recursive: false }))).status,
    502,
  );
});

Deno.test("a hostile name adds no header and no address", async () => {
  await using site = await startHostile();
  const name = 'a\r\nX-Evil: 1\n<script>"; filename=b.md';
  answerTrees(site, folderOf([{ ...FILE, path: name }]));

  const response = await site.service.get(listPath());
  assertEquals(response.headers.get("x-evil"), null);
  const { items }: ListBody = await response.json();
  // get-item-content cannot take such a path.
  assertEquals(items.map(({ name, contentUrl }) => [name, contentUrl]), [
    [name, undefined],
  ]);
});

Deno.test("a wrong size lets no more bytes in and reserves nothing", async () => {
  const rows = [
    { size: 5, status: 502, code: "source-failed" },
    { size: Number.MAX_SAFE_INTEGER, status: 422, code: "item-too-large" },
  ];
  for (const { size, status, code } of rows) {
    await using site = await startSite({ "posts/x.md": "x".repeat(100_000) });
    const sha = await site.repository.resolve("main:posts/x.md");
    answerTrees(site, folderOf([{ ...FILE, sha, size }]));

    const problem = await site.service.problem(
      itemPath({ path: "posts/x.md" }),
    );
    assertEquals([problem.status, problem.code], [status, code]);
    const { items } = await site.service.list({ includeContent: true });
    assertEquals(items[0]?.error?.code, code);
  }
});

Deno.test("a tree that contains itself ends at the bounds", async () => {
  // With a small cache, so that a second pass through the trees would have to
  // request them again.
  await using site = await startHostile({
    CACHE_MEMORY_MB: "1",
    KV_WRITE_MB_PER_HOUR: "0",
  });
  let salt = 0;
  // Every tree has eight folders like itself, and is always truncated; a new id
  // each time, so that no tree is another's.
  const count = answerTrees(site, (id, recursive) => {
    if (id !== ID && !id.startsWith("ffff")) return folderOf([])(id);
    const tree = Array.from({ length: 8 }, (_, index) => {
      const sha = `ffff${(++salt).toString(16).padStart(36, "0")}`;
      return { path: `f${index}`, mode: "040000", type: "tree", sha };
    });
    return { sha: id, truncated: recursive, tree };
  });

  assertEquals(
    (await site.service.problem(listPath())).code,
    "collection-too-large",
  );
  // Three queries one after the other: by then those that were under way when
  // the listing was given up are over.
  assertEquals(
    (await site.service.get(listPath({ branch: "none" }))).status,
    404,
  );
  await site.gh.log.until(() => site.gh.log.inFlight === 0);
  // The root, and as many as a listing may take.
  assertEquals(count.trees, 2_001);

  assertEquals((await site.service.get(listPath({ page: 2 }))).status, 422);
  // The way to the folder and its own answer may have to be read again; the
  // folders below are not.
  assert(count.trees <= 2_003, `${count.trees}`);
});
