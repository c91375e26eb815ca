// The fields that refs.ts and trees.ts rely on, against GitHub's own description of its REST API: `deno check` fails when
// a field is not there or may be something else, the tests when an answer as described is refused.

import type { components } from "@octokit/openapi-types";
import { assertEquals } from "@std/assert";
import type { z } from "zod";
import { repositoryAnswer } from "../../lib/source/github/refs.ts";
import { parseFolder, parseTree } from "../../lib/source/github/trees.ts";

type Schemas = components["schemas"];
type RepositoryFields = z.input<typeof repositoryAnswer>;

const id = "44b4fc6d56897b048c772eb4087f854f46256132";

Deno.test("repositoryAnswer takes a repository as GitHub describes it", () => {
  const described: Required<Pick<Schemas["full-repository"], keyof RepositoryFields>> = {
    private: false,
    visibility: "public",
    full_name: "octocat/Hello-World",
    default_branch: "main",
  };
  const fields: RepositoryFields = described;
  assertEquals(repositoryAnswer.parse(fields), described);
});

Deno.test("parseTree() takes a tree as GitHub describes it", () => {
  const described = {
    sha: id,
    truncated: false,
    tree: [
      { path: "file.rb", mode: "100644", type: "blob", sha: id, size: 30 },
      { path: "docs", mode: "040000", type: "tree", sha: id },
    ],
  } satisfies Schemas["git-tree"];
  assertEquals(parseTree(new TextEncoder().encode(JSON.stringify(described))), [
    { name: "file.rb", kind: "file", id, size: 30 },
    { name: "docs", kind: "folder", id, size: 0 },
  ]);
});

Deno.test("parseFolder() counts the files whose names are not UTF-8, and lists the others", async () => {
  const file = (path: string) => ({ path, mode: "100644", type: "blob", sha: id, size: 1 });
  const tree = [file("a.md"), file("k\uFFFDln.md"), file("\uFFFD/b.md"), file(".\uFFFD")];
  const bytes = new TextEncoder().encode(JSON.stringify({ sha: id, truncated: false, tree }));
  const files = (await parseFolder(bytes, false))?.files;
  assertEquals([files?.length, files?.pathAt(0), files?.omitted], [1, "a.md", 2]);
});
