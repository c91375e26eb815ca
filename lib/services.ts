// The only module that names concrete classes and wires them together.

import project from "../deno.json" with { type: "json" };

import { KvTier } from "./cache/kv_tier.ts";
import { ObjectCache } from "./cache/object_cache.ts";
import { isRemoteKv, openKv } from "./cache/open_kv.ts";
import { type Clock, systemClock } from "./work/clock.ts";
import { CachePurge } from "./http/cache_purge.ts";
import { ALL_TAG, refTag } from "./http/cache_tags.ts";
import { LargeBodies } from "./http/paced_body.ts";
import { RateLimit } from "./http/rate_limit.ts";
import { type MadeBody, ResponseCache } from "./http/response_cache.ts";
import { UnderWay } from "./http/under_way.ts";
import { Webhook } from "./http/webhook.ts";
import type { CollectionsError } from "./errors.ts";
import { findLocalDir } from "./local_repositories.ts";
import { describeError, LineLog, type Log, sinkTo } from "./log.ts";
import { Metrics } from "./metrics.ts";
import { SingleFlight } from "./work/single_flight.ts";
import { type Config, SettingsError } from "./settings.ts";
import { CachedSource } from "./source/cached_source.ts";
import { ChangeFeed } from "./source/change_feed.ts";
import { AppTokens } from "./source/github/app_tokens.ts";
import { GitHubSource } from "./source/github/github_source.ts";
import { TokenFile } from "./source/github/token_file.ts";
import {
  tokenList,
  TokenPool,
  type TokenSupply,
} from "./source/github/tokens.ts";
import { LOCAL_OWNER, LocalSource } from "./source/local/local_source.ts";
import {
  repositoryKey,
  type RepositoryName,
  type Source,
} from "./source/source.ts";
import type { Compute } from "./thread/compute.ts";
import { ContentThreads } from "./thread/content_thread.ts";
import { BackgroundJobs } from "./work/background_jobs.ts";
import { RetryTable } from "./work/retry.ts";
import { FairQueue } from "./work/fair_queue.ts";
import { collectSoon } from "./work/memory.ts";

/** The services that handle requests. */
export type Services = Awaited<ReturnType<typeof openServices>>;

/**
 * Memory in bytes for large responses, and as much for the HTML of pages.
 * Memory for a response is reserved before it is made and released after its
 * last byte is sent. Memory for HTML is reserved before it is read.
 */
const PAGE_MEMORY = {
  capacity: 40 << 20,
  maxPerClient: 20 << 20,
  maxWaiting: 256,
  maxWaitMs: 10_000,
};
/**
 * Memory for files that the content thread works on, in bytes. It is reserved
 * before they are read. Up to 256 KiB at once reserve nothing.
 */
const FILE_MEMORY = {
  capacity: 24 << 20,
  maxPerClient: 12 << 20,
  maxWaiting: 256,
  maxWaitMs: 30_000,
};
/**
 * What the process should have at most beside its cache. Operators give it 64
 * MiB more, for what it has granted and not yet read.
 */
const MEMORY_BESIDE_CACHE_BYTES = 448 << 20;
/** With less left than this, caches give up what they need least. */
const TRIM_BELOW_BYTES = 256 << 20;
/** With less left than this, large things share half of their memory. */
const SHORT_BELOW_BYTES = 128 << 20;
/**
 * A ref that only a cache in front requests is checked this often. With a
 * webhook the checks find only what it missed.
 */
const HELD_CHECK_MS = { webhook: 3_600_000, none: 300_000 };
/** Checks of such refs leave this much of the quota without a token. */
const HELD_QUOTA_LEFT = 20;
/** Readiness probes read the store at most this often. */
const PROBE_EVERY_MS = 1_000;
/** Maximum number of repositories in the log line of a start. */
const MAX_NAMED = 20;
/** Deno resolves a linked package to a file. */
const PACKAGES = import.meta.resolve("fresh").startsWith("file:")
  ? "stand-ins"
  : "published";
/** Shares of CACHE_MEMORY_MB. */
const OBJECTS_SHARE = 0.7;
const RESPONSES_SHARE = 0.3;

/**
 * Opens all services. A test passes its own parts.
 * @throws {SettingsError} if something that a setting names cannot be opened.
 */
