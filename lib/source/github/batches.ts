// Many small text files in one GraphQL query of one point. Batches are small, since large ones fail at GitHub; one that
// fails is halved. What GraphQL cannot give exactly (binary, cut, not UTF-8) is left for the blobs API.

import { lookup } from "mrmime";
import { isSourceFailure } from "../../errors.ts";
import type { RequestContext } from "../../request_context.ts";
import { blobId } from "../git_object_id.ts";
import type { FileRef, Snapshot } from "../source.ts";
import { checked, graphqlAnswer, parseJson } from "./answers.ts";
import type { GitHubHost } from "./host.ts";

const MAX_FILES = 50;
const MAX_BATCH_BYTES = 1 << 20;
/** `Blob.text` is cut at this many bytes. */
const MAX_TEXT_BYTES = 512_000;
/** Smaller batches are not worth halving: what is left is read one by one. */
const MIN_SPLIT = 6;
const MAX_FAILURES = 6;
const ANSWER_MAX_BYTES = 16 << 20;
const LIMIT_MS = 60_000;

const encoder = new TextEncoder();

/** Whether a file may come whole as GraphQL text: not too long, and not of a type that is binary. */
export function fitsBatch(file: FileRef): boolean {
  if (file.size > MAX_TEXT_BYTES) return false;
  // In a repository `.ts` is TypeScript and not a video.
  const type = file.path.endsWith(".ts") ? "text/plain" : lookup(file.path) ?? "text/plain";
  return /^text\/|[/+](json|xml|yaml|toml|javascript|typescript)$/.test(type) ||
    type.startsWith("application/x-");
}

/** The files in groups, each of at most 50 files and 1 MiB. */
export function planBatches(files: readonly FileRef[]): FileRef[][] {
  const batches: FileRef[][] = [];
  let bytes = Infinity;
  for (const file of files) {
    if (bytes + file.size > MAX_BATCH_BYTES || batches.at(-1)!.length === MAX_FILES) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)!.push(file);
    bytes += file.size;
  }
  return batches;
}

/**
 * The files whose text came whole and exact, by id; those that are missing are to be read another way. What a failed
 * or partial answer left out is requested again in halves, until too much failed in a row.
 * @throws the context's abort reason, nothing else.
 */
export async function readBatch(
  host: GitHubHost,
  snapshot: Snapshot,
  batch: readonly FileRef[],
  context: RequestContext,
): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const found = new Map<string, Uint8Array<ArrayBuffer>>();
  const queue: (readonly FileRef[])[] = [batch];
  let failuresInARow = 0;
  for (let files = queue.shift(); files !== undefined; files = queue.shift()) {
    let rest = files;
    try {
      const answer = await query(host, snapshot, files, context);
      for (const [id, bytes] of answer.found) found.set(id, bytes);
      rest = answer.unanswered;
      failuresInARow = rest.length < files.length ? 0 : failuresInARow + 1;
    } catch (error) {
      context.signal?.throwIfAborted();
      const mayRepeat = isSourceFailure(error) && error.code !== "source-rate-limited" &&
        error.restMs === 0;
      if (!mayRepeat) return found;
      failuresInARow += error.code === "source-timeout" ? MAX_FAILURES / 2 : 1;
    }
    if (failuresInARow >= MAX_FAILURES) return found;
    if (rest.length < files.length && rest.length > 0) queue.push(rest);
    else if (rest.length >= MIN_SPLIT) {
      const middle = rest.length >> 1;
      queue.push(rest.slice(0, middle), rest.slice(middle));
    }
  }
  return found;
}

interface BatchAnswer {
  readonly found: Map<string, Uint8Array<ArrayBuffer>>;
  /** What the answer left out beside an error; it may come in a smaller batch. */
  readonly unanswered: readonly FileRef[];
}

async function query(
  host: GitHubHost,
  snapshot: Snapshot,
  files: readonly FileRef[],
  context: RequestContext,
): Promise<BatchAnswer> {
  const objects = files.map((file, index) =>
    `f${index}: object(oid: "${file.id}") { ... on Blob { text isBinary isTruncated } }`
  );
  const { owner, repo } = snapshot.name;
  const answer = await host.client.request({
    kind: "graphql",
    url: host.graphqlUrl,
    accept: "application/json",
    json: JSON.stringify({
      query: `query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { ${
        objects.join(" ")
      }}}`,
      variables: { owner, name: repo },
    }),
    maxBytes: ANSWER_MAX_BYTES,
    context,
  });
  try {
    const { data, errors } = checked(graphqlAnswer, parseJson(answer.bytes));
    // A spent quota comes as 200 here (docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api).
    if (errors?.some((error) => error.type === "RATE_LIMITED")) {
      const resetMs = Number(answer.headers.get("x-ratelimit-reset") ?? NaN) * 1000 -
        host.clock.now();
      host.tokens.limit(answer.token, resetMs > 0 ? resetMs : LIMIT_MS, "graphql");
      // With the next token; with the last one spent the client throws.
      return await query(host, snapshot, files, context);
    }
    const found = new Map<string, Uint8Array<ArrayBuffer>>();
    const unanswered: FileRef[] = [];
    files.forEach((file, index) => {
      const blob = data?.repository?.[`f${index}`];
      if (!blob) {
        if (errors !== undefined) unanswered.push(file);
        return;
      }
      const bytes = encoder.encode(blob.text ?? "");
      if (blobId(bytes) === file.id) found.set(file.id, bytes);
    });
    return { found, unanswered };
  } finally {
    answer.release();
  }
}
