// The REST API, GraphQL and the raw host: commit, tree, blob and visibility of
// one repository as the account may see it. Only what GitHub documents, and the
// service may send, is answered; anything else is named in a sentence.
// https://docs.github.com/rest, https://docs.github.com/graphql

import { createHash } from "node:crypto";
import type { GitRepository } from "./git_repository.ts";
import { appRequestKind } from "./github_app.ts";
import type { GithubDouble } from "./github_double.ts";
import { lfsRequestKind } from "./github_lfs.ts";
import type { Account, HostedRepository } from "./github_state.ts";
import { repositoryBody } from "./repository_body.ts";

/** The body of a tree; only blobs have a `size`, submodules have no `url`. */
export interface GithubTree {
  sha: string;
  tree: {
    path: string;
    mode: string;
    type: string;
    sha: string;
    size?: number;
    url?: string;
  }[];
  truncated: boolean;
}

/**
 * A request that the service must not send; the message says what is wrong with
 * it.
 */
export class UnexpectedRequest extends Error {}

/** An error as GitHub words it. */
export function errorReply(
  status: number,
  message: string,
  headers: Record<string, string> = {},
): Response {
  const body = {
    message,
    documentation_url: "https://docs.github.com/rest",
    status: `${status}`,
  };
  return jsonReply(body, { status, headers });
}

/** JSON as GitHub labels it. */
export function jsonReply(
  body: unknown,
  { status = 200, headers = {} }: {
    status?: number;
    headers?: Record<string, string>;
  } = {},
): Response {
  const type = { "content-type": "application/json; charset=utf-8" };
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...type, ...headers },
  });
}

/**
 * A repository that is blocked by law (451) or by GitHub's terms (403):
 * github/rest-api-description#3314.
 */
function blockedReply(status: 451 | 403): Response {
  const reason = status === 451 ? "dmca" : "tos";
  const html_url = status === 451
    ? "https://github.com/github/dmca/blob/master/notice.md"
    : null;
  const block = { reason, created_at: "2026-01-01T00:00:00Z", html_url };
  return jsonReply({ message: "Repository access blocked", block }, { status });
}

const notFound = () => errorReply(404, "Not Found");

/**
 * Text with its validator, which differs by account, or 304 where the request
 * has it.
 */
function validated(
  text: string,
  type: string,
  { known }: RestRequest,
  account: Account,
): Response {
  const etag = `W/"${
    createHash("sha256").update(`${account} ${text}`).digest("hex")
  }"`;
  if (known === etag) {
    return new Response(null, { status: 304, headers: { etag } });
  }
  return new Response(text, { headers: { "content-type": type, etag } });
}

const JSON_TYPES = ["application/vnd.github+json", "application/json", "*/*"];
/** Every endpoint, and the media types that a request may accept. */
export const ENDPOINTS: [
  "repo" | "commit" | "tree" | "blob",
  RegExp,
  mediaTypes: string[],
][] = [
  ["repo", /^()$/, JSON_TYPES],
  ["commit", /^\/commits\/(.+)$/, ["application/vnd.github.sha"]],
  ["tree", /^\/git\/trees\/([^/]+)$/, JSON_TYPES],
  ["blob", /^\/git\/blobs\/([^/]+)$/, ["application/vnd.github.raw+json"]],
];
/** The first is GitHub's where a request names none. */
export const API_VERSIONS = ["2022-11-28", "2026-03-10"];
/**
 * What a path says: the name or the id of a repository, and what follows it.
 */
export const REPOSITORY_PATH =
  /^\/(?:repos\/([^/]+\/[^/]+)|repositories\/(\d+))(\/.*)?$/;
const RAW_PATH = /^\/raw\/([^/]+\/[^/]+)\/([0-9a-f]{40})\/(.+)$/;
const OBJECT_ID = /^[0-9a-f]{40}$/;

/** A request, taken apart. */
export type ParsedRequest =
  | RestRequest
  | RawRequest
  | { kind: "graphql" }
  | { kind: "installation" }
  | { kind: "app-token" }
  | { kind: "lfs-batch" }
  | { kind: "lfs" };
type RestRequest = ReturnType<typeof parseRestRequest>;
type RawRequest = ReturnType<typeof parseRawRequest>;

/**
 * Parses a request. @throws {UnexpectedRequest} on what no endpoint expects.
 */
export function parseRequest(request: Request): ParsedRequest {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith("/raw/")) return parseRawRequest(request);
  const kind = appRequestKind(request) ?? lfsRequestKind(request);
  if (kind !== null) return { kind };
  const isGraphql = request.method === "POST" && pathname === "/graphql";
  return isGraphql ? { kind: "graphql" } : parseRestRequest(request);
}