export async function openServices(
  config: Config,
  parts: {
    clock?: Clock;
    log?: LineLog;
    kv?: Deno.Kv;
    compute?: Compute;
    /** Returns the number of isolates that share the tokens now. */
    isolates?: () => number;
  } = {},
) {
  const { clock = systemClock, kv, isolates = () => 1 } = parts;
  const startedAtMs = clock.monotonicMs();
  if (config.requirePublished && PACKAGES !== "published") {
    throw new SettingsError(
      'Cannot start with "REQUIRE_PUBLISHED": the stand-ins in jsr/ ' +
        "would run, " +
        "delete deno.offline.json and start where jsr.io can be reached",
    );
  }
  const log = parts.log ??
    new LineLog(sinkTo(Deno.stdout), { level: config.logLevel });
  let residentBytes = 0;
  const memoryLeft = () => {
    // Deno reads it from a file. It may be 0 if none can be opened.
    residentBytes = Deno.memoryUsage().rss || residentBytes;
    return MEMORY_BESIDE_CACHE_BYTES + config.cacheMemoryBytes -
      residentBytes / isolates();
  };
  const threads = new ContentThreads(
    { clock, log, memoryLeft },
    navigator.hardwareConcurrency,
  );
  const isMemoryShort = () =>
    memoryLeft() - threads.longWorkBytes < SHORT_BELOW_BYTES;
  const { compute = threads } = parts;
  const metrics = new Metrics(() => ({
    build_info: {
      [`{version="${project.version}",packages="${PACKAGES}"}`]: 1,
    },
    quota_left: {
      '{quota="core"}': tokens.remaining("core"),
      '{quota="graphql"}': tokens.remaining("graphql"),
    },
    memory_bytes: {
      '{part="objects"}': objects.bytes,
      '{part="responses"}': responses.bytes,
      '{part="large-responses"}': responseMemory.used,
      '{part="process"}': Deno.memoryUsage().rss,
    },
    store_up: { "": tier === null ? null : Number(tier.isUp) },
    content_queue: { "": threads.waiting },
  }));
  const localDir = await findLocalDir(config.localReposDir);
  const local = localDir === null ? null : new LocalSource({
    root: localDir,
    compute,
    clock,
    memoryLeft: () => memoryLeft() - threads.longWorkBytes,
  });
  // Identifies the data in the store. A store may outlive a change of settings.
  // It must not serve repositories that are no longer allowed by name or that
  // come from another host.
  const scope = `${
    config.allowedRepos === null ? "public" : "named"
  } at ${config.github.apiUrl}`;
  const tier = await openTier(config, scope, kv, { clock, log });
  const objects = new ObjectCache({
    maxBytes: config.cacheMemoryBytes * OBJECTS_SHARE,
    kv: tier,
    onHit: (tier) => metrics.count(`cache_hits_total{tier="${tier}"}`),
  });

  const supply = await openTokens(config, { clock, log });
  const tokens = new TokenPool(supply, { clock, log, isolates });
  const hasWebhook = config.webhookSecrets.length > 0;
  const { cachePurge: caches, cachePurgeTokens, sharedMaxAge } = config;
  const purge = caches.length === 0
    ? null
    : new CachePurge({ caches, tokens: cachePurgeTokens, tier, clock, log });
  // Nobody watches what caches hold since an earlier run.
  void purge?.purge(ALL_TAG);
  const purgeRef = (
    name: RepositoryName,
    branch: string | null,
    change?: string,
  ) =>
    void purge?.purge(
      branch === null ? repositoryKey(name) : refTag({ ...name, branch }),
      change,
    );
  let lastSuccess: string | null = null;
  let lastFailure: string | null = null;
  const github = new CachedSource(
    new GitHubSource({
      isolates,
      isMemoryShort,
      addresses: config.github,
      tokens,
      compute,
      clock,
      log,
      timeoutMs: config.sourceTimeoutMs,
      userAgent: `repo-collections/${project.version}`,
      allowedRepos: config.allowedRepos,
      onRequest({ kind, result }) {
        metrics.count(
          `upstream_requests_total{kind="${kind}",result="${result}"}`,
        );
        if (result === "aborted") return;
        const now = new Date(clock.now()).toISOString();
        if (typeof result === "string" || result >= 500 || result === 429) {
          lastFailure = now;
        } else lastSuccess = now;
      },
    }),
    {
      objects,
      kv: tier,
      clock,
      commitIds: config.allowedRepos === null,
      edge: purge && {
        checkEveryMs: HELD_CHECK_MS[hasWebhook ? "webhook" : "none"],
        mayCheck: ({ owner }) =>
          tokens.isReady("core", owner) ||
          (tokens.remaining("core") ?? Infinity) > HELD_QUOTA_LEFT,
        onMove: purgeRef,
      },
    },
  );
  const feed = tier === null || !hasWebhook ? null : new ChangeFeed({
    tier,
    clock,
    scope,
    isRemote: isRemoteKv(config.kvPath),
    onChange(change) {
      const [name = "", branch = null] = change.split(" ");
      void github.refs.recheck(name, branch);
    },
    // Caches then ask the processes that hear of it late. What they request is
    // checked within 60 s.
    onDelay(change) {
      const [name = "", branch = null] = change.split(" ");
      const [owner = "", repo = ""] = name.split("/");
      purgeRef({ owner, repo }, branch);
    },
  });
  await feed?.start();
  const webhook = !hasWebhook ? null : new Webhook({
    secrets: config.webhookSecrets,
    clock,
    compute,
    onChange({ branch, ...name }) {
      const key = repositoryKey(name);
      feed?.publish(branch === null ? key : `${key} ${branch}`);
      void github.refs.recheck(key, branch);
    },
  });

  const jobs = new BackgroundJobs(clock);
  const responses = new ResponseCache({
    maxBytes: config.cacheMemoryBytes * RESPONSES_SHARE,
    now: clock.now,
  });
  const memory = (limits: typeof PAGE_MEMORY) =>
    new FairQueue({ ...limits, isShort: isMemoryShort, clock });
  const responseMemory = memory(PAGE_MEMORY);
  const fileMemory = memory(FILE_MEMORY);
  const htmlMemory = memory(PAGE_MEMORY);
  const quotaLeft = () => ({
    core: tokens.remaining("core"),
    graphql: tokens.remaining("graphql"),
  });

  let isStopping = false;
  let probe = { atMs: -Infinity, answer: Promise.resolve<unknown>(null) };

  return {
    config,
    clock,
    log,
    metrics,
    objects,
    jobs,
    compute,
    responses,
    responseMemory,
    fileMemory,
    htmlMemory,
    webhook,
    /** `published` or, where JSR did not answer, `stand-ins`. */
    packages: PACKAGES,
    /** Logs what the service runs with once it listens. */
    logStart: (at: { host: string; port: number; url: string }) =>
      log.info("listening", {
        ...at,
        version: project.version,
        packages: PACKAGES,
        tokens: tokensOf(config),
        store: tier === null ? "none" : storeOf(config),
        allowed: config.allowedRepos === null
          ? "all"
          : [...config.allowedRepos].slice(0, MAX_NAMED).join(", "),
      }),
    edge: { sharedMaxAge, isPurged: purge !== null },
    /**
     * Returns the source for an owner's repositories. Owners are
     * case-insensitive.
     */
    sourceOf: (owner: string): Source =>
      local !== null && owner.toLowerCase() === LOCAL_OWNER ? local : github,
    /** Responses for a new commit that could not be made. */
    retries: new RetryTable<CollectionsError>(clock, {
      firstMs: 5_000,
      maxMs: 60_000,
    }),
    rateLimit: new RateLimit({
      perMinute: config.missesPerMinute,
      monotonicMs: () => clock.monotonicMs(),
    }),
    largeBodies: new LargeBodies(responseMemory),
    making: new SingleFlight<MadeBody>(),
    underWay: new UnderWay(),
    /** The tokens that end soon. */
    expiringTokens: () => tokens.expiring(),
    /** Makes the service not ready from now on. It still responds. */
    stop: () => void (isStopping = true),
    get isStopping() {
      return isStopping;
    },
    /**
     * Returns the state of the store and of the source without a request to
     * the source. Never throws.
     */
    async health() {
      const source = { quotaLeft: quotaLeft(), lastSuccess, lastFailure };
      if (tier === null) return { store: "none", source };
      const now = clock.monotonicMs();
      if (now - probe.atMs >= PROBE_EVERY_MS) {
        probe = { atMs: now, answer: tier.attempt((kv) => kv.get(["health"])) };
      }
      return { store: await probe.answer === null ? "failed" : "ok", source };
    },
    /**
     * Checks refs in use before they are due. While the process has little
     * memory left, has the caches keep at most half of their limit, the content
     * threads forget what they have not used lately, and V8 collect garbage.
     * Grants memory to those that waited for more to be left. Call it about
     * every second. Never throws. Without a token no check is sent ahead of need
     * because it costs quota or a query that the Git host may limit.
     */
    async everySecond() {
      if (memoryLeft() < TRIM_BELOW_BYTES) {
        objects.trim();
        responses.trim();
        local?.trim();
        threads.forget();
        collectSoon();
      }
      // There may be more room since memory is no longer short.
      for (const queue of [responseMemory, fileMemory, htmlMemory]) {
        queue.admitNext();
      }
      await github.refs.refreshDue(({ owner }) =>
        tokens.isReady("core", owner)
      );
    },
    /** Starts the content thread ahead of need. Never throws. */
    startThreads: () => threads.start(),
    /**
     * Flushes pending cache writes and log lines. Then closes all resources.
     */
    async close() {
      jobs.close();
      threads.close();
      await feed?.close();
      await github.refs.close();
      purge?.close();
      await tier?.close();
      log.info("stopped", {
        seconds: Math.round((clock.monotonicMs() - startedAtMs) / 1000),
      });
      await log.close();
    },
  };
}

