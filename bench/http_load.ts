// The loads of `bench:http`: which requests, how each round measures them, and the goals. What is steady on a shared
// machine is processor time a request; requests a second and p99 stand beside it.

import { assertEquals } from "@std/assert";
import { load, type LoadResult, SERVER_CORE } from "./load.ts";
import {
  availableServers,
  type Server,
  type ServerOptions,
  type StartedServer,
  startServer,
} from "./http_servers.ts";
import type { PreparedAnswer } from "./peer_server.ts";
import { pause } from "./processes.ts";
import { type RawAnswer, RawClient } from "./raw_client.ts";
import { type Goal, median, number, spread, table } from "./report.ts";
import { filesOf, OWNER } from "./repositories.ts";
import { startService } from "./service_process.ts";

/** One kind of request. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly servers: readonly Server[];
}

/** How many keys the mix has; as many as fit the cache under the default settings. */
const MIX = { pages: 400, items: 600 };
const GZIP_WITHIN_MS = 5_000;
/** Headers that every server of HTTP makes itself. */
const NOT_PREPARED = new Set(["date", "connection", "keep-alive"]);
const LIVE_HEADERS = new Set(["date", "age", "cache-status", "x-request-id", "content-length"]);

/** The path of a list. */
export const listOf = (parameters = "", repo = "site") =>
  `/api/list-collection-items?owner=${OWNER}&repo=${repo}&collection=posts${parameters}`;
const itemOf = (path: string) =>
  `/api/get-item-content?owner=${OWNER}&repo=site&path=${encodeURIComponent(path)}`;

