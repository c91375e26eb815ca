// What the service relies on in GitHub's answers, checked before use: nothing that GitHub (or who stands in its place)
// sends is taken on trust. Tree entries come by the hundred thousand, so a plain loop checks them, zod the rest.

import { z } from "zod";
import {
  type CollectionsError,
  repositoryBlocked,
  repositoryEmpty,
  repositoryNotFound,
  sourceFailed,
} from "../errors.ts";
import { Slices } from "../give_way.ts";
import { type FileList, FileListBuilder, isListedPath } from "./file_list.ts";
import type { EntryKind, RepositoryName, TreeEntry } from "./repository.ts";

/** What GitHub answers for a repository that is not there, or not for everyone. */
const HIDDEN: ReadonlySet<number> = new Set([403, 404, 410]);

/** The error that a status means for a question about a repository that should be there. */
export function refusal(name: RepositoryName, status: number): CollectionsError {
  if (status === 451) return repositoryBlocked(name.owner, name.repo);
  if (status === 409) return repositoryEmpty(name.owner, name.repo);
  if (HIDDEN.has(status)) return repositoryNotFound(name.owner, name.repo);
  // What nobody said that GitHub says withdraws nothing.
  return sourceFailed(`Cannot read "${name.owner}/${name.repo}": GitHub answered ${status}`);
}

/** The fields used of `GET /repos/{owner}/{repo}` (docs.github.com/rest/repos/repos#get-a-repository). */
export const repositoryAnswer = z.object({
  private: z.boolean(),
  visibility: z.string().optional(),
  /** Of use for a hint alone. */
  default_branch: z.string().min(1).optional(),
});

/** The fields used of a GraphQL answer with one aliased `object` a blob (docs.github.com/graphql, type Blob). */
export const graphqlAnswer = z.object({
  data: z.object({
    repository: z.record(
      z.string(),
      z.object({
        text: z.string().nullish(),
        isBinary: z.boolean().nullish(),
        isTruncated: z.boolean().nullish(),
      }).nullable(),
    ).nullable(),
  }).nullish(),
  errors: z.array(z.object({ type: z.string().optional() })).optional(),
});

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The JSON of an answer. @throws {CollectionsError} source-failed where it is none. */
export function parseJson(bytes: Uint8Array<ArrayBuffer>): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw sourceFailed(`Cannot read "answer": it is not JSON`, { cause: error });
  }
}

/** The value, if it has the shape. @throws {CollectionsError} source-failed where it has not. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw sourceFailed(`Cannot read "answer": it has another shape`, { cause: result.error });
}

const COMMIT_ID = /^[0-9a-f]{40}$/;

/** The commit id of an `application/vnd.github.sha` answer. @throws {CollectionsError} source-failed. */
export function parseCommitId(bytes: Uint8Array): string {
  const id = bytes.length <= 64 ? new TextDecoder().decode(bytes).trim() : "";
  if (!COMMIT_ID.test(id)) throw sourceFailed(`Cannot read "commit": the answer is no commit id`);
  return id;
}

const KINDS: ReadonlyMap<unknown, EntryKind> = new Map([
  ["100644", "file"],
  ["100755", "file"],
  ["100664", "file"],
  ["040000", "folder"],
  ["120000", "symbolic link"],
  ["160000", "submodule"],
]);

/** A segment that is empty, `.` or `..`, or a NUL: no path of Git, and one that may lead elsewhere. */
const UNUSABLE_PATH = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

/**
 * The entries of one folder, in the order of the answer.
 * @throws {CollectionsError} source-failed where the answer is no whole tree of single names.
 */
export function parseTree(bytes: Uint8Array<ArrayBuffer>): TreeEntry[] {
  const { tree, truncated } = treeOf(parseJson(bytes));
  if (truncated) throw sourceFailed(`Cannot read "tree": a plain answer says that it is truncated`);
  return tree.map((raw) => {
    const entry = entryOf(raw);
    if (entry.path.includes("/") || UNUSABLE_PATH.test(entry.path)) {
      throw sourceFailed(`Cannot read "tree": an entry has no usable name`);
    }
    return { name: entry.path, kind: entry.kind, id: entry.id, size: entry.size };
  });
}

/**
 * The listed files of a recursive answer, or all its folders; null where it is truncated.
 * @throws {CollectionsError} source-failed where the answer is no tree of plain paths.
 */
export async function parseRecursiveTree(
  bytes: Uint8Array<ArrayBuffer>,
  wanted: "file" | "folder",
): Promise<FileList | null> {
  const { tree, truncated } = treeOf(parseJson(bytes));
  if (truncated) return null;
  const entries = new FileListBuilder();
  // 100,000 entries are as much work as hundreds of other answers.
  const slices = new Slices();
  for (const raw of tree) {
    if (slices.isOver()) await slices.giveWay();
    const { path, kind, id, size } = entryOf(raw);
    if (UNUSABLE_PATH.test(path)) {
      throw sourceFailed(`Cannot read "tree": an entry has no usable path`);
    }
    if (kind === wanted && (kind === "folder" || isListedPath(path))) {
      entries.add({ path, id, size });
    }
  }
  return entries.build();
}

function treeOf(value: unknown): { tree: unknown[]; truncated: boolean } {
  if (typeof value === "object" && value !== null && "tree" in value && Array.isArray(value.tree)) {
    return { tree: value.tree, truncated: "truncated" in value && value.truncated === true };
  }
  throw sourceFailed(`Cannot read "tree": the answer holds none`);
}

function entryOf(raw: unknown): { path: string; kind: EntryKind; id: string; size: number } {
  if (typeof raw === "object" && raw !== null) {
    const { path, mode, sha, size } = raw as Record<string, unknown>;
    const kind = KINDS.get(mode);
    if (
      typeof path === "string" && path.isWellFormed() && kind !== undefined &&
      typeof sha === "string" && COMMIT_ID.test(sha) &&
      (kind !== "file" || (Number.isSafeInteger(size) && size as number >= 0))
    ) return { path, kind, id: sha, size: kind === "file" ? size as number : 0 };
  }
  throw sourceFailed(`Cannot read "tree": an entry has another shape`);
}
