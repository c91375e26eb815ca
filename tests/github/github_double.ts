// A GitHub for tests: serves real Git repositories over HTTP as GitHub's API does, counts every
// request, and keeps quotas. It knows no more than the service may lean on; anything else is
// answered 418 and makes `close()` throw.
//
//   await using repository = await makeGitRepository({ "posts/a.md": "# A\n" });
//   await using gh = await GithubDouble.start({ now: () => clockMs });
//   gh.add("octo/site", repository);
//   // GITHUB_API_URL = gh.apiUrl, GITHUB_RAW_URL = gh.rawUrl; now ask the service for a list
//   assertEquals(gh.counts(), { commit: 1, tree: 2 });
//   gh.fault = { kind: "status", status: 502 }; // or gh.faultWhen((logged) => …), gh.down()
//
// The fields of GithubState set its behaviour (`gh.truncateAt = 50`). As a process of its own:
// serve_double.ts, told what to do through github_control.ts.

import type { GitRepository } from "./git_repository.ts";
import type { Quota, QuotaResource } from "./github_accounts.ts";
import { answerApi } from "./github_api.ts";
import { InjectedFault } from "./github_exchange.ts";
import type { RequestKind } from "./github_log.ts";
import { answerRaw } from "./github_raw.ts";
import type { RedirectForm, Visibility } from "./github_registry.ts";
import { GithubState } from "./github_state.ts";

/** The double: a {@linkcode GithubState} with its servers and the verbs that tests use. */
export class GithubDouble extends GithubState implements AsyncDisposable {
  /** Base of web pages; nothing listens there. */
  readonly webUrl = "https://github.test";
  #servers: Deno.HttpServer<Deno.NetAddr>[] = [];

  /** Starts a double on free ports of the loopback interface. */
  static start(options: { now?: () => number } = {}): Promise<GithubDouble> {
    const double = new GithubDouble(options);
    double.up();
    return Promise.resolve(double);
  }

  /** Serves a repository as `owner/name`. */
  add(
    fullName: string,
    git: GitRepository,
    options: { visibility?: Visibility; defaultBranch?: string } = {},
  ): void {
    this.registry.add(fullName, { ...options, git });
  }

  /** Serves a repository that has no commit yet. */
  addEmpty(fullName: string): void {
    this.registry.add(fullName);
  }

  /** Serves a repository that GitHub blocks: for legal reasons (451) or by its terms (403). */
  addBlocked(fullName: string, options: { status?: 451 | 403; reason?: string } = {}): void {
    const { status = 451, reason = "dmca" } = options;
    this.registry.add(fullName, { blocked: { status, reason } });
  }

  /** Renames or moves a repository; the old name answers 301. */
  rename(from: string, to: string, options: { location?: RedirectForm } = {}): void {
    this.registry.rename(from, to, options.location ?? "numeric");
  }

  /** Lets a name answer 301 with any `Location`; `{api}` and `{rest}` are filled in. */
  redirect(fullName: string, location: RedirectForm): void {
    this.registry.addRedirect(fullName, location);
  }

  /** Deletes a repository: 404 from then on. */
  remove(fullName: string): void {
    this.registry.remove(fullName);
  }

  /** Changes who may see a repository. */
  setVisibility(fullName: string, visibility: Visibility): void {
    this.registry.get(fullName).visibility = visibility;
  }

  /** Makes a token valid. It sees public repositories and those named in `sees`. */
  addToken(token: string, options: { sees?: "all" | string[] } = {}): void {
    this.accounts.addToken(token, options);
  }

  /** Makes a token invalid: 401 from then on. */
  revokeToken(token: string): void {
    this.accounts.revokeToken(token);
  }

  /** Changes the quota of a token, or of callers without one (null). */
  setQuota(token: string | null, change: Partial<Quota> & { resource?: QuotaResource }): void {
    this.accounts.setQuota(token, change);
  }

  /** Points of a quota taken since the last {@linkcode resetCounts}. */
  quotaSpent(token: string | null, resource: QuotaResource = "core"): number {
    return this.accounts.spent(token, resource);
  }

  /** Requests by kind. */
  counts(): Partial<Record<RequestKind, number>> {
    return this.log.counts();
  }

  /** Starts the counting of requests and of quota points anew. */
  resetCounts(): void {
    this.log.reset();
    this.accounts.resetSpent();
  }

  /** @throws {Error} naming every request that the double did not expect. */
  assertNoUnexpected(): void {
    this.log.assertNoUnexpected();
  }

  /** Listens (again, after {@linkcode down}, on the same ports). */
  up(): void {
    if (this.#servers.length > 0) return;
    this.apiUrl = this.#listen(this.apiUrl, (request) => answerApi(this, request));
    this.rawUrl = this.#listen(this.rawUrl, (request) => answerRaw(this, request));
  }

  /** Stops listening: connections are refused. What hangs is let go first. */
  async down(): Promise<void> {
    this.pauses.release();
    await Promise.all(this.#servers.splice(0).map((server) => server.shutdown()));
  }

  #listen(url: string, answer: (request: Request) => Promise<Response>): string {
    const server = Deno.serve({
      hostname: "127.0.0.1",
      port: url === "" ? 0 : Number(new URL(url).port),
      onListen: () => {},
      onError: (error) => {
        if (!(error instanceof InjectedFault)) this.unexpected.push(String(error));
        return new Response(null, { status: 500 });
      },
    }, answer);
    this.#servers.push(server);
    return `http://127.0.0.1:${server.addr.port}`;
  }

  /** Stops everything. @throws {Error} on unexpected requests, unless `assert` is false. */
  async close(options: { assert?: boolean } = {}): Promise<void> {
    await this.down();
    await Promise.all(this.registry.all().map((repository) => repository.git?.objects.stop()));
    if (options.assert ?? true) this.assertNoUnexpected();
  }

  /** {@linkcode close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
