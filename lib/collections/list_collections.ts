// The collections of a repository and the folders of one of its folders, as the
// API contract defines them, and their TypeScript declarations.

import { type CollectionsParameters, warningsOf } from "../api/parameters.ts";
import type { CollectionsInput } from "../content/collections.ts";
import { collectionsTask } from "../content/tasks.ts";
import { collectionNotFound } from "../errors.ts";
import { readDeclarations } from "./declarations.ts";
import { runOverFrontMatter } from "./derive.ts";
import { listFiles } from "./list_files.ts";
import { omittedWarnings } from "./list_items.ts";
import { joinBytes } from "../work/bytes.ts";
import {
  type Answer,
  bodyOf,
  findEntry,
  type ReadContext,
  repositoryOf,
  runJob,
} from "./read_context.ts";

const MAX_BYTES = 4 << 20;

/**
 * Returns the collections and folders.
 * @throws {CollectionsError} collection-not-found if `path` is not a folder.
 * collection-too-large. Also what listing files throws.
 * @throws what {@linkcode runJob} throws.
 */
export async function listCollections(
  parameters: CollectionsParameters,
  read: ReadContext,
): Promise<Answer> {
  const { path = "", includeSchema = false } = parameters;
  const format = includeSchema ? "schema" : "plain";
  const described = await describeCollections({ path, format }, read);
  const warnings = [...warningsOf(parameters), ...described.warnings];
  return {
    bytes: await bodyOf(read, { warnings }, described.text.subarray(1)),
  };
}

/**
 * Returns the front matter of all collections as TypeScript.
 * @throws what {@linkcode listCollections} throws.
 */
export async function collectionTypes(
  _: CollectionsParameters,
  read: ReadContext,
): Promise<Answer> {
  const { owner, repo } = read.snapshot.name;
  const about = `// Front matter of the collections of ${owner}/${repo}.\n\n`;
  const { text } = await describeCollections(
    { path: "", format: "types" },
    read,
  );
  const bytes = await joinBytes([about, text]);
  return { bytes, fileName: "collection-types.ts" };
}

async function describeCollections(
  { path, format }: Pick<CollectionsInput, "path" | "format">,
  read: ReadContext,
) {
  const { commit } = read.snapshot;
  const root = { path: "", treeId: commit, declared: null, warnings: [] };
  const files = await listFiles(root, read);
  const [start, end] = files.rangeOf(path);
  // A folder may have no files.
  const entry = start < end ? null : await findEntry(path, read);
  if (start === end && entry?.kind !== "folder") {
    const file = entry?.kind === "file" ? path : null;
    throw collectionNotFound(path, { file, suggestions: [], warnings: [] });
  }
  const { collections: declared, warnings } = await readDeclarations(read);
  const input: CollectionsInput = {
    repository: repositoryOf(read),
    files: files.bytes,
    declared,
    path,
    format,
    maxItemBytes: read.limits.maxItemBytes,
    maxBytes: MAX_BYTES,
  };
  await read.reserveBytes(MAX_BYTES);
  const described = await runJob(read, {
    key: `collections ${JSON.stringify([commit, format, path])}`,
    collection: path,
    work: (read) =>
      runOverFrontMatter(read, collectionsTask, input, {
        subject: "",
        fileAt: (index) => files.at(index),
      }),
  });
  return {
    text: described.text,
    warnings: [...warnings, ...described.warnings, ...omittedWarnings(files)],
  };
}
