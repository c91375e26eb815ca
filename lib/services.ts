// The one place that names concrete classes and wires them together.

import { BackgroundJobs } from "./background_jobs.ts";
import { ByteSemaphore } from "./byte_semaphore.ts";
import { KvTier } from "./cache/kv_tier.ts";
import { ObjectCache } from "./cache/object_cache.ts";
import { isRemoteKv, openKv, openRemoteKv } from "./cache/open_kv.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Health, HealthWatch } from "./health.ts";
import { RateLimit } from "./http/limits.ts";
import { LargeBodies } from "./http/paced_body.ts";
import { ResponseCache } from "./http/response_cache.ts";
import { Webhook } from "./http/webhook.ts";
import { findLocalDir } from "./local_repositories.ts";
import { describeError, LineLog, type Log, sinkTo } from "./log.ts";
import { MarkdownRenderer } from "./markdown/renderer.ts";
import { Metrics } from "./metrics.ts";
import { type Config, SettingsError } from "./settings.ts";
import { CachedSource } from "./source/cached_source.ts";
import { ChangeFeed } from "./source/change_feed.ts";
import { GitHubSource } from "./source/github/github_source.ts";
import { TokenPool } from "./source/github/tokens.ts";
import { LOCAL_OWNER, LocalSource } from "./source/local/local_source.ts";
import { repositoryKey, type Source } from "./source/source.ts";
import { VERSION } from "./version.ts";

/** The parts that requests are served with. */
export interface Services {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The source of an owner's repositories; owners compare without case. */
  sourceOf(owner: string): Source;
  readonly objects: ObjectCache;
  readonly jobs: BackgroundJobs;
  readonly markdown: MarkdownRenderer;
  readonly responses: ResponseCache;
  readonly rateLimit: RateLimit;
  /** Memory of large responses, from before they are made until their last byte is sent. */
  readonly responseMemory: ByteSemaphore;
  readonly largeBodies: LargeBodies;
  /** Null where no secret is set. */
  readonly webhook: Webhook | null;
  /** Whether the service can do its work. Never throws. */
  health(): Promise<Health>;
  /** Checks refs that are in use before they are due; to be called every second or so. Never throws. */
  refreshDue(): Promise<void>;
  /** Flushes pending cache writes and log lines, and closes all resources. */
  close(): Promise<void>;
}

/** Parts that a test puts in place of the real ones. */
export interface ServiceParts {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly kv?: Deno.Kv;
}

const USER_AGENT = `repo-collections/${VERSION}`;
/** For how long a checked ref may be served. */
const REF_FRESH_MS = 60_000;
/** The largest pages take all of it, one at a time. */
const RESPONSE_MEMORY = { maxBytes: 96 << 20, maxWaiting: 64, maxWaitMs: 10_000 };
/** Shares of CACHE_MEMORY_MB. */
const OBJECTS_SHARE = 0.7;
const RESPONSES_SHARE = 0.3;

