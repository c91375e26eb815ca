// Reads from GitHub which commit last changed each file. One GraphQL query
// covers 50 files. Smaller queries follow if GitHub fails on a large one. Paths
// are variables, so no file name is part of a query.

import { z } from "zod";
import { type CollectionsError, problem, sourceFailed } from "../../errors.ts";
import { changeOf } from "../change.ts";
import { consequencesOf } from "../source_failure.ts";
import type { FileHistory, Source } from "../source.ts";
import { type GitHubHost, parseAnswer } from "./host.ts";
import { OBJECT_ID } from "./json.ts";

const BATCH_MAX_FILES = 50;
/** Messages of commits have no bound. Smaller batches may fit. */
const ANSWER_MAX_BYTES = 1 << 20;
/**
 * One bad file in 50 fails seven batches in a row: 50, 25, 13, 7, 4, 2 and 1.
 * After more failures GitHub counts as down.
 */
const MAX_FAILURES = 10;

const oid = z.string().regex(OBJECT_ID);
const change = z.object({
  oid,
  committedDate: z.iso.datetime({ offset: true }),
  message: z.string(),
  author: z.object({ name: z.string().nullable() }).nullable(),
}).transform(({ oid: commit, committedDate: date, message, author }) =>
  changeOf({ date, commit, name: author?.name ?? "", message })
);
const connection = z.object({
  nodes: z.array(change),
  totalCount: z.int().optional(),
  pageInfo: z.object({
    endCursor: z.string().nullable(),
    hasNextPage: z.boolean(),
  }).optional(),
});
const answerSchema = z.object({
  data: z.object({
    repository: z.object({
      object: z.object({
        parents: z.object({ nodes: z.array(z.object({ oid })) }),
      })
        .catchall(connection.nullable()),
    }),
  }),
});

/**
 * Returns the history of each file of the query. Their paths must be distinct.
 * @throws {CollectionsError} history-unavailable without a token. A source
 * failure if GitHub is down or cannot give the history of the only file.
 */
export async function readHistory(
  host: GitHubHost,
  ...[snapshot, { files, withCreated }, context]: Parameters<Source["history"]>
): ReturnType<Source["history"]> {
  const { name: { owner, repo: name }, commit } = snapshot;
  if (!host.tokens.mayHave(owner)) {
    throw problem("history-unavailable", {
      source: "The history of files is read from GitHub with a token.",
      todo: "set GITHUB_TOKEN",
    });
  }
  const changes = new Map<string, FileHistory | Error>();
  let parent: string | null = null;
  let failuresInARow = 0;

  const ask = async (paths: readonly string[], after: string | null = null) => {
    const variables = paths.map((_, index) => `, $p${index}: String!`);
    const [cursor, paged] = withCreated
      ? ["after: $after, ", "totalCount pageInfo { endCursor hasNextPage } "]
      : ["", ""];
    const histories = paths.map((_, index) =>
      `f${index}: history(first: 1, ${cursor}path: $p${index}) { ` +
      `${paged}nodes { oid committedDate message author { name } } }`
    );
    const query =
      `query ($owner: String!, $name: String!, $commit: GitObjectID!${
        withCreated ? ", $after: String" : ""
      }${variables.join("")}) { repository(owner: $owner, name: $name) { ` +
      "object(oid: $commit) { ... on Commit { " +
      `parents(first: 1) { nodes { oid } } ${histories.join(" ")} } } } }`;
    const named = paths.map((path, index) => [`p${index}`, path]);
    const { bytes, release } = await host.client.request({
      kind: "graphql",
      url: host.graphqlUrl,
      owner,
      accept: "application/json",
      body: JSON.stringify({
        query,
        variables: {
          owner,
          name,
          commit,
          ...(withCreated && { after }),
          ...Object.fromEntries(named),
        },
      }),
      maxBytes: ANSWER_MAX_BYTES,
      context,
    });
    try {
      return parseAnswer(answerSchema, { bytes }).data.repository.object;
    } finally {
      release();
    }
  };

  /**
   * Returns the oldest change of a file by a cursor that skips all others.
   * GitHub does not document the form of its cursors. The answer therefore
   * counts only if it is the end of the history.
   */
  const findCreated = async (
    path: string,
    newest: z.infer<typeof connection>,
  ) => {
    const { totalCount = 0, pageInfo, nodes } = newest;
    if (totalCount === 1) return nodes[0];
    const tip = /^([0-9a-f]{40}) 0$/.exec(pageInfo?.endCursor ?? "")?.[1];
    if (tip === undefined || totalCount < 2) return undefined;
    const { f0 } = await ask([path], `${tip} ${totalCount - 2}`);
    return f0?.pageInfo?.hasNextPage === false ? f0.nodes[0] : undefined;
  };

  const readBatch = async (paths: readonly string[]): Promise<void> => {
    let failure = sourceFailed('Cannot read "history": GitHub gave none');
    try {
      const { parents, ...histories } = await ask(paths);
      parent = parents.nodes[0]?.oid ?? "";
      for (const [index, path] of paths.entries()) {
        const newest = histories[`f${index}`];
        const [lastChanged] = newest?.nodes ?? [];
        if (!newest || !lastChanged) continue;
        const created = withCreated
          ? await findCreated(path, newest)
          : undefined;
        changes.set(path, { lastChanged, ...(created && { created }) });
      }
      if (paths.length === 0) return;
    } catch (error) {
      context.signal?.throwIfAborted();
      failure = error as CollectionsError;
    }
    const missing = paths.filter((path) => !changes.has(path));
    if (missing.length < paths.length) {
      failuresInARow = 0;
      if (missing.length > 0) await readBatch(missing);
      return;
    }
    // Smaller batches help only if GitHub answered this one.
    const mayHelp = failure.code === "source-failed" &&
      !consequencesOf(failure).isUnreached && ++failuresInARow < MAX_FAILURES;
    if (!mayHelp || paths.length === 0) throw failure;
    if (paths.length === 1) return void changes.set(paths[0]!, failure);
    const middle = Math.ceil(paths.length / 2);
    await readBatch(paths.slice(0, middle));
    await readBatch(paths.slice(middle));
  };

  const batches = Math.max(1, Math.ceil(files.length / BATCH_MAX_FILES));
  await Promise.all(Array.from({ length: batches }, (_, index) => {
    const start = index * BATCH_MAX_FILES;
    const batch = files.slice(start, start + BATCH_MAX_FILES);
    return readBatch(batch.map(({ path }) => path));
  }));
  const [first, ...more] = changes.values();
  const isFailed = (one: unknown) => one instanceof Error;
  if (isFailed(first) && more.every(isFailed)) throw first;
  return { changes, parent };
}
