// The parts of GitHub's answers that the service uses, checked before use: nothing that GitHub, or a host in its place,
// sends is trusted. trees.ts checks the answers about trees.

import { z } from "zod";
import {
  type CollectionsError,
  repositoryBlocked,
  repositoryEmpty,
  repositoryNotFound,
  sourceFailed,
} from "../../errors.ts";
import type { RepositoryName } from "../source.ts";

/** What GitHub answers for a repository that is missing, or not visible to everyone. */
const HIDDEN: ReadonlySet<number> = new Set([403, 404, 410]);

/** The error that a status means for a request about a repository that should be there. */
export function refusal(name: RepositoryName, status: number): CollectionsError {
  if (status === 451) return repositoryBlocked(name.owner, name.repo);
  if (status === 409) return repositoryEmpty(name.owner, name.repo);
  if (HIDDEN.has(status)) return repositoryNotFound(name.owner, name.repo);
  // A status that GitHub does not document says nothing about the repository.
  return sourceFailed(`Cannot read "${name.owner}/${name.repo}": GitHub answered ${status}`);
}

/** The fields used of `GET /repos/{owner}/{repo}` (docs.github.com/rest/repos/repos#get-a-repository). */
export const repositoryAnswer = z.object({
  private: z.boolean(),
  visibility: z.string().optional(),
  full_name: z.string().optional(),
  /** Used for a hint alone. */
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

/** The JSON of an answer. @throws {CollectionsError} source-failed for anything else. */
export function parseJson(bytes: Uint8Array<ArrayBuffer>): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw sourceFailed(`Cannot read "answer": it is not JSON`, { cause: error });
  }
}

/** The value, if it has the shape. @throws {CollectionsError} source-failed for another shape. */
export function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw sourceFailed(`Cannot read "answer": it has another shape`, { cause: result.error });
}

/** A Git object id as GitHub writes it. */
export const OBJECT_ID = /^[0-9a-f]{40}$/;

/** The commit id of an `application/vnd.github.sha` answer. @throws {CollectionsError} source-failed. */
export function parseCommitId(bytes: Uint8Array): string {
  const id = bytes.length <= 64 ? new TextDecoder().decode(bytes).trim() : "";
  if (!OBJECT_ID.test(id)) throw sourceFailed(`Cannot read "commit": the answer is no commit id`);
  return id;
}