/** Opens everything. @throws {SettingsError} where a setting names what cannot be opened. */
export async function openServices(config: Config, parts: ServiceParts = {}): Promise<Services> {
  const clock = parts.clock ?? systemClock;
  const log = parts.log ?? new LineLog(sinkTo(Deno.stdout), { level: config.logLevel });
  const metrics = new Metrics();
  const localDir = await findLocalDir(config.localReposDir);
  const { kvPath } = config;
  const isRemote = isRemoteKv(kvPath);
  const kv = parts.kv ?? (isRemote ? null : await openStore(config, { clock, log }));
  const scope = scopeOf(config);
  const tier = kv === null && !isRemote ? null : new KvTier(kv, {
    clock,
    scope,
    maxBytesPerHour: config.kvWriteBytesPerHour,
    onError: (error) => log.warn("key-value store failed", describeError(error)),
  });
  let stopOpening = () => {};
  if (kv === null && isRemote) {
    const onOpen = (kv: Deno.Kv) => tier?.attach(kv);
    stopOpening = await opened(openRemoteKv(kvPath, { clock, now: clock.now, log, onOpen }));
  }
  const objects = new ObjectCache({
    maxBytes: config.cacheMemoryBytes * OBJECTS_SHARE,
    kv: tier,
    onHit: (hit) => metrics.countHit(hit),
  });

  const tokens = new TokenPool(config.tokens, { clock, log });
  const watch = new HealthWatch({ clock, tier, tokens });
  const github = new CachedSource(
    new GitHubSource({
      addresses: config.github,
      tokens,
      clock,
      log,
      timeoutMs: config.sourceTimeoutMs,
      userAgent: USER_AGENT,
      allowedRepos: config.allowedRepos,
      freshForMs: REF_FRESH_MS,
      onRequest(event) {
        metrics.countUpstream(event.kind, event.result);
        watch.note(event);
      },
    }),
    { objects, kv: tier, clock, freshForMs: REF_FRESH_MS },
  );
  const feed = tier === null || config.webhookSecrets.length === 0 ? null : new ChangeFeed({
    ...{ tier, clock, scope, isRemote },
    onChange: (name) => void github.refs.recheck(name),
  });
  await feed?.start();
  const webhook = config.webhookSecrets.length === 0 ? null : new Webhook({
    secrets: config.webhookSecrets,
    clock,
    onChange(name) {
      void github.refs.recheck(repositoryKey(name));
      feed?.publish(repositoryKey(name));
    },
  });
  const local = localDir === null ? null : new LocalSource({ root: localDir, now: clock.now });

  const jobs = new BackgroundJobs({ clock });
  const markdown = new MarkdownRenderer({ clock });
  const responses = new ResponseCache({
    maxBytes: config.cacheMemoryBytes * RESPONSES_SHARE,
    now: clock.now,
  });
  const responseMemory = new ByteSemaphore({ ...RESPONSE_MEMORY, clock });
  metrics.addGauge({
    name: "quota_left",
    label: "quota",
    help: "Requests left at the source, where it has stated them.",
    read: () => ({ core: tokens.remaining("core"), graphql: tokens.remaining("graphql") }),
  });
  metrics.addGauge({
    name: "memory_bytes",
    label: "part",
    help: "Bytes in memory, by part of the service and of the whole process.",
    read: () => ({
      objects: objects.bytes,
      responses: responses.bytes,
      "large-responses": responseMemory.bytes,
      process: Deno.memoryUsage().rss,
    }),
  });

  return {
    config,
    clock,
    log,
    metrics,
    sourceOf: (owner) => local !== null && owner.toLowerCase() === LOCAL_OWNER ? local : github,
    objects,
    jobs,
    markdown,
    responses,
    rateLimit: new RateLimit({
      perMinute: config.missesPerMinute,
      monotonicMs: () => clock.monotonicMs(),
    }),
    responseMemory,
    largeBodies: new LargeBodies(clock),
    webhook,
    health: () => watch.health(),
    // Without a token a check costs quota, or a query that the Git host may limit: none is sent ahead of need.
    refreshDue: () => tokens.hasToken ? github.refs.refreshDue() : Promise.resolve(),
    async close() {
      jobs.close();
      markdown.close();
      stopOpening();
      await feed?.close();
      await github.refs.close();
      await objects.close();
      if (log instanceof LineLog) await log.close();
    },
  };
}

async function openStore(
  { kvPath }: Config,
  { clock, log }: { clock: Clock; log: Log },
): Promise<Deno.Kv | null> {
  const opening = openKv(kvPath, { now: clock.now, log });
  if (kvPath !== null) return await opened(opening);
  // No setting names the store, and the service is correct without one, only slower.
  return await opening.catch((error) => {
    log.warn("no key-value store, caching in memory only", { reason: messageOf(error) });
    return null;
  });
}

/** @throws {SettingsError} where a store that was named cannot be opened. */
async function opened<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    throw new SettingsError(`Cannot start with "KV_PATH": ${messageOf(error)}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * What a store was filled from. A store may outlive a change of settings, and must then not serve what is no longer
 * allowed: repositories that were allowed by name, or those of another host.
 */
function scopeOf({ github, allowedRepos }: Config): string {
  return `${allowedRepos === null ? "public" : "named"} at ${github.apiUrl}`;
}
