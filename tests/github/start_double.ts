// A GitHub double on a thread of its own, for benches, whose work must not
// delay its answers. The thread runs this file too: each message to it is a
// call, answered at the port that comes with it.

import { type GeneratedFiles, generateFiles } from "./generated_files.ts";
import {
  type GitContent,
  GitRepository,
  makeGitRepository,
} from "./git_repository.ts";
import { GithubDouble } from "./github_double.ts";

/** What the thread serves. */
export interface DoubleConfig {
  /**
   * By name; `dir` is the folder of a {@linkcode GitRepository} that another
   * thread has made and may change.
   */
  repositories: Record<
    string,
    { files: Record<string, GitContent> } | { generate: GeneratedFiles } | {
      dir: string;
    }
  >;
  /**
   * A token that the double accepts, with quota without end; null gives clients
   * without one that quota.
   */
  token: string | null;
}

/**
 * `set` sets fields, `release` ends every wait; the others are methods and
 * fields of the double.
 */
interface Call {
  readonly name:
    | ("set" | "release" | "up" | "down")
    | ("resetCounts" | "counts" | "requests" | "unexpected");
  readonly fields?: Partial<GithubDouble> | undefined;
}

/** A double on a thread of its own. */
export interface RunningDouble
  extends Disposable, Pick<GithubDouble, "apiUrl" | "rawUrl" | "graphqlUrl"> {
  call(name: Call["name"], fields?: Call["fields"]): Promise<unknown>;
}

/** Starts a double and waits until it serves. */
export async function startDouble(
  config: DoubleConfig,
): Promise<RunningDouble> {
  const worker = new Worker(import.meta.url, { type: "module" });
  const send = (message: DoubleConfig | Call): Promise<unknown> => {
    const { port1, port2 } = new MessageChannel();
    worker.postMessage(message, [port2]);
    return new Promise((resolve) => {
      port1.onmessage = ({ data }) => {
        port1.close();
        resolve(data);
      };
    });
  };
  const urls = await send(config) as Pick<
    GithubDouble,
    "apiUrl" | "rawUrl" | "graphqlUrl"
  >;
  return {
    ...urls,
    call: (name, fields) => send({ name, fields }),
    [Symbol.dispose]: () => worker.terminate(),
  };
}

async function serve(gh: GithubDouble, { repositories, token }: DoubleConfig) {
  for (const [name, wanted] of Object.entries(repositories)) {
    if ("dir" in wanted) gh.add(name, new GitRepository(wanted.dir));
    else {
      const files = "files" in wanted
        ? wanted.files
        : generateFiles(wanted.generate);
      gh.add(name, await makeGitRepository(files));
    }
  }
  if (token !== null) gh.addToken(token);
  for (const resource of ["core", "graphql"] as const) {
    Object.assign(gh.quota(token, resource), {
      limit: 10_000_000,
      remaining: 10_000_000,
    });
  }
  const { apiUrl, rawUrl, graphqlUrl } = gh;
  return { apiUrl, rawUrl, graphqlUrl };
}

function run(gh: GithubDouble, { name, fields }: Call): unknown {
  if (name === "set") return void Object.assign(gh, fields);
  if (name === "release") return gh.pauses.release();
  const member: unknown = gh[name];
  return typeof member === "function" ? member.call(gh) : member;
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const gh = new GithubDouble();
  addEventListener("message", async (event) => {
    const { data, ports: [port] } = event as MessageEvent<DoubleConfig | Call>;
    port!.postMessage(await ("name" in data ? run(gh, data) : serve(gh, data)));
  });
}
