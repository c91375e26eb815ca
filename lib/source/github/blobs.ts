// File contents from GitHub by the cheapest way: GraphQL batches with a token, the raw host without one, the blobs API
// for what those cannot give. No bytes leave this file that do not hash to the id that was requested.

import pLimit from "p-limit";
import { isSourceFailure, sourceFailed } from "../../errors.ts";
import type { RequestContext } from "../../request_context.ts";
import { blobId } from "../git_object_id.ts";
import type { BlobResult, FileRef, Snapshot } from "../source.ts";
import { refusal } from "./answers.ts";
import { fitsBatch, planBatches, readBatch } from "./batches.ts";
import { baseOf, type GitHubHost, requestRepository } from "./host.ts";

const MAX_AT_ONCE = 8;
/** After so many failures in a row the source is taken to be down, and the rest is not requested. */
const MAX_FAILURES = 3;
const RAW_TYPE = "application/vnd.github.raw+json";

interface Page {
  readonly host: GitHubHost;
  readonly snapshot: Snapshot;
  readonly context: RequestContext;
  rawMisses: number;
}

/** One result a distinct id. @throws the context's abort reason, nothing else. */
export async function readBlobs(
  host: GitHubHost,
  snapshot: Snapshot,
  files: readonly FileRef[],
  context: RequestContext,
): Promise<ReadonlyMap<string, BlobResult>> {
  const results = new Map<string, BlobResult>();
  const wanted = [...new Map(files.map((file) => [file.id, file])).values()];
  if (host.tokens.hasToken && wanted.length > 1) {
    const limit = pLimit(MAX_AT_ONCE);
    await Promise.all(
      planBatches(wanted.filter(fitsBatch)).map((batch) =>
        limit(async () => {
          context.signal?.throwIfAborted();
          const found = await readBatch(host, snapshot, batch, context);
          for (const [id, bytes] of found) results.set(id, bytes);
        })
      ),
    );
  }
  await readSingly(
    { host, snapshot, context, rawMisses: 0 },
    wanted.filter((file) => !results.has(file.id)),
    results,
  );
  return results;
}

async function readSingly(
  page: Page,
  files: readonly FileRef[],
  results: Map<string, BlobResult>,
): Promise<void> {
  const { signal } = page.context;
  const limit = pLimit(MAX_AT_ONCE);
  let failuresInARow = 0;
  let lastFailure: Error | null = null;
  await Promise.all(files.map((file) =>
    limit(async () => {
      signal?.throwIfAborted();
      if (lastFailure !== null && failuresInARow >= MAX_FAILURES) {
        results.set(file.id, lastFailure);
        return;
      }
      try {
        results.set(file.id, await readOne(page, file));
        failuresInARow = 0;
      } catch (error) {
        signal?.throwIfAborted();
        lastFailure = error instanceof Error
          ? error
          : sourceFailed(`Cannot read "${file.id}": ${error}`);
        failuresInARow++;
        results.set(file.id, lastFailure);
      }
    })
  ));
}

async function readOne(page: Page, file: FileRef): Promise<BlobResult> {
  const { host, snapshot, context } = page;
  if (!host.tokens.hasToken && host.rawUrl !== null) {
    const bytes = await readRaw(page, file);
    if (bytes !== null) return bytes;
    // The API is no alternative for a whole page: without a token it gives 60 answers an hour.
    if (++page.rawMisses > MAX_FAILURES) {
      throw sourceFailed(`Cannot read "${file.id}": the raw host does not have it`);
    }
  }
  const answer = await requestRepository(host, {
    base: baseOf(snapshot),
    rest: `/git/blobs/${file.id}`,
    accept: RAW_TYPE,
    kind: "blob",
    maxBytes: maxBytesOf(file),
    context,
  });
  answer.release();
  if (answer.status === 422) throw sourceFailed(`Cannot read "${file.id}": GitHub answered 422`);
  if (answer.status !== 200) throw refusal(snapshot.name, answer.status);
  if (blobId(answer.bytes) !== file.id) {
    throw sourceFailed(`Cannot read "${file.id}": the bytes have another id`);
  }
  return answer.bytes;
}

/** The bytes from the raw host, or null where it does not give the right ones. */
async function readRaw(
  { host, snapshot, context }: Page,
  file: FileRef,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const { owner, repo } = snapshot.name;
  const path = file.path.split("/").map(encodeURIComponent).join("/");
  try {
    const answer = await host.client.request({
      kind: "raw",
      url: `${host.rawUrl}/${owner}/${repo}/${snapshot.commit}/${path}`,
      maxBytes: maxBytesOf(file),
      context,
    });
    answer.release();
    return answer.status === 200 && blobId(answer.bytes) === file.id ? answer.bytes : null;
  } catch (error) {
    if (isSourceFailure(error) && error.code === "source-failed") return null;
    throw error;
  }
}

/** One byte more than was announced is enough to see that an answer is another file. */
function maxBytesOf(file: FileRef): number {
  return Math.max(file.size + 1, 4096);
}
