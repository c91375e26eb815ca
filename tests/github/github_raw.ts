// The raw host: `/{owner}/{repo}/{commit}/{path}`, public repositories only, outside every quota,
// kept for five minutes by caches. It is asked by commit id, so an old answer is never wrong.

import { exchange } from "./github_exchange.ts";
import { etagOf, matchesEtag, type Reply } from "./github_reply.ts";
import type { GithubState } from "./github_state.ts";

const filePath = /^\/([^/]+\/[^/]+)\/([0-9a-f]{40})\/(.+)$/;

/** Answers one request to the raw host. */
export async function answerRaw(state: GithubState, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const [, name = "", commit = "", path = ""] = filePath.exec(pathname) ?? [];
  // No endpoint here needs a token, so one that arrives has been sent to the wrong host.
  const refusal = request.headers.has("authorization")
    ? "a token at the raw host"
    : request.method !== "GET" || search !== "" || name === ""
    ? "not a GET of /owner/repo/commit/path"
    : null;
  return await exchange(state, request, {
    kind: "raw",
    refusal,
    headers: () => ({}),
    answer: () => answerFile(state, request, { name, commit, path }),
  });
}

async function answerFile(
  state: GithubState,
  request: Request,
  file: { name: string; commit: string; path: string },
): Promise<Reply> {
  const repository = state.registry.follow(decodeURIComponent(file.name));
  const visible = repository?.visibility === "public" && !repository.blocked;
  const objects = visible ? repository.git?.objects : undefined;
  const blob = await objects?.info(`${file.commit}:${decodeURIComponent(file.path)}`) ?? null;
  const bytes = blob?.type === "blob" ? (await objects?.blob(blob.oid))?.bytes : undefined;
  const contentType = "text/plain; charset=utf-8";
  if (!bytes || !blob) {
    const body = new TextEncoder().encode("404: Not Found");
    return { status: 404, headers: { "content-type": contentType }, body };
  }
  const type = bytes.subarray(0, 8000).includes(0) ? "application/octet-stream" : contentType;
  const headers = { "content-type": type, "cache-control": "max-age=300" };
  const reply: Reply = { status: 200, headers, body: bytes, etagOf: blob.oid };
  const etag = await etagOf(reply, "raw");
  const known = request.headers.get("if-none-match");
  return known !== null && matchesEtag(known, etag)
    ? { status: 304, headers: { etag }, body: new Uint8Array() }
    : { ...reply, headers: { ...headers, etag } };
}
