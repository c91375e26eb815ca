// Tells a double that runs in another process what to do: POST with `{ "call": name, "args": [...] }` gives
// `{ "result": … }`, or 400 with `{ "error": … }`. It has a port of its own, so that it answers while the double is down.

import type { GitContent } from "./git_repository.ts";
import type { GithubDouble } from "./github_double.ts";

/** Contents as JSON can say them: those of a commit, or `{ "base64": … }` for any bytes. */
export type JsonContent = GitContent | { base64: string };

const SETTINGS = [
  ...[
    "truncateAt",
    "truncateBytes",
    "maxBlobBytes",
    "missingRefStatus",
    "quotaStatus",
    "treeByPath",
  ],
  ...["graphqlQuotaStatus", "graphqlMaxBytes", "graphqlMaxObjects", "graphqlStripsBom"],
  ...["latencyMs", "fault"],
];
/** Methods of the double that take and give JSON, and its fields that are JSON. */
const METHODS = [
  ...["addEmpty", "addBlocked", "rename", "redirect", "remove", "setVisibility", "addToken"],
  ...["revokeToken", "setQuota", "quotaSpent", "counts", "resetCounts", "down", "up"],
];
const FIELDS = ["requests", "unexpected", "maxConcurrent"];
/** Methods of a repository, whose name is the first argument. */
const GIT_METHODS = ["branch", "deleteBranch", "tag", "head"];

/** Lets a double be told what to do over HTTP; shut the server down before closing the double. */
export function serveControl(gh: GithubDouble): Deno.HttpServer<Deno.NetAddr> {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  return Deno.serve(options, async (request) => {
    try {
      const { call, args = [] } = await request.json();
      return Response.json({ result: await run(gh, call, args) ?? null });
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 400 });
    }
  });
}

// Arguments come from JSON unchecked: a test that sends wrong ones sees its call fail.
// deno-lint-ignore no-explicit-any -- see above
function run(gh: GithubDouble, call: string, args: any[]): unknown {
  // deno-lint-ignore no-explicit-any -- members are named by the lists above
  const double = gh as any;
  if (METHODS.includes(call)) return double[call](...args);
  if (FIELDS.includes(call)) return double[call];
  if (call === "release") return gh.pauses.release();
  if (call === "set") return setFields(gh, args[0]);
  const [name, ...rest] = args;
  if (call === "commit") return gitOf(gh, name).commit(decodeFiles(rest[0]), rest[1]);
  // deno-lint-ignore no-explicit-any -- members are named by the lists above
  if (GIT_METHODS.includes(call)) return (gitOf(gh, name) as any)[call](...rest);
  throw new Error(`Cannot call "${call}": the double has no such call`);
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
  const unknown = Object.keys(settings).find((name) => !SETTINGS.includes(name));
  if (unknown !== undefined) throw new Error(`Cannot set "${unknown}": no such setting`);
  Object.assign(gh, settings);
}

/** Contents from JSON as a commit takes them. */
export function decodeFiles<T extends JsonContent | null>(
  files: Record<string, T>,
): [path: string, content: Exclude<T, { base64: string }> | Uint8Array][] {
  return Object.entries(files).map(([path, content]) => [
    path,
    content !== null && typeof content === "object" && "base64" in content
      ? Uint8Array.fromBase64(content.base64)
      : content as Exclude<T, { base64: string }>,
  ]);
}

function gitOf(gh: GithubDouble, name: string) {
  const { git } = gh.registry.get(name);
  if (git !== null) return git;
  throw new Error(`Cannot change "${name}": it has no Git repository`);
}
