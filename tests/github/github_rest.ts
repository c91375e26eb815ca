// The REST API and the raw host: commit, tree, blob and visibility of one repository as the account may see it. Only what
// GitHub documents, and the service may send, is answered; anything else is named in a sentence. https://docs.github.com/rest

import { createHash } from "node:crypto";
import type { GitRepository } from "./git_repository.ts";
import type { GithubDouble } from "./github_double.ts";
import type { Account, HostedRepository } from "./github_registry.ts";

/** An answer. `etagOf` stands for the body's content where hashing it would be slow. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  etagOf?: string;
}

/** The body of a tree; only blobs have a `size`, submodules have no `url`. */
export interface GithubTree {
  sha: string;
  tree: { path: string; mode: string; type: string; sha: string; size?: number; url?: string }[];
  truncated: boolean;
}

/** A request that the service must not send; the message says what is wrong with it. */
export class UnexpectedRequest extends Error {}

const encoder = new TextEncoder();

/** A JSON answer. */
export function jsonReply(body: unknown, { status = 200, ...options }: Partial<Reply> = {}): Reply {
  const headers = { "content-type": "application/json; charset=utf-8", ...options.headers };
  return { ...options, status, headers, body: encoder.encode(JSON.stringify(body)) };
}

/** An error as GitHub words it: `{ message, documentation_url, status }`. */
export function errorReply(
  status: number,
  message: string,
  { headers = {} }: { headers?: Record<string, string> } = {},
): Reply {
  const documentation_url = "https://docs.github.com/rest";
  return jsonReply({ message, documentation_url, status: `${status}` }, { status, headers });
}

const notFound = () => errorReply(404, "Not Found");

/**
 * The answer with its validator, or 304 where the request has it. The tag differs by content, media type and account;
 * it is weak for JSON, as at GitHub.
 */
