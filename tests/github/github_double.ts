// A GitHub for tests: serves Git repositories over HTTP as GitHub's API does, counts every request, and applies quotas.
// It implements no more than the service may rely on; anything else is answered 418 and makes `close()` throw.
//
//   await using repository = await makeGitRepository({ "posts/a.md": "# A\n" });
//   await using gh = await GithubDouble.start({ now: () => clockMs });
//   gh.add("octo/site", repository);
//   // GITHUB_API_URL = gh.apiUrl, GITHUB_RAW_URL = gh.rawUrl; now request a list from the service
//   assertEquals(gh.counts(), { commit: 1, tree: 2 });
//   gh.fault = { kind: "status", status: 502 }; // or gh.faultWhen((logged) => …), gh.down()
//
// As a process of its own: serve_double.ts, controlled through github_control.ts.

import { gzipSync } from "node:zlib";
import type { GitRepository } from "./git_repository.ts";
import { type Account, GithubAccounts, type Quota, type QuotaResource } from "./github_accounts.ts";
import { type Fault, type FaultChooser, replyInstead, spoil } from "./github_faults.ts";
import { answerGraphql } from "./github_graphql.ts";
import { GithubLog, GithubPauses, type LoggedRequest, type RequestKind } from "./github_log.ts";
import { answerRaw, rawRefusal } from "./github_raw.ts";
import { GithubRegistry, type RedirectForm, type Visibility } from "./github_registry.ts";
import { errorReply, jsonReply, type Reply, UnexpectedRequest, validated } from "./github_reply.ts";
import { answerRest, parseRestRequest, type RestRequest } from "./github_rest.ts";

/** What a request is for, or why no test should cause it. */
interface ParsedRequest {
  readonly kind: RequestKind;
  readonly refusal: string | null;
  readonly rest?: RestRequest;
}

/** What breaks a connection on purpose. */
class InjectedFault extends Error {}

/** GitHub compresses its JSON from about this size on. */
const GZIP_FROM_BYTES = 1_000;

/** A GitHub double. A test changes the public fields at any time. */
export class GithubDouble implements AsyncDisposable {
  /** Base URL of the REST API, without a slash at its end. */
  apiUrl = "";
  /** Base URL of the raw host. */
  rawUrl = "";
  /** Base of web pages; nothing listens there. */
  readonly webUrl = "https://github.test";
  readonly registry = new GithubRegistry();
  readonly accounts: GithubAccounts;
  readonly log = new GithubLog();
  /** Whatever waits at the moment. */
  readonly pauses = new GithubPauses(() => this.log.notify());

  /** Whether `git/trees/{commit}:{path}` is taken, which other hosts lack. */
  takesPaths = true;
  /** Entries after which a recursive tree is truncated. */
  truncateAt = 100_000;
  /** Bytes of the `tree` array's JSON after which a recursive tree is truncated. */
  truncateBytes = 7_000_000;
  /** Status of the answer for the commit of a ref that does not exist. */
  missingRefStatus: 422 | 404 = 422;
  /** Status when the GraphQL quota is spent: 200 with `errors`, or 403. */
  graphqlQuotaStatus: 200 | 403 = 200;
  /** Bytes of all blobs in one query over which GraphQL answers 502. */
  graphqlMaxBytes = Infinity;
  /** Objects in one query after which GraphQL gives null and an error for the rest. */
  graphqlMaxObjects = Infinity;
  /** Whether GraphQL's `text` loses a byte order mark. */
  graphqlStripsBom = false;
  /** Time that every answer takes, in real milliseconds. */
  latencyMs = 0;

  /** What goes wrong with every request that it concerns. */
  fault: Fault | null = null;
  /** Answers in place of the double, where it gives a response. */
  intercept:
    | ((request: Request, logged: LoggedRequest) => Response | null | Promise<Response | null>)
    | null = null;
  private chooseFault: FaultChooser | null = null;
  private servers: Deno.HttpServer<Deno.NetAddr>[] = [];

  private constructor(private readonly now: () => number) {
    this.accounts = new GithubAccounts(now);
  }

  /** Starts a double on free ports of the loopback interface. `now` is its clock, in ms since the epoch. */
  static start({ now = Date.now }: { now?: () => number } = {}): Promise<GithubDouble> {
    const double = new GithubDouble(now);
    double.up();
    return Promise.resolve(double);
  }

  /** URL of the GraphQL endpoint. */
  get graphqlUrl(): string {
    return `${this.apiUrl}/graphql`;
  }

  /** The requests since the counting last began. */
  get requests(): LoggedRequest[] {
    return this.log.requests;
  }

  /** Unexpected requests, a line each. */
  get unexpected(): string[] {
    return this.log.unexpected;
  }

  /** The most requests that were under way at once. */
  get maxConcurrent(): number {
    return this.log.maxConcurrent;
  }

