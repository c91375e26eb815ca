// The one place that names concrete classes and wires them together; the caches are open_caches.ts's.

import { type Clock, systemClock } from "./clock.ts";
import { FrontMatterStore } from "./collections/front_matter_store.ts";
import { PreparedLists } from "./collections/prepared_lists.ts";
import { SharedListings } from "./collections/shared_listings.ts";
import { repositoryNotAllowed } from "./errors.ts";
import { type Health, HealthWatch } from "./health.ts";
import { addGauges } from "./http/gauges.ts";
import { Metrics } from "./http/metrics.ts";
import { RateLimit } from "./http/rate_limit.ts";
import { ResponseCache } from "./http/response_cache.ts";
import { Room } from "./http/room.ts";
import { findLocalDir } from "./local_dir.ts";
import { LineLog, type Log, sinkTo } from "./log.ts";
import { openCaches } from "./open_caches.ts";
import { isAllowed } from "./repository/allowed_repos.ts";
import { CachedRepository } from "./repository/cached_repository.ts";
import { FolderRepository, LOCAL_OWNER } from "./repository/folder_repository.ts";
import { Gate } from "./repository/gate.ts";
import { GitHubClient } from "./repository/github_client.ts";
import { DEFAULT_BRANCH, GitHubRepository } from "./repository/github_repository.ts";
import { TokenPool } from "./repository/github_tokens.ts";
import type { Repository, RepositoryName } from "./repository/repository.ts";
import type { Config } from "./settings.ts";

/** What requests are served with. */
export interface Services {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** Where an owner's repositories are read from; owners compare without case. */
  repositoryOf(owner: string): Repository;
  readonly responses: ResponseCache;
  readonly rateLimit: RateLimit;
  readonly room: Room;
  readonly frontMatters: FrontMatterStore;
  readonly listings: SharedListings;
  readonly lists: PreparedLists;
  readonly metrics: Metrics;
  /** Whether the service can do its work. Never throws. */
  health(): Promise<Health>;
  /** @throws {CollectionsError} repository-not-allowed where this deployment does not serve a repository. */
  requireAllowed(name: RepositoryName): void;
  /** Checks refs ahead of need; to be called every second or so. Never throws. */
  refreshDue(): Promise<void>;
  /** Writes what waits to be written and releases everything. */
  close(): Promise<void>;
}

/** Parts that a test puts in place of the real ones. */
export interface ServiceParts {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly kv?: Deno.Kv;
}

/** How long a checked ref is good for. */
const REF_FRESH_MS = 60_000;
const REFRESH_AFTER_MS = 50_000;
/** GitHub's secondary limit is 100 requests at once. */
const UPSTREAM = { concurrency: 32, maxQueued: 512 };
/** What large answers may hold while they are made and sent; a page of the largest front matter takes all of it. */
const ROOM = { maxBytes: 256 << 20, maxWaiting: 64, maxWaitMs: 10_000 };
/** Shares of CACHE_MEMORY_MB. */
const OBJECTS_SHARE = 0.4;
const TREES_SHARE = 0.1;
const RESPONSES_SHARE = 0.3;
const FRONT_MATTER_SHARE = 0.15;
const LISTS_SHARE = 0.05;
/** Of SOURCE_TIMEOUT_MS: how long a caller waits for a list to be prepared, from when he asked. */
const PREPARING_SHARE = 0.8;

/** Opens everything. @throws {SettingsError} where a setting names what cannot be opened. */
export async function openServices(config: Config, parts: ServiceParts = {}): Promise<Services> {
  const clock = parts.clock ?? systemClock;
  const log = parts.log ?? new LineLog(sinkTo(Deno.stdout), { level: config.logLevel });
  const { now } = clock;
  const localDir = await findLocalDir(config.localReposDir);
  const metrics = new Metrics();
  const { kv, memory, refs, objects } = await openCaches(config, {
    now,
    log,
    kv: parts.kv ?? null,
    memoryBytes: config.cacheMemoryBytes * OBJECTS_SHARE,
    onHit: (tier) => metrics.countHit(tier),
  });

  const tokens = new TokenPool(config.tokens, { now, log });
  const watch = new HealthWatch({ clock, kv, tokens });
  const client = new GitHubClient({
    tokens,
    gate: new Gate({ ...UPSTREAM, maxWaitMs: config.sourceTimeoutMs }),
    clock,
    timeoutMs: config.sourceTimeoutMs,
    onRequest(event) {
      metrics.countUpstream(event.kind, event.result);
      watch.note(event);
    },
  });
  const github = new CachedRepository(
    new GitHubRepository({
      ...config.github,
      client,
      tokens,
      allowedByName: config.allowedRepos !== null,
      now,
      freshMs: REF_FRESH_MS,
    }),
    {
      now,
      objects,
      memory,
      treesMaxBytes: config.cacheMemoryBytes * TREES_SHARE,
      refs,
      defaultBranch: DEFAULT_BRANCH,
      freshMs: REF_FRESH_MS,
      refreshAfterMs: REFRESH_AFTER_MS,
    },
  );
  const local = localDir === null ? null : new FolderRepository({ root: localDir, now });

  const frontMatters = new FrontMatterStore({
    maxBytes: config.cacheMemoryBytes * FRONT_MATTER_SHARE,
    maxItemBytes: config.maxItemBytes,
  });

  const lists = new PreparedLists({
    maxBytes: config.cacheMemoryBytes * LISTS_SHARE,
    waitMs: config.sourceTimeoutMs * PREPARING_SHARE,
    frontMatters,
  });

  const responses = new ResponseCache({
    maxBytes: config.cacheMemoryBytes * RESPONSES_SHARE,
    now,
  });
  addGauges(metrics, {
    tokens,
    parts: { objects: memory, trees: github, responses, frontMatter: frontMatters, lists },
  });

  return {
    config,
    clock,
    log,
    repositoryOf: (owner) => local !== null && owner.toLowerCase() === LOCAL_OWNER ? local : github,
    responses,
    metrics,
    health: () => watch.health(),
    rateLimit: new RateLimit({ perMinute: config.missesPerMinute, now }),
    room: new Room(ROOM),
    frontMatters,
    listings: new SharedListings(),
    lists,
    requireAllowed(name) {
      if (!isAllowed(config.allowedRepos, name)) throw repositoryNotAllowed(name.owner, name.repo);
    },
    // Without a token each check costs quota, so a ref is checked only when someone waits for it.
    refreshDue: () => tokens.hasToken ? github.refreshDue() : Promise.resolve(),
    async close() {
      lists.close();
      await github.settled();
      await objects.close();
      if (log instanceof LineLog) log.flush();
    },
  };
}
