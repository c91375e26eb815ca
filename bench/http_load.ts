// The loads of `bench:http`: which requests, how each round measures them, and the goals. What is steady on a shared
// machine is processor time a request; requests a second and p99 stand beside it.

import { assert, assertEquals } from "@std/assert";
import { generateFiles } from "../tests/github/generated_files.ts";
import {
  load,
  type LoadResult,
  type RawAnswer,
  RawClient,
  SERVER_CORE,
  textOf,
} from "./clients.ts";
import {
  availableServers,
  type Server,
  type ServerOptions,
  type StartedServer,
  startServer,
} from "./http_servers.ts";
import { pause } from "./processes.ts";
import { type Goal, goal, median, number, spread, table } from "./report.ts";
import { pathOf, startService } from "./service.ts";

/** A part of the report. */
export interface Part {
  readonly markdown: string;
  readonly goals: readonly Goal[];
}

/** The content of `site`, whose hits are measured. */
export const SITE = { folders: 10, filesPerFolder: 2_000, bytes: 1_200 };
const CONTENTS = new Map(generateFiles(SITE));

/** The path of a list of `site`, unless the parameters say otherwise. */
export function listOf(parameters: Readonly<Record<string, string>> = {}): string {
  return pathOf("list", { repo: "site", collection: "posts", ...parameters });
}

/** One kind of request; a path is a key of its own for the cache. */
interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly paths: readonly string[];
  readonly servers: readonly Server[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly status?: number;
}

const itemOf = (path: string) => pathOf("item", { repo: "site", path });
const ITEMS = [...CONTENTS.keys()].slice(0, 600).map(itemOf);
const PAGES = Array.from({ length: 400 }, (_, index) => listOf({ page: `${index + 1}` }));
/** As many keys as fit the cache under the default settings, in an order without a pattern. */
const MIX = [...PAGES, ...ITEMS].map((path, index) => ({ path, order: index * 7919 % 1000 }))
  .sort((a, b) => a.order - b.order).map(({ path }) => path);
const GZIP = { "accept-encoding": "gzip, deflate, br, zstd" };
const OURS: readonly Server[] = ["service", "service, info"];
const ALL: readonly Server[] = ["bare", "skeleton", ...OURS, "hono", "nginx", "varnish"];

const SCENARIOS: readonly Scenario[] = [
  { name: "list", title: "list hit, plain", paths: [listOf()], servers: ALL },
  {
    name: "gzip",
    title: "list hit, gzip",
    paths: [listOf()],
    headers: GZIP,
    servers: ["bare", "skeleton", ...OURS, "nginx"],
  },
  { name: "304", title: "list hit, 304", paths: [listOf()], status: 304, servers: ALL },
  {
    name: "content",
    title: "content hit",
    paths: ITEMS.slice(0, 1),
    servers: ["bare", ...OURS, "hono"],
  },
  {
    name: "1000-items",
    title: "page of 1,000 items",
    paths: [listOf({ limit: "1000" })],
    servers: ["bare", "service"],
  },
  {
    name: "mix",
    title: "mix of 1,000 keys",
    paths: MIX,
    servers: ["bare", "skeleton", ...OURS, "hono"],
  },
  {
    name: "404",
    title: "error, 404 (no such file)",
    paths: [itemOf("posts/none.md")],
    status: 404,
    servers: ["bare", "service"],
  },
];

/** One measurement; `processorUs` is the server's processor time for one request, in µs. */
type Run = LoadResult & { readonly processorUs: number };
type Runs = (scenario: string, server: Server) => readonly Run[];
/** The service's answers, by scenario and path. */
type Answers = Readonly<Record<string, ReadonlyMap<string, RawAnswer>>>;

