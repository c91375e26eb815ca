// Purges caches in front of the service by tag. Each cache has a queue of its
// own: one request a second at most, with as many tags as it takes. A failed
// request is repeated with back-off. Processes that share a store find the same
// changes. The first one claims a change in the store and purges it.

import { createHash, createHmac } from "node:crypto";
import { KV_PREFIX, type KvTier } from "../cache/kv_tier.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../work/clock.ts";
import { RetryTable } from "../work/retry.ts";
import { ALL_TAG } from "./cache_tags.ts";

/**
 * So many tags of 220 bytes fit into a header of Varnish (8 KiB). Cloudflare
 * takes 100 and Fastly 256.
 */
const MAX_TAGS = 30;
/** If more tags wait, everything is purged by one tag. */
const MAX_PENDING = 1_000;
const EVERY_MS = 1_000;
/**
 * An older answer that was under way during a purge is stored after it. So is
 * one of a process that has not heard of the change. A second purge removes
 * them.
 */
const AGAIN_AFTER_MS = 2_500;
/** The second purge is sent before that, or its process has ended. */
const TAKE_OVER_AFTER_MS = 10_000;
const CLAIM_KEPT_MS = 60_000;
/** Ends a claim whose second purge is due. */
const DONE = " done";
const TIMEOUT_MS = 10_000;
const RETRY_MS = { firstMs: 1_000, maxMs: 30_000 };

interface Cache {
  /** Names the cache in the log without its address. */
  readonly name: string;
  readonly request: (tags: readonly string[]) => Request;
  readonly pending: Set<string>;
  /** Whether a request is under way or was sent within the last second. */
  isWaiting: boolean;
}

/** Sends purges. No method throws. */
export class CachePurge {
  private readonly caches: readonly Cache[];
  private readonly retries: RetryTable<string>;
  /** Cancels what happens later. */
  private readonly timers = new Map<string, () => void>();
  private readonly process = crypto.randomUUID();
  /** Processes in other regions may purge other caches. */
  private readonly cachesId: string;
  private readonly closing = new AbortController();

  constructor(
    private readonly options: {
      /** CACHE_PURGE. */
      readonly caches: readonly string[];
      /** CACHE_PURGE_TOKEN: one for each cache but Varnish. */
      readonly tokens: readonly string[];
      /** The store of the claims, or null. */
      readonly tier: KvTier | null;
      readonly clock: Clock;
      readonly log: Log;
      readonly send?: (
        request: Request,
        options: { readonly signal: AbortSignal },
      ) => Promise<Response>;
    },
  ) {
    const tokens = options.tokens.values();
    this.retries = new RetryTable(options.clock, RETRY_MS);
    this.cachesId = createHash("sha256").update(options.caches.join())
      .digest("hex");
    this.caches = options.caches.map((cache, index) => {
      const kind = cache.slice(0, cache.indexOf(":"));
      const target = cache.slice(kind.length + 1);
      const token = kind === "varnish" ? "" : tokens.next().value ?? "";
      return {
        name: `${kind} ${index + 1}`,
        request: (tags) => purgeRequest(kind, target, token, tags),
        pending: new Set(),
        isWaiting: false,
      };
    });
  }

  /**
   * Purges a tag from every cache at once, and again 2.5 s later. If `change`
   * is given, only one of the processes that call this with it does so.
   * Resolves when they agree. Never rejects.
   */
  async purge(tag: string, change?: string): Promise<void> {
    if (change === undefined) this.purgeTwice(tag);
    else await this.claim(tag, change);
  }

  /** Drops what is not sent yet. The next start purges everything. */
  close(): void {
    this.closing.abort();
    for (const cancel of this.timers.values()) cancel();
  }

  /**
   * Purges a change unless another process has claimed it. A claim that is
   * still the same as `earlier` is taken over.
   */
  private async claim(tag: string, change: string, earlier?: string) {
    const { tier } = this.options;
    const key = [KV_PREFIX, "purge", this.cachesId, tag];
    const claim = `${change} ${this.process}`;
    // Several refs may have moved to one commit.
    const name = `${tag} ${claim}`;
    const options = { expireIn: CLAIM_KEPT_MS };
    // Every process purges while the store fails.
    const before = await tier?.attempt(async (kv) => {
      for (;;) {
        const entry = await kv.get<string>(key);
        const { value } = entry;
        const isClaimed = value !== null &&
          (earlier === undefined
            ? value.startsWith(`${change} `) && !value.endsWith(DONE)
            : value !== earlier);
        if (isClaimed) return { value, isClaimed };
        const { ok } = await kv.atomic().check(entry).set(key, claim, options)
          .commit();
        if (ok) return { value, isClaimed };
      }
    });
    const { value = null, isClaimed = false } = before ?? {};
    if (this.closing.signal.aborted) return;
    if (isClaimed && this.timers.size < MAX_PENDING) {
      if (earlier !== undefined) return;
      this.later(
        name,
        TAKE_OVER_AFTER_MS,
        () => void this.claim(tag, change, value!),
      );
      return;
    }
    // What other processes find from then on, the second purge may miss.
    const markDone = async () =>
      await tier?.attempt(async (kv) => {
        const entry = await kv.get(key);
        if (entry.value !== claim) return;
        await kv.atomic().check(entry).set(key, claim + DONE, options)
          .commit();
      });
    const purge = () => this.purgeTwice(tag, markDone);
    // Another process may have sent its purge within the last second.
    if (value === null || value.includes(this.process)) purge();
    else this.later(name, EVERY_MS, purge);
  }