function parseRestRequest({ method, url, headers }: Request) {
  const { pathname, search, searchParams } = new URL(url);
  if (method !== "GET") throw new UnexpectedRequest(`method ${method}`);
  const version = headers.get("x-github-api-version");
  if (version !== null && !API_VERSIONS.includes(version)) {
    throw new UnexpectedRequest(`API version "${version}"`);
  }
  const [found, name, id, rest = ""] = REPOSITORY_PATH.exec(pathname) ?? [];
  if (found === undefined) throw new UnexpectedRequest("no such path");
  for (const [kind, pattern, mediaTypes] of ENDPOINTS) {
    const subject = pattern.exec(rest)?.[1];
    if (subject === undefined) continue;
    const accept = headers.get("accept") ?? "*/*";
    if (!mediaTypes.includes(accept)) {
      throw new UnexpectedRequest(`media type "${accept}"`);
    }
    const unknown = [...searchParams.keys()].find((key) =>
      kind !== "tree" || key !== "recursive"
    );
    if (unknown !== undefined) {
      throw new UnexpectedRequest(`query parameter "${unknown}"`);
    }
    return {
      kind: searchParams.has("recursive") ? "tree-recursive" as const : kind,
      /** `owner/name`, or an id for `/repositories/{id}`. */
      repository: name === undefined ? Number(id) : decodeURIComponent(name),
      /** The raw path behind the repository, with its query. */
      rest: rest + search,
      /** The last part of the path, decoded: a ref, a tree or an object id. */
      subject: decodeURIComponent(subject),
      /** The validator that it has. */
      known: headers.get("if-none-match"),
    };
  }
  throw new UnexpectedRequest("no such endpoint");
}

function parseRawRequest({ method, url, headers }: Request) {
  const { pathname, search } = new URL(url);
  // No endpoint here needs a token, so one that arrives has been sent to the
  // wrong host.
  if (headers.has("authorization")) {
    throw new UnexpectedRequest("a token at the raw host");
  }
  const [found, name = "", commit, path = ""] = RAW_PATH.exec(pathname) ?? [];
  if (method !== "GET" || search !== "" || found === undefined) {
    throw new UnexpectedRequest("not a GET of /owner/repo/commit/path");
  }
  const revision = `${commit}:${decodeURIComponent(path)}`;
  return {
    kind: "raw" as const,
    repository: decodeURIComponent(name),
    revision,
  };
}

/** Answers a REST request. */
export function answerRest(
  double: GithubDouble,
  request: RestRequest,
  account: Account,
): Response {
  const { kind, subject } = request;
  const repository = double.find(request.repository);
  if (!repository) return redirectReply(double, request, account);
  if (!double.sees(account, repository)) return notFound();
  const { git, blocked, defaultBranch } = repository;
  if (blocked) return blockedReply(blocked);
  if (kind === "repo") {
    const text = JSON.stringify(repositoryBody(repository, double.apiUrl));
    return validated(text, "application/json; charset=utf-8", request, account);
  }
  if (!git) return errorReply(409, "Git Repository is empty.");
  if (kind === "commit") {
    const oid = resolveCommit(git, defaultBranch, subject);
    const type = "application/vnd.github.sha; charset=utf-8";
    if (oid !== null) return validated(oid, type, request, account);
    return errorReply(422, `No commit found for SHA: ${subject}`);
  }
  if (kind === "blob") {
    const blob = git.store.read(subject);
    if (blob?.type !== "blob") return notFound();
    const headers = {
      "content-type": "application/vnd.github.raw; charset=utf-8",
    };
    return new Response(blob.bytes, { headers });
  }
  // GitHub takes `{commit}:{path}` too, and does not document it.
  const [, ref = subject, path] = /^([^:]*):(.+)$/.exec(subject) ?? [];
  const root = resolveCommit(git, defaultBranch, ref) ??
    (OBJECT_ID.test(ref) ? ref : "");
  const tree = git.find(root + (path === undefined ? "^{tree}" : `:${path}`));
  if (tree?.type !== "tree") return notFound();
  // As `sha` GitHub gives the id of what was named: a commit's for a branch or
  // a commit (hub4j/github-api, GHTreesTest).
  const sha = path === undefined ? root : tree.oid;
  return treeReply(
    double,
    repository,
    { sha, oid: tree.oid },
    kind === "tree-recursive",
  );
}

function redirectReply(
  double: GithubDouble,
  request: RestRequest,
  account: Account,
): Response {
  const found = double.redirectOf(String(request.repository));
  if (!found || (found.target && !double.sees(account, found.target))) {
    return notFound();
  }
  const { id, owner, name } = found.target ?? {};
  const location = found.location.replace("{api}", double.apiUrl).replace(
    "{rest}",
    request.rest,
  )
    .replace("{id}", String(id)).replace("{name}", `${owner}/${name}`);
  return errorReply(
    301,
    "Moved Permanently",
    location === "" ? {} : { location },
  );
}

