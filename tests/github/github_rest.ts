// The REST API: commit, branch, tree and blob of one repository as the account may see it. Only what GitHub documents,
// and the service may send, is answered; anything else is named in a sentence. https://docs.github.com/rest

import type { GitRepository } from "./git_repository.ts";
import type { Account } from "./github_accounts.ts";
import type { RequestKind } from "./github_log.ts";
import type { GithubHost } from "./github_host.ts";
import type { HostedRepository } from "./github_registry.ts";
import {
  errorReply,
  type GithubTreeEntry,
  jsonReply,
  notFoundReply,
  type Reply,
} from "./github_reply.ts";

/** A REST request, taken apart. */
export interface RestRequest {
  kind: RequestKind;
  /** `owner/name`, or an id for `/repositories/{id}`. */
  repository: string | number;
  /** The raw path behind the repository, with its query. */
  rest: string;
  /** The last part of the path, decoded: a ref, a tree or an object id. */
  subject: string;
  format: "json" | "sha" | "raw";
}

/** A request with the repository that it is about. */
interface Served {
  double: GithubHost;
  repository: HostedRepository;
  git: GitRepository;
  request: RestRequest;
  /** The API's address of the repository. */
  url: string;
}

const ENDPOINTS: [RequestKind, RegExp, formats: RestRequest["format"][]][] = [
  ["repo", /^()$/, ["json"]],
  ["commit", /^\/commits\/(.+)$/, ["sha"]],
  ["tree", /^\/git\/trees\/([^/]+)$/, ["json"]],
  ["blob", /^\/git\/blobs\/([^/]+)$/, ["json", "raw"]],
];
const REPOSITORY_PATH = /^\/(?:repos\/([^/]+\/[^/]+)|repositories\/(\d+))(\/.*)?$/;
const JSON_TYPE = /^(?:|\*\/\*|application\/json|application\/vnd\.github(?:\.v3)?\+json)$/;
const CUSTOM_TYPE = /^application\/vnd\.github(?:\.v3)?\.(sha|raw)(?:\+json)?$/;
const OBJECT_ID = /^[0-9a-f]{40}$/;

/** Parses a request, or gives a sentence on why no endpoint expects it. */
export function parseRestRequest({ method, url, headers }: Request): RestRequest | string {
  const { pathname, search, searchParams } = new URL(url);
  if (method !== "GET") return `method ${method}`;
  const [, name, id, rest = ""] = REPOSITORY_PATH.exec(pathname) ?? [];
  if (name === undefined && id === undefined) return "no such path";
  for (const [kind, pattern, formats] of ENDPOINTS) {
    const subject = decode(pattern.exec(rest)?.[1]);
    if (subject === undefined) continue;
    const accept = headers.get("accept") ?? "";
    const wanted = JSON_TYPE.test(accept) ? "json" : CUSTOM_TYPE.exec(accept)?.[1];
    const format = formats.find((format) => format === wanted);
    if (!format) return `media type "${accept}"`;
    const unknown = [...searchParams.keys()].find((key) => kind !== "tree" || key !== "recursive");
    if (unknown !== undefined) return `query parameter "${unknown}"`;
    return {
      kind: searchParams.has("recursive") ? "tree-recursive" : kind,
      repository: name === undefined ? Number(id) : decode(name) ?? name,
      ...{ rest: rest + search, subject, format },
    };
  }
  return "no such endpoint";
}

/** Answers a REST request. */
export function answerRest(double: GithubHost, request: RestRequest, account: Account): Reply {
  const repository = typeof request.repository === "number"
    ? double.registry.findById(request.repository)
    : double.registry.find(request.repository);
  if (!repository) return redirectReply(double, request, account);
  if (!double.accounts.sees(account, repository)) return notFoundReply();
  if (repository.blocked) return blockedReply(repository.blocked);
  const url = `${double.apiUrl}/repos/${repository.owner}/${repository.name}`;
  if (request.kind === "repo") return jsonReply(repositoryBody(repository, url));
  const { git } = repository;
  if (!git || git.store.isEmpty) return errorReply(409, "Git Repository is empty.");
  const served = { double, repository, git, request, url };
  if (request.kind === "commit") return commitReply(served);
  return request.kind === "blob" ? blobReply(served) : treeReply(served);
}

/**
 * The commit that GitHub finds for a ref: `heads/X`, `tags/X`, a plain branch or tag, a commit id, whole or short, or
 * HEAD. Nothing else of Git's revision syntax gets through.
 */
