// A GitHub for tests: serves Git repositories over HTTP as GitHub's API does,
// counts every request, and applies quotas. It implements no more than the
// service may rely on; anything else is answered 418 and makes its end throw.
//
//   await using repository = await makeGitRepository({ "posts/a.md": "# A\n" });
//   await using gh = new GithubDouble(() => clockMs);
//   gh.add("octo/site", repository);
//   // GITHUB_API_URL = gh.apiUrl, GITHUB_RAW_URL = gh.rawUrl; now request a list from the service
//   assertEquals(gh.counts(), { commit: 1, tree: 2 });
//   gh.fault = { kind: "status", status: 502 }; // or (logged) => …, or gh.down()

import { gzipSync } from "node:zlib";
import { type Exchange, faultsOf } from "./exchange_checks.ts";
import {
  answerGraphql,
  answerRaw,
  answerRest,
  API_VERSIONS,
  errorReply,
  jsonReply,
  type ParsedRequest,
  parseRequest,
  rawLimitReply,
  UnexpectedRequest,
} from "./github_api.ts";
import { type Fault, replyInstead, spoil } from "./github_faults.ts";
import {
  GithubLog,
  GithubPauses,
  type LoggedRequest,
  type RequestKind,
} from "./github_log.ts";
import { type Account, GithubState } from "./github_state.ts";

/** What breaks a connection on purpose. */
class InjectedFault extends Error {}

/** GitHub compresses its JSON from about this size on. */
const GZIP_FROM_BYTES = 1_000;
/** GitHub's secondary limit, for a token. */
const MAX_AT_ONCE = 100;
/** Requests that count against no quota of an account. */
const WITHOUT_QUOTA: readonly RequestKind[] = [
  "raw",
  "installation",
  "app-token",
  "lfs-batch",
  "lfs",
];
/** What GitHub's OpenAPI description does not have. */
const UNDESCRIBED: readonly RequestKind[] = [
  "raw",
  "graphql",
  "lfs-batch",
  "lfs",
  "unexpected",
];
/** Longer answers are trees and blobs like the shorter ones. */
const MAX_CHECKED_BYTES = 1 << 18;

/** `real` gives the answer of the double. */
type Intercept = (
  request: Request,
  logged: LoggedRequest,
  real: () => Promise<Response>,
) => Response | null | Promise<Response | null>;

/** A GitHub double. A test changes the public fields at any time. */
export class GithubDouble extends GithubState implements AsyncDisposable {
  /** Base URL of the REST API, without a slash at its end. */
  apiUrl = "";
  /** Base of web pages; nothing listens there. */
  readonly webUrl = "https://github.test";
  readonly log = new GithubLog();
  /** Whatever waits at the moment. */
  readonly pauses = new GithubPauses(() => this.log.notify());

  /** Entries after which a recursive tree is truncated. */
  truncateAt = 100_000;
  /**
   * Bytes of the `tree` array's JSON after which a recursive tree is truncated.
   */
  truncateBytes = 7_000_000;
  /**
   * Objects in one query after which GraphQL gives null and an error for the
   * rest.
   */
  graphqlMaxObjects = Infinity;
  /** Whether GraphQL's `text` loses a byte order mark. */
  graphqlStripsBom = false;
  /**
   * After how many requests a minute the raw host answers 429, and when it says
   * to come back, if it does.
   */
  rawLimit: {
    readonly perMinute: number;
    readonly retryAfterSeconds: number | null;
  } | null = null;
  /** What every answer to a token says of its end. */
  tokenExpiration: string | null = null;
  /** Time that every answer takes, in real milliseconds. */
  latencyMs = 0;

  /**
   * What goes wrong with every request that it concerns; a function chooses it
   * for each request.
   */
  fault: Fault | null | ((logged: LoggedRequest) => Fault | null) = null;
  /** Answers in place of the double, where it gives a response. */
  intercept: Intercept | null = null;
  private server: Deno.HttpServer<Deno.NetAddr> | null = null;
  /** One of each kind of exchange. */
  private readonly exchanges = new Map<string, Exchange>();

  /**
   * Starts a double on a free port of the loopback interface. `now` is its
   * clock, in ms since the epoch.
   */
  constructor(now?: () => number) {
    super(now);
    this.up();
  }

  /** Base URL of the raw host. */
  get rawUrl(): string {
    return `${this.apiUrl}/raw`;
  }

  /** URL of the GraphQL endpoint. */
  get graphqlUrl(): string {
    return `${this.apiUrl}/graphql`;
  }

  /** The requests since the counting last began. */
  get requests(): LoggedRequest[] {
    return this.log.requests;
  }

  readonly unexpected = this.log.unexpected;
  readonly counts = this.log.counts;

