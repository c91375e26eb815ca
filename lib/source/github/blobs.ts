// File contents from GitHub by the cheapest means: GraphQL batches with a token, the raw host without one, the blobs API
// for what those cannot give. No bytes leave this file that do not hash to the id that was requested.

import pLimit from "p-limit";
import { encodePath } from "../../api/names.ts";
import { registeredType } from "../../content/file_names.ts";
import { CollectionsError, sourceFailed } from "../../errors.ts";
import { blobId } from "../git_object_id.ts";
import type { BlobResult, Blobs, FileRef, RequestContext, Snapshot, Source } from "../source.ts";
import { readBlobsTask } from "./blob_answer.ts";
import { type GitHubHost, refusal, requestObject } from "./host.ts";

const MAX_AT_ONCE = 8;
/** Of the quota without a token, what is left to branches and folders while the raw host limits requests. */
const KEPT_QUOTA = 20;
/** After so many failures in a row the source counts as down, and the rest is not requested. */
const MAX_FAILURES = 3;

/** Large GraphQL batches fail at GitHub. */
const BATCH_MAX_FILES = 50;
const BATCH_MAX_BYTES = 1 << 20;
/** `Blob.text` is cut at this many bytes. */
const BATCH_MAX_TEXT_BYTES = 512_000;
/** JSON may take six bytes for one. */
const BATCH_ANSWER_MAX_BYTES = 8 << 20;

interface Page {
  readonly host: GitHubHost;
  readonly snapshot: Snapshot;
  readonly context: RequestContext;
  readonly results: Map<string, BlobResult>;
  rawMisses: number;
}

/** One result for each of `files`, whose ids are distinct. @throws the context's abort reason, nothing else. */
export async function readBlobs(
  host: GitHubHost,
  ...[snapshot, files, context]: Parameters<Source["blobs"]>
): Promise<Blobs> {
  const results = new Map<string, BlobResult>();
  const page: Page = { host, snapshot, context, results, rawMisses: 0 };
  if (host.tokens.mayHave(snapshot.name.owner) && files.length > 1) {
    const batches = planBatches(files.filter(fitsBatch));
    // What a failed batch leaves out is read one by one, and by the raw host alone where GraphQL is limited.
    const read = (batch: readonly FileRef[]) =>
      readBatch(page, batch).catch((error) => {
        context.signal?.throwIfAborted();
        if (error.code !== "source-rate-limited") return;
        for (const { id } of batch) if (!results.has(id)) results.set(id, error);
      });
    await pLimit(MAX_AT_ONCE).map(batches, read);
  }
  let failuresInARow: Error[] = [];
  const missing = files.filter(({ id }) =>
    !results.has(id) || host.rawUrl !== null && results.get(id) instanceof Error
  );
  await pLimit(MAX_AT_ONCE).map(missing, async (file) => {
    try {
      if (failuresInARow.length >= MAX_FAILURES) throw failuresInARow.at(-1);
      results.set(file.id, await readOne(page, file));
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

/** Reads what GraphQL gives whole and exact. @throws {CollectionsError} a source failure. */
async function readBatch(page: Page, files: readonly FileRef[]): Promise<void> {
  const { host, snapshot: { name: { owner, repo } }, context, results } = page;
  const objects = files.map((file, index) =>
    `f${index}: object(oid: "${file.id}") { ... on Blob { text } }`
  ).join(" ");
  const query =
    `query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { ${objects}}}`;
  const answer = await host.client.request({
    kind: "graphql",
    url: host.graphqlUrl,
    owner,
    accept: "application/json",
    body: JSON.stringify({ query, variables: { owner, name: repo } }),
    maxBytes: BATCH_ANSWER_MAX_BYTES,
    context,
  });
  let rest = files;
  try {
    const { bytes } = answer;
    const input = { answer: bytes, ids: files.map(({ id }) => id) };
    const charge = (processorMs: number) => context.charge(processorMs);
    const options = { ...context, charge, linearIn: bytes.length };
    const { blobs, failed } = await host.compute.run(readBlobsTask, input, options);
    for (const [index, blob] of blobs.entries()) {
      if (blob !== null) results.set(files[index]!.id, blob);
    }
    rest = failed.map((index) => files[index]!);
  } finally {
    answer.release();
  }
  // What a partial answer left out beside an error may come in a smaller batch.
  if (rest.length > 0 && rest.length < files.length) await readBatch(page, rest);
}

async function readOne(page: Page, file: FileRef): Promise<BlobResult> {
  const { host, snapshot, context } = page;
  // One byte more than announced is enough to detect that the answer is another file.
  const maxBytes = Math.max(file.size + 1, 4096);
  const { name: { owner, repo }, commit } = snapshot;
  /** GraphQL's, which keeps a file from being read by itself at the API. */
  const limit = page.results.get(file.id);
  if (host.rawUrl !== null && (limit !== undefined || !host.tokens.isReady("core", owner))) {
    const url = `${host.rawUrl}/${owner}/${repo}/${commit}/${encodePath(file.path)}`;
    const answer = await host.client.request({ kind: "raw", url, owner, maxBytes, context })
      .catch((error) => {
        if (!/^source-(failed|rate-limited)$/.test(error.code)) throw error;
        return error as CollectionsError;
      });
    const isFailure = answer instanceof CollectionsError;
    if (!isFailure) answer.release();
    if (!isFailure && answer.status === 200 && blobId(answer.bytes) === file.id) {
      return answer.bytes;
    }
    if (limit !== undefined) throw limit;
    // The API is no alternative for a whole page: without a token it answers 60 requests an hour.
    const isLimited = isFailure && answer.code === "source-rate-limited";
    const isSpent = (host.tokens.remaining("core") ?? Infinity) < KEPT_QUOTA;
    if (isLimited ? isSpent : ++page.rawMisses > MAX_FAILURES) {
      throw isFailure ? answer : sourceFailed(`Cannot read "${file.id}": the raw host lacks it`);
    }
  }
  const { status, bytes, release } = await requestObject(host, snapshot, {
    kind: "blob",
    rest: `/git/blobs/${file.id}`,
    accept: "application/vnd.github.raw+json",
    maxBytes,
    context,
  });
  release();
  if (status !== 200) throw refusal(snapshot.name, status);
  if (blobId(bytes) === file.id) return bytes;
  throw sourceFailed(`Cannot read "${file.id}": the bytes have another id`);
}
