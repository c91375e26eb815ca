// The usual start of a test: one Git repository, served by one double, both
// removed at the end. Beside it, what tests watch of the double, and the
// deliveries of a webhook as GitHub signs them.

import { createHmac } from "node:crypto";
import { type GitFiles, makeGitRepository } from "./git_repository.ts";
import { GithubDouble } from "./github_double.ts";

/**
 * Makes a repository of these files and serves it as `octo/site`. `url` is its
 * address at the API. `await using` closes both, and throws on requests that the double did not expect.
 */
export async function serveRepository(
  files: GitFiles,
  { branch = "main", now = Date.now } = {},
) {
  const repository = await makeGitRepository(files, { branch });
  const gh = new GithubDouble(now);
  gh.add("octo/site", repository, { defaultBranch: branch });
  return {
    gh,
    repository,
    url: `${gh.apiUrl}/repos/octo/site`,
    async [Symbol.asyncDispose]() {
      await gh.down();
      await repository[Symbol.asyncDispose]();
      await gh[Symbol.asyncDispose]();
    },
  };
}

/**
 * The ids of the blobs (or, from the raw host, paths) requested from now on, by
 * GraphQL, the blobs API or the raw host, in order; empty the list to count
 * anew.
 */
export function watchBlobs(gh: GithubDouble): string[] {
  const requested: string[] = [];
  gh.intercept = async (request, { kind, path }) => {
    if (kind === "graphql") {
      const { query } = await request.clone().json();
      requested.push(
        ...[...query.matchAll(/oid: ?"([0-9a-f]{40})"/g)].map(([, id]) => id),
      );
    } else if (kind === "blob") {
      requested.push(path.slice(path.lastIndexOf("/") + 1));
    } else if (kind === "raw") requested.push(path);
    return null;
  };
  return requested;
}

/** The paths of each query for histories from now on. */
export function watchHistory(gh: GithubDouble): string[][] {
  const asked: string[][] = [];
  gh.intercept = async (request, { kind }) => {
    if (kind !== "graphql") return null;
    const { variables } = await request.clone().json();
    if (variables.commit === undefined) return null;
    asked.push(
      Object.keys(variables).filter((name) => /^p\d+$/.test(name))
        .map((name) => variables[name]),
    );
    return null;
  };
  return asked;
}

/**
 * `X-Hub-Signature-256` of a body (docs.github.com, "Validating webhook
 * deliveries").
 */
export function signatureOf(
  body: string | Uint8Array<ArrayBuffer>,
  secret: string,
): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}