/** Measures the scenarios of these names, or all, on their servers; a table and the goals. */
export async function measureLoad(
  names: readonly string[],
  options: Omit<ServerOptions, "answers"> & {
    readonly rounds: number;
    readonly seconds: number;
    readonly connections: number;
  },
): Promise<Part> {
  const chosen = SCENARIOS.filter(({ name }) => names.length === 0 || names.includes(name));
  const answers = await takeAnswers(chosen, options.env);
  const servers = await availableServers();
  const runs = new Map<string, Run[]>();
  // The first round only warms up the machine's caches.
  for (let round = -1; round < options.rounds; round++) {
    for (const index of servers.keys()) {
      const server = servers[(index + round + servers.length) % servers.length]!;
      // Hono answers a conditional request itself, and needs the body for that.
      const own = server === "hono" && answers.list ? { ...answers, "304": answers.list } : answers;
      await using running = await startServer(server, { ...options, answers: own });
      for (const scenario of chosen.filter(({ servers }) => servers.includes(server))) {
        const run = await measure(scenario, running, { ...options, server, answers });
        const key = `${scenario.name} ${server}`;
        if (round >= 0) runs.set(key, [...runs.get(key) ?? [], run]);
      }
    }
    console.error(round < 0 ? "warmed up" : `round ${round + 1} of ${options.rounds}`);
  }
  const of: Runs = (scenario, server) => runs.get(`${scenario} ${server}`) ?? [];
  return { markdown: loadTable(chosen, of), goals: loadGoals(of) };
}

async function measure(
  scenario: Scenario,
  running: StartedServer,
  { server, answers, seconds, connections }: {
    readonly server: Server;
    readonly answers: Answers;
    readonly seconds: number;
    readonly connections: number;
  },
): Promise<Run> {
  const { name, paths, status = 200 } = scenario;
  const origin = running.originOf(name);
  const headers = await requestHeaders(scenario, origin);
  using client = await RawClient.connect(origin);
  const isService = server.startsWith("service");
  if (isService || server === "varnish") {
    for (const path of paths) await untilHit(client, { path, headers, status });
  }
  /** With many answers a peer sends them in turn, so any of them is right. */
  const check = async () => {
    const answer = await client.get(paths[0]!, headers);
    const expected = [...answers[name]!].filter(([path]) => !isService || path === paths[0]);
    const isRight = status !== 200 ||
      expected.some(([, { body }]) => textOf({ ...answer, body }) === textOf(answer));
    assert(answer.status === status && isRight, `${server} gives another answer to ${name}`);
  };
  await check();
  // The server's code for this scenario is compiled as it runs.
  await load({ origin, paths, headers, seconds: 1, connections });
  const beforeMs = await running.processorMs();
  const result = await load({ origin, paths, headers, seconds, connections });
  const processorUs = (await running.processorMs() - beforeMs) * 1000 / result.requests;
  await check();
  const { requests, statusErrors, otherErrors } = result;
  assertEquals(
    [statusErrors, otherErrors],
    [status >= 400 ? requests : 0, 0],
    `${server}, ${name}`,
  );
  return { ...result, processorUs };
}

async function requestHeaders(
  { name, paths, headers = {} }: Scenario,
  origin: string,
): Promise<Readonly<Record<string, string>>> {
  if (name !== "304") return headers;
  using client = await RawClient.connect(origin);
  const answer = await client.get(paths[0]!);
  return { "if-none-match": answer.headers.get("etag") ?? '"none"' };
}

/** Requests a path until it is answered from the cache, in the requested coding. */
async function untilHit(
  client: RawClient,
  { path, headers, status }: {
    path: string;
    headers: Readonly<Record<string, string>>;
    status: number;
  },
): Promise<RawAnswer> {
  for (const untilMs = performance.now() + 5_000;; await pause(5)) {
    const answer = await client.get(path, headers);
    const has = (name: string, value: RegExp) => value.test(answer.headers.get(name) ?? "");
    // Varnish names the request that filled its cache as a second id.
    const isHit = status >= 400 || has("cache-status", /hit/) || has("x-varnish", /^\d+ \d+$/);
    const isPlain = status !== 200 || headers["accept-encoding"] === undefined;
    if (isHit && (isPlain || has("content-encoding", /./))) return answer;
    assert(performance.now() < untilMs, `Cannot warm "${path}": ${answer.status}`);
  }
}

