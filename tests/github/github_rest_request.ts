// Takes a REST request apart. Only what GitHub documents, and the service may ask, gets through;
// anything else is named in a sentence, so that the test says what was wrong.

import type { RequestKind } from "./github_log.ts";

/** A REST request, taken apart. */
export interface RestRequest {
  kind: RequestKind;
  /** `owner/name`, or an id for `/repositories/{id}`. */
  repository: string | number;
  /** The raw path behind the repository, and the query with its question mark. */
  rest: string;
  query: string;
  /** The last part of the path, decoded: a ref, a tree or an object id. */
  subject: string;
  format: "json" | "sha" | "raw";
}

const endpoints: [RequestKind, RegExp, formats: RestRequest["format"][]][] = [
  ["repo", /^()$/, ["json"]],
  ["commit", /^\/commits\/(.+)$/, ["json", "sha"]],
  ["branch", /^\/branches\/(.+)$/, ["json"]],
  ["tree", /^\/git\/trees\/([^/]+)$/, ["json"]],
  ["blob", /^\/git\/blobs\/([^/]+)$/, ["json", "raw"]],
];
const repositoryPath = /^\/(?:repos\/([^/]+\/[^/]+)|repositories\/(\d+))(\/.*)?$/;
const jsonType = /^(?:|\*\/\*|application\/json|application\/vnd\.github(?:\.v3)?\+json)$/;
const customType = /^application\/vnd\.github(?:\.v3)?\.(sha|raw)(?:\+json)?$/;

/** Takes a request apart, or says in a sentence why no endpoint expects it. */
export function parseRestRequest(request: Request): RestRequest | string {
  const { pathname, search, searchParams } = new URL(request.url);
  if (request.method !== "GET") return `method ${request.method}`;
  const [, name, id, rest = ""] = repositoryPath.exec(pathname) ?? [];
  if (name === undefined && id === undefined) return "no such path";
  for (const [kind, pattern, formats] of endpoints) {
    const subject = decode(pattern.exec(rest)?.[1]);
    if (subject === undefined) continue;
    const accept = request.headers.get("accept") ?? "";
    const format = formats.find((format) => format === formatOf(accept));
    if (!format) return `media type "${accept}"`;
    const expected = kind === "tree" ? ["recursive"] : [];
    const unknown = [...searchParams.keys()].find((key) => !expected.includes(key));
    if (unknown !== undefined) return `query parameter "${unknown}"`;
    return {
      kind: searchParams.has("recursive") ? "tree-recursive" : kind,
      repository: name === undefined ? Number(id) : decode(name) ?? name,
      rest,
      query: search,
      subject,
      format,
    };
  }
  return "no such endpoint";
}

function formatOf(accept: string): string | undefined {
  return jsonType.test(accept) ? "json" : customType.exec(accept)?.[1];
}

function decode(part: string | undefined): string | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