  /** Starts the counting of requests and of quota points anew. */
  override resetCounts(): void {
    super.resetCounts();
    this.log.reset();
  }

  /** Listens (again, after {@linkcode down}, on the same port). */
  up(): void {
    const port = this.apiUrl === "" ? 0 : Number(new URL(this.apiUrl).port);
    const onError = (error: unknown) => {
      if (!(error instanceof InjectedFault)) {
        this.unexpected.push(String(error));
      }
      return new Response(null, { status: 500 });
    };
    const options = {
      hostname: "127.0.0.1",
      port,
      onListen: () => {},
      onError,
    };
    this.server ??= Deno.serve(options, (request) => this.answer(request));
    this.apiUrl = `http://127.0.0.1:${this.server.addr.port}`;
  }

  /** Stops listening: connections are refused. What hangs is let go first. */
  async down(): Promise<void> {
    this.pauses.release();
    await this.server?.shutdown();
    this.server = null;
  }

  /**
   * Stops everything. @throws {Error} naming every unexpected request, and what
   * GitHub's description does not allow.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    this.unexpected.push(...await faultsOf(this.exchanges.values()));
    this.exchanges.clear();
    if (this.unexpected.length === 0) return;
    throw new Error(
      `Cannot accept requests to the double:\n${this.unexpected.join("\n")}`,
    );
  }

  /**
   * Writes a request down, refuses what is unexpected, applies a hook or a
   * fault, answers.
   */
  private async answer(request: Request): Promise<Response> {
    const { pathname, search, host } = new URL(request.url);
    const account = this.accountOf(request.headers.get("authorization"));
    const logged: LoggedRequest = {
      kind: "unexpected",
      path: pathname + search,
      status: 0,
      token: account ?? null,
      conditional: request.headers.has("if-none-match"),
      bytes: 0,
      userAgent: request.headers.get("user-agent"),
    };
    const end = this.log.begin(logged);
    try {
      if (!logged.userAgent) throw new UnexpectedRequest("no User-Agent");
      if (!host.startsWith("127.0.0.1:")) {
        throw new UnexpectedRequest(`host ${host}`);
      }
      const parsed = parseRequest(request);
      logged.kind = parsed.kind;
      await this.pauses.sleep(this.latencyMs);
      const real = () => this.reply(request, parsed, account);
      const taken = await this.intercept?.(request, logged, real);
      if (taken) {
        logged.status = taken.status;
        return taken;
      }
      const fault = this.faultFor(logged);
      if (fault?.kind === "slow") await this.pauses.sleep(fault.delayMs);
      if (fault?.kind === "hang") await this.pauses.hang(request.signal);
      const reply = fault && replyInstead(fault, this.now()) ||
        await spoil(fault, await real(), parsed.kind);
      if (this.tokenExpiration !== null && account !== null) {
        reply.headers.set(
          "github-authentication-token-expiration",
          this.tokenExpiration,
        );
      }
      if (!WITHOUT_QUOTA.includes(parsed.kind)) {
        this.stateQuota(reply.headers, account ?? null, parsed.kind);
        stateApi(reply.headers, request.headers, parsed.kind);
      }
      return await this.send(request, logged, fault, reply);
    } catch (error) {
      if (!(error instanceof UnexpectedRequest)) throw error;
      logged.kind = "unexpected";
      this.unexpected.push(
        `${request.method} ${logged.path}: ${error.message}`,
      );
      const reply = errorReply(
        418,
        `The double does not expect this: ${error.message}`,
      );
      return await this.send(request, logged, null, reply);
    } finally {
      end();
    }
  }

  private faultFor(logged: LoggedRequest): Fault | null {
    const fault = typeof this.fault === "function"
      ? this.fault(logged)
      : this.fault;
    return !fault?.only || fault.only.includes(logged.kind) ? fault : null;
  }

  private async reply(
    request: Request,
    parsed: ParsedRequest,
    account: Account | undefined,
  ): Promise<Response> {
    if (parsed.kind === "raw") {
      const { rawLimit } = this;
      const isLimited = rawLimit !== null &&
        this.isOver("raw", rawLimit.perMinute);
      return isLimited ? rawLimitReply(rawLimit) : answerRaw(this, parsed);
    }
    if (parsed.kind === "installation" || parsed.kind === "app-token") {
      return this.app.answer(request, this.apiUrl);
    }
    if (parsed.kind === "lfs-batch" || parsed.kind === "lfs") {
      return await this.lfs.answer(request, {
        state: this,
        account,
        origin: this.apiUrl,
      });
    }
    if (account === undefined) return errorReply(401, "Bad credentials");
    const isGraphql = parsed.kind === "graphql";
    if (isGraphql && account === null) {
      return errorReply(401, "This endpoint requires you to be authenticated.");
    }
    if (
      account !== null &&
      (this.isOverPace(account) || this.log.inFlight > MAX_AT_ONCE)
    ) {
      this.unexpected.push(
        "a token has over 900 requests a minute or 100 at once",
      );
      return errorReply(403, "You have exceeded a secondary rate limit.", {
        "retry-after": "60",
      });
    }
    const quota = this.quotaOf(account, isGraphql ? "graphql" : "core");
    if (quota.remaining <= 0) {
      const message = "API rate limit exceeded for 127.0.0.1.";
      return isGraphql
        ? jsonReply({ errors: [{ type: "RATE_LIMITED", message }] })
        : errorReply(403, message);
    }
    const reply = parsed.kind === "graphql"
      ? await answerGraphql(this, await request.text(), account)
      : answerRest(this, parsed, account);
    // A 304 is free with a valid token only.
    if (reply.status !== 304 || account === null) {
      quota.remaining--;
      quota.spent++;
    }
    return reply;
  }