/** The service's answers, checked against the repository's known content. */
async function takeAnswers(
  chosen: readonly Scenario[],
  env: Readonly<Record<string, string>>,
): Promise<Answers> {
  await using service = await startService({ env, core: SERVER_CORE });
  using client = await RawClient.connect(service.origin);
  const taken: Record<string, Map<string, RawAnswer>> = {};
  for (const scenario of chosen) {
    const { name, paths, status = 200 } = scenario;
    const headers = await requestHeaders(scenario, service.origin);
    const answers = taken[name] = new Map<string, RawAnswer>();
    for (const path of paths) {
      if (status < 400) checkContent(path, await client.get(path));
      answers.set(path, await untilHit(client, { path, headers, status }));
    }
  }
  return taken;
}

function checkContent(path: string, answer: RawAnswer): void {
  const query = new URLSearchParams(path.slice(path.indexOf("?") + 1));
  const value = JSON.parse(textOf(answer));
  const file = query.get("path");
  if (file !== null) return assertEquals(value.content, CONTENTS.get(file));
  const [page, limit] = [Number(query.get("page") ?? 1), Number(query.get("limit") ?? 50)];
  const paths = value.items.map((item: { path: string }) => item.path);
  assertEquals(paths, [...CONTENTS.keys()].slice((page - 1) * limit, page * limit));
}

/** `pick(a) / pick(b)`, round by round. */
function ratiosOf(a: readonly Run[], b: readonly Run[], pick: (run: Run) => number): number[] {
  return a.slice(0, b.length).map((run, index) => pick(run) / pick(b[index]!));
}

const processorOf = (run: Run) => run.processorUs;
const p99Of = (run: Run) => run.p99Ms;

function loadTable(chosen: readonly Scenario[], of: Runs): string {
  const rows = chosen.flatMap(({ name, title, servers }) =>
    servers.filter((server) => of(name, server).length > 0).map((server) => {
      const [bare, own] = [of(name, "bare"), of(name, server)];
      const middle = (pick: (run: Run) => number) => number(median(own.map(pick)));
      return [
        ...[title, server, middle(processorOf), spread(ratiosOf(bare, own, processorOf))],
        ...[middle((run) => run.perSecond), middle((run) => run.p50Ms), middle(p99Of)],
        number(median(ratiosOf(own, bare, p99Of))),
      ];
    })
  );
  return table([
    ...["request", "server", "processor µs", "bare / it (min–max)", "requests/s", "p50 ms"],
    ...["p99 ms", "p99 / bare's"],
  ], rows);
}

/** What a server may take of processor time: at most as much as another one, divided by `least`. */
const SHARES: [what: string, scenario: string, least: number, server: Server, to: Server][] = [
  ["list hit, of the bare server by processor time", "list", 0.75, "service", "bare"],
  ["list hit, of the skeleton", "list", 0.85, "service", "skeleton"],
  [
    "list hit with LOG_LEVEL=info to a file, of the bare server",
    "list",
    0.65,
    "service, info",
    "bare",
  ],
  ["list hit, of Hono", "list", 1.5, "service", "hono"],
  ["gzip hit, of the bare server", "gzip", 0.75, "service", "bare"],
  ["304, of a bare 304", "304", 0.9, "service", "bare"],
  ["mix of 1,000 keys, of the bare server", "mix", 0.6, "service", "bare"],
];
const LATE = { list: "list hit", gzip: "gzip hit", 304: "304", content: "content hit" };

function loadGoals(of: Runs): Goal[] {
  const shares = SHARES.map(([what, scenario, least, server, to]) => {
    const ratios = ratiosOf(of(scenario, to), of(scenario, server), processorOf);
    return {
      ratios,
      goal: goal(what, `at least ${number(least)}`, spread(ratios), median(ratios) >= least),
    };
  });
  const late = ["list", "gzip", "304", "content"].map((scenario) => {
    const ratios = ratiosOf(of(scenario, "service"), of(scenario, "bare"), p99Of);
    const title = LATE[scenario as keyof typeof LATE];
    const what = `p99 of a ${title}, of the bare server's`;
    return { ratios, goal: goal(what, "at most 2.00", spread(ratios), median(ratios) <= 2) };
  });
  return [...shares, ...late].filter(({ ratios }) => ratios.length > 0).map(({ goal }) => goal);
}