export function validated(reply: Reply, request: Request, account: string): Reply {
  if (reply.status !== 200) return reply;
  const type = reply.headers["content-type"] ?? "";
  const hash = createHash("sha256").update(`${account}\n${type}\n`)
    .update(reply.etagOf ?? reply.body).digest("hex");
  const etag = `${type.startsWith("application/json") ? "W/" : ""}"${hash}"`;
  // Compared weakly (RFC 9110, 13.1.2).
  const bare = (tag: string) => tag.trim().replace(/^W\//, "");
  const known = (request.headers.get("if-none-match") ?? "").split(",").map(bare);
  if (!known.includes(bare(etag)) && !known.includes("*")) {
    return { ...reply, headers: { ...reply.headers, etag } };
  }
  return { status: 304, headers: { etag }, body: new Uint8Array() };
}

/** A REST request, taken apart. */
export type RestRequest = ReturnType<typeof parseRestRequest>;

const JSON_TYPES = ["application/vnd.github+json", "application/json", "*/*"];
const ENDPOINTS: ["repo" | "commit" | "tree" | "blob", RegExp, mediaTypes: string[]][] = [
  ["repo", /^()$/, JSON_TYPES],
  ["commit", /^\/commits\/(.+)$/, ["application/vnd.github.sha"]],
  ["tree", /^\/git\/trees\/([^/]+)$/, JSON_TYPES],
  ["blob", /^\/git\/blobs\/([^/]+)$/, ["application/vnd.github.raw+json"]],
];
const REPOSITORY_PATH = /^\/(?:repos\/([^/]+\/[^/]+)|repositories\/(\d+))(\/.*)?$/;
const OBJECT_ID = /^[0-9a-f]{40}$/;

/** Parses a request. @throws {UnexpectedRequest} on what no endpoint expects. */
export function parseRestRequest({ method, url, headers }: Request) {
  const { pathname, search, searchParams } = new URL(url);
  if (method !== "GET") throw new UnexpectedRequest(`method ${method}`);
  const [, name, id, rest = ""] = REPOSITORY_PATH.exec(pathname) ?? [];
  if (name === undefined && id === undefined) throw new UnexpectedRequest("no such path");
  for (const [kind, pattern, mediaTypes] of ENDPOINTS) {
    const subject = decode(pattern.exec(rest)?.[1]);
    if (subject === undefined) continue;
    const accept = headers.get("accept") ?? "*/*";
    if (!mediaTypes.includes(accept)) throw new UnexpectedRequest(`media type "${accept}"`);
    const unknown = [...searchParams.keys()].find((key) => kind !== "tree" || key !== "recursive");
    if (unknown !== undefined) throw new UnexpectedRequest(`query parameter "${unknown}"`);
    return {
      kind: searchParams.has("recursive") ? "tree-recursive" as const : kind,
      /** `owner/name`, or an id for `/repositories/{id}`. */
      repository: name === undefined ? Number(id) : decode(name) ?? name,
      /** The raw path behind the repository, with its query. */
      rest: rest + search,
      /** The last part of the path, decoded: a ref, a tree or an object id. */
      subject,
    };
  }
  throw new UnexpectedRequest("no such endpoint");
}

/** Answers a REST request. */
export function answerRest(double: GithubDouble, request: RestRequest, account: Account): Reply {
  const { registry, accounts, apiUrl } = double;
  const repository = typeof request.repository === "number"
    ? registry.findById(request.repository)
    : registry.find(request.repository);
  if (!repository) return redirectReply(double, request, account);
  if (!accounts.sees(account, repository)) return notFound();
  const { git, blocked } = repository;
  if (blocked) return errorReply(blocked, "Repository access blocked");
  const url = `${apiUrl}/repos/${repository.owner}/${repository.name}`;
  if (request.kind === "repo") return jsonReply(repositoryBody(repository, url));
  if (!git || git.store.isEmpty) return errorReply(409, "Git Repository is empty.");
  const served = { double, repository, git, request, url };
  if (request.kind === "commit") return commitReply(served);
  return request.kind === "blob" ? blobReply(served) : treeReply(served);
}

function redirectReply(double: GithubDouble, request: RestRequest, account: Account): Reply {
  const { registry, accounts, apiUrl: api } = double;
  const found = registry.redirect(String(request.repository));
  if (!found || (found.target && !accounts.sees(account, found.target))) return notFound();
  const { target, form } = found;
  const message = "Moved Permanently";
  if (form === "none") return errorReply(301, message);
  const forms: Record<string, string> = {
    numeric: `{api}/repositories/${target?.id}{rest}`,
    named: `{api}/repos/${target?.owner}/${target?.name}{rest}`,
    "other-host": `${api.replace("127.0.0.1", "localhost")}/repositories/${target?.id}{rest}`,
  };
  const location = (forms[form] ?? form).replaceAll("{rest}", request.rest)
    .replaceAll("{api}", api);
  return errorReply(301, message, { headers: { location } });
}

function repositoryBody(repository: HostedRepository, url: string) {
  const { id, owner, name, visibility, defaultBranch } = repository;
  const full_name = `${owner}/${name}`;
  return {
    ...{ id, node_id: `R_${id}`, name, full_name, private: visibility !== "public" },
    owner: { login: owner, id: 1, type: "Organization" },
    ...{ html_url: `https://github.com/${full_name}`, description: null, fork: false, url },
    ...{ archived: false, disabled: false, visibility, default_branch: defaultBranch },
  };
}

/** A request with the repository that it is about; `url` is the API's address of the repository. */
interface Served {
  double: GithubDouble;
  repository: HostedRepository;
  git: GitRepository;
  request: RestRequest;
  url: string;
}

/**
 * The commit that GitHub finds for a ref: `heads/X`, `tags/X`, a plain branch or tag, a commit id, or HEAD. Nothing else
 * of Git's revision syntax gets through.
 */
function resolveCommit({ git, repository }: Served, ref: string): string | null {
  if (/[\p{Cc}\p{Cs} ~^:?*[\\]|\.\.|@\{|^-|^$/u.test(ref)) return null;
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  if (/^(heads|tags)\//.test(ref)) names.unshift(`refs/${ref}`);
  if (ref.startsWith("refs/") || OBJECT_ID.test(ref)) names.unshift(ref);
  if (ref === "HEAD") names.unshift(`refs/heads/${repository.defaultBranch}`);
  return names.map((name) => git.find(`${name}^{commit}`)?.oid)
    .find((oid) => oid !== undefined) ?? null;
}

/** `GET …/commits/{ref}`: the id as text. */
function commitReply(served: Served): Reply {
  const { double, request: { subject } } = served;
  const oid = resolveCommit(served, subject);
  if (oid === null) {
    return double.missingRefStatus === 404
      ? notFound()
      : errorReply(422, `No commit found for SHA: ${subject}`);
  }
  const headers = { "content-type": "application/vnd.github.sha; charset=utf-8" };
  return { status: 200, headers, body: encoder.encode(oid) };
}

/**
 * `GET …/git/trees/{tree}`, where `tree` may also be a commit's id or a ref, or `{commit}:{path}`, which GitHub takes
 * and does not document.
 */
function treeReply(served: Served): Reply {
  const { double, git, request: { kind, subject }, url } = served;
  const [, name = subject, path] = double.takesPaths ? /^([^:]*):(.+)$/.exec(subject) ?? [] : [];
  const root = resolveCommit(served, name) ?? (OBJECT_ID.test(name) ? name : null);
  const found = root === null
    ? null
    : git.find(root + (path === undefined ? "^{tree}" : `:${path}`));
  if (found?.type !== "tree") return notFound();
  const isRecursive = kind === "tree-recursive";
  const entries: GithubTree["tree"] = [];
  let bytes = 2;
  const visit = (oid: string, prefix: string): boolean =>
    git.store.tree(oid)!.every(({ name, mode, type, oid: sha, size }) => {
      const path = prefix + name;
      const entry = {
        ...{ path, mode, type, sha, ...size !== null && { size } },
        ...type !== "commit" && { url: `${url}/git/${type}s/${sha}` },
      };
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

/** `GET …/git/blobs/{id}`: the bytes. */
function blobReply({ git, request: { subject } }: Served): Reply {
  const blob = git.store.read(subject);
  if (blob?.type !== "blob") return notFound();
  const headers = { "content-type": "application/vnd.github.raw; charset=utf-8" };
  return { status: 200, headers, body: blob.bytes, etagOf: subject };
}

const RAW_PATH = /^\/([^/]+\/[^/]+)\/([0-9a-f]{40})\/(.+)$/;

/** Parses a request to the raw host. @throws {UnexpectedRequest} on any other. */
export function parseRawRequest({ method, url, headers }: Request) {
  const { pathname, search } = new URL(url);
  // No endpoint here needs a token, so one that arrives has been sent to the wrong host.
  if (headers.has("authorization")) throw new UnexpectedRequest("a token at the raw host");
  const [, name, commit, path] = RAW_PATH.exec(pathname) ?? [];
  if (method !== "GET" || search !== "" || !name || !path) {
    throw new UnexpectedRequest("not a GET of /owner/repo/commit/path");
  }
  const revision = `${commit}:${decodeURIComponent(path)}`;
  return { kind: "raw" as const, repository: decodeURIComponent(name), revision };
}

/**
 * Answers a request to the raw host: public repositories only, outside every quota, cached for five minutes. Requests
 * name a commit id, so an old answer is never wrong.
 */
export function answerRaw(
  double: GithubDouble,
  raw: ReturnType<typeof parseRawRequest>,
): Reply {
  const repository = double.registry.follow(raw.repository);
  const isVisible = repository?.visibility === "public" && !repository.blocked;
  const file = isVisible ? repository.git?.find(raw.revision) : null;
  const text = "text/plain; charset=utf-8";
  if (file?.type !== "blob") {
    const body = encoder.encode("404: Not Found");
    return { status: 404, headers: { "content-type": text }, body };
  }
  const isBinary = file.bytes.subarray(0, 8000).includes(0);
  const type = isBinary ? "application/octet-stream" : text;
  const headers = { "content-type": type, "cache-control": "max-age=300" };
  return { status: 200, headers, body: file.bytes, etagOf: file.oid };
}

function decode(part: string | undefined): string | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