  /** The second purge waits for `beforeSecond`, which must not throw. */
  private purgeTwice(tag: string, beforeSecond?: () => Promise<unknown>) {
    const due = this.timers.size < MAX_PENDING ? tag : ALL_TAG;
    this.add(due);
    this.later(due, AGAIN_AFTER_MS, async () => {
      await beforeSecond?.();
      this.add(due);
    });
  }

  /** Calls back later, in place of an earlier call with the same name. */
  private later(name: string, ms: number, callback: () => void) {
    this.timers.get(name)?.();
    const cancel = this.options.clock.setTimer(ms, () => {
      this.timers.delete(name);
      callback();
    });
    this.timers.set(name, cancel);
  }

  private add(tag: string): void {
    for (const cache of this.caches) {
      cache.pending.add(tag);
      if (cache.pending.size > MAX_PENDING) {
        cache.pending.clear();
        cache.pending.add(ALL_TAG);
      }
      if (!cache.isWaiting) void this.send(cache);
    }
  }

  private async send(cache: Cache): Promise<void> {
    const { clock, log, send = fetch } = this.options;
    const { name, pending } = cache;
    const tags = [...pending].slice(0, MAX_TAGS);
    for (const tag of tags) pending.delete(tag);
    cache.isWaiting = true;
    const late = new AbortController();
    const cancelTimer = clock.setTimer(TIMEOUT_MS, () => late.abort());
    const signal = AbortSignal.any([late.signal, this.closing.signal]);
    let waitMs = EVERY_MS;
    let failure: string | null = "network";
    try {
      const response = await send(cache.request(tags), { signal });
      await response.body?.cancel();
      failure = response.ok ? null : `status ${response.status}`;
    } catch {
      // The request is repeated.
    } finally {
      cancelTimer();
    }
    if (this.closing.signal.aborted) return;
    if (failure === null) this.retries.succeeded(name);
    else {
      for (const tag of tags) pending.add(tag);
      this.retries.failed(name, failure);
      waitMs = this.retries.waitMs(name);
      const seconds = Math.ceil(waitMs / 1000);
      log.warn("cache not purged", { cache: name, reason: failure, seconds });
    }
    this.later(name, waitMs, () => {
      cache.isWaiting = false;
      if (pending.size > 0) void this.send(cache);
    });
  }
}

/**
 * Returns the request that purges tags from one cache:
 * - Varnish with the VCL in `deploy/`;
 * - Fastly: www.fastly.com/documentation/reference/api/purging, "Purge multiple
 *   surrogate key tags";
 * - Cloudflare: developers.cloudflare.com/api/resources/cache/methods/purge,
 *   "Purge Cached Content by Tag, Host or Prefix". The number of requests is
 *   limited: developers.cloudflare.com/cache/how-to/purge-cache;
 * - any other one as JSON, signed as GitHub signs deliveries: docs.github.com,
 *   "Validating webhook deliveries".
 */
function purgeRequest(
  kind: string,
  target: string,
  token: string,
  tags: readonly string[],
): Request {
  // A redirect must not carry a token away.
  const redirect = "error";
  if (kind === "varnish") {
    const headers = { "xkey-purge": tags.join(" ") };
    return new Request(target, { method: "PURGE", headers, redirect });
  }
  const isFastly = kind === "fastly";
  const body = JSON.stringify(isFastly ? { surrogate_keys: tags } : { tags });
  const hmac = () => createHmac("sha256", token).update(body).digest("hex");
  const [url, name, value] = isFastly
    ? [`https://api.fastly.com/service/${target}/purge`, "fastly-key", token]
    : kind === "cloudflare"
    ? [
      `https://api.cloudflare.com/client/v4/zones/${target}/purge_cache`,
      "authorization",
      `Bearer ${token}`,
    ]
    : [target, "x-purge-signature-256", `sha256=${hmac()}`];
  const headers = { "content-type": "application/json", [name]: value };
  return new Request(url, { method: "POST", headers, body, redirect });
}
