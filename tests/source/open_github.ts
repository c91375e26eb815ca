// The GitHub side of the service over the double, with and without caches, for
// tests of one layer at a time.

import { KvTier } from "../../lib/cache/kv_tier.ts";
import { ObjectCache } from "../../lib/cache/object_cache.ts";
import type { Clock } from "../../lib/work/clock.ts";
import type { Log } from "../../lib/log.ts";
import {
  backgroundContext,
  type RequestContext,
} from "../../lib/source/source.ts";
import type { Edge } from "../../lib/source/ref_checks.ts";
import { CachedSource } from "../../lib/source/cached_source.ts";
import { GitHubClient } from "../../lib/source/github/client.ts";
import { GitHubSource } from "../../lib/source/github/github_source.ts";
import type { Compute } from "../../lib/thread/compute.ts";
import { inlineCompute } from "../thread/inline_compute.ts";
import { tokenList, TokenPool } from "../../lib/source/github/tokens.ts";
import type { GithubDouble } from "../github/github_double.ts";

/** What a test may set; the rest is as the service has it. */
export interface OpenOptions {
  readonly clock: Clock;
  readonly tokens?: readonly string[];
  /** As ALLOWED_REPOS. */
  readonly allowed?: string;
  readonly raw?: boolean;
  readonly kv?: KvTier | null;
  readonly log?: Log;
  readonly edge?: Edge;
  /** How many isolates share the limits. */
  readonly isolates?: number;
  readonly isMemoryShort?: () => boolean;
  readonly compute?: Compute;
}

/** Small text files, each different. */
export function textFiles(
  count: number,
  bytes = 0,
): [path: string, content: string][] {
  return Array.from({ length: count }, (_, index) => {
    const path = `posts/post-${String(index).padStart(3, "0")}.md`;
    return [path, `# Post ${index}\n`.padEnd(bytes, ".")];
  });
}

/** A context that is never charged. */
export const uncharged: RequestContext = backgroundContext("192.0.2.1");

/**
 * A context, and its misses in their order: whether each was for work that
 * another request started.
 */
export function charged(signal?: AbortSignal) {
  const misses: (boolean | undefined)[] = [];
  const recordMiss: RequestContext["recordMiss"] = (options) =>
    void misses.push(options?.joined);
  return {
    misses,
    context: { ...backgroundContext("192.0.2.1", signal), recordMiss },
  };
}

const drop = () => {};

/** A log that drops everything. */
export const silentLog: Log = {
  level: "silent",
  debug: drop,
  info: drop,
  warn: drop,
  error: drop,
};

/** A log, and the lines that were written to it. */
export function recordedLog() {
  const lines: Record<string, unknown>[] = [];
  const write = (event: string, fields = {}) =>
    void lines.push({ event, ...fields });
  const log: Log = {
    level: "debug",
    debug: write,
    info: write,
    warn: write,
    error: write,
  };
  return { log, lines };
}

function clientOptions(
  {
    clock,
    tokens = [],
    log = silentLog,
    isolates = 1,
    isMemoryShort = () => false,
  }: OpenOptions,
) {
  const shared = { clock, log, isolates: () => isolates };
  const pool = new TokenPool(tokenList(tokens), shared);
  return {
    ...shared,
    isMemoryShort,
    tokens: pool,
    timeoutMs: 10_000,
    userAgent: "test",
  };
}

/** Sends requests with these tokens. */
export function openClient(options: OpenOptions): GitHubClient {
  return new GitHubClient(clientOptions(options));
}

/** Reads the double without caches. */
export function openGitHub(
  double: Pick<GithubDouble, "apiUrl" | "graphqlUrl" | "rawUrl" | "webUrl">,
  options: OpenOptions,
): GitHubSource {
  const { apiUrl, graphqlUrl, webUrl } = double;
  const rawUrl = options.raw === false ? null : double.rawUrl;
  const allowed = options.allowed?.toLowerCase().split(",");
  const { compute = inlineCompute } = options;
  return new GitHubSource({
    ...clientOptions(options),
    compute,
    addresses: { apiUrl, graphqlUrl, rawUrl, webUrl, gitUrl: null },
    allowedRepos: allowed === undefined ? null : new Set(allowed),
  });
}

/** Reads the double through the caches. */
export function openCached(
  double: GithubDouble,
  options: OpenOptions,
): CachedSource {
  const { clock, kv = null } = options;
  const objects = new ObjectCache({ maxBytes: 64 << 20, kv });
  const source = openGitHub(double, options);
  const commitIds = options.allowed === undefined;
  const { edge = null } = options;
  const cached = { objects, kv, clock, commitIds, edge };
  return new CachedSource(source, cached);
}

/** A store in memory for several processes; each opens it by its own tier. */
export async function openStore(clock: Clock) {
  const kv = await Deno.openKv(":memory:");
  return {
    kv,
    tier: () =>
      new KvTier(() => Promise.resolve(kv), {
        clock,
        scope: "test",
        maxBytesPerHour: Infinity,
      }),
    [Symbol.dispose]: () => kv.close(),
  };
}