  /** Serves a repository as `owner/name`. */
  add = (
    name: string,
    git: GitRepository,
    options: { visibility?: Visibility; defaultBranch?: string } = {},
  ) => void this.registry.add(name, { ...options, git });
  /** Serves a repository that has no commit yet. */
  addEmpty = (name: string) => void this.registry.add(name);
  /** Serves a repository that GitHub blocks: for legal reasons (451) or by its terms (403). */
  addBlocked = (name: string, { status = 451 }: { status?: 451 | 403 } = {}) =>
    void this.registry.add(name, { blocked: { status, reason: "dmca" } });
  /** Renames or moves a repository; the old name answers 301. */
  rename = (from: string, to: string, { location = "numeric" }: { location?: RedirectForm } = {}) =>
    this.registry.rename(from, to, location);
  /** Lets a name answer 301 with any `Location`; `{api}` and `{rest}` are filled in. */
  redirect = (name: string, to: RedirectForm) => this.registry.addRedirect(name, to);
  /** Deletes a repository: 404 from then on. */
  remove = (name: string) => this.registry.remove(name);
  /** Changes the visibility of a repository. */
  setVisibility = (name: string, visibility: Visibility) =>
    void (this.registry.get(name).visibility = visibility);
  /** Makes a token valid. It sees public repositories and those named in `sees`. */
  addToken = (token: string, options?: { sees?: "all" | string[] }) =>
    this.accounts.addToken(token, options);
  /** Makes a token invalid: 401 from then on. */
  revokeToken = (token: string) => this.accounts.revokeToken(token);
  /** Changes the quota of a token, or of clients without one (null). */
  setQuota = (token: string | null, change: Partial<Quota> & { resource?: QuotaResource }) =>
    this.accounts.setQuota(token, change);
  /** Points of a quota taken since the last {@linkcode resetCounts}. */
  quotaSpent = (token: string | null, resource?: QuotaResource) =>
    this.accounts.spent(token, resource);
  /** Requests by kind. */
  counts = () => this.log.counts();
  /** Chooses a fault for each request; it comes before {@linkcode fault}. Null takes it back. */
  faultWhen = (choose: FaultChooser | null) => void (this.chooseFault = choose);

  /** Starts the counting of requests and of quota points anew. */
  resetCounts(): void {
    this.log.reset();
    this.accounts.resetSpent();
  }

  /** Listens (again, after {@linkcode down}, on the same ports). */
  up(): void {
    if (this.servers.length > 0) return;
    this.apiUrl = this.listen(this.apiUrl, (request) => this.answer(request, parseApi(request)));
    this.rawUrl = this.listen(this.rawUrl, (request) => this.answer(request, parseRaw(request)));
  }

  /** Stops listening: connections are refused. What hangs is let go first. */
  async down(): Promise<void> {
    this.pauses.release();
    await Promise.all(this.servers.splice(0).map((server) => server.shutdown()));
  }

  /** Stops everything. @throws {Error} naming every unexpected request, unless `assert` is false. */
  async close({ assert = true }: { assert?: boolean } = {}): Promise<void> {
    await this.down();
    if (!assert || this.unexpected.length === 0) return;
    throw new Error(`Cannot accept requests to the double:\n${this.unexpected.join("\n")}`);
  }

  /** {@linkcode close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private listen(url: string, answer: Deno.ServeHandler): string {
    const port = url === "" ? 0 : Number(new URL(url).port);
    const onError = (error: unknown) => {
      if (!(error instanceof InjectedFault)) this.unexpected.push(String(error));
      return new Response(null, { status: 500 });
    };
    const options = { hostname: "127.0.0.1", port, onListen: () => {}, onError };
    const server = Deno.serve(options, answer);
    this.servers.push(server);
    return `http://127.0.0.1:${server.addr.port}`;
  }

  /** Writes a request down, refuses what is unexpected, lets a hook or a fault step in, answers. */
  private async answer(request: Request, parsed: ParsedRequest): Promise<Response> {
    const { pathname, search, host } = new URL(request.url);
    const account = this.accounts.account(request.headers.get("authorization"));
    const logged: LoggedRequest = {
      ...{ kind: parsed.kind, method: request.method, path: pathname + search, status: 0 },
      token: account?.index ?? null,
      conditional: request.headers.has("if-none-match"),
      ...{ bytes: 0, aborted: false, atMs: this.now() },
      userAgent: request.headers.get("user-agent"),
    };
    const end = this.log.begin(logged);
    try {
      const reason = parsed.refusal ?? (logged.userAgent ? null : "no User-Agent") ??
        (host.startsWith("127.0.0.1:") ? null : `host ${host}`);
      if (reason !== null) throw new UnexpectedRequest(reason);
      await this.pauses.sleep(this.latencyMs);
      const taken = await this.intercept?.(request, logged) ?? null;
      if (taken) {
        logged.status = taken.status;
        return taken;
      }
      const fault = this.faultFor(logged, request);
      if (fault?.kind === "slow") await this.pauses.sleep(fault.delayMs);
      if (fault?.kind === "hang") logged.aborted = await this.pauses.hang(request.signal);
      const instead = fault ? replyInstead(fault, this.now()) : null;
      const real = instead ?? await this.reply(request, parsed, account);
      const reply = instead === null && fault ? spoil(fault, real, parsed.kind) : real;
      const quota = parsed.kind === "raw" ? {} : this.quotaHeaders(account ?? null, parsed.kind);
      const headers = { ...quota, ...reply.headers };
      return this.send(request, { logged, fault, reply: { ...reply, headers } });
    } catch (error) {
      if (!(error instanceof UnexpectedRequest)) throw error;
      logged.kind = "unexpected";
      this.unexpected.push(`${logged.method} ${logged.path}: ${error.message}`);
      const reply = errorReply(418, `The double does not expect this: ${error.message}`);
      return this.send(request, { logged, fault: null, reply });
    } finally {
      end();
    }
  }

