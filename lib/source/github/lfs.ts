// Downloads Git LFS objects (git-lfs, docs/api/batch.md and
// basic-transfers.md). The batch API of the Git host says at which URL each
// object is. Such a URL is not trusted. Only the hosts that GitHub names for
// Git LFS and those of the settings are requested. Only the headers from the
// batch response are sent. No bytes leave this file unless they have the
// SHA-256 of their pointer.

import pLimit from "p-limit";
import { z } from "zod";
import {
  CollectionsError,
  itemNotFound,
  shownPath,
  sourceFailed,
} from "../../errors.ts";
import { hasId } from "../git_object_id.ts";
import type {
  BlobResult,
  Blobs,
  FileRef,
  RequestContext,
  Snapshot,
  Source,
} from "../source.ts";
import { type GitHubHost, MAX_HOPS, parseAnswer, pathBelow } from "./host.ts";

const AT_ONCE = 8;
const BATCH_MAX_BYTES = 1 << 20;
const MEDIA_TYPE = "application/vnd.git-lfs+json";
/**
 * docs.github.com, "Self-hosted runners reference": needed for Git Large File
 * Storage.
 */
const STORAGE_HOSTS = [
  "github-cloud.githubusercontent.com",
  "github-cloud.s3.amazonaws.com",
];
const BATCH_PATH =
  /^[A-Za-z0-9_-]+\/[A-Za-z0-9._-]+\/info\/lfs\/objects\/batch$/;

/** Names of headers except those that concern the connection. */
const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/).regex(
  /^(?!(host|connection|content-length|transfer-encoding|te|upgrade)$)/i,
);
const batchAnswer = z.object({
  transfer: z.literal("basic").optional(),
  objects: z.array(z.object({
    oid: z.string(),
    actions: z.object({
      download: z.object({
        href: z.string(),
        header: z.record(headerName, z.string().regex(/^[\x20-\x7e]{0,8192}$/))
          .optional(),
      }).optional(),
    }).optional(),
    error: z.object({ code: z.int() }).optional(),
  })),
});

/**
 * Returns one result for each of `files`. Their ids are those of Git LFS
 * objects. They come from one page and are no more than git-lfs sends at once.
 * @throws only the context's abort reason.
 */
export async function readLfsObjects(
  host: GitHubHost,
  ...[snapshot, files, context]: Parameters<Source["blobs"]>
): Promise<Blobs> {
  if (files.length === 0) return new Map();
  const answer = requestBatch(host, snapshot, files, context);
  const results = await pLimit(AT_ONCE).map(
    files,
    async (file): Promise<[string, BlobResult]> => {
      const result = answer.then((objects) =>
        download(host, file, objects, context)
      );
      return [file.id, await result.catch((error) => error)];
    },
  );
  context.signal?.throwIfAborted();
  return new Map(results);
}

/**
 * Returns what the host says about objects.
 * @throws {CollectionsError} a source failure.
 */
async function requestBatch(
  { client, lfsUrl }: GitHubHost,
  { name: { owner, repo } }: Snapshot,
  files: readonly FileRef[],
  context: RequestContext,
) {
  const objects = files.map(({ id: oid, size }) => ({ oid, size }));
  const body = JSON.stringify({
    operation: "download",
    transfers: ["basic"],
    objects,
  });
  let path: string | null = `${owner}/${repo}.git/info/lfs/objects/batch`;
  for (let hop = 0;; hop++) {
    const answer = await client.request({
      kind: "lfs-batch",
      url: `${lfsUrl}/${path}`,
      owner,
      accept: MEDIA_TYPE,
      body,
      maxBytes: BATCH_MAX_BYTES,
      context,
    });
    answer.release();
    const { status, headers } = answer;
    if (status === 200) return parseAnswer(batchAnswer, answer).objects;
    const isMoved = [301, 302, 307, 308].includes(status) && hop < MAX_HOPS;
    path = isMoved ? pathBelow(lfsUrl, headers.get("location")) : null;
    if (path === null || !BATCH_PATH.test(path)) {
      throw sourceFailed(`Cannot read "lfs": the batch API answered ${status}`);
    }
  }
}

/** @throws {CollectionsError} item-not-found or a source failure. */
async function download(
  host: GitHubHost,
  { id, path, size }: FileRef,
  objects: z.infer<typeof batchAnswer>["objects"],
  context: RequestContext,
): Promise<BlobResult> {
  const failed = (state: string) =>
    new CollectionsError(
      "source-failed",
      `The Git LFS object of "${shownPath(path)}" ${state}.`,
      {
        message: `Cannot read "${id}": the Git LFS object ${state}`,
      },
    );
  const { error, actions } = objects.find(({ oid }) => oid === id) ?? {};
  if (error?.code === 404 || error?.code === 410) {
    throw itemNotFound(path, "missing object");
  }
  const { href, header = {} } = actions?.download ?? {};
  if (href === undefined) {
    throw failed(`is not given by its host (${error?.code ?? "no address"})`);
  }
  if (!isExpected(host, href)) {
    throw failed("is at a host that this service does not know");
  }
  // One byte more than announced is enough to detect a different file.
  const maxBytes = Math.max(size + 1, 4096);
  const request = {
    kind: "lfs",
    url: href,
    owner: "",
    maxBytes,
    context,
  } as const;
  const { status, bytes, release } = await host.client.requestGit(
    request,
    header,
  );
  release();
  if (status !== 200) {
    throw failed(`cannot be downloaded: its host answered ${status}`);
  }
  if (bytes.length === size && hasId(bytes, id)) return bytes;
  throw failed("has other bytes than its pointer says");
}

/**
 * Returns whether a URL is at a host of GitHub or of the settings. Other hosts
 * are never requested. This protects hosts in private networks.
 */
function isExpected(
  { apiUrl, lfsUrl, rawUrl, webUrl }: GitHubHost,
  href: string,
): boolean {
  const url = URL.parse(href);
  if (url === null || url.username + url.password !== "") return false;
  const isOwn = [apiUrl, lfsUrl, rawUrl, webUrl]
    .some((address) =>
      address !== null && new URL(address).origin === url.origin
    );
  // GitHub Enterprise Server may have its storage on a subdomain.
  return isOwn || url.protocol === "https:" &&
      (STORAGE_HOSTS.includes(url.host) ||
        url.host.endsWith(`.${new URL(lfsUrl).host}`));
}
