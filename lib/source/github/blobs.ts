// Reads file contents from GitHub by the cheapest means. That is GraphQL
// batches with a token and the raw host without one. The blobs API serves what
// those cannot. No bytes leave this file unless they hash to the requested id.

import pLimit from "p-limit";
import { encodePath } from "../../api/names.ts";
import { registeredType } from "../../content/file_names.ts";
import { CollectionsError, sourceFailed } from "../../errors.ts";
import { blobId } from "../git_object_id.ts";
import type { BlobResult, Blobs, FileRef, Source } from "../source.ts";
import { readBlobsTask } from "./blob_answer.ts";
import { type GitHubHost, refusal, requestObject } from "./host.ts";

/** Failures of a batch that its files have as well. */
const SHARED_FAILURES = new Set(["source-rate-limited", "service-busy"]);
const MAX_AT_ONCE = 8;
/**
 * Quota without a token that is kept for branches and folders while the raw
 * host limits requests.
 */
const KEPT_QUOTA = 20;
/**
 * The source counts as down after this many consecutive failures. No more files
 * are requested.
 */
const MAX_FAILURES = 3;

/** Large GraphQL batches fail at GitHub. */
const BATCH_MAX_FILES = 50;
const BATCH_MAX_BYTES = 1 << 20;
/** GitHub cuts `Blob.text` at this many bytes. */
const BATCH_MAX_TEXT_BYTES = 512_000;
const TEXT_TYPE =
  /^text\/|[/+](json|xml|yaml|toml|(java|type)script)$|^application\/x-/;
/** JSON may take six bytes for one. */
const BATCH_ANSWER_MAX_BYTES = 8 << 20;

/**
 * Returns one result for each of `files`. Their ids must be distinct.
 * @throws only the context's abort reason.
 */
export async function readBlobs(
  host: GitHubHost,
  ...[snapshot, files, context]: Parameters<Source["blobs"]>
): Promise<Blobs> {
  const { client, rawUrl, tokens } = host;
  const { name: { owner, repo }, commit } = snapshot;
  const results = new Map<string, BlobResult>();
  let rawMisses = 0;

  /**
   * Reads the files that GraphQL gives whole and exact.
   * @throws {CollectionsError} a source failure.
   */
  const readBatch = async (batch: readonly FileRef[]): Promise<void> => {
    const ids = batch.map(({ id }) => id);
    const objects = ids.map((id, index) =>
      `f${index}: object(oid: "${id}") { ... on Blob { text } }`
    );
    const query = "query ($owner: String!, $name: String!) { " +
      `repository(owner: $owner, name: $name) { ${objects.join(" ")}}}`;
    const { bytes, release } = await client.request({
      kind: "graphql",
      url: host.graphqlUrl,
      owner,
      accept: "application/json",
      body: JSON.stringify({ query, variables: { owner, name: repo } }),
      maxBytes: BATCH_ANSWER_MAX_BYTES,
      context,
    });
    const { blobs, failed } = await host.compute.run(
      readBlobsTask,
      { answer: bytes, ids },
      { ...context, linearIn: bytes.length },
    ).finally(release);
    for (const [index, blob] of blobs.entries()) {
      if (blob !== null) results.set(ids[index]!, blob);
    }
    // Files missing from a partial response may succeed in a smaller batch.
    if (failed.length > 0 && failed.length < batch.length) {
      await readBatch(failed.map((index) => batch[index]!));
    }
  };

  const readOne = async (file: FileRef): Promise<BlobResult> => {
    // One byte more than announced is enough to detect a different file.
    const maxBytes = Math.max(file.size + 1, 4096);
    /**
     * Set if GraphQL is limited. The file is then not requested from the API.
     */
    const limit = results.get(file.id);
    if (
      rawUrl !== null && (limit !== undefined || !tokens.isReady("core", owner))
    ) {
      const url = `${rawUrl}/${owner}/${repo}/${commit}/${
        encodePath(file.path)
      }`;
      const answer = await client.request({
        kind: "raw",
        url,
        owner,
        maxBytes,
        context,
      })
        .catch((error) => {
          if (!/^source-(failed|rate-limited)$/.test(error.code)) throw error;
          return error as CollectionsError;
        });
      const isFailure = answer instanceof CollectionsError;
      if (!isFailure) answer.release();
      if (
        !isFailure && answer.status === 200 && blobId(answer.bytes) === file.id
      ) {
        return answer.bytes;
      }
      if (limit !== undefined) throw limit;
      // The API cannot replace the raw host for a whole page. It allows 60
      // requests an hour without a token.
      const isLimited = isFailure && answer.code === "source-rate-limited";
      const isSpent = (tokens.remaining("core") ?? Infinity) < KEPT_QUOTA;
      if (isLimited ? isSpent : ++rawMisses > MAX_FAILURES) {
        throw isFailure
          ? answer
          : sourceFailed(`Cannot read "${file.id}": the raw host lacks it`);
      }
    }
    const { status, bytes, release } = await requestObject(host, snapshot, {
      kind: "blob",
      path: `/git/blobs/${file.id}`,
      accept: "application/vnd.github.raw+json",
      maxBytes,
      context,
    });
    release();
    if (status !== 200) throw refusal(snapshot.name, status);
    if (blobId(bytes) === file.id) return bytes;
    throw sourceFailed(`Cannot read "${file.id}": the bytes have another id`);
  };

  const atOnce = pLimit(MAX_AT_ONCE);
  const batches = tokens.mayHave(owner) && files.length > 1
    ? planBatches(files.filter(fitsBatch))
    : [];
  // The missing files of a failed batch are read one by one. Only the raw host
  // reads them if GraphQL is limited or the service is busy. They would cost
  // much quota.
  await atOnce.map(batches, (batch) =>
    readBatch(batch).catch((error) => {
      context.signal?.throwIfAborted();
      if (!SHARED_FAILURES.has(error.code)) return;
      for (const { id } of batch) if (!results.has(id)) results.set(id, error);
    }));
  let failuresInARow: Error[] = [];
  const missing = files.filter(({ id }) =>
    !results.has(id) || rawUrl !== null && results.get(id) instanceof Error
  );
  await atOnce.map(missing, async (file) => {
    try {
      if (failuresInARow.length >= MAX_FAILURES) throw failuresInARow.at(-1);
      results.set(file.id, await readOne(file));
      failuresInARow = [];
    } catch (error) {
      context.signal?.throwIfAborted();
      failuresInARow.push(error as Error);
      results.set(file.id, error as Error);
    }
  });
  return results;
}

/**
 * Returns whether GraphQL may return a file whole as text. Long files and
 * binary types are excluded.
 */
function fitsBatch(file: FileRef): boolean {
  if (file.size > BATCH_MAX_TEXT_BYTES) return false;
  // A `.ts` file in a repository is TypeScript and not a video.
  const extension = file.path.slice(file.path.lastIndexOf(".") + 1)
    .toLowerCase();
  const type = extension === "ts"
    ? "text/plain"
    : registeredType(extension) ?? "text/plain";
  return TEXT_TYPE.test(type);
}

function planBatches(files: readonly FileRef[]): FileRef[][] {
  const batches: FileRef[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    if (
      bytes + file.size > BATCH_MAX_BYTES ||
      batches.at(-1)!.length === BATCH_MAX_FILES
    ) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)!.push(file);
    bytes += file.size;
  }
  return batches;
}
