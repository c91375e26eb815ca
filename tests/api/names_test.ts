// The rules for names. For branches the git command decides.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import pLimit from "p-limit";
import { branchProblem, pathProblem } from "../../lib/api/names.ts";

/** Whether git accepts a name for a branch. */
async function gitTakes(name: string): Promise<boolean> {
  const command = new Deno.Command("git", {
    args: ["check-ref-format", `refs/heads/${name}`],
    stderr: "null",
  });
  // As a whole name `@` is refused, which the prefix hides: it stands for HEAD.
  return (await command.output()).success && name !== "@";
}

const PICKED = [
  ..."main feature/a a/b/c a.b a..b .a a. a/.b a./b a.lock a.lock/b a.locked lock .lock".split(" "),
  ..."/a a/ a//b -a @ a@ @{ a@{b @/a HEAD ~ a~1 a^ a:b a? a* [a a] {a} \\ a\\b | ' \" # %41".split(
    " ",
  ),
  ..."$(a) ; & + = , ! < > ` refs/heads/a 0 null .. . a/.. a/. a.lock. ä 日本 🙂 ﬀ".split(" "),
  ...["a b", " a", "a ", "a\tb", "a\nb", "\u0001", "\u007f", "a\u00a0b", "\u0080", "\ufeff"],
];

Deno.test("branchProblem() allows the names that git allows", async () => {
  const plain = "/ . .. .lock @ @{ ~ ^ : ? * [ \\ - a main ü".split(" ");
  const pieces = fc.constantFrom(...plain, " ", "\u0007", "\u0085");
  const made = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
  const names = new Set([...PICKED, ...fc.sample(made, { numRuns: 100, seed: 7 })]);

  const limit = pLimit(8);
  const wrong = await limit.map(names, async (name) => {
    const isAllowed = branchProblem(name) === null;
    return await gitTakes(name) === isAllowed ? [] : [name];
  });

  assertEquals(wrong.flat(), []);
});

Deno.test("branchProblem() refuses what git cannot take as an argument", () => {
  assertEquals(branchProblem(""), "must not be empty");
  assertEquals(branchProblem("a\0b") === null, false);
  assertEquals(branchProblem("ü".repeat(128)), "must be at most 255 bytes");
});

Deno.test("pathProblem() allows plain segments and nothing else", () => {
  const segments = fc.array(fc.string({ unit: "binary", maxLength: 4 }), { maxLength: 5 });
  fc.assert(fc.property(segments.map((parts) => parts.join("/")), (path) => {
    const plain = path.split("/").every((segment) => !["", ".", ".."].includes(segment));
    assertEquals(pathProblem(path) === null, plain && !/\p{Cc}/u.test(path));
  }));
});
