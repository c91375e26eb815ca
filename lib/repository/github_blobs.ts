// File contents from GitHub by the cheapest way there is: GraphQL batches with a token, the raw host without one, the
// blobs API for what those cannot give. No bytes leave this file that do not hash to the id that was asked for.

import pLimit from "p-limit";
import { isSourceFailure, sourceFailed } from "../errors.ts";
import { blobId } from "./git_object_id.ts";
import { Gate } from "./gate.ts";
import { fitsBatch, planBatches, readBatch } from "./github_batches.ts";
import { askWithMoves } from "./github_moves.ts";
import { baseOf } from "./github_memo.ts";
import { refusal } from "./github_answers.ts";
import type { GitHubSource } from "./github_source.ts";
import {
  type BlobResult,
  type Caller,
  type FileRef,
  signalOf,
  type Snapshot,
} from "./repository.ts";

const MAX_AT_ONCE = 8;
/** Files that may wait for the raw host, of all pages. */
const MAX_RAW_QUEUED = 512;
/** After so many failures in a row the source is taken to be down, and the rest is not asked for. */
const MAX_FAILURES = 3;
const RAW_TYPE = "application/vnd.github.raw+json";

/** Reads blobs; see {@linkcode Repository.readBlobs} of the port for the rules. */
export class GitHubBlobs {
  /** The raw host limits whom it takes for a robot, whatever page a question is for. */
  private readonly rawGate = new Gate({ concurrency: MAX_AT_ONCE, maxQueued: MAX_RAW_QUEUED });

  constructor(private readonly options: GitHubSource) {}

  /** One result a distinct id. @throws the caller's abort reason, nothing else. */
  async read(
    snapshot: Snapshot,
    files: readonly FileRef[],
    caller: Caller,
  ): Promise<ReadonlyMap<string, BlobResult>> {
    const results = new Map<string, BlobResult>();
    const wanted = [...new Map(files.map((file) => [file.id, file])).values()];
    if (this.options.tokens.hasToken && wanted.length > 1) {
      const batches = planBatches(wanted.filter(fitsBatch));
      await Promise.all(batches.map(async (batch) => {
        for (const [id, bytes] of await readBatch(snapshot, batch, { ...this.options, caller })) {
          results.set(id, bytes);
        }
      }));
    }
    await this.readSingly(snapshot, wanted.filter((file) => !results.has(file.id)), {
      results,
      caller,
    });
    return results;
  }

  private async readSingly(
    snapshot: Snapshot,
    files: readonly FileRef[],
    { results, caller }: { results: Map<string, BlobResult>; caller: Caller },
  ): Promise<void> {
    const limit = pLimit(MAX_AT_ONCE);
    const page = { caller, rawMisses: 0 };
    let failuresInARow = 0;
    let lastFailure: Error | null = null;
    await Promise.all(files.map((file) =>
      limit(async () => {
        caller.signal?.throwIfAborted();
        if (lastFailure !== null && failuresInARow >= MAX_FAILURES) {
          results.set(file.id, lastFailure);
          return;
        }
        try {
          results.set(file.id, await this.readOne(snapshot, file, page));
          failuresInARow = 0;
        } catch (error) {
          caller.signal?.throwIfAborted();
          lastFailure = error instanceof Error
            ? error
            : sourceFailed(`Cannot read "${file.id}": ${error}`);
          failuresInARow++;
          results.set(file.id, lastFailure);
        }
      })
    ));
  }

  private async readOne(
    snapshot: Snapshot,
    file: FileRef,
    page: { readonly caller: Caller; rawMisses: number },
  ): Promise<BlobResult> {
    const { caller } = page;
    if (!this.options.tokens.hasToken && this.options.rawUrl !== null) {
      const bytes = await this.readRaw(snapshot, file, caller);
      if (bytes !== null) return bytes;
      // The API is no way out for a whole page: without a token it has 60 answers an hour.
      if (++page.rawMisses > MAX_FAILURES) {
        throw sourceFailed(`Cannot read "${file.id}": the raw host does not have it`);
      }
    }
    const answer = await askWithMoves(this.options.client, {
      apiUrl: this.options.apiUrl,
      base: baseOf(snapshot),
      rest: `/git/blobs/${file.id}`,
      accept: RAW_TYPE,
      kind: "blob",
      maxBytes: maxBytesOf(file),
      ...signalOf(caller),
    });
    if (answer.status === 422) throw sourceFailed(`Cannot read "${file.id}": GitHub answered 422`);
    if (answer.status !== 200) throw refusal(snapshot.name, answer.status);
    if (blobId(answer.bytes) !== file.id) {
      throw sourceFailed(`Cannot read "${file.id}": the bytes have another id`);
    }
    return answer.bytes;
  }

  /** The bytes from the raw host, or null where it does not give them as they should be. */
  private async readRaw(
    snapshot: Snapshot,
    file: FileRef,
    caller: Caller,
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const { owner, repo } = snapshot.name;
    const path = file.path.split("/").map(encodeURIComponent).join("/");
    try {
      const answer = await this.rawGate.run(() =>
        this.options.client.ask({
          kind: "raw",
          url: `${this.options.rawUrl}/${owner}/${repo}/${snapshot.commit}/${path}`,
          maxBytes: maxBytesOf(file),
          ...signalOf(caller),
        }), caller.signal);
      return answer.status === 200 && blobId(answer.bytes) === file.id ? answer.bytes : null;
    } catch (error) {
      if (isSourceFailure(error) && error.code === "source-failed") return null;
      throw error;
    }
  }
}

/** One byte more than was announced is enough to see that an answer is another file. */
function maxBytesOf(file: FileRef): number {
  return Math.max(file.size + 1, 4096);
}