/** Returns the number of tokens or where they come from. */
function tokensOf({ tokenFile, appId, tokens }: Config): number | string {
  if (tokenFile !== null) return "file";
  return appId === null ? tokens.length : "app";
}

/** Returns the kind of store because its address may contain a secret. */
function storeOf({ kvPath }: Config): string {
  if (kvPath === null) return "default";
  if (isRemoteKv(kvPath)) return "remote";
  return kvPath === ":memory:" ? "memory" : "file";
}

/** @throws {SettingsError} if the tokens or the App's key cannot be used. */
async function openTokens(
  {
    tokens,
    tokenFile,
    appId,
    appPrivateKey,
    appPrivateKeyFile,
    github: { apiUrl },
  }: Config,
  parts: { clock: Clock; log: Log },
): Promise<TokenSupply> {
  const orStop = <T>(name: string, opening: Promise<T>, state?: string) =>
    opening.catch(({ message }) => {
      throw new SettingsError(
        `Cannot start with "${name}": ${state ?? message}`,
      );
    });
  if (tokenFile !== null) {
    const file = new TokenFile(tokenFile, parts.log);
    await orStop("GITHUB_TOKEN_FILE", file.read());
    return file;
  }
  if (appId === null) return tokenList(tokens);
  const name = appPrivateKey === null
    ? "GITHUB_APP_PRIVATE_KEY_FILE"
    : "GITHUB_APP_PRIVATE_KEY";
  // An environment may have no line breaks.
  const privateKey = appPrivateKey?.replaceAll("\\n", "\n") ??
    await orStop(name, Deno.readTextFile(appPrivateKeyFile!));
  const app = new AppTokens({ ...parts, id: appId, privateKey, apiUrl });
  // The key's own error may show it.
  await orStop(name, app.sign(), "must be an RSA key in PEM");
  return app;
}

