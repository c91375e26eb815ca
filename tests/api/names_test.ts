// The rules for names. For branches the git command decides.

import { assertEquals } from "@std/assert";
import fc from "fast-check";
import pLimit from "p-limit";
import { branchProblem, pathProblem } from "../../lib/api/names.ts";

/** Whether git accepts a name for a branch. */
async function gitTakes(name: string): Promise<boolean> {
  // No argument has a NUL.
  if (name.includes("\0")) return false;
  const command = new Deno.Command("git", {
    args: ["check-ref-format", `refs/heads/${name}`],
    stderr: "null",
  });
  // As a whole name `@` is refused, which the prefix hides: it stands for HEAD.
  return (await command.output()).success && name !== "@";
}

Deno.test("branchProblem() allows the names that git allows", async () => {
  const picked =
    "@|HEAD|-a|a.locked|lock|refs/heads/a|日本|\ufeff|a\u00a0b||a\0b";
  const piece = fc.constantFrom(
    ..."/.@{~^:?*[\\- \u0007\u0085%'$(",
    ...["..", ".lock", "@{", "a", "main", "ü"],
  );
  const likely = fc.constantFrom("a", "/", ".", ".lock", "@");
  const samples = [piece, likely].flatMap((part) => {
    const parts = fc.array(part, { minLength: 1, maxLength: 6 });
    return fc.sample(parts, { numRuns: 80, seed: 7 });
  });
  const made = samples.map((parts) => parts.join(""));
  const names = new Set([...picked.split("|"), ...made]);

  const wrong = await pLimit(8).map(names, async (name) => {
    const isAllowed = branchProblem(name) === null;
    return await gitTakes(name) === isAllowed ? [] : [name];
  });

  assertEquals(wrong.flat(), []);
});

Deno.test("pathProblem() allows plain segments and nothing else", () => {
  const segment = fc.string({ unit: "binary", maxLength: 4 });
  const segments = fc.array(segment, { maxLength: 5 });
  fc.assert(fc.property(segments.map((parts) => parts.join("/")), (path) => {
    const plain = path.split("/").every((segment) =>
      !["", ".", ".."].includes(segment)
    );
    assertEquals(pathProblem(path) === null, plain && !/\p{Cc}/u.test(path));
  }));
});
