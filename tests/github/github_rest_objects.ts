// The REST endpoints about Git data: commit, branch, tree and blob of one repository.

import type { GitObjects } from "./git_objects.ts";
import { resolveCommit } from "./github_refs.ts";
import type { HostedRepository } from "./github_registry.ts";
import { errorReply, jsonReply, notFoundReply, type Reply } from "./github_reply.ts";
import type { RestRequest } from "./github_rest_request.ts";
import type { GithubState } from "./github_state.ts";
import { githubTree } from "./github_trees.ts";

/** A request with the repository that it is about. */
export interface Served {
  state: GithubState;
  repository: HostedRepository;
  objects: GitObjects;
  request: RestRequest;
}

/** `GET …/commits/{ref}`: the id as text, or JSON with the tree's id. */
export async function commitReply(served: Served): Promise<Reply> {
  const { state, repository, objects, request } = served;
  const ref = request.subject;
  const oid = await resolveCommit(objects, { ref, defaultBranch: repository.defaultBranch });
  if (!oid) {
    return state.missingRefStatus === 404
      ? notFoundReply()
      : errorReply(422, `No commit found for SHA: ${ref}`);
  }
  if (request.format === "json") return jsonReply(await commitBody(served, oid));
  const headers = { "content-type": "application/vnd.github.sha; charset=utf-8" };
  return { status: 200, headers, body: new TextEncoder().encode(oid) };
}

/** `GET …/branches/{branch}`. */
export async function branchReply(served: Served): Promise<Reply> {
  const name = served.request.subject;
  const oid = await resolveCommit(served.objects, { ref: `heads/${name}`, defaultBranch: "" });
  if (!oid) return errorReply(404, "Branch not found");
  return jsonReply({ name, commit: await commitBody(served, oid), protected: false });
}

/** `GET …/git/trees/{tree}`, where `tree` may also be a commit's id or a ref. */
export async function treeReply(served: Served): Promise<Reply> {
  const { state, objects, request } = served;
  const oid = await treeId(served);
  if (oid === null) return notFoundReply();
  const recursive = request.kind === "tree-recursive";
  const body = await githubTree(oid, {
    objects,
    url: `${repositoryUrl(served)}/git`,
    recursive,
    maxEntries: state.truncateAt,
    maxBytes: state.truncateBytes,
  });
  return jsonReply(body, { etagOf: `${oid} ${recursive} ${body.tree.length}` });
}

/** `GET …/git/blobs/{id}`: base64 in JSON, or the bytes. */
export async function blobReply(served: Served): Promise<Reply> {
  const { state, objects, request } = served;
  const oid = request.subject;
  if (!/^[0-9a-f]{40}$/.test(oid)) {
    const rule = "must be exactly 40 characters and contain only [0-9a-f]";
    return errorReply(422, `The sha parameter ${rule}.`);
  }
  const info = await objects.info(oid);
  if (info?.type !== "blob") return notFoundReply();
  if (info.size > state.maxBlobBytes) {
    const errors = [{ resource: "Blob", field: "data", code: "too_large" }];
    const message = "This API returns blobs up to 100 MB in size.";
    return errorReply(403, message, { fields: { errors } });
  }
  const { bytes } = (await objects.blob(oid))!;
  if (request.format === "raw") {
    const headers = { "content-type": "application/vnd.github.raw; charset=utf-8" };
    return { status: 200, headers, body: bytes, etagOf: oid };
  }
  const body = {
    sha: oid,
    node_id: `B_${oid}`,
    size: info.size,
    url: `${repositoryUrl(served)}/git/blobs/${oid}`,
    content: bytes.toBase64().replace(/.{1,60}/g, "$&\n"),
    encoding: "base64",
  };
  return jsonReply(body, { etagOf: oid });
}

async function treeId(served: Served): Promise<string | null> {
  const { state, repository: { defaultBranch }, objects, request: { subject } } = served;
  const colon = state.treeByPath ? subject.indexOf(":") : -1;
  const ref = colon < 0 ? subject : subject.slice(0, colon);
  const commit = await resolveCommit(objects, { ref, defaultBranch });
  if (!commit && !/^[0-9a-f]{40}$/.test(ref)) return null;
  const revision = colon < 0 ? `${commit ?? ref}^{tree}` : `${commit}${subject.slice(colon)}`;
  const info = await objects.info(revision);
  return info?.type === "tree" ? info.oid : null;
}

async function commitBody(served: Served, oid: string) {
  const tree = await served.objects.info(`${oid}^{tree}`);
  const url = repositoryUrl(served);
  return {
    sha: oid,
    node_id: `C_${oid}`,
    url: `${url}/commits/${oid}`,
    commit: { message: "", tree: { sha: tree?.oid, url: `${url}/git/trees/${tree?.oid}` } },
    parents: [],
  };
}

function repositoryUrl({ state, repository }: Served): string {
  return `${state.apiUrl}/repos/${repository.owner}/${repository.name}`;
}