/** @throws {SettingsError} if a store that is set cannot be opened. */
async function openTier(
  { kvPath, kvWriteBytesPerHour }: Config,
  scope: string,
  given: Deno.Kv | undefined,
  options: { clock: Clock; log: Log },
) {
  const { clock, log } = options;
  const makeTier = (open: () => Promise<Deno.Kv>) =>
    new KvTier(open, {
      clock,
      scope,
      maxBytesPerHour: kvWriteBytesPerHour,
      onError: (error) =>
        log.warn("key-value store failed", describeError(error)),
    });
  try {
    if (given === undefined && isRemoteKv(kvPath)) {
      let failure: Error | null = null;
      const tier = makeTier(() =>
        openKv(kvPath, clock).then((kv) => {
          if (failure !== null) log.info("key-value store opened");
          return kv;
        }, (error) => {
          if (failure === null) {
            log.warn("key-value store away, caching in memory only", {
              reason: error.message,
            });
          }
          throw failure = error;
        })
      );
      // A store that is unavailable now is opened later.
      await tier.attempt(() => null);
      if (failure as unknown instanceof Deno.errors.NotCapable) throw failure;
      return tier;
    }
    const kv = given ?? await openKv(kvPath, clock);
    return makeTier(() => Promise.resolve(kv));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (kvPath !== null) {
      throw new SettingsError(`Cannot start with "KV_PATH": ${reason}`);
    }
    // No setting names the store. The service is correct without it but slower.
    log.warn("no key-value store, caching in memory only", { reason });
    return null;
  }
}
