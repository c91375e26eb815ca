// Serves the Git repositories of a double over Git's smart HTTP protocol: each
// request is handed to `git upload-pack`, so every answer about refs is Git's
// own. What surrounds Git at GitHub is done here: 404 for a client that does
// not name itself Git (jelmer/dulwich#562), 401 for what is missing or not
// public, 403 for what is blocked, 301 for an old name.

import {
  gitEnvironment,
  type GitRepository,
  makeGitRepository,
} from "./git_repository.ts";
import type { GithubState } from "./github_state.ts";

const PATH = /^\/([^/]+\/[^/]+?)(?:\.git)?\/git-upload-pack$/;

/** One Git host; `await using` stops it. */
export class GitHttpBridge implements AsyncDisposable {
  /**
   * `owner/repo` of every request so far, as it was sent; empty the list to
   * count anew.
   */
  readonly requests: string[] = [];
  /** Answers in place of Git, where it gives a response. */
  intercept:
    | ((request: Request) => Response | null | Promise<Response | null>)
    | null = null;
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => this.#answer(request),
  );
  /** Base of `{owner}/{repo}.git`, without a slash at its end. */
  readonly url = `http://127.0.0.1:${this.#server.addr.port}`;
  #empty: Promise<GitRepository> | null = null;

  constructor(private readonly state: GithubState) {}

  /** Stops listening: connections are refused. */
  async down(): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const [, encodedName = ""] = PATH.exec(new URL(request.url).pathname) ?? [];
    const name = decodeURIComponent(encodedName);
    this.requests.push(name);
    if (!request.headers.get("user-agent")?.startsWith("git/")) {
      return new Response("Not Found\n", { status: 404 });
    }
    const intercepted = await this.intercept?.(request);
    if (intercepted) return intercepted;
    const redirect = this.state.redirectOf(name);
    if (redirect !== null) {
      const { target } = redirect;
      const location = target === null
        ? redirect.location.replace("{git}", this.url)
        : `${this.url}/${target.owner}/${target.name}.git/git-upload-pack`;
      const headers = location === "" ? {} : { location };
      return new Response(null, { status: 301, headers });
    }
    const hosted = this.state.find(name);
    if (hosted?.visibility !== "public") {
      const headers = { "www-authenticate": 'Basic realm="Git"' };
      return new Response("No anonymous access.\n", { status: 401, headers });
    }
    if (hosted.blocked !== null) {
      return new Response("Repository unavailable due to DMCA takedown.\n", {
        status: 403,
      });
    }
    const { dir } = hosted.git ?? await (this.#empty ??= makeGitRepository());
    return await runGit(request, dir);
  }

  /** Stops listening and removes what was made for empty repositories. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    await (await this.#empty)?.[Symbol.asyncDispose]();
  }
}

/**
 * What Git's own server answers; it refuses another content type as Git's HTTP
 * server does.
 */
async function runGit(request: Request, dir: string): Promise<Response> {
  const type = "application/x-git-upload-pack";
  if (request.headers.get("content-type") !== `${type}-request`) {
    return new Response("Unsupported Media Type\n", { status: 415 });
  }
  const child = new Deno.Command("git", {
    args: ["upload-pack", "--stateless-rpc", dir],
    clearEnv: true,
    env: {
      ...gitEnvironment(),
      GIT_PROTOCOL: request.headers.get("git-protocol") ?? "",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  // Git may refuse a request without reading its body.
  const sent = request.body!.pipeTo(child.stdin).catch(() => {});
  const { stdout } = await child.output();
  await sent;
  return new Response(stdout, {
    headers: { "content-type": `${type}-result` },
  });
}
