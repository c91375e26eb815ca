// The source of the service under attack: a GitHub double with the repositories
// of the rows, on a thread of its own, which runs this file too. A row may
// answer in GitHub's place, as a broken source would.

import {
  GitRepository,
  makeGitRepository,
} from "../../tests/github/git_repository.ts";
import { GithubDouble } from "../../tests/github/github_double.ts";
import type { LoggedRequest } from "../../tests/github/github_log.ts";
import { rowsNamed } from "./corpus.ts";
import { gitFiles, repositoryOf } from "./row.ts";
import { ordinaryFiles } from "./ordinary_repository.ts";
import { COLD_REPOSITORIES, OWNERS, TOKEN } from "./source_names.ts";

/** What the thread serves. */
export interface SourceConfig {
  readonly rows: readonly string[];
}

/** Where it serves it. */
export interface SourceAddresses {
  readonly apiUrl: string;
  readonly gitUrl: string;
}

type Call = { readonly name: "count" } | {
  readonly name: "work";
  readonly ms: number;
};

/** A source on a thread of its own. */
export class Source implements Disposable {
  private constructor(
    private readonly worker: Worker,
    readonly addresses: SourceAddresses,
  ) {}

  /** Makes the repositories and serves them. */
  static async start(config: SourceConfig): Promise<Source> {
    const worker = new Worker(import.meta.url, {
      type: "module",
      name: "source",
    });
    return new Source(worker, await send(worker, config) as SourceAddresses);
  }

  /** How many requests it has had. */
  async count(): Promise<number> {
    return await send(this.worker, { name: "count" }) as number;
  }

  /**
   * Lets the thread work for so long without a pause, as a busy machine would.
   */
  async work(ms: number): Promise<void> {
    await send(this.worker, { name: "work", ms });
  }

  [Symbol.dispose](): void {
    this.worker.terminate();
  }
}

function send(worker: Worker, message: SourceConfig | Call): Promise<unknown> {
  const { port1, port2 } = new MessageChannel();
  worker.postMessage(message, [port2]);
  return new Promise((resolve, reject) => {
    worker.onerror = (event) =>
      reject(new Error(`Cannot run the source: ${event.message}`));
    port1.onmessage = ({ data }) => {
      port1.close();
      resolve(data);
    };
  });
}

/** Works for so long. */
export function workFor(ms: number): void {
  for (
    const startedMs = performance.now();
    performance.now() - startedMs < ms;
  );
}

async function serve(
  gh: GithubDouble,
  config: SourceConfig,
): Promise<SourceAddresses> {
  const add = (repo: string, git: GitRepository) => {
    for (const owner of OWNERS) gh.add(`${owner}/${repo}`, git);
  };
  const rows = rowsNamed(config.rows);
  const ordinary = await makeGitRepository(gitFiles(ordinaryFiles(20)));
  add("ordinary", ordinary);
  for (let n = 0; n < COLD_REPOSITORIES; n++) gh.add(`cold/site${n}`, ordinary);
  for (const row of rows) {
    const repository = row.repository ??
      (row.answer && (() => makeGitRepository({ "a.md": "a" })));
    if (repository !== undefined) add(row.name, await repository());
  }
  gh.addToken(TOKEN);
  for (const resource of ["core", "graphql"] as const) {
    for (const token of [TOKEN, null]) {
      Object.assign(gh.quota(token, resource), { limit: 1e7, remaining: 1e7 });
    }
  }
  const answers = new Map(
    rows.map((row) => [repositoryOf(row).repo, row.answer]),
  );
  if (rows.some(({ answer }) => answer !== undefined)) {
    gh.intercept = async (request, { kind, path }) => {
      const answer = answers.get(await repositoryIn(request, kind, path));
      return await answer?.(kind, path) ?? null;
    };
  }
  const lsRefs = rows.find((row) => row.lsRefs !== undefined)?.lsRefs;
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const git = Deno.serve(
    options,
    () => lsRefs?.() ?? new Response(null, { status: 404 }),
  );
  return { apiUrl: gh.apiUrl, gitUrl: `http://127.0.0.1:${git.addr.port}` };
}

/**
 * The name of the repository that a request is about; GraphQL has it in its
 * body.
 */
async function repositoryIn(
  request: Request,
  kind: LoggedRequest["kind"],
  path: string,
): Promise<string> {
  if (kind !== "graphql") return path.split("/")[3]?.split("?")[0] ?? "";
  const { variables } = await request.clone().json();
  return variables?.name ?? "";
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const gh = new GithubDouble();
  addEventListener("message", async (event) => {
    const { data, ports: [port] } = event as MessageEvent<SourceConfig | Call>;
    if (!("name" in data)) port!.postMessage(await serve(gh, data));
    else if (data.name === "count") port!.postMessage(gh.requests.length);
    else port!.postMessage(workFor(data.ms));
  });
}
