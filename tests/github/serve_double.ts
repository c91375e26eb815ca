// Runs a GitHub double as a process of its own, for start_double.ts. Its one argument is a JSON {@linkcode DoubleConfig}.
// It writes its addresses as one line of JSON, and takes calls at `controlUrl`, which answers while the double is down:
// POST of `{ "call": name, "args": [...] }` gives `{ "result": … }`, or 400 with `{ "error": … }`.

import { type GeneratedFiles, generateFiles } from "./generated_files.ts";
import { type GitContent, GitRepository, makeGitRepository } from "./git_repository.ts";
import { GithubDouble } from "./github_double.ts";
import type { Visibility } from "./github_registry.ts";

/** Contents as JSON can express them: those of a commit, or `{ "base64": … }` for any bytes. */
export type JsonContent = GitContent | { base64: string };

/** What the process serves. */
export interface DoubleConfig {
  repositories?: Record<string, {
    files?: Record<string, JsonContent>;
    generate?: GeneratedFiles;
    /** The folder of a {@linkcode GitRepository} that another process has made and may change. */
    dir?: string;
    empty?: boolean;
    visibility?: Visibility;
    defaultBranch?: string;
  }>;
  tokens?: Record<string, { sees?: "all" | string[] }>;
  settings?: Record<string, unknown>;
}

/** Fields of the double that a call may set. */
const SETTINGS = [
  ...["truncateAt", "truncateBytes", "missingRefStatus", "graphqlQuotaStatus", "graphqlMaxBytes"],
  ...["graphqlMaxObjects", "graphqlStripsBom", "latencyMs", "fault"],
];
/** Members of the double that take and give JSON. */
const CALLS = [
  ...["addEmpty", "addBlocked", "rename", "remove", "setVisibility", "addToken", "revokeToken"],
  ...["setQuota", "quotaSpent", "counts", "resetCounts", "down", "up"],
  ...["requests", "unexpected", "maxConcurrent"],
];

// Arguments come from JSON unchecked: a test that sends wrong ones sees its call fail.
// deno-lint-ignore no-explicit-any -- see above
function run(gh: GithubDouble, call: string, args: any[]): unknown {
  if (call === "set") return setFields(gh, args[0]);
  if (call === "release") return gh.pauses.release();
  if (call === "commit") return gh.registry.get(args[0]).git!.commit(decodeFiles(args[1]));
  if (!CALLS.includes(call)) throw new Error(`Cannot call "${call}": the double has no such call`);
  const member = gh[call as keyof GithubDouble] as unknown;
  return typeof member === "function" ? member.apply(gh, args) : member;
}

function setFields(gh: GithubDouble, settings: Record<string, unknown>): void {
  const unknown = Object.keys(settings).find((name) => !SETTINGS.includes(name));
  if (unknown !== undefined) throw new Error(`Cannot set "${unknown}": no such setting`);
  Object.assign(gh, settings);
}

function decodeFiles(files: Record<string, JsonContent>): [path: string, content: GitContent][] {
  return Object.entries(files).map(([path, content]) => [
    path,
    content !== null && typeof content === "object" && "base64" in content
      ? Uint8Array.fromBase64(content.base64)
      : content,
  ]);
}

async function serve(config: DoubleConfig): Promise<void> {
  const gh = await GithubDouble.start();
  for (const [name, wanted] of Object.entries(config.repositories ?? {})) {
    const { files = {}, generate, dir, empty = false, ...options } = wanted;
    const content = generate ? generateFiles(generate) : decodeFiles(files);
    if (empty) gh.addEmpty(name);
    else if (dir !== undefined) gh.add(name, new GitRepository(dir), options);
    else {
      const branch = options.defaultBranch ?? "main";
      gh.add(name, await makeGitRepository(content, { branch }), options);
    }
  }
  for (const [token, options] of Object.entries(config.tokens ?? {})) gh.addToken(token, options);
  setFields(gh, config.settings ?? {});
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const control = Deno.serve(options, async (request) => {
    try {
      const { call, args } = await request.json();
      return Response.json({ result: await run(gh, call, args) ?? null });
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 400 });
    }
  });
  const { apiUrl, rawUrl, graphqlUrl, webUrl } = gh;
  const controlUrl = `http://127.0.0.1:${control.addr.port}`;
  console.log(JSON.stringify({ apiUrl, rawUrl, graphqlUrl, webUrl, controlUrl }));

  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  await stopped;
  await control.shutdown();
  await gh.close({ assert: false });
  Deno.exit(gh.unexpected.length > 0 ? 1 : 0);
}

if (import.meta.main) await serve(JSON.parse(Deno.args[0] ?? "{}"));