/** All scenarios, or those that are named. */
export function scenarios(names: readonly string[]): Scenario[] {
  const plain = { headers: {}, status: 200 };
  const ours: Server[] = ["service", "service, info"];
  const items = filesOf("site").slice(0, MIX.items).map(([path]) => itemOf(path));
  const pages = Array.from({ length: MIX.pages }, (_, index) => listOf(`&page=${index + 1}`));
  const mix = [...pages, ...items].map((path, index) => ({ path, order: index * 7919 % 1000 }))
    .sort((a, b) => a.order - b.order).map(({ path }) => path);
  const gzip = { "accept-encoding": "gzip, deflate, br, zstd" };
  const all: Scenario[] = [
    {
      ...plain,
      name: "list",
      title: "list hit, plain",
      paths: [listOf()],
      servers: ["bare", "skeleton", ...ours, "hono", "nginx", "varnish"],
    },
    {
      ...plain,
      name: "gzip",
      title: "list hit, gzip",
      paths: [listOf()],
      headers: gzip,
      servers: ["bare", "skeleton", ...ours, "nginx"],
    },
    {
      ...plain,
      name: "304",
      title: "list hit, 304",
      paths: [listOf()],
      status: 304,
      servers: ["bare", "skeleton", ...ours, "hono", "nginx", "varnish"],
    },
    {
      ...plain,
      name: "content",
      title: "content hit",
      paths: items.slice(0, 1),
      servers: ["bare", ...ours, "hono"],
    },
    {
      ...plain,
      name: "1000-items",
      title: "page of 1,000 items",
      paths: [listOf("&limit=1000")],
      servers: ["bare", "service"],
    },
    {
      ...plain,
      name: "mix",
      title: "mix of 1,000 keys",
      paths: mix,
      servers: ["bare", "skeleton", ...ours, "hono"],
    },
    {
      ...plain,
      name: "404",
      title: "error, 404 (no such file)",
      paths: [itemOf("posts/none.md")],
      status: 404,
      servers: ["bare", "service"],
    },
  ];
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

/** One measurement. */
interface Run extends LoadResult {
  /** Processor time of the server for one request, in µs. */
  readonly processorUs: number;
}

/** Measures all scenarios on all servers; a table and the goals. */
export async function measureLoad(
  chosen: readonly Scenario[],
  options: Omit<ServerOptions, "answers"> & {
    rounds: number;
    seconds: number;
    connections: number;
  },
): Promise<{ markdown: string; goals: Goal[] }> {
  const taken = await takeAnswers(chosen, options.env);
  const servers = await availableServers();
  const answers = Object.fromEntries(
    chosen.map(({ name }) => [name, prepared(taken.get(name)!)]),
  );
  const runs = new Map<string, Run[]>();
  // The first round only warms up the machine's caches.
  for (let round = -1; round < options.rounds; round++) {
    for (const index of servers.keys()) {
      const server = servers[(index + round + servers.length) % servers.length]!;
      // Hono answers a conditional request itself, and needs the body for that.
      const own = server === "hono" ? { ...answers, "304": answers["list"] ?? [] } : answers;
      await using running = await startServer(server, { ...options, answers: own });
      for (const scenario of chosen.filter(({ servers }) => servers.includes(server))) {
        const run = await measure(scenario, running, { server, taken, ...options });
        const key = `${scenario.name} ${server}`;
        if (round >= 0) runs.set(key, [...runs.get(key) ?? [], run]);
      }
    }
    console.error(round < 0 ? "warmed up" : `round ${round + 1} of ${options.rounds}`);
  }
  const of = (scenario: string, server: Server) => runs.get(`${scenario} ${server}`) ?? [];
  return { markdown: loadTable(chosen, of), goals: loadGoals(of) };
}

type Runs = (scenario: string, server: Server) => readonly Run[];
type Taken = ReadonlyMap<string, ReadonlyMap<string, RawAnswer>>;

async function measure(
  scenario: Scenario,
  running: StartedServer,
  { server, taken, seconds, connections }: {
    server: Server;
    taken: Taken;
    seconds: number;
    connections: number;
  },
): Promise<Run> {
  const { name, paths, status } = scenario;
  const origin = running.originOf(name);
  const expected = taken.get(name)!;
  const headers = await requestHeaders(scenario, origin);
  using client = await RawClient.connect(origin);
  if (server.startsWith("service") || server === "varnish") {
    for (const path of paths) await untilHit(client, { path, headers, status });
  }
  await check(client);
  // The server's code for this scenario is compiled as it runs.
  await load({ origin, paths, headers, seconds: 1, connections });
  const before = await running.processorMs();
  const result = await load({ origin, paths, headers, seconds, connections });
  const processorUs = (await running.processorMs() - before) * 1000 / result.requests;
  await check(client);
  const wrong = status >= 400 ? result.requests - result.statusErrors : result.statusErrors;
  assertEquals([wrong, result.otherErrors], [0, 0], `${server}, ${name}`);
  return { ...result, processorUs };

  async function check(client: RawClient): Promise<void> {
    const answer = await client.get(paths[0]!, headers);
    assertEquals(answer.status, status, `${server}, ${name}`);
    // With many answers a peer sends them in turn, so any of them is right.
    const right = [...expected.values()].find(({ body }) => sameText(body, answer.body, status));
    if (status === 200 && right === undefined) {
      throw new Error(`Cannot trust "${server}": another body`);
    }
    if (server !== "service" && server !== "service, info") return;
    for (const [header, value] of right?.headers ?? []) {
      if (!LIVE_HEADERS.has(header)) assertEquals(answer.headers.get(header), value, header);
    }
  }
}

function sameText(a: Uint8Array, b: Uint8Array, status: number): boolean {
  return status !== 200 || (a.length === b.length && a.every((byte, index) => byte === b[index]));
}

async function requestHeaders(
  { name, paths, headers }: Scenario,
  origin: string,
): Promise<Record<string, string>> {
  if (name !== "304") return headers;
  using client = await RawClient.connect(origin);
  const { headers: answered } = await client.get(paths[0]!);
  return { ...headers, "if-none-match": answered.get("etag") ?? '"none"' };
}

/** Requests a path until it is answered from the cache, in the requested coding. */
async function untilHit(
  client: RawClient,
  { path, headers, status }: { path: string; headers: Record<string, string>; status: number },
): Promise<RawAnswer> {
  const until = performance.now() + GZIP_WITHIN_MS;
  for (;;) {
    const answer = await client.get(path, headers);
    const isHit = status >= 400 || /hit/.test(answer.headers.get("cache-status") ?? "") ||
      // Varnish names the request that filled its cache as a second id.
      /^\d+ \d+$/.test(answer.headers.get("x-varnish") ?? "");
    const isCoded = headers["accept-encoding"] === undefined ||
      answer.headers.has("content-encoding") || status !== 200;
    if (isHit && isCoded) return answer;
    if (performance.now() > until) {
      throw new Error(
        `Cannot warm "${path}": ${answer.status} ${JSON.stringify([...answer.headers])}`,
      );
    }
    await pause(5);
  }
}

/** The service's response, checked against the repository's known content. */
async function takeAnswers(
  chosen: readonly Scenario[],
  env: Readonly<Record<string, string>>,
): Promise<Taken> {
  await using service = await startService({ env, core: SERVER_CORE });
  using client = await RawClient.connect(service.origin);
  const contents = new Map(filesOf("site"));
  const taken = new Map<string, Map<string, RawAnswer>>();
  for (const scenario of chosen) {
    const headers = await requestHeaders(scenario, service.origin);
    const byPath = new Map<string, RawAnswer>();
    for (const path of scenario.paths) {
      const plain = await untilHit(client, { path, headers: {}, status: scenario.status });
      if (scenario.status < 400) checkContent(path, plain, contents);
      byPath.set(path, await untilHit(client, { path, headers, status: scenario.status }));
    }
    taken.set(scenario.name, byPath);
  }
  return taken;
}

function checkContent(path: string, { body }: RawAnswer, contents: Map<string, string>): void {
  const query = new URLSearchParams(path.slice(path.indexOf("?") + 1));
  const value = JSON.parse(new TextDecoder().decode(body));
  const file = query.get("path");
  if (file !== null) return assertEquals(value.content, contents.get(file));
  const [page, limit] = [Number(query.get("page") ?? 1), Number(query.get("limit") ?? 50)];
  assertEquals(
    value.items.map((item: { path: string }) => item.path),
    [...contents.keys()].slice((page - 1) * limit, page * limit),
  );
}

function prepared(answers: ReadonlyMap<string, RawAnswer>): PreparedAnswer[] {
  return [...answers].map(([path, { status, headers, body }]) => ({
    path,
    status,
    headers: Object.fromEntries([...headers].filter(([name]) => !NOT_PREPARED.has(name))),
    body: status === 304 ? null : body.toBase64(),
  }));
}

function loadTable(chosen: readonly Scenario[], of: Runs): string {
  const rows = chosen.flatMap(({ name, title, servers }) =>
    servers.filter((server) => of(name, server).length > 0).map((server) => {
      const own = of(name, server);
      return [
        title,
        server,
        number(median(own.map(({ processorUs }) => processorUs))),
        spread(ratiosOf(of(name, "bare"), own, ({ processorUs }) => processorUs)),
        number(median(own.map(({ perSecond }) => perSecond))),
        number(median(own.map(({ p50Ms }) => p50Ms))),
        number(median(own.map(({ p99Ms }) => p99Ms))),
        number(median(ratiosOf(own, of(name, "bare"), ({ p99Ms }) => p99Ms))),
      ];
    })
  );
  return table([
    ...["request", "server", "processor µs", "bare / it (min–max)", "requests/s", "p50 ms"],
    ...["p99 ms", "p99 / bare's"],
  ], rows);
}

/** `pick(a) / pick(b)`, round by round. */
function ratiosOf(a: readonly Run[], b: readonly Run[], pick: (run: Run) => number): number[] {
  return a.slice(0, b.length).map((run, index) => pick(run) / pick(b[index]!));
}

function loadGoals(of: Runs): Goal[] {
  const share = (
    what: string,
    scenario: string,
    wanted: number,
    options: { server?: Server; to?: Server } = {},
  ): Goal[] => {
    const { server = "service", to = "bare" } = options;
    const values = ratiosOf(
      of(scenario, to),
      of(scenario, server),
      ({ processorUs }) => processorUs,
    );
    if (values.length === 0) return [];
    const met = median(values) >= wanted;
    return [{ what, wanted: `at least ${number(wanted)}`, measured: spread(values), met }];
  };
  const late = (scenario: string, title: string): Goal[] => {
    const values = ratiosOf(of(scenario, "service"), of(scenario, "bare"), ({ p99Ms }) => p99Ms);
    if (values.length === 0) return [];
    return [{
      what: `p99 of a ${title}, of the bare server's`,
      wanted: "at most 2.00",
      measured: spread(values),
      met: median(values) <= 2,
    }];
  };
  return [
    ...share("list hit, of the bare server by processor time", "list", 0.75),
    ...share("list hit, of the skeleton", "list", 0.85, { to: "skeleton" }),
    ...share("list hit with LOG_LEVEL=info to a file, of the bare server", "list", 0.65, {
      server: "service, info",
    }),
    ...share("list hit, of Hono", "list", 1.5, { to: "hono" }),
    ...share("gzip hit, of the bare server", "gzip", 0.75),
    ...share("304, of a bare 304", "304", 0.9),
    ...share("mix of 1,000 keys, of the bare server", "mix", 0.6),
    ...late("list", "list hit"),
    ...late("gzip", "gzip hit"),
    ...late("304", "304"),
    ...late("content", "content hit"),
  ];
}
