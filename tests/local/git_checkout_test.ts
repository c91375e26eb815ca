import { assertEquals } from "@std/assert";
import { checkedOutBranch } from "../../lib/source/local/git_checkout.ts";
import { makeGitRepository } from "../github/git_repository.ts";

Deno.test("checkedOutBranch() names the branch of a checkout, its commit when detached", async () => {
  await using git = await makeGitRepository({ "a.md": "A\n" }, { bare: false, branch: "ä/b-1" });
  assertEquals(await checkedOutBranch(git.dir), "ä/b-1");
  const commit = await git.head("ä/b-1");
  await git.git("checkout", "--quiet", "--detach");
  assertEquals(await checkedOutBranch(git.dir), commit);
});

Deno.test("checkedOutBranch() follows the file of a linked worktree", async () => {
  await using git = await makeGitRepository({ "a.md": "A\n" }, { bare: false });
  await git.git("worktree", "add", "--quiet", "-b", "side", "linked");
  assertEquals(await checkedOutBranch(`${git.dir}/linked`), "side");

  const pointer = await Deno.readTextFile(`${git.dir}/linked/.git`);
  await Deno.writeTextFile(`${git.dir}/linked/.git`, pointer.replace(git.dir, ".."));
  assertEquals(await checkedOutBranch(`${git.dir}/linked`), "side", "a relative path");
});

Deno.test("checkedOutBranch() is main for a plain folder, also one below a checkout", async () => {
  await using git = await makeGitRepository({ "sub/a.md": "A\n" }, { bare: false, branch: "dev" });
  assertEquals(await checkedOutBranch(`${git.dir}/sub`), "main");
  assertEquals(await checkedOutBranch(`${git.dir}/absent`), "main");
});

Deno.test("checkedOutBranch() is main where HEAD is absent or no branch", async () => {
  await using git = await makeGitRepository({}, { bare: false, branch: "dev" });
  const contents = [
    "",
    "ref: refs/heads/.invalid\n",
    "ref: refs/heads/\n",
    "ref: refs/heads/two words\n",
    "ref: refs/remotes/origin/dev\n",
    "../../etc/passwd\n",
    `ref: refs/heads/${"x".repeat(5000)}\n`,
  ];
  for (const content of contents) {
    await Deno.writeTextFile(`${git.dir}/.git/HEAD`, content);
    assertEquals(await checkedOutBranch(git.dir), "main", JSON.stringify(content.slice(0, 40)));
  }
  await Deno.remove(`${git.dir}/.git/HEAD`);
  assertEquals(await checkedOutBranch(git.dir), "main");
  await Deno.remove(`${git.dir}/.git`, { recursive: true });
  await Deno.writeTextFile(`${git.dir}/.git`, "gitdir: /nonexistent\n");
  assertEquals(await checkedOutBranch(git.dir), "main");
});
