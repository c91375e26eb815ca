// A history with merges, renames, removals and reverts, written by `git
// fast-import` in one go.

import { gitEnvironment, type GitRepository } from "./git_repository.ts";

/** Numbers from 0 to `below`, the same for the same seed (mulberry32). */
function random(seed: number) {
  return (below: number) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

type Tree = ReadonlyMap<string, string>;

/**
 * Writes a history of `files` files below `posts` to the branch `main` and
 * returns the commits of its first parents, the oldest first. The number of
 * files never changes.
 */
export async function generateHistory(
  repository: GitRepository,
  { files, commits, seed }: { files: number; commits: number; seed: number },
): Promise<string[]> {
  const next = random(seed);
  const lines: string[] = [];
  let mark = 0;
  let time = 1_700_000_000;
  const commit = (
    parents: readonly { mark: number; tree: Tree }[],
    tree: Tree,
  ) => {
    // Some commits are older than their parents, as those of other machines
    // are.
    time += next(10) === 0 ? -300 : 60;
    const message = `Commit ${++mark}`;
    lines.push(
      `commit refs/heads/generated-${mark}`,
      `mark :${mark}`,
      `author A <a@example.org> ${time} +0000`,
      `committer A <a@example.org> ${time} +0000`,
      `data ${message.length}`,
      message,
      ...parents.map((parent, index) =>
        `${index === 0 ? "from" : "merge"} :${parent.mark}`
      ),
      "deleteall",
    );
    for (const [path, content] of tree) {
      lines.push(`M 100644 inline ${path}`, `data ${content.length}`, content);
    }
    return { mark, tree };
  };
  const change = (tree: Tree, history: readonly Tree[]) => {
    const paths = [...tree.keys()];
    const path = paths[next(paths.length)]!;
    const changed = new Map(tree);
    const kind = next(4);
    if (kind === 0) {
      changed.delete(path);
      changed.set(`posts/renamed-${next(1_000_000)}.md`, tree.get(path)!);
    } else if (kind === 1) {
      const old = history[next(history.length)]!.get(path);
      changed.set(path, old ?? `old ${next(5)}`);
    } else {
      for (let count = 1 + next(5); count > 0; count--) {
        // Few contents, so that files come back to old ones by themselves.
        changed.set(paths[next(paths.length)]!, `text ${next(5)}`);
      }
    }
    return changed;
  };

  const first = new Map(
    Array.from(
      { length: files },
      (_, index) => [`posts/file-${index}.md`, `text ${index % 5}`],
    ),
  );
  let main = commit([], first);
  const line = [main.mark];
  const trees: Tree[] = [first];
  while (line.length < commits) {
    if (next(4) > 0) main = commit([main], change(main.tree, trees));
    else {
      const base = main;
      let side = commit([base], change(base.tree, trees));
      if (next(2) === 0) side = commit([side], change(side.tree, trees));
      if (next(2) === 0) {
        main = commit([main], change(main.tree, trees));
        line.push(main.mark);
      }
      // Takes a side whole, or a mixture of both.
      const merged = new Map(main.tree);
      for (const [path, content] of side.tree) {
        if (merged.has(path) && next(2) === 0) merged.set(path, content);
      }
      const taken = [merged, main.tree, side.tree][next(3)]!;
      const parents = next(4) === 0 ? [side, main] : [main, side];
      main = commit(parents, taken);
    }
    line.push(main.mark);
    trees.push(main.tree);
  }
  const import_ = new Deno.Command("git", {
    // The repository reads no packs.
    args: ["-c", "fastimport.unpackLimit=1000000", "fast-import", "--quiet"],
    cwd: repository.dir,
    clearEnv: true,
    env: gitEnvironment(),
    stdin: "piped",
  }).spawn();
  const writer = import_.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${lines.join("\n")}\n`));
  await writer.close();
  const { success } = await import_.status;
  if (!success) throw new Error('Cannot run "git fast-import"');
  const ids = await Promise.all(
    line.map((mark) => repository.head(`generated-${mark}`)),
  );
  await repository.branch("main", ids.at(-1)!);
  return ids;
}
