// Serves the Git repositories of a double over Git's smart HTTP protocol: each request is handed to `git http-backend`
// as CGI (RFC 3875), so every answer about refs is Git's own. What surrounds Git at GitHub is done here: 401 for what
// is missing or not public, 301 for an old name.

import { gitEnvironment } from "./git_command.ts";
import { type GitRepository, makeGitRepository } from "./git_repository.ts";
import type { GithubRegistry, Redirect } from "./github_registry.ts";

const PATH = /^\/([^/]+\/[^/]+?)(?:\.git)?(\/(?:git-upload-pack|info\/refs))$/;

/** One Git host; `await using` stops it. */
export class GitHttpBridge implements AsyncDisposable {
  /** Base of `{owner}/{repo}.git`, without a slash at its end. */
  url = "";
  /** `owner/repo` of every request so far, as it was sent; empty the list to count anew. */
  readonly requests: string[] = [];
  /** Answers in place of Git, where it gives a response. */
  intercept: ((request: Request) => Response | null | Promise<Response | null>) | null = null;
  #server: Deno.HttpServer<Deno.NetAddr> | null = null;
  #empty: Promise<GitRepository> | null = null;

  constructor(private readonly registry: GithubRegistry) {
    this.up();
  }

  /** Listens (again, after {@linkcode down}, on the same port). */
  up(): void {
    const port = this.url === "" ? 0 : Number(new URL(this.url).port);
    this.#server ??= Deno.serve(
      { hostname: "127.0.0.1", port, onListen: () => {} },
      (request) => this.#answer(request),
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Stops listening: connections are refused. */
  async down(): Promise<void> {
    await this.#server?.shutdown();
    this.#server = null;
  }

  async #answer(request: Request): Promise<Response> {
    const [, encodedName = "", service = ""] = PATH.exec(new URL(request.url).pathname) ?? [];
    const name = decodeURIComponent(encodedName);
    this.requests.push(name);
    const intercepted = await this.intercept?.(request);
    if (intercepted) return intercepted;
    const redirect = this.registry.redirect(name);
    if (redirect !== null) return this.#redirect(redirect, service);
    const hosted = this.registry.find(name);
    if (hosted?.visibility !== "public") {
      return new Response("No anonymous access.\n", {
        status: 401,
        headers: { "www-authenticate": 'Basic realm="Git"' },
      });
    }
    if (hosted.blocked !== null) return new Response("Blocked.\n", { status: 403 });
    const { dir } = hosted.git ?? await (this.#empty ??= makeGitRepository());
    return await runBackend(request, dir + service);
  }

  #redirect({ target, form }: Redirect, service: string): Response {
    const moved = `${this.url}/${target?.owner}/${target?.name}.git${service}`;
    const location = form === "none"
      ? null
      : form === "numeric" || form === "named"
      ? moved
      : form === "other-host"
      ? moved.replace("127.0.0.1", "localhost")
      : form.replaceAll("{git}", this.url);
    return new Response(null, { status: 301, headers: location === null ? {} : { location } });
  }

  /** Stops listening and removes what was made for empty repositories. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    await (await this.#empty)?.[Symbol.asyncDispose]();
  }
}

async function runBackend(request: Request, path: string): Promise<Response> {
  const { headers, method, url } = request;
  const body = await request.bytes();
  const child = new Deno.Command("git", {
    args: ["http-backend"],
    clearEnv: true,
    env: {
      ...gitEnvironment(),
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: headers.get("git-protocol") ?? "",
      REQUEST_METHOD: method,
      QUERY_STRING: new URL(url).search.slice(1),
      PATH_TRANSLATED: path,
      CONTENT_TYPE: headers.get("content-type") ?? "",
      CONTENT_LENGTH: String(body.length),
      HTTP_CONTENT_ENCODING: headers.get("content-encoding") ?? "",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  // A backend that refuses a request does not read its body.
  const sent = new Response(body).body!.pipeTo(child.stdin).catch(() => {});
  const { stdout } = await child.output();
  await sent;
  const end = stdout.findIndex((byte, at) => byte === 13 && stdout[at + 2] === 13) + 4;
  const fields = new TextDecoder().decode(stdout.subarray(0, end)).trim().split("\r\n")
    .map((line) => line.split(/: */, 2) as [string, string]);
  const answer = new Headers(fields);
  const status = parseInt(answer.get("status") ?? "200");
  answer.delete("status");
  return new Response(stdout.subarray(end), { status, headers: answer });
}
