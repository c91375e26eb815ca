// The source of the clients that do no harm, on a thread of its own at the
// priority of the service: GitHub does not answer them late because
// others read hostile repositories. Everything else goes on to the source of
// the rows.

import { createServer, request as requestOf } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { makeGitRepository } from "../../tests/github/git_repository.ts";
import { GithubDouble } from "../../tests/github/github_double.ts";
import { BYSTANDER_POSTS, ordinaryFiles } from "./ordinary_repository.ts";
import { gitFiles } from "./row.ts";
import { TOKEN } from "./source_names.ts";

/** The owner of the repositories of the clients that do no harm. */
export const QUIET_OWNER = "quiet";

interface QuietConfig {
  readonly bystanders: number;
  /** The API of the source of the rows. */
  readonly apiUrl: string;
}

/** A source in front of another one. */
export class QuietSource implements Disposable {
  private constructor(
    private readonly worker: Worker,
    /** The API of both. */
    readonly apiUrl: string,
  ) {}

  static async start(config: QuietConfig): Promise<QuietSource> {
    const worker = new Worker(import.meta.url, {
      type: "module",
      name: "quiet source",
    });
    const apiUrl = await new Promise<string>((resolve, reject) => {
      worker.onerror = (event) =>
        reject(new Error(`Cannot run the quiet source: ${event.message}`));
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => {
        port1.close();
        resolve(data);
      };
      worker.postMessage(config, [port2]);
    });
    return new QuietSource(worker, apiUrl);
  }

  [Symbol.dispose](): void {
    this.worker.terminate();
  }
}

/** Serves the repositories and returns the address of the API of both. */
async function serve(
  gh: GithubDouble,
  { bystanders, apiUrl }: QuietConfig,
): Promise<string> {
  const git = await makeGitRepository(gitFiles(ordinaryFiles(BYSTANDER_POSTS)));
  for (let n = 0; n < bystanders; n++) gh.add(`${QUIET_OWNER}/site${n}`, git);
  gh.addToken(TOKEN);
  for (const resource of ["core", "graphql"] as const) {
    for (const token of [TOKEN, null]) {
      Object.assign(gh.quota(token, resource), { limit: 1e7, remaining: 1e7 });
    }
  }
  const server = createServer(async (request, response) => {
    const { method, url = "", headers } = request;
    const body = method === "POST" ? await buffer(request) : null;
    const isQuiet = body === null
      ? url.startsWith(`/repos/${QUIET_OWNER}/`)
      : JSON.parse(`${body}`).variables?.owner === QUIET_OWNER;
    const forwarded = requestOf((isQuiet ? gh.apiUrl : apiUrl) + url, {
      method,
      headers,
    }, (answer) => {
      // As it came: compressed, and cut where it was cut.
      response.writeHead(answer.statusCode!, answer.rawHeaders);
      answer.pipe(response).on("close", () => answer.destroy());
      answer.on("error", () => response.destroy());
    });
    forwarded.on("error", () => response.destroy());
    response.on("close", () => forwarded.destroy());
    forwarded.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

if ("DedicatedWorkerGlobalScope" in globalThis) {
  const gh = new GithubDouble();
  addEventListener("message", async (event) => {
    const { data, ports: [port] } = event as MessageEvent<QuietConfig>;
    port!.postMessage(await serve(gh, data));
  });
}
