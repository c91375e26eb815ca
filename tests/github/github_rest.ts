// The REST endpoints: repository, commit, branch, tree, blob. Reads a path, finds the repository
// as the caller may see it, and answers as GitHub documents. https://docs.github.com/rest

import { resolveCommit } from "./github_refs.ts";
import type { Caller } from "./github_accounts.ts";
import type { RequestKind } from "./github_log.ts";
import type { HostedRepository } from "./github_registry.ts";
import { errorReply, jsonReply, notFoundReply, type Reply } from "./github_reply.ts";
import type { GithubState } from "./github_state.ts";
import { githubTree } from "./github_trees.ts";

/** A REST request, taken apart. `rest` is the raw path behind the repository. */
export interface RestRequest {
  kind: RequestKind;
  /** `owner/name`, or an id for `/repositories/{id}`. */
  repository: string | number;
  rest: string;
  query: string;
  /** The last part of the path, decoded: a ref, a tree or an object id. */
  subject: string;
  format: "json" | "sha" | "raw";
}

const endpoints: [RequestKind, RegExp, formats: string[]][] = [
  ["repo", /^()$/, ["json"]],
  ["commit", /^\/commits\/(.+)$/, ["json", "sha"]],
  ["branch", /^\/branches\/(.+)$/, ["json"]],
  ["tree", /^\/git\/trees\/([^/]+)$/, ["json"]],
  ["blob", /^\/git\/blobs\/([^/]+)$/, ["json", "raw"]],
];
const repositoryPath = /^\/(?:repos\/([^/]+\/[^/]+)|repositories\/(\d+))(\/.*)?$/;
const mediaType = /^application\/vnd\.github(?:\.v3)?(?:\.(sha|raw))?(?:\+json)?$/;

/** Takes a request apart, or says in a sentence why no endpoint expects it. */
export function parseRestRequest(
  request: { method: string; path: string; query: string; accept: string },
): RestRequest | string {
  const { method, path, query, accept } = request;
  if (method !== "GET") return `method ${method}`;
  const [, name, id, rest = ""] = repositoryPath.exec(path) ?? [];
  if (name === undefined && id === undefined) return "no such path";
  const format = /^(\*\/\*|application\/json|)$/.test(accept)
    ? "json"
    : mediaType.exec(accept) && (mediaType.exec(accept)?.[1] ?? "json");
  for (const [kind, pattern, formats] of endpoints) {
    const subject = pattern.exec(rest)?.[1];
    if (subject === undefined) continue;
    if (!format || !formats.includes(format)) return `media type "${accept}"`;
    const recursive = kind === "tree" && new URLSearchParams(query).has("recursive");
    const unknown = [...new URLSearchParams(query).keys()].filter((key) => key !== "recursive");
    if (unknown.length > 0 || (query !== "" && kind !== "tree")) return `query "${query}"`;
    const decoded = decode(subject);
    if (decoded === null) return "malformed escape";
    return {
      kind: recursive ? "tree-recursive" : kind,
      repository: name === undefined ? Number(id) : decode(name) ?? name,
      rest,
      query,
      subject: decoded,
      format: format as RestRequest["format"],
    };
  }
  return "no such endpoint";
}

/** Answers a REST request. */
export async function answerRest(
  state: GithubState,
  request: RestRequest,
  caller: Caller,
): Promise<Reply> {
  const repository = typeof request.repository === "number"
    ? state.registry.findById(request.repository)
    : state.registry.find(request.repository);
  if (!repository) return redirect(state, request, caller);
  if (!state.accounts.sees(caller, repository)) return notFoundReply();
  if (repository.blocked) return blocked(repository);
  if (request.kind === "repo") return jsonReply(repositoryBody(state, repository));
  if (!repository.git || !await repository.git.objects.info("HEAD") && await isEmpty(repository)) {
    return request.kind === "branch"
      ? errorReply(404, "Branch not found")
      : errorReply(409, "Git Repository is empty.");
  }
  const served = { state, repository, objects: repository.git.objects, request };
  if (request.kind === "commit") return commit(served);
  if (request.kind === "branch") return branch(served);
  if (request.kind === "blob") return blob(served);
  return tree(served);
}

type Served = {
  state: GithubState;
  repository: HostedRepository;
  objects: NonNullable<HostedRepository["git"]>["objects"];
  request: RestRequest;
};

async function isEmpty(repository: HostedRepository): Promise<boolean> {
  return await repository.git?.git("for-each-ref", "--count=1") === "";
}