  private stateQuota(
    headers: Headers,
    account: Account,
    kind: RequestKind,
  ): void {
    const resource = kind === "graphql" ? kind : "core";
    const { limit, remaining, resetAtMs } = this.quotaOf(account, resource);
    const stated = {
      "x-ratelimit-limit": limit,
      "x-ratelimit-remaining": Math.max(0, remaining),
      "x-ratelimit-used": limit - Math.max(0, remaining),
      "x-ratelimit-reset": Math.ceil(resetAtMs / 1000),
      "x-ratelimit-resource": resource,
    };
    for (const [name, value] of Object.entries(stated)) {
      // A fault may state something else.
      if (!headers.has(name)) headers.set(name, String(value));
    }
  }

  private async send(
    request: Request,
    logged: LoggedRequest,
    fault: Fault | null,
    reply: Response,
  ): Promise<Response> {
    const { status, headers } = reply;
    if (status === 301 && logged.kind !== "lfs-batch") logged.kind = "redirect";
    logged.status = status;
    const body = status === 304 ? new Uint8Array() : await reply.bytes();
    if (fault === null || /^(status|quota|secondary)/.test(fault.kind)) {
      this.keep(request, logged, reply, body);
    }
    if (status === 304) return reply;
    logged.bytes = body.length;
    if (fault && ["hang", "stall", "reset", "cut"].includes(fault.kind)) {
      headers.set("content-length", String(body.length));
      return new Response(this.half(body, fault), { status, headers });
    }
    const isGzipped =
      /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "") &&
      headers.get("content-type")?.startsWith("application/json") &&
      body.length >= GZIP_FROM_BYTES;
    if (!isGzipped) return new Response(body, { status, headers });
    headers.set("content-encoding", "gzip");
    return new Response(new Uint8Array(gzipSync(body, { level: 1 })), {
      status,
      headers,
    });
  }

  /** Keeps what the end of the double checks. */
  private keep(
    { method, headers }: Request,
    { kind, path, status, token }: LoggedRequest,
    reply: Response,
    body: Uint8Array<ArrayBuffer>,
  ): void {
    if (UNDESCRIBED.includes(kind) || body.length > MAX_CHECKED_BYTES) return;
    const accept = headers.get("accept");
    const key = `${kind} ${status} ${token} ${accept} ${
      path.startsWith("/repositories/")
    }`;
    const type = reply.headers.get("content-type");
    this.exchanges.set(key, { method, path, accept, status, type, body });
  }

  /** Half of a body, and then what the fault does. */
  private half(body: Uint8Array, fault: Fault): ReadableStream<Uint8Array> {
    const disconnect = new AbortController();
    return new ReadableStream({
      start: async (controller) => {
        if (body.length > 1) {
          controller.enqueue(body.subarray(0, body.length >> 1));
        }
        if (fault.kind === "stall") await this.pauses.hang(disconnect.signal);
        if (disconnect.signal.aborted) return;
        if (fault.kind === "cut") controller.close();
        else controller.error(new InjectedFault());
      },
      cancel: () => disconnect.abort(),
    });
  }
}

/**
 * The headers that GitHub's API sends whatever the quota; GraphQL has no
 * versions.
 */
function stateApi(
  headers: Headers,
  requested: Headers,
  kind: RequestKind,
): void {
  const [, format] =
    /^application\/vnd\.github\.(\w+)/.exec(requested.get("accept") ?? "") ??
      [];
  const param = format === undefined ? "" : `; param=${format}`;
  const isSha = format === "sha";
  headers.set(
    "x-github-media-type",
    `github.v3${param}${isSha ? "" : "; format=json"}`,
  );
  if (kind === "graphql") return;
  const version = requested.get("x-github-api-version") ?? API_VERSIONS[0]!;
  headers.set("x-github-api-version-selected", version);
}
