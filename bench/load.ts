// Load on a server: Debian's wrk, one thread, so that the server keeps a core on a machine of two. Where wrk is not
// installed, autocannon from npm, which is slower and tells times in whole milliseconds.

import { join } from "@std/path";
import { outputOf } from "./processes.ts";

/** What one run asks for. */
export interface LoadOptions {
  readonly origin: string;
  /** Paths with their queries, asked for in turn. */
  readonly paths: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly connections: number;
}

/** What came of one run; times in ms. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly bytesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers with a status of 400 or more. */
  readonly statusErrors: number;
  /** Requests that got no answer. */
  readonly otherErrors: number;
}

/** A load generator and its version, for the report. */
export interface LoadGenerator {
  readonly name: string;
  readonly version: string;
  run(options: LoadOptions): Promise<LoadResult>;
}

/** wrk where it is installed, else autocannon. */
export async function findLoadGenerator(): Promise<LoadGenerator> {
  try {
    const { stdout, stderr } = await new Deno.Command("wrk", { args: ["-v"] }).output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    return { name: "wrk", version: text.match(/^wrk (\S+)/)?.[1] ?? "", run: runWrk };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { name: "autocannon", version: AUTOCANNON, run: runAutocannon };
  }
}

const LUA = join(import.meta.dirname!, "load.lua");
const AUTOCANNON = "8";

async function runWrk(
  { origin, paths, headers = {}, seconds, connections }: LoadOptions,
): Promise<LoadResult> {
  return await withFile(`${paths.join("\n")}\n`, async (file) => {
    const text = await outputOf("wrk", [
      ...["--threads", "1", "--connections", String(connections)],
      ...["--duration", `${seconds}s`, "--timeout", "30s", "--script", LUA],
      ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]),
      ...[origin + paths[0]!, "--", file],
    ]);
    const result = JSON.parse(text.slice(text.lastIndexOf('{"requests"')));
    const ranForSeconds = result.durationUs / 1e6;
    return {
      requests: result.requests,
      perSecond: result.requests / ranForSeconds,
      bytesPerSecond: result.bytes / ranForSeconds,
      p50Ms: result.p50Us / 1000,
      p99Ms: result.p99Us / 1000,
      maxMs: result.maxUs / 1000,
      statusErrors: result.statusErrors,
      otherErrors: result.otherErrors,
    };
  });
}

async function runAutocannon(
  { origin, paths, headers = {}, seconds, connections }: LoadOptions,
): Promise<LoadResult> {
  // Only a HAR file makes its command line ask for more than one path.
  const entries = paths.map((path) => ({
    request: {
      method: "GET",
      url: origin + path,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    },
  }));
  return await withFile(JSON.stringify({ log: { entries } }), async (file) => {
    const text = await outputOf(Deno.execPath(), [
      ...["run", "--allow-all", "--quiet", "--no-config", `npm:autocannon@${AUTOCANNON}`],
      ...["--json", "--no-progress", "--connections", String(connections)],
      ...["--duration", String(seconds), "--har", file, origin],
    ]);
    const result = JSON.parse(text.slice(text.indexOf("{")));
    return {
      requests: result.requests.total,
      perSecond: result.requests.total / result.duration,
      bytesPerSecond: result.throughput.total / result.duration,
      p50Ms: result.latency.p50,
      p99Ms: result.latency.p99,
      maxMs: result.latency.max,
      statusErrors: result["4xx"] + result["5xx"],
      otherErrors: result.errors + result.timeouts,
    };
  });
}

async function withFile<T>(text: string, work: (file: string) => Promise<T>): Promise<T> {
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, text);
    return await work(file);
  } finally {
    await Deno.remove(file);
  }
}
