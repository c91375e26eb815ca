// File contents from GitHub by the cheapest means: GraphQL batches with a token, the raw host without one, the blobs API
// for what those cannot give. No bytes leave this file that do not hash to the id that was requested.

import pLimit from "p-limit";
import { encodePath } from "../../api/names.ts";
import { registeredType } from "../../content/file_names.ts";
import { CollectionsError, sourceFailed } from "../../errors.ts";
import { blobId } from "../git_object_id.ts";
import type { BlobResult, Blobs, FileRef, Source } from "../source.ts";
import { readBlobsTask } from "./blob_answer.ts";
import { type GitHubHost, refusal, requestObject } from "./host.ts";

const MAX_AT_ONCE = 8;
/** What branches and folders keep of the quota without a token while the raw host limits requests. */
const KEPT_QUOTA = 20;
/** After so many failures in a row the source counts as down, and no more is requested. */
const MAX_FAILURES = 3;

/** Large GraphQL batches fail at GitHub. */
const BATCH_MAX_FILES = 50;
const BATCH_MAX_BYTES = 1 << 20;
/** `Blob.text` is cut at this many bytes. */
const BATCH_MAX_TEXT_BYTES = 512_000;
/** JSON may take six bytes for one. */
const BATCH_ANSWER_MAX_BYTES = 8 << 20;

/** One result for each of `files`, whose ids are distinct. @throws the context's abort reason, nothing else. */
export async function readBlobs(
  host: GitHubHost,
  ...[snapshot, files, context]: Parameters<Source["blobs"]>
): Promise<Blobs> {
  const { client, rawUrl, tokens } = host;
  const { name: { owner, repo }, commit } = snapshot;
  const results = new Map<string, BlobResult>();
  let rawMisses = 0;

  /** Reads what GraphQL gives whole and exact. @throws {CollectionsError} a source failure. */
  const readBatch = async (batch: readonly FileRef[]): Promise<void> => {
    const ids = batch.map(({ id }) => id);
    const objects = ids.map((id, index) =>
      `f${index}: object(oid: "${id}") { ... on Blob { text } }`
    );
    const query =
      `query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { ${
        objects.join(" ")
      }}}`;
    const { bytes, release } = await client.request({
      kind: "graphql",
      url: host.graphqlUrl,
      owner,
      accept: "application/json",
      body: JSON.stringify({ query, variables: { owner, name: repo } }),
      maxBytes: BATCH_ANSWER_MAX_BYTES,
      context,
    });
    const charge = (processorMs: number) => context.charge(processorMs);
    const options = { ...context, charge, linearIn: bytes.length };
    const { blobs, failed } = await host.compute.run(readBlobsTask, { answer: bytes, ids }, options)
      .finally(release);
    for (const [index, blob] of blobs.entries()) if (blob !== null) results.set(ids[index]!, blob);
    // What a partial answer left out beside an error may come in a smaller batch.
    if (failed.length > 0 && failed.length < batch.length) {
      await readBatch(failed.map((index) => batch[index]!));
    }
  };

  const readOne = async (file: FileRef): Promise<BlobResult> => {
    // One byte more than announced is enough to detect that the answer is another file.
    const maxBytes = Math.max(file.size + 1, 4096);
    /** GraphQL's, which keeps a file from being read by itself at the API. */
    const limit = results.get(file.id);
    if (rawUrl !== null && (limit !== undefined || !tokens.isReady("core", owner))) {
      const url = `${rawUrl}/${owner}/${repo}/${commit}/${encodePath(file.path)}`;
      const answer = await client.request({ kind: "raw", url, owner, maxBytes, context })
        .catch((error) => {
          if (!/^source-(failed|rate-limited)$/.test(error.code)) throw error;
          return error as CollectionsError;
        });
      const isFailure = answer instanceof CollectionsError;
      if (!isFailure) answer.release();
      if (!isFailure && answer.status === 200 && blobId(answer.bytes) === file.id) {
        return new Uint8Array(answer.bytes);
      }
      if (limit !== undefined) throw limit;
      // The API is no alternative for a whole page: without a token it answers 60 requests an hour.
      const isLimited = isFailure && answer.code === "source-rate-limited";
      const isSpent = (tokens.remaining("core") ?? Infinity) < KEPT_QUOTA;
      if (isLimited ? isSpent : ++rawMisses > MAX_FAILURES) {
        throw isFailure ? answer : sourceFailed(`Cannot read "${file.id}": the raw host lacks it`);
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
    if (blobId(bytes) === file.id) return new Uint8Array(bytes);
    throw sourceFailed(`Cannot read "${file.id}": the bytes have another id`);
  };

  const atOnce = pLimit(MAX_AT_ONCE);
  const batches = tokens.mayHave(owner) && files.length > 1
    ? planBatches(files.filter(fitsBatch))
    : [];
  // What a failed batch leaves out is read one by one, and by the raw host alone where GraphQL is limited.
  await atOnce.map(batches, (batch) =>
    readBatch(batch).catch((error) => {
      context.signal?.throwIfAborted();
      if (error.code !== "source-rate-limited") return;
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

/** Whether a file may come whole as GraphQL text: not too long, and not of a type that is binary. */
export function fitsBatch(file: FileRef): boolean {
  if (file.size > BATCH_MAX_TEXT_BYTES) return false;
  // In a repository `.ts` is TypeScript and not a video.
  const extension = file.path.slice(file.path.lastIndexOf(".") + 1).toLowerCase();
  const type = extension === "ts" ? "text/plain" : registeredType(extension) ?? "text/plain";
  return /^text\/|[/+](json|xml|yaml|toml|javascript|typescript)$|^application\/x-/.test(type);
}

export function planBatches(files: readonly FileRef[]): FileRef[][] {
  const batches: FileRef[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    if (bytes + file.size > BATCH_MAX_BYTES || batches.at(-1)!.length === BATCH_MAX_FILES) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)!.push(file);
    bytes += file.size;
  }
  return batches;
}