  private async reply(
    request: Request,
    { kind, rest }: ParsedRequest,
    account: Account | undefined,
  ): Promise<Reply> {
    if (kind === "raw") return await answerRaw(this, request);
    // A bad token is charged to the address, as a request without a token is.
    const payer = account ?? null;
    const resource = kind === "graphql" ? kind : "core";
    if (account === undefined) return errorReply(401, "Bad credentials");
    if (resource === "graphql" && payer === null) {
      return errorReply(401, "This endpoint requires you to be authenticated.");
    }
    if (this.accounts.quota(payer, resource).remaining <= 0) {
      const whose = payer ? `user ID ${payer.index + 1}` : "127.0.0.1";
      const message = `API rate limit exceeded for ${whose}.`;
      return resource === "graphql" && this.graphqlQuotaStatus === 200
        ? jsonReply({ errors: [{ type: "RATE_LIMITED", message }] })
        : errorReply(403, message);
    }
    let reply = rest
      ? answerRest(this, rest, account)
      : answerGraphql(this, await request.text(), account);
    if (reply.status === 200 && rest) {
      reply = await validated(reply, request, String(payer?.index));
      reply.headers["cache-control"] = `${payer ? "private" : "public"}, max-age=60, s-maxage=60`;
      reply.headers["vary"] = "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding";
    }
    // A 304 is free with a valid token only.
    if (reply.status !== 304 || payer === null) this.accounts.charge(payer, resource);
    return reply;
  }

  private faultFor(logged: LoggedRequest, request: Request): Fault | null {
    const { fault } = this;
    const concerns = !fault?.only || fault.only.includes(logged.kind);
    return this.chooseFault?.(logged, request) ?? (concerns ? fault : null);
  }

  private send(
    request: Request,
    { logged, fault, reply }: { logged: LoggedRequest; fault: Fault | null; reply: Reply },
  ): Response {
    const { status, headers, body } = reply;
    if (status === 301) logged.kind = "redirect";
    logged.status = status;
    logged.bytes = body.length;
    if (status === 304) return new Response(null, { status, headers });
    if (!fault || !["hang", "stall", "reset", "cut"].includes(fault.kind)) {
      const isGzipped = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "") &&
        headers["content-type"]?.startsWith("application/json") && body.length >= GZIP_FROM_BYTES;
      if (!isGzipped) return new Response(body, { status, headers });
      const gzipped = new Uint8Array(gzipSync(body, { level: 1 }));
      return new Response(gzipped, { status, headers: { ...headers, "content-encoding": "gzip" } });
    }
    const disconnect = new AbortController();
    const stream = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        if (body.length > 1) controller.enqueue(body.subarray(0, body.length >> 1));
        if (fault.kind === "stall") logged.aborted = await this.pauses.hang(disconnect.signal);
        if (disconnect.signal.aborted) return;
        if (fault.kind === "cut") controller.close();
        else controller.error(new InjectedFault());
      },
      cancel: () => disconnect.abort(),
    });
    const length = { "content-length": String(body.length) };
    return new Response(stream, { status, headers: { ...headers, ...length } });
  }

  private quotaHeaders(account: Account, kind: RequestKind): Record<string, string> {
    const resource = kind === "graphql" ? kind : "core";
    const { limit, remaining, resetAtMs } = this.accounts.quota(account, resource);
    const left = Math.max(0, remaining);
    return {
      "x-ratelimit-limit": String(limit),
      "x-ratelimit-remaining": String(left),
      "x-ratelimit-used": String(limit - left),
      "x-ratelimit-reset": String(Math.ceil(resetAtMs / 1000)),
      "x-ratelimit-resource": resource,
    };
  }
}

function parseApi(request: Request): ParsedRequest {
  const isGraphql = request.method === "POST" && new URL(request.url).pathname === "/graphql";
  if (isGraphql) return { kind: "graphql", refusal: null };
  const rest = parseRestRequest(request);
  if (typeof rest === "string") return { kind: "unexpected", refusal: rest };
  return { kind: rest.kind, refusal: null, rest };
}

function parseRaw(request: Request): ParsedRequest {
  return { kind: "raw", refusal: rawRefusal(request) };
}