function redirect(state: GithubState, request: RestRequest, caller: Caller): Reply {
  const found = typeof request.repository === "string"
    ? state.registry.redirect(request.repository)
    : null;
  const { target = null, form = "none" } = found ?? {};
  if (!found || (target && !state.accounts.sees(caller, target))) return notFoundReply();
  const rest = request.rest + request.query;
  const api = state.apiUrl;
  const location = form === "none"
    ? null
    : form === "numeric"
    ? `${api}/repositories/${target?.id}${rest}`
    : form === "named"
    ? `${api}/repos/${target?.owner}/${target?.name}${rest}`
    : form === "other-host"
    ? `${api.replace("127.0.0.1", "localhost")}/repositories/${target?.id}${rest}`
    : form.replaceAll("{rest}", rest).replaceAll("{api}", api);
  return errorReply(301, "Moved Permanently", {
    fields: { url: location ?? "" },
    headers: location === null ? {} : { location },
  });
}

function blocked({ blocked }: HostedRepository): Reply {
  const { status, reason } = blocked!;
  const htmlUrl = "https://github.com/github/dmca/blob/master/2026/01/2026-01-01-example.md";
  const block = { reason, created_at: "2026-01-01T00:00:00Z", html_url: htmlUrl };
  return errorReply(status, "Repository access blocked", { fields: { block } });
}

function repositoryBody(state: GithubState, repository: HostedRepository) {
  const { id, owner, name, visibility, defaultBranch } = repository;
  const full_name = `${owner}/${name}`;
  return {
    id,
    node_id: `R_${id}`,
    name,
    full_name,
    private: visibility !== "public",
    owner: { login: owner, id: 1, type: "Organization" },
    html_url: `https://github.com/${full_name}`,
    description: null,
    fork: false,
    url: `${state.apiUrl}/repos/${full_name}`,
    archived: false,
    disabled: false,
    visibility,
    default_branch: defaultBranch,
  };
}

async function commit({ state, repository, objects, request }: Served): Promise<Reply> {
  const ref = request.subject;
  const sha = await resolveCommit(objects, { ref, defaultBranch: repository.defaultBranch });
  if (!sha) {
    return state.missingRefStatus === 404
      ? notFoundReply()
      : errorReply(422, `No commit found for SHA: ${ref}`);
  }
  if (request.format === "sha") {
    return {
      status: 200,
      headers: { "content-type": "application/vnd.github.sha; charset=utf-8" },
      body: new TextEncoder().encode(sha),
    };
  }
  return jsonReply(await commitBody({ state, repository, objects, request }, sha));
}

async function commitBody({ state, repository, objects }: Served, sha: string) {
  const tree = await objects.info(`${sha}^{tree}`);
  const url = `${state.apiUrl}/repos/${repository.owner}/${repository.name}`;
  return {
    sha,
    node_id: `C_${sha}`,
    url: `${url}/commits/${sha}`,
    commit: { message: "", tree: { sha: tree?.oid, url: `${url}/git/trees/${tree?.oid}` } },
    parents: [],
  };
}

async function branch(served: Served): Promise<Reply> {
  const name = served.request.subject;
  const sha = await resolveCommit(served.objects, { ref: `heads/${name}`, defaultBranch: "" });
  if (!sha) return errorReply(404, "Branch not found");
  return jsonReply({ name, commit: await commitBody(served, sha), protected: false });
}

async function tree({ state, repository, objects, request }: Served): Promise<Reply> {
  const { defaultBranch } = repository;
  const [ref = "", path] = state.treeByPath ? request.subject.split(/:(.*)/s) : [request.subject];
  const commit = await resolveCommit(objects, { ref, defaultBranch });
  const revision = path === undefined ? `${commit ?? ref}^{tree}` : `${commit}:${path}`;
  const info = commit || /^[0-9a-f]{40}$/.test(ref) ? await objects.info(revision) : null;
  if (info?.type !== "tree") return notFoundReply();
  const recursive = request.kind === "tree-recursive";
  const body = await githubTree(info.oid, {
    objects,
    url: `${state.apiUrl}/repos/${repository.owner}/${repository.name}/git`,
    recursive,
    maxEntries: state.truncateAt,
    maxBytes: state.truncateBytes,
  });
  const etagOf = `${info.oid} ${recursive} ${body.tree.length}`;
  return jsonReply(body, { etagOf });
}

async function blob({ state, repository, objects, request }: Served): Promise<Reply> {
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
  return jsonReply({
    sha: oid,
    node_id: `B_${oid}`,
    size: info.size,
    url: `${state.apiUrl}/repos/${repository.owner}/${repository.name}/git/blobs/${oid}`,
    content: bytes.toBase64().replace(/.{1,60}/g, "$&\n"),
    encoding: "base64",
  }, { etagOf: oid });
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