function resolveCommit(git: GitRepository, ref: string, branch: string): string | null {
  if (/[\p{Cc}\p{Cs} ~^:?*[\\]|\.\.|@\{|^-|^$/u.test(ref)) return null;
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  if (/^(heads|tags)\//.test(ref)) names.unshift(`refs/${ref}`);
  if (ref.startsWith("refs/")) names.unshift(ref);
  const wanted = OBJECT_ID.test(ref) ? [ref] : ref === "HEAD" ? [`refs/heads/${branch}`] : names;
  for (const name of wanted) {
    const commit = git.find(`${name}^{commit}`);
    if (commit !== null) return commit.oid;
  }
  return /^[0-9a-f]{7,39}$/.test(ref) ? git.store.findCommit(ref) : null;
}

function redirectReply(double: GithubHost, request: RestRequest, account: Account): Reply {
  const found = typeof request.repository === "string"
    ? double.registry.redirect(request.repository)
    : null;
  if (!found || (found.target && !double.accounts.sees(account, found.target))) {
    return notFoundReply();
  }
  const { target, form } = found;
  const { apiUrl: api } = double;
  const forms: Record<string, string> = {
    numeric: `{api}/repositories/${target?.id}{rest}`,
    named: `{api}/repos/${target?.owner}/${target?.name}{rest}`,
    "other-host": `{other}/repositories/${target?.id}{rest}`,
  };
  const location = (forms[form] ?? form).replaceAll("{rest}", request.rest)
    .replaceAll("{api}", api).replaceAll("{other}", api.replace("127.0.0.1", "localhost"));
  return errorReply(
    301,
    "Moved Permanently",
    form === "none" ? {} : {
      fields: { url: location },
      headers: { location },
    },
  );
}

function blockedReply({ status, reason }: NonNullable<HostedRepository["blocked"]>): Reply {
  const html_url = "https://github.com/github/dmca/blob/master/2026/01/2026-01-01-example.md";
  const block = { reason, created_at: "2026-01-01T00:00:00Z", html_url };
  return errorReply(status, "Repository access blocked", { fields: { block } });
}

function repositoryBody(
  { id, owner, name, visibility, defaultBranch }: HostedRepository,
  url: string,
) {
  const full_name = `${owner}/${name}`;
  return {
    ...{ id, node_id: `R_${id}`, name, full_name, private: visibility !== "public" },
    owner: { login: owner, id: 1, type: "Organization" },
    ...{ html_url: `https://github.com/${full_name}`, description: null, fork: false, url },
    ...{ archived: false, disabled: false, visibility, default_branch: defaultBranch },
  };
}

/** `GET …/commits/{ref}`: the id as text. */
function commitReply({ double, repository, git, request: { subject } }: Served): Reply {
  const oid = resolveCommit(git, subject, repository.defaultBranch);
  if (!oid) {
    return double.missingRefStatus === 404
      ? notFoundReply()
      : errorReply(422, `No commit found for SHA: ${subject}`);
  }
  const headers = { "content-type": "application/vnd.github.sha; charset=utf-8" };
  return { status: 200, headers, body: new TextEncoder().encode(oid) };
}

/**
 * `GET …/git/trees/{tree}`, where `tree` may also be a commit's id or a ref, or `{commit}:{path}`, which GitHub takes
 * and does not document.
 */
function treeReply(served: Served): Reply {
  const { double, repository, git, request: { kind, subject }, url } = served;
  const [, name = subject, path] = double.takesPaths ? /^([^:]*):(.+)$/.exec(subject) ?? [] : [];
  const commit = resolveCommit(git, name, repository.defaultBranch);
  const place = path === undefined ? "^{tree}" : `:${path}`;
  const found = commit || OBJECT_ID.test(name) ? git.find(`${commit ?? name}${place}`) : null;
  if (found?.type !== "tree") return notFoundReply();
  const isRecursive = kind === "tree-recursive";
  const entries: GithubTreeEntry[] = [];
  let bytes = 2;
  const visit = (oid: string, prefix: string): boolean =>
    git.store.tree(oid)!.every(({ name, mode, type, oid: sha, size }) => {
      const path = prefix + name;
      const entry: GithubTreeEntry = { path, mode, type, sha };
      if (size !== null) entry.size = size;
      if (type !== "commit") entry.url = `${url}/git/${type}s/${sha}`;
      if (isRecursive) {
        // Counts characters for bytes, and the comma: near enough for a limit.
        bytes += JSON.stringify(entry).length + 1;
        if (entries.length >= double.truncateAt || bytes > double.truncateBytes) return false;
      }
      entries.push(entry);
      return !isRecursive || type !== "tree" || visit(sha, `${path}/`);
    });
  const truncated = !visit(found.oid, "");
  const body = { sha: found.oid, url: `${url}/git/trees/${found.oid}`, tree: entries, truncated };
  return jsonReply(body, { etagOf: `${found.oid} ${isRecursive} ${entries.length}` });
}

/** `GET …/git/blobs/{id}`: base64 in JSON, or the bytes. */
function blobReply({ git, request: { subject: sha, format }, url }: Served): Reply {
  if (!OBJECT_ID.test(sha)) {
    const rule = "must be exactly 40 characters and contain only [0-9a-f]";
    return errorReply(422, `The sha parameter ${rule}.`);
  }
  const blob = git.store.read(sha);
  if (blob?.type !== "blob") return notFoundReply();
  const size = blob.bytes.length;
  if (format === "raw") {
    const headers = { "content-type": "application/vnd.github.raw; charset=utf-8" };
    return { status: 200, headers, body: blob.bytes, etagOf: sha };
  }
  const content = blob.bytes.toBase64().replace(/.{1,60}/g, "$&\n");
  const body = { sha, node_id: `B_${sha}`, size, url: `${url}/git/blobs/${sha}`, content };
  return jsonReply({ ...body, encoding: "base64" }, { etagOf: sha });
}

function decode(part: string | undefined): string | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
