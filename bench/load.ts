// Load on a server by Debian's wrk, one thread on a core of its own where there are two.

import { join } from "@std/path";
import { outputOf, pinned } from "./processes.ts";

/** The core of servers, and the core of their clients. */
export const SERVER_CORE = 0;
const LOAD_CORE = 1;
const LUA = join(import.meta.dirname!, "load.lua");

/** What one run requests. */
export interface LoadOptions {
  readonly origin: string;
  /** Paths with their queries, requested in turn. */
  readonly paths: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly connections: number;
}

/** The result of one run; times in ms. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answers with a status of 400 or more. */
  readonly statusErrors: number;
  /** Requests without an answer. */
  readonly otherErrors: number;
}

/** The version of wrk. @throws {Error} where it is not installed. */
export async function loadGeneratorVersion(): Promise<string> {
  const { stdout, stderr } = await new Deno.Command("wrk", { args: ["-v"] }).output();
  const decoder = new TextDecoder();
  return (decoder.decode(stdout) + decoder.decode(stderr)).match(/^wrk (\S+)/)?.[1] ?? "";
}

/** Puts a server under load. */
export async function load(
  { origin, paths, headers = {}, seconds, connections }: LoadOptions,
): Promise<LoadResult> {
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, `${paths.join("\n")}\n`);
    const [program, ...args] = pinned([
      ...["wrk", "--threads", "1", "--connections", String(connections)] as const,
      ...["--duration", `${seconds}s`, "--timeout", "30s", "--script", LUA],
      ...Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]),
      ...[origin + paths[0]!, "--", file],
    ], LOAD_CORE);
    const text = await outputOf(program, args);
    const { durationUs, p50Us, p99Us, maxUs, ...rest } = JSON.parse(
      text.slice(text.lastIndexOf('{"requests"')),
    );
    return {
      ...rest,
      perSecond: rest.requests / (durationUs / 1e6),
      p50Ms: p50Us / 1000,
      p99Ms: p99Us / 1000,
      maxMs: maxUs / 1000,
    };
  } finally {
    await Deno.remove(file);
  }
}
