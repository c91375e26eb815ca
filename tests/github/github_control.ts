// Tells a double that runs in another process what to do: POST /__control with
// `{ "call": name, "args": [...] }` gives `{ "result": … }`, or 400 with `{ "error": … }`.
// It has a port of its own, so that it answers while the double is down.

import type { GitContent } from "./git_fast_import.ts";
import type { GithubDouble } from "./github_double.ts";

/** Contents as JSON can say them: those of a commit, or `{ "base64": … }` for any bytes. */
export type JsonContent = GitContent | { base64: string };

// Arguments come from JSON unchecked: a test that sends wrong ones sees its call fail.
type Call = (gh: GithubDouble, ...args: never[]) => unknown;

const settable = [
  "truncateAt",
  "truncateBytes",
  "maxBlobBytes",
  "missingRefStatus",
  "quotaStatus",
  "treeByPath",
  "graphqlQuotaStatus",
  "graphqlMaxBytes",
  "graphqlMaxObjects",
  "graphqlStripsBom",
  "latencyMs",
  "fault",
];

const calls: Record<string, Call> = {
  addEmpty: (gh, name) => gh.addEmpty(name),
  addBlocked: (gh, name, options) => gh.addBlocked(name, options),
  rename: (gh, from, to, options) => gh.rename(from, to, options),
  redirect: (gh, name, location) => gh.redirect(name, location),
  remove: (gh, name) => gh.remove(name),
  setVisibility: (gh, name, visibility) => gh.setVisibility(name, visibility),
  addToken: (gh, token, options) => gh.addToken(token, options),
  revokeToken: (gh, token) => gh.revokeToken(token),
  setQuota: (gh, token, change) => gh.setQuota(token, change),
  quotaSpent: (gh, token, resource) => gh.quotaSpent(token, resource),
  counts: (gh) => gh.counts(),
  resetCounts: (gh) => gh.resetCounts(),
  requests: (gh) => gh.requests,
  unexpected: (gh) => gh.unexpected,
  maxConcurrent: (gh) => gh.maxConcurrent,
  down: (gh) => gh.down(),
  up: (gh) => gh.up(),
  release: (gh) => gh.pauses.release(),
  set: (gh, settings) => setFields(gh, settings),
  commit: (gh, name, changes, options) => git(gh, name).commit(decodeFiles(changes), options),
  branch: (gh, name, branch, at) => git(gh, name).branch(branch, at),
  deleteBranch: (gh, name, branch) => git(gh, name).deleteBranch(branch),
  tag: (gh, name, tag, options) => git(gh, name).tag(tag, options),
  head: (gh, name, branch) => git(gh, name).head(branch),
};

/** Lets a double be told what to do over HTTP; shut the server down before closing the double. */
export function serveControl(gh: GithubDouble): Deno.HttpServer<Deno.NetAddr> {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  return Deno.serve(options, async (request) => {
    try {
      const { call, args = [] } = await request.json();
      const chosen = Object.hasOwn(calls, call) ? calls[call] : undefined;
      if (!chosen) throw new Error(`Cannot call "${call}": the double has no such call`);
      return Response.json({ result: await chosen(gh, ...args as never[]) ?? null });
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 400 });
    }
  });
}

/** Calls a double through its control URL. @throws {Error} with what the double says was wrong. */
export async function callControl(url: string, call: string, ...args: unknown[]): Promise<unknown> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify({ call, args }) });
  const { result, error } = await response.json();
  if (!response.ok) throw new Error(`Cannot call "${call}": ${error}`);
  return result;
}

/** Sets fields of the double by name. @throws {Error} on one that is no setting. */
export function setFields(gh: GithubDouble, settings: Record<string, unknown>): void {
  for (const name of Object.keys(settings)) {
    if (!settable.includes(name)) throw new Error(`Cannot set "${name}": no such setting`);
  }
  Object.assign(gh, settings);
}

/** Contents from JSON as a commit takes them. */
export function decodeFiles(
  files: Record<string, JsonContent | null>,
): [path: string, content: GitContent | null][] {
  return Object.entries(files).map(([path, content]) => [
    path,
    content !== null && typeof content === "object" && "base64" in content
      ? Uint8Array.fromBase64(content.base64)
      : content,
  ]);
}

function git(gh: GithubDouble, name: string) {
  const { git } = gh.registry.get(name);
  if (!git) throw new Error(`Cannot change "${name}": it has no Git repository`);
  return git;
}
