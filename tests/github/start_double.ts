// A GitHub double in a process of its own, for tests and benches that must not share a process with it. Run as a program,
// this file is that process: its one argument is a JSON {@linkcode DoubleConfig}; it writes its addresses as one line of
// JSON, and takes calls at `controlUrl`, which answers while the double is down.

import { configFlag } from "../run_task.ts";
import { type GeneratedFiles, generateFiles } from "./generated_files.ts";
import { type GitContent, GitRepository, makeGitRepository } from "./git_repository.ts";
import { GithubDouble } from "./github_double.ts";

/** What the process serves. */
export interface DoubleConfig {
  /** By name; `dir` is the folder of a {@linkcode GitRepository} that another process has made and may change. */
  repositories: Record<
    string,
    { files: Record<string, GitContent> } | { generate: GeneratedFiles } | { dir: string }
  >;
  /** A token that the double accepts, with quota without end. */
  token: string;
}

/** `set` sets fields, `release` ends every wait; the others are methods and fields of the double. */
type Call =
  | "set"
  | "release"
  | "up"
  | "down"
  | "resetCounts"
  | "counts"
  | "requests"
  | "unexpected";

/** A double in a process of its own. */
export interface RunningDouble
  extends AsyncDisposable, Pick<GithubDouble, "apiUrl" | "rawUrl" | "graphqlUrl"> {
  call(name: Call, fields?: Partial<GithubDouble>): Promise<unknown>;
}

const PERMISSIONS = ["--allow-net=127.0.0.1", "--allow-run=git", "--allow-read", "--allow-write"];

/** Starts a double and waits until it serves. @throws {Error} if it ends before that. */
export async function startDouble(config: DoubleConfig): Promise<RunningDouble> {
  const flags = [await configFlag(), ...PERMISSIONS, "--allow-env=PATH"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, import.meta.url, JSON.stringify(config)],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let line = "";
  while (!line.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`Cannot start a double: status ${(await child.status).code}`);
    line += value;
  }
  const { controlUrl, ...urls } = JSON.parse(line);
  return {
    ...urls,
    async call(name, fields) {
      const body = JSON.stringify({ name, fields });
      return await (await fetch(controlUrl, { method: "POST", body })).json();
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await reader.cancel();
      await child.status;
    },
  };
}

function run(gh: GithubDouble, name: Call, fields: Partial<GithubDouble>): unknown {
  if (name === "set") return void Object.assign(gh, fields);
  if (name === "release") return gh.pauses.release();
  const member: unknown = gh[name];
  return typeof member === "function" ? member.call(gh) : member;
}

async function serve({ repositories, token }: DoubleConfig): Promise<void> {
  const gh = new GithubDouble();
  for (const [name, wanted] of Object.entries(repositories)) {
    if ("dir" in wanted) gh.add(name, new GitRepository(wanted.dir));
    else {
      const files = "files" in wanted ? wanted.files : generateFiles(wanted.generate);
      gh.add(name, await makeGitRepository(files));
    }
  }
  gh.addToken(token);
  const plenty = { limit: 10_000_000, remaining: 10_000_000 };
  for (const resource of ["core", "graphql"] as const) {
    Object.assign(gh.quota(token, resource), plenty);
  }
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const control = Deno.serve(options, async (request) => {
    const { name, fields } = await request.json();
    return Response.json(await run(gh, name, fields) ?? null);
  });
  const { apiUrl, rawUrl, graphqlUrl } = gh;
  const controlUrl = `http://127.0.0.1:${control.addr.port}`;
  console.log(JSON.stringify({ apiUrl, rawUrl, graphqlUrl, controlUrl }));
}

if (import.meta.main) await serve(JSON.parse(Deno.args[0]!));
