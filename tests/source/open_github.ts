// The GitHub side of the service over the double, with and without caches, for tests of one layer at a time.

import { MemoryCache } from "../../lib/cache/memory.ts";
import type { Cache } from "../../lib/cache/cache.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { CachedRepository } from "../../lib/repository/cached_repository.ts";
import { Gate } from "../../lib/repository/gate.ts";
import { GitHubClient } from "../../lib/repository/github_client.ts";
import { GitHubRepository } from "../../lib/repository/github_repository.ts";
import { TokenPool } from "../../lib/repository/github_tokens.ts";
import type { GithubDouble } from "../github/github_double.ts";

/** What a test may set; the rest is as the service has it. */
export interface SourceOptions {
  readonly clock: Clock;
  readonly tokens?: readonly string[];
  readonly allowedByName?: boolean;
  readonly raw?: boolean;
  readonly timeoutMs?: number;
  readonly log?: Log;
  /** In place of memory alone: all tiers, and the one that outlives the process. */
  readonly objects?: Cache;
  readonly refs?: Cache;
  readonly treesMaxBytes?: number;
}

/** A log that drops everything. */
const silentLog: Log = {
  level: "silent",
  debug() {},
  info() {},
  warn() {},
  error() {},
};

/** Asks, as one who has these tokens. */
export function openClient(
  options: SourceOptions & { concurrency?: number },
): { client: GitHubClient; tokens: TokenPool } {
  const { clock, log = silentLog, concurrency = 32 } = options;
  const tokens = new TokenPool(options.tokens ?? [], { now: clock.now, log });
  const client = new GitHubClient({
    tokens,
    gate: new Gate({ concurrency, maxQueued: 512 }),
    clock,
    timeoutMs: options.timeoutMs ?? 10_000,
  });
  return { client, tokens };
}

/** Reads the double without keeping anything. */
export function openGitHub(double: GithubDouble, options: SourceOptions): GitHubRepository {
  const { clock } = options;
  const { client, tokens } = openClient(options);
  return new GitHubRepository({
    client,
    tokens,
    apiUrl: double.apiUrl,
    graphqlUrl: double.graphqlUrl,
    rawUrl: options.raw === false ? null : double.rawUrl,
    webUrl: double.webUrl,
    allowedByName: options.allowedByName ?? false,
    now: clock.now,
    freshMs: 60_000,
  });
}

/** Reads the double through the caches. */
export function openCached(double: GithubDouble, options: SourceOptions): CachedRepository {
  const { now } = options.clock;
  const memory = new MemoryCache({ maxBytes: 64 << 20, now });
  return new CachedRepository(openGitHub(double, options), {
    now,
    objects: options.objects ?? memory,
    memory,
    treesMaxBytes: options.treesMaxBytes ?? 4 << 20,
    refs: options.refs ?? memory,
    defaultBranch: "main",
    freshMs: 60_000,
    refreshAfterMs: 50_000,
  });
}
