// The loads of `bench:http`: which requests, how each round measures them, and the goals. What is steady on a shared
// machine is processor time a request; requests a second and p99 stand beside it.

import { assert, assertEquals } from "@std/assert";
import { load, type LoadResult, type RawAnswer, RawClient, SERVER_CORE } from "./clients.ts";
import { type Server, type ServerOptions, SERVERS, startServer } from "./http_servers.ts";
import { pathOf, pause, startService } from "./processes.ts";
import { atLeast, atMost, type Goal, median, number, spread, table } from "./report.ts";

/** A part of the report. */
export interface Part {
  readonly markdown: string;
  readonly goals: readonly Goal[];
}

type Headers = Readonly<Record<string, string>>;

/** One kind of request. */
interface Scenario {
  readonly title: string;
  readonly path: string;
  readonly headers?: Headers;
  readonly servers: readonly Server[];
}

/** The path of a list of `site`, unless the parameters say otherwise. */
export function listOf(parameters: Readonly<Record<string, string>> = {}): string {
  return pathOf("list", { repo: "site", collection: "posts", ...parameters });
}

const ITEM = pathOf("item", { repo: "site", path: "posts/d000/post-00000.md" });
const GZIP = { "accept-encoding": "gzip, deflate, br, zstd" };
const MOST: readonly Server[] = ["bare", "skeleton", "service", "service, info", "nginx"];
const ALL: readonly Server[] = [...MOST, "hono", "varnish"];
/** The servers whose answers say that they come from a cache. */
const CACHES: readonly Server[] = ["service", "service, info", "varnish"];
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  list: { title: "list hit, plain", path: listOf(), servers: ALL },
  gzip: { title: "list hit, gzip", path: listOf(), headers: GZIP, servers: MOST },
  // Conditional, which warm() sees to.
  unchanged: { title: "list hit, 304", path: listOf(), servers: ALL },
  content: { title: "content hit", path: ITEM, servers: MOST },
};

/** One measurement; `processorUs` is the server's processor time for one request, in µs. */
type Run = LoadResult & { readonly processorUs: number };
type Runs = (scenario: string, server: Server) => readonly Run[];

type LoadOptions =
  & Omit<ServerOptions, "answers">
  & Readonly<Record<"rounds" | "seconds" | "connections", number>>;

/** Measures all scenarios on their servers; a table and the goals. */
export async function measureLoad(options: LoadOptions): Promise<Part> {
  const answers = await takeAnswers(options.env);
  const runs = new Map<string, Run[]>();
  // The first round only warms up the machine's caches.
  for (let round = -1; round < options.rounds; round++) {
    for (const index of SERVERS.keys()) {
      const server = SERVERS[(index + round + SERVERS.length) % SERVERS.length]!;
      // Hono answers a conditional request itself, and needs the body for that.
      const sent = server === "hono" ? { ...answers, unchanged: answers["list"]! } : answers;
      await using running = await startServer(server, { ...options, answers: sent });
      for (const [name, scenario] of Object.entries(SCENARIOS)) {
        if (!scenario.servers.includes(server)) continue;
        const origin = running.originOf(name);
        const { answer, headers } = await warm(name, origin, CACHES.includes(server));
        const { status, body } = answers[name]!;
        assertEquals([answer.status, answer.body], [status, body], `${server}, ${name}`);
        const { seconds, connections } = options;
        const hits = { origin, path: scenario.path, headers, connections };
        // The server's code for this scenario is compiled as it runs.
        await load({ ...hits, seconds: 1 });
        const beforeMs = await running.processorMs();
        const result = await load({ ...hits, seconds });
        assertEquals(result.errors, 0, name);
        const processorUs = (await running.processorMs() - beforeMs) * 1000 / result.requests;
        const own = runs.getOrInsertComputed(`${name} ${server}`, () => []);
        if (round >= 0) own.push({ ...result, processorUs });
      }
    }
    console.error(round < 0 ? "warmed up" : `round ${round + 1} of ${options.rounds}`);
  }
  const of: Runs = (name, server) => runs.get(`${name} ${server}`) ?? [];
  return { markdown: loadTable(of), goals: loadGoals(of) };
}

/** Requests until the answer comes from the cache, where there is one, in the requested coding. */
async function warm(name: string, origin: string, isCached: boolean) {
  using client = await RawClient.connect(origin);
  const { path, headers: own = {} } = SCENARIOS[name]!;
  const etag = name === "unchanged" ? (await client.get(path)).headers.get("etag") : undefined;
  const headers: Headers = etag === undefined ? own : { "if-none-match": etag };
  for (const untilMs = performance.now() + 5_000;; await pause(5)) {
    const answer = await client.get(path, headers);
    const has = (name: string, value: RegExp) => value.test(answer.headers.get(name) ?? "");
    // Varnish names the request that filled its cache as a second id.
    const isHit = !isCached || has("cache-status", /hit/) || has("x-varnish", /^\d+ \d+$/);
    if (isHit && (name !== "gzip" || has("content-encoding", /gzip/))) return { headers, answer };
    assert(performance.now() < untilMs, `Cannot warm "${path}": ${answer.status}`);
  }
}

/** The service's answers, by scenario. */
async function takeAnswers(env: Headers): Promise<ServerOptions["answers"]> {
  await using service = await startService({ env, core: SERVER_CORE });
  const answers: Record<string, RawAnswer> = {};
  for (const name of Object.keys(SCENARIOS)) {
    answers[name] = (await warm(name, service.origin, true)).answer;
  }
  return answers;
}

/** `pick(a) / pick(b)`, round by round. */
function ratiosOf(a: readonly Run[], b: readonly Run[], pick: (run: Run) => number): number[] {
  return a.slice(0, b.length).map((run, index) => pick(run) / pick(b[index]!));
}

const processorOf = (run: Run) => run.processorUs;
const p99Of = (run: Run) => run.p99Ms;

const HEAD = [
  ...["request", "server", "processor µs", "bare / it (min–max)", "requests/s", "p50 ms"],
  ...["p99 ms", "p99 / bare's"],
];

function loadTable(of: Runs): string {
  const rows = Object.entries(SCENARIOS).flatMap(([name, { title, servers }]) =>
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
  return table(HEAD, rows);
}

function loadGoals(of: Runs): Goal[] {
  /** The processor time of `to` for the request `toName`, of that of `server`. */
  const share = (
    what: string,
    name: string,
    least: number,
    server: Server,
    to: Server,
    toName = name,
  ) => atLeast(what, least, ratiosOf(of(toName, to), of(name, server), processorOf));
  const late = (what: string, name: string) => {
    const ratios = ratiosOf(of(name, "service"), of(name, "bare"), p99Of);
    return atMost(`p99 of ${what}, of the bare server's`, 2, ratios);
  };
  const info = "list hit with LOG_LEVEL=info to a file, of the bare server";
  return [
    share("list hit, of the bare server by processor time", "list", 0.75, "service", "bare"),
    share("list hit, of the skeleton", "list", 0.85, "service", "skeleton"),
    share(info, "list", 0.65, "service, info", "bare"),
    share("list hit, of Hono", "list", 1.5, "service", "hono"),
    share("gzip hit, of the bare server", "gzip", 0.75, "service", "bare"),
    // A bare 304 reads no request header, so that no server that compares a tag can cost the same.
    share("304, of the bare server's whole list", "unchanged", 0.9, "service", "bare", "list"),
    share("304, of the skeleton's 304", "unchanged", 0.9, "service", "skeleton"),
    late("a list hit", "list"),
    late("a gzip hit", "gzip"),
    late("a 304", "unchanged"),
    late("a content hit", "content"),
  ];
}