/**
 * The commit that GitHub finds for a ref: `heads/X`, `tags/X`, a plain branch
 * or tag, a commit id, or HEAD. Nothing else of Git's revision syntax gets
 * through.
 */
function resolveCommit(
  git: GitRepository,
  defaultBranch: string,
  ref: string,
): string | null {
  if (/[\^:]|\.\./.test(ref)) return null;
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  if (/^(heads|tags)\//.test(ref)) names.unshift(`refs/${ref}`);
  if (ref.startsWith("refs/") || OBJECT_ID.test(ref)) names.unshift(ref);
  if (ref === "HEAD") names.unshift(`refs/heads/${defaultBranch}`);
  return names.map((name) => git.find(`${name}^{commit}`)).find((found) =>
    found
  )?.oid ?? null;
}

/** A tree, whole or cut off where a recursive answer ends. */
function treeReply(
  double: GithubDouble,
  { owner, name, git }: HostedRepository,
  { sha, oid }: { readonly sha: string; readonly oid: string },
  isRecursive: boolean,
): Response {
  const url = `${double.apiUrl}/repos/${owner}/${name}/git`;
  const tree: GithubTree["tree"] = [];
  let bytes = 2;
  const visit = (oid: string, prefix: string): boolean =>
    git!.store.tree(oid)!.every(({ name, mode, type, oid: sha, size }) => {
      const path = prefix + name;
      const entry = {
        path,
        mode,
        type,
        sha,
        ...size !== null && { size },
        ...type !== "commit" && { url: `${url}/${type}s/${sha}` },
      };
      if (isRecursive) {
        // Counts characters for bytes, and the comma: near enough for a limit.
        bytes += JSON.stringify(entry).length + 1;
        if (tree.length >= double.truncateAt || bytes > double.truncateBytes) {
          return false;
        }
      }
      tree.push(entry);
      return !isRecursive || type !== "tree" || visit(sha, `${path}/`);
    });
  const truncated = !visit(oid, "");
  return jsonReply({ sha, url: `${url}/trees/${sha}`, tree, truncated });
}

/**
 * Git and GitHub take a file for binary that has a NUL byte among its first.
 */
const isBinary = (bytes: Uint8Array) => bytes.subarray(0, 8000).includes(0);

/**
 * Answers a request to the raw host: public repositories only, outside every
 * quota, cached for five minutes. Requests name a commit id, so an old answer
 * is never wrong.
 */
export function answerRaw(
  double: GithubDouble,
  { repository, revision }: RawRequest,
): Response {
  const found = double.follow(repository);
  const isVisible = found?.visibility === "public" && !found.blocked;
  const file = isVisible ? found.git?.find(revision) : null;
  if (file?.type !== "blob") {
    return new Response("404: Not Found", { status: 404 });
  }
  const type = isBinary(file.bytes)
    ? "application/octet-stream"
    : "text/plain; charset=utf-8";
  const headers = { "content-type": type, "cache-control": "max-age=300" };
  return new Response(file.bytes, { headers });
}

/**
 * The raw host limits requests without a token since May 2025, and may not say
 * for how long (artifacthub/hub#4397).
 */
export function rawLimitReply(
  { retryAfterSeconds }: { retryAfterSeconds: number | null },
): Response {
  const headers = retryAfterSeconds === null
    ? {}
    : { "retry-after": `${retryAfterSeconds}` };
  return new Response("429: Too Many Requests\n", { status: 429, headers });
}

/**
 * The one form of query that is taken, without its white space: the `text` of
 * aliased objects of one repository.
 */
const QUERY =
  /^query\(\$owner:String!,\$name:String!\)\{repository\(owner:\$owner,name:\$name\)\{((?:\w+:object\(oid:"[0-9a-f]{40}"\)\{\.\.\.onBlob\{text\}\})+)\}\}$/;
const OBJECT = /(\w+):object\(oid:"([0-9a-f]{40})"/g;
const MAX_TEXT_BYTES = 512_000;

/**
 * The other form: the newest change of each path, and with a cursor the number
 * of all.
 */
const HISTORY_QUERY =
  /^query\(\$owner:String!,\$name:String!,\$commit:GitObjectID!(?:,\$after:String)?(?:,\$p\d+:String!)*\)\{repository\(owner:\$owner,name:\$name\)\{object\(oid:\$commit\)\{\.\.\.onCommit\{parents\(first:1\)\{nodes\{oid\}\}((?:\w+:history\(first:1,(?:after:\$after,)?path:\$p\d+\)\{(?:totalCountpageInfo\{endCursorhasNextPage\})?nodes\{oidcommittedDatemessageauthor\{name\}\}\})*)\}\}\}\}$/;
const HISTORY = /(\w+):history\(first:1,(after:\$after,)?path:\$(p\d+)\)/g;

/** What GraphQL says of a value that it leaves out. */
const limitError = (...path: string[]) => ({
  type: "RESOURCE_LIMITS_EXCEEDED",
  path,
  message: "Resource limits for this query exceeded.",
});

/**
 * The histories of a commit, by git, with the simplification that is its
 * default and GitHub's.
 */
async function historiesOf(
  double: GithubDouble,
  git: GitRepository,
  histories: string,
  variables: Record<string, string | null>,
) {
  const commit = variables.commit!;
  if (git.find(`${commit}^{commit}`) === null) return { data: null };
  const log = async (...args: string[]) =>
    (await git.git("log", "--format=%P%x00%H%x00%cI%x00%an%x00%B%x1e", ...args))
      .split("\x1e").map((record) => record.trimStart().split("\0"))
      .filter(({ length }) => length > 1);
  const [[parents = ""] = []] = await log("-1", commit);
  const [parent = ""] = parents.split(" ");
  const errors: unknown[] = [];
  const asked = [...histories.matchAll(HISTORY)];
  const values = await Promise.all(
    asked.map(async ([, alias, isPaged, variable], index) => {
      if (index >= double.graphqlMaxObjects) {
        errors.push(limitError("repository", "object", alias!));
        return [alias, null] as const;
      }
      const path = variables[variable!]!;
      const skipped = isPaged && variables.after
        ? Number(variables.after.split(" ")[1]) + 1
        : 0;
      const args = isPaged ? [] : ["-1"];
      const commits = await log(...args, commit, "--", `:(literal)${path}`);
      const nodes = commits.slice(skipped, skipped + 1).map(
        ([, oid, date, name, message]) => ({
          oid,
          committedDate: new Date(date!).toISOString().replace(".000", ""),
          message,
          author: { name },
        }),
      );
      const paged = isPaged && {
        totalCount: commits.length,
        pageInfo: {
          endCursor: nodes.length === 0 ? null : `${commit} ${skipped}`,
          hasNextPage: skipped + 1 < commits.length,
        },
      };
      return [alias, { ...paged, nodes }] as const;
    }),
  );
  const object = {
    parents: { nodes: parent === "" ? [] : [{ oid: parent }] },
    ...Object.fromEntries(values),
  };
  return {
    data: { repository: { object } },
    ...errors.length > 0 && { errors },
  };
}

/**
 * Answers `POST /graphql`. @throws {UnexpectedRequest} on a query of another
 * form.
 */
export async function answerGraphql(
  double: GithubDouble,
  body: string,
  account: Account,
): Promise<Response> {
  const { query, variables = {} } = JSON.parse(body);
  const { owner, name } = variables;
  const plain = String(query).replaceAll(/\s/g, "");
  const [, objects] = QUERY.exec(plain) ?? [];
  const [, histories] = HISTORY_QUERY.exec(plain) ?? [];
  if ((objects ?? histories) === undefined || !owner || !name) {
    throw new UnexpectedRequest(`GraphQL "${query}"`);
  }
  const found = double.follow(`${owner}/${name}`);
  if (!found || found.blocked || !double.sees(account, found)) {
    const message =
      `Could not resolve to a Repository with the name '${owner}/${name}'.`;
    const error = { type: "NOT_FOUND", path: ["repository"], message };
    return jsonReply({ data: { repository: null }, errors: [error] });
  }
  if (histories !== undefined) {
    return jsonReply(
      await historiesOf(double, found.git!, histories, variables),
    );
  }
  // Cut at 512,000 bytes, null for binaries, and lossy where the bytes are not
  // UTF-8.
  const decoder = new TextDecoder("utf-8", {
    ignoreBOM: !double.graphqlStripsBom,
  });
  const textOf = (bytes: Uint8Array) =>
    isBinary(bytes) ? null : decoder.decode(bytes.subarray(0, MAX_TEXT_BYTES));
  const errors: unknown[] = [];
  const values = Array.from(
    objects!.matchAll(OBJECT),
    ([, alias, oid], index) => {
      if (index >= double.graphqlMaxObjects) {
        errors.push(limitError("repository", alias!));
        return [alias, null];
      }
      const object = found.git?.store.read(oid!) ?? null;
      return [
        alias,
        object?.type === "blob" ? { text: textOf(object.bytes) } : object && {},
      ];
    },
  );
  const data = { repository: Object.fromEntries(values) };
  return jsonReply(errors.length > 0 ? { data, errors } : { data });
}
