// The whole service in a test's own process: real routes, real caches, a clock
// that the test moves and a log that it can read. Every response is checked
// against the contract.
//
//   await using site = await startSite({ "posts/a.md": "# A\n" });
//   const body = await site.service.list({ collection: "posts" });
//   site.service.clock.advance(60_000);

import { assertEquals } from "@std/assert";
import type {
  ContentBody,
  ListBody,
  ProblemBody,
} from "../lib/api/contract.ts";
import { createHandler, type Handler } from "../lib/http/app.ts";
import { LineLog } from "../lib/log.ts";
import { openServices, type Services } from "../lib/services.ts";
import { parseSettings } from "../lib/settings.ts";
import type { Compute } from "../lib/thread/compute.ts";
import { app } from "../main.ts";
import type {
  CollectionChanges,
  CollectionList,
} from "../packages/client/client.ts";
import { checkContract } from "./contract_check.ts";
import { WatchedCompute } from "./thread/watched_compute.ts";
import type { GithubDouble } from "./github/github_double.ts";
import { TestClock } from "./test_clock.ts";

/** What a test may choose. */
export interface ServiceOptions {
  /**
   * Settings in place of the test's own, which are no local folders and,
   * without a double, a GitHub that is down.
   */
  readonly env?: Readonly<Record<string, string>>;
  readonly github?: GithubDouble;
  readonly clock?: TestClock;
  /**
   * The store, which the service closes; a new one in memory where it is left
   * out.
   */
  readonly kv?: Deno.Kv;
  /** Whether it previews local folders. */
  readonly isPreview?: boolean;
  /**
   * Where content is computed over: on the test's own thread unless told
   * otherwise.
   */
  readonly compute?: Compute;
  /** Puts other parts in place of the real ones. */
  readonly change?: (services: Services) => Services;
}

/** How a request is made; `remote` is the client's address. */
export type RequestOptions = RequestInit & { readonly remote?: string };

/**
 * Parameters of a request; owner and repo are `octo/site` where they are left
 * out.
 */
export type Parameters = Readonly<Record<string, string | number | boolean>>;

/** One line of the log. */
export type LogLine = Readonly<
  Record<string, string | number | boolean | null>
>;

const ORIGIN = "http://localhost:8000";

/** The path of a list request. */
export function listPath(parameters: Parameters = {}): string {
  return `/api/list-collection-items?${
    query({ collection: "posts", ...parameters })
  }`;
}

/** The path of an item request. */
export function itemPath(parameters: Parameters = {}): string {
  return `/api/get-item-content?${query(parameters)}`;
}

/** The path of a request for collections. */
export function collectionsPath(parameters: Parameters = {}): string {
  return `/api/list-collections?${query(parameters)}`;
}

/** The path of a request for changes. */
export function changesPath(parameters: Parameters): string {
  return `/api/list-collection-changes?${
    query({ collection: "posts", ...parameters })
  }`;
}

/** The path of a request for types. */
export function typesPath(parameters: Parameters = {}): string {
  return `/api/collection-types.ts?${query(parameters)}`;
}

function query(parameters: Parameters): string {
  const all = { owner: "octo", repo: "site", ...parameters };
  return new URLSearchParams(
    Object.entries(all).map(([name, value]) => [name, `${value}`]),
  ) + "";
}

/** The service's own log, its lines in memory as soon as they are made. */
class TestLog extends LineLog {
  readonly lines: string[] = [];

  override line(text: string): void {
    this.lines.push(text);
  }
}

/** A running service. */
export class TestService implements AsyncDisposable {
  readonly #servers: Deno.HttpServer<Deno.NetAddr>[] = [];

  constructor(
    readonly clock: TestClock,
    readonly services: Services,
    readonly handler: Handler,
    /** The lines of its log. */
    private readonly lines: readonly string[],
  ) {}

