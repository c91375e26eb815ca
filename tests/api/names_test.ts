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

Deno.test("branchProblem() allows the names that git allows", async () => {
  const picked = [
    "@",
    "HEAD",
    "-a",
    "a.locked",
    "lock",
    "refs/heads/a",
    "日本",
    "\ufeff",
    "a\u00a0b",
  ];
  const pieces = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(..."/.@{~^:?*[\\- \u0007\u0085%'$("),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom("..", ".lock", "@{", "a", "main", "ü"),
    },
  );
  const made = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) =>
    parts.join("")
  );
  const likely = fc.array(fc.constantFrom("a", "/", ".", ".lock", "@"), {
    minLength: 1,
  })
    .map((parts) => parts.join(""));
  const samples = [made, likely].flatMap((names) =>
    fc.sample(names, { numRuns: 80, seed: 7 })
  );
  const names = new Set([...picked, ...samples]);

  const wrong = await pLimit(8).map(names, async (name) => {
    const isAllowed = branchProblem(name) === null;
    return await gitTakes(name) === isAllowed ? [] : [name];
  });

  assertEquals(wrong.flat(), []);
});

Deno.test("branchProblem() refuses what git cannot take as an argument", () => {
  assertEquals(branchProblem(""), "must not be empty");
  assertEquals(branchProblem("a\0b") === null, false);
});

Deno.test("pathProblem() allows plain segments and nothing else", () => {
  const segments = fc.array(fc.string({ unit: "binary", maxLength: 4 }), {
    maxLength: 5,
  });
  fc.assert(fc.property(segments.map((parts) => parts.join("/")), (path) => {
    const plain = path.split("/").every((segment) =>
      !["", ".", ".."].includes(segment)
    );
    assertEquals(pathProblem(path) === null, plain && !/\p{Cc}/u.test(path));
  }));
});
