import { assertEquals } from "@std/assert";
import { checkedOutBranch } from "../../lib/source/local/checked_out_branch.ts";
import { makeSampleFolder, type SampleFolder } from "./sample_folder.ts";

/** A checkout of a branch with one commit. */
async function makeCheckout(branch: string): Promise<SampleFolder> {
  const folder = await makeSampleFolder({ "sub/a.md": "" });
  await folder.git.git("init", "--quiet", `--initial-branch=${branch}`);
  await folder.git.commit({ "a.md": "A\n" }, { branch });
  return folder;
}

Deno.test("checkedOutBranch() names the branch or detached commit", async () => {
  await using folder = await makeCheckout("ä/b-1");
  const { git, dir } = folder;
  assertEquals(await checkedOutBranch(dir), "ä/b-1");
  await git.git("worktree", "add", "--quiet", "-b", "side", "linked");
  const pointer = await Deno.readTextFile(`${dir}/linked/.git`);
  for (const text of [pointer, pointer.replace(dir, "..")]) {
    await Deno.writeTextFile(`${dir}/linked/.git`, text);
    assertEquals(await checkedOutBranch(`${dir}/linked`), "side", text);
  }
  await git.git("checkout", "--quiet", "--detach");
  assertEquals(await checkedOutBranch(dir), await git.head("ä/b-1"));
});

Deno.test("checkedOutBranch() names the branch of a submodule", async () => {
  await using folder = await makeCheckout("dev");
  await using other = await makeCheckout("main");
  const { git, dir } = other;
  const options = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];
  for (const name of ["module", "c#x"]) {
    await git.git(...options, "add", folder.dir, name);
    const config = `${dir}/.git/modules/${name}/config`;
    await Deno.writeTextFile(config, "\n".repeat(5_000), { append: true });
    assertEquals(await checkedOutBranch(`${dir}/${name}`), "dev", name);
  }
});

Deno.test("checkedOutBranch() shows no other checkout", async () => {
  await using outside = await makeCheckout("secret");
  await using folder = await makeSampleFolder({ "a.md": "" });
  const { git, dir } = outside;
  await git.git("worktree", "add", "--quiet", "-b", "side", "linked");
  assertEquals(await checkedOutBranch(`${dir}/linked`), "side");
  await Deno.symlink(`${dir}/.git`, `${folder.dir}/.git`);
  assertEquals(await checkedOutBranch(folder.dir), "main");
  for (const target of [".git", ".git/worktrees/linked"]) {
    await Deno.remove(`${folder.dir}/.git`);
    const pointer = `gitdir: ${dir}/${target}\n`;
    await Deno.writeTextFile(`${folder.dir}/.git`, pointer);
    assertEquals(await checkedOutBranch(folder.dir), "main", target);
  }
});

Deno.test("checkedOutBranch() is main for a plain folder", async () => {
  await using folder = await makeCheckout("dev");
  const isMain = async (name: string, what: string) =>
    assertEquals(await checkedOutBranch(`${folder.dir}/${name}`), "main", what);
  await isMain("sub", "below a checkout");
  await isMain("absent", "no folder");
  const refs = [".invalid", "", "two words", "x".repeat(5000), "\x01", "*"];
  const heads = refs.map((ref) => `ref: refs/heads/${ref}\n`);
  heads.push("ref: refs/remotes/origin/dev\n");
  for (const content of [...heads, "", "../../etc/passwd\n"]) {
    await Deno.writeTextFile(`${folder.dir}/.git/HEAD`, content);
    await isMain("", content.slice(0, 40));
  }
  await Deno.remove(`${folder.dir}/.git`, { recursive: true });
  await Deno.writeTextFile(`${folder.dir}/.git`, "gitdir: /nonexistent\n");
  await isMain("", "a pointer to nothing");
});
