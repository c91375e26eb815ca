// Tree answers, and the fields of answers that the service relies on, against
// GitHub's own description of its REST API: `deno check` fails when a field is
// not there or may be something else, the tests when an answer as described is
// refused.

import type { components } from "@octokit/openapi-types";
import { assert, assertEquals } from "@std/assert";
import type { z } from "zod";
import { CollectionsError } from "../../lib/errors.ts";
import { repositoryAnswer } from "../../lib/source/github/refs.ts";
import { parseJson } from "../../lib/source/github/json.ts";
import { readTreeTask } from "../../lib/source/github/trees.ts";
import { FileList } from "../../lib/source/file_list.ts";
import { TreeEntries } from "../../lib/source/tree_entries.ts";
import { inlineCompute } from "../thread/inline_compute.ts";

type Schemas = components["schemas"];
type RepositoryFields = z.input<typeof repositoryAnswer>;

const id = "44b4fc6d56897b048c772eb4087f854f46256132";
const nestedTooDeeply = 'Cannot read "answer": it is nested too deeply';

function encode(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** What a recursive answer says, or a plain one. */
function readAnswer(answer: Record<string, unknown>, isRecursive = true) {
  const input = { answer: encode(answer), isRecursive };
  return inlineCompute.run(readTreeTask, input, { client: "test" });
}

async function failureOf(parsed: Promise<unknown>): Promise<string> {
  const error = await parsed.then(() => null, (error) => error);
  assert(error instanceof CollectionsError && error.code === "source-failed");
  return error.message;
}

Deno.test("a repository and a tree are taken as GitHub describes them", async () => {
  const repository: Required<
    Pick<Schemas["full-repository"], keyof RepositoryFields>
  > = {
    private: false,
    visibility: "public",
    full_name: "octocat/Hello-World",
    default_branch: "main",
  };
  const fields: RepositoryFields = repository;
  assertEquals(repositoryAnswer.parse(fields), repository);

  const tree = [
    { path: "file.rb", mode: "100644", type: "blob", sha: id, size: 30 },
    { path: "docs", mode: "040000", type: "tree", sha: id },
  ];
  const answer = {
    sha: id,
    truncated: false,
    tree,
  } satisfies Schemas["git-tree"];
  const read = await readAnswer(answer, false);
  assertEquals([...new TreeEntries(new FileList(read!.bytes))], [
    { name: "docs", kind: "folder", id, size: 0 },
    { name: "file.rb", kind: "file", id, size: 30 },
  ]);
});

Deno.test("readTreeTask counts files whose names are not UTF-8", async () => {
  const file = (path: string) => ({
    path,
    mode: "100644",
    type: "blob",
    sha: id,
    size: 1,
  });
  const tree = [
    file("a.md"),
    file("k\uFFFDln.md"),
    file("\uFFFD/b.md"),
    file(".\uFFFD"),
  ];
  const read = await readAnswer({ sha: id, truncated: false, tree });
  const files = new FileList(read!.bytes);
  assertEquals([files.length, files.pathAt(0), files.omitted], [1, "a.md", 2]);
  assertEquals(await readAnswer({ truncated: true, tree }), null);
});

Deno.test("readTreeTask refuses what is no tree of plain paths", async () => {
  for (const path of ["..", "a//b", "a\0"]) {
    const tree = [{ path, mode: "100644", sha: id, size: 1 }];
    await failureOf(readAnswer({ truncated: false, tree }));
  }
});

Deno.test("parseJson() refuses deep nesting before it is parsed", async () => {
  const deep = new TextEncoder().encode("[".repeat(1 << 20));
  assertEquals(
    await failureOf(Promise.try(() => parseJson(deep))),
    nestedTooDeeply,
  );
  const text = { text: `\\"${"[".repeat(100)}` };
  assertEquals(parseJson(encode([text, [[{}]]])), [text, [[{}]]]);
});
