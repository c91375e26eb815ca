// The raw host: `/{owner}/{repo}/{commit}/{path}`, public repositories only, outside every quota, cached for five
// minutes. Requests name a commit id, so an old answer is never wrong.

import type { GithubHost } from "./github_host.ts";
import { type Reply, validated } from "./github_reply.ts";

const FILE_PATH = /^\/([^/]+\/[^/]+)\/([0-9a-f]{40})\/(.+)$/;

/** Why a request to the raw host is unexpected, or null. */
export function rawRefusal({ method, url, headers }: Request): string | null {
  const { pathname, search } = new URL(url);
  // No endpoint here needs a token, so one that arrives has been sent to the wrong host.
  if (headers.has("authorization")) return "a token at the raw host";
  const isFile = method === "GET" && search === "" && FILE_PATH.test(pathname);
  return isFile ? null : "not a GET of /owner/repo/commit/path";
}

/** Answers one request to the raw host. */
export async function answerRaw(double: GithubHost, request: Request): Promise<Reply> {
  const [, name, commit, path] = FILE_PATH.exec(new URL(request.url).pathname)!;
  const repository = double.registry.follow(decodeURIComponent(name!));
  const isVisible = repository?.visibility === "public" && !repository.blocked;
  const file = isVisible ? repository.git?.find(`${commit}:${decodeURIComponent(path!)}`) : null;
  const text = "text/plain; charset=utf-8";
  if (file?.type !== "blob") {
    const body = new TextEncoder().encode("404: Not Found");
    return { status: 404, headers: { "content-type": text }, body };
  }
  const isBinary = file.bytes.subarray(0, 8000).includes(0);
  const headers = {
    "content-type": isBinary ? "application/octet-stream" : text,
    "cache-control": "max-age=300",
  };
  const reply = { status: 200, headers, body: file.bytes, etagOf: file.oid };
  return await validated(reply, request, "raw");
}
