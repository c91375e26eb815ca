import { assert, assertEquals } from "@std/assert";
import { findEntry } from "../../lib/collections/find_entry.ts";
import type { Snapshot } from "../../lib/repository/repository.ts";
import { type ServedRepository, serveRepository } from "../github/served_repository.ts";
import type { GitFiles } from "../github/git_repository.ts";
import { openCached } from "../repository/github_source.ts";
import { TestClock } from "../test_clock.ts";

const caller = { miss() {} };
const FAR = "d/".repeat(40);
const FILES: GitFiles = {
  "d/near.md": "near\n",
  [`${FAR}far.md`]: "far\n",
  [`${FAR}.hidden/file.md`]: "hidden\n",
  [`${FAR}link`]: { symlink: "far.md" },
};

async function open() {
  const clock = new TestClock();
  const served = await serveRepository(FILES, { now: clock.now });
  served.gh.addToken("t1");
  const find = async (path: string) => {
    const repository = openCached(served.gh, { clock, tokens: ["t1"], allowedByName: true });
    const name = { owner: "octo", repo: "site", branch: null };
    const snapshot: Snapshot = await repository.resolve(name, caller);
    served.gh.resetCounts();
    const found = await findEntry(path, { repository, snapshot, caller });
    return found === null ? null : { kind: found.kind, id: found.id, size: found.size };
  };
  return Object.assign(served, { find });
}

/** What git says stands at each path. */
async function expected({ repository }: ServedRepository, path: string) {
  const line = (await repository.git("ls-tree", "-l", "HEAD", "--", path)).trim();
  if (line === "") return null;
  const [mode, , id, size] = line.split(/\s+/);
  const kind = { "040000": "folder", "120000": "symbolic link" }[mode!] ?? "file";
  return { kind, id, size: kind === "file" ? Number(size) : 0 };
}

const PATHS = [
  `${FAR}far.md`,
  FAR.slice(0, -1),
  `${FAR}.hidden`,
  `${FAR}.hidden/file.md`,
  `${FAR}link`,
  `${FAR}link/x`,
  `${FAR}far.md/x`,
  `${FAR}absent.md`,
  `${FAR}absent/absent.md`,
  `${"d/".repeat(9)}${"x/".repeat(30)}a.md`,
];

Deno.test("findEntry() finds what stands far down in few questions", async () => {
  await using over = await open();
  for (const path of PATHS) {
    assertEquals(await over.find(path), await expected(over, path), path);
    const { tree, "tree-recursive": recursive } = over.gh.counts();
    assertEquals([tree! <= 9, recursive], [true, 1], path);
  }
});

Deno.test("findEntry() finds the same where no answer is whole, by a question a folder and few more", async () => {
  await using over = await open();
  over.gh.truncateAt = 1;
  for (const path of PATHS) {
    assertEquals(await over.find(path), await expected(over, path), path);
    const { tree, "tree-recursive": recursive } = over.gh.counts();
    assert(tree! <= 42 && recursive! <= 3, `${path}: ${tree} and ${recursive}`);
  }
});

Deno.test("findEntry() asks nothing about a folder's depths on a short way", async () => {
  await using over = await open();
  for (const path of ["d/near.md", "d/".repeat(16).slice(0, -1), `${"d/".repeat(15)}absent`]) {
    assertEquals(await over.find(path), await expected(over, path), path);
    assertEquals(over.gh.counts(), { tree: path.split("/").length }, path);
  }
});

Deno.test("findEntry() goes step by step where the answer for all folders fails", async () => {
  await using over = await open();
  over.gh.intercept = (_, { kind }) =>
    kind === "tree-recursive" ? new Response("{}", { status: 500 }) : null;
  const path = `${FAR}far.md`;
  assertEquals(await over.find(path), await expected(over, path));
});
