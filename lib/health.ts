// Whether the service can do its work, judged by the results of the last source requests; it sends none of its own.

import type { KvTier } from "./cache/kv_tier.ts";
import type { Clock } from "./clock.ts";
import type { RequestObserver } from "./source/github/client.ts";
import type { TokenPool } from "./source/github/tokens.ts";

/** The body of the readiness response. */
export interface Health {
  /** `none`: there is no key-value store, and the caches are in memory only. */
  readonly store: "ok" | "failed" | "none";
  readonly source: {
    /** Requests left until the quota is renewed; null before the first answer that states it. */
    readonly quotaLeft: { readonly core: number | null; readonly graphql: number | null };
    /** When the source last answered, as ISO 8601; null before the first time. */
    readonly lastSuccess: string | null;
    /** When a request to it last failed. */
    readonly lastFailure: string | null;
  };
}

/** Watches the requests to the source. */
export class HealthWatch {
  private lastSuccessMs: number | null = null;
  private lastFailureMs: number | null = null;

  constructor(
    private readonly options: { clock: Clock; tier: KvTier | null; tokens: TokenPool },
  ) {}

  /** Called after each request to the source. */
  readonly note: RequestObserver = ({ result }) => {
    if (result === "aborted") return;
    const failed = typeof result === "string" || result >= 500 || result === 429;
    const now = this.options.clock.now();
    if (failed) this.lastFailureMs = now;
    else this.lastSuccessMs = now;
  };

  /** The state of things; reads from the key-value store and from nothing else. Never throws. */
  async health(): Promise<Health> {
    const { tokens } = this.options;
    return {
      store: await this.storeState(),
      source: {
        quotaLeft: { core: tokens.remaining("core"), graphql: tokens.remaining("graphql") },
        lastSuccess: isoOf(this.lastSuccessMs),
        lastFailure: isoOf(this.lastFailureMs),
      },
    };
  }

  private async storeState(): Promise<Health["store"]> {
    const { tier } = this.options;
    if (tier === null) return "none";
    return await tier.attempt((kv) => kv.get(["health"])) === null ? "failed" : "ok";
  }
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