  /** Sends a request without checking its response, whose body stays unread. */
  async send(
    path: string | Request,
    { remote = "192.0.2.1", ...init }: RequestOptions = {},
  ): Promise<Response> {
    const url = typeof path === "string" && path.startsWith("/")
      ? ORIGIN + path
      : path;
    const remoteAddr: Deno.NetAddr = {
      transport: "tcp",
      hostname: remote,
      port: 50_000,
    };
    return await this.handler(new Request(url, init), {
      remoteAddr,
      completed: Promise.resolve(),
    });
  }

  /**
   * Sends a request, GET unless told otherwise; the response is as the contract
   * wants it.
   */
  async get(path: string, options: RequestOptions = {}): Promise<Response> {
    const { remote: _remote, ...init } = options;
    const request = new Request(
      path.startsWith("/") ? ORIGIN + path : path,
      init,
    );
    const response = await this.send(path, options);
    await checkContract(request, response);
    return response;
  }

  /** The body of a list request that succeeds. */
  async list(
    parameters: Parameters = {},
    init: RequestOptions = {},
  ): Promise<ListBody> {
    return await this.#json(listPath(parameters), init);
  }

  /** The body of an item request that succeeds. */
  async item(
    parameters: Parameters,
    init: RequestOptions = {},
  ): Promise<ContentBody> {
    return await this.#json(itemPath(parameters), init);
  }

  /** The body of a request for collections that succeeds. */
  async collections(parameters: Parameters = {}): Promise<CollectionList> {
    return await this.#json(collectionsPath(parameters), {});
  }

  /** The body of a request for changes that succeeds. */
  async changes(parameters: Parameters): Promise<CollectionChanges> {
    return await this.#json(changesPath(parameters), {});
  }

  /** The problem response of a request. */
  async problem(path: string, init: RequestOptions = {}): Promise<ProblemBody> {
    return await (await this.get(path, init)).json();
  }

  async #json<T>(path: string, init: RequestOptions): Promise<T> {
    const response = await this.get(path, init);
    const body = await response.json();
    assertEquals(response.status, 200, JSON.stringify(body));
    return body;
  }

  /** Everything that was logged. */
  get logText(): string {
    return this.lines.join("\n");
  }

  /** The log's lines, those of one event where that is named. */
  logLines(event?: string): LogLine[] {
    return this.lines.map((line): LogLine => JSON.parse(line))
      .filter((line) => event === undefined || line.event === event);
  }

  /** Listens on a free port of the loopback interface; gives the port. */
  listen(): number {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      this.handler,
    );
    this.#servers.push(server);
    return server.addr.port;
  }

  /** Closes all. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.shutdown()));
    await this.services.close();
  }
}

/**
 * Opens a service; its clock starts a minute ahead, so that files written by
 * then count as old.
 */
export async function startService(
  options: ServiceOptions = {},
): Promise<TestService> {
  const {
    clock = new TestClock(Date.now() + 60_000),
    github,
    isPreview = false,
  } = options;
  const env: Record<string, string> = {
    LOCAL_REPOS_DIR: "none",
    GITHUB_API_URL: github?.apiUrl ?? "http://127.0.0.1:1",
    GITHUB_RAW_URL: github?.rawUrl ?? "",
    GITHUB_WEB_URL: github?.webUrl ?? "",
    GITHUB_GIT_URL: "none",
    ...options.env,
  };
  const config = parseSettings((name) => env[name], { isPreview });
  const log = new TestLog(() => {}, { level: config.logLevel, clock });
  // With KV_PATH the service opens its store by itself.
  const kv = options.kv ?? (env.KV_PATH ? null : await Deno.openKv(":memory:"));
  const { compute = new WatchedCompute() } = options;
  const opened = await openServices(config, {
    clock,
    log,
    compute,
    ...kv === null ? {} : { kv },
  });
  const services = options.change?.(opened) ?? opened;
  return new TestService(
    clock,
    services,
    createHandler(app, services),
    log.lines,
  );
}
