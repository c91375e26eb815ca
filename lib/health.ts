// Whether the service can do its work, told without asking the source: what the last requests to it said is enough.

import type { Clock } from "./clock.ts";
import type { RequestObserver } from "./repository/github_client.ts";
import type { TokenPool } from "./repository/github_tokens.ts";

/** What the readiness answer says. */
export interface Health {
  /** `none`: there is no key-value store, and memory has to do. */
  readonly store: "ok" | "failed" | "none";
  readonly source: {
    /** Requests left until the quota is renewed; null while no answer has told it. */
    readonly quotaLeft: { readonly core: number | null; readonly graphql: number | null };
    /** When the source last answered, as ISO 8601; null before the first time. */
    readonly lastSuccess: string | null;
    /** When a request to it last came to nothing. */
    readonly lastFailure: string | null;
  };
}

const STORE_TIMEOUT_MS = 2000;

/** Watches the requests to the source. */
export class HealthWatch {
  private lastSuccessMs: number | null = null;
  private lastFailureMs: number | null = null;

  constructor(
    private readonly options: {
      clock: Clock;
      kv: Deno.Kv | null;
      tokens: TokenPool;
    },
  ) {}

  /** To be told of each request to the source. */
  readonly note: RequestObserver = ({ result }) => {
    if (result === "aborted") return;
    const failed = typeof result === "string" || result >= 500 || result === 429;
    const now = this.options.clock.now();
    if (failed) this.lastFailureMs = now;
    else this.lastSuccessMs = now;
  };

  /** The state of things; asks the key-value store and nothing else. Never throws. */
  async health(): Promise<Health> {
    const { kv, tokens } = this.options;
    return {
      store: kv === null ? "none" : await answers(kv) ? "ok" : "failed",
      source: {
        quotaLeft: { core: tokens.remaining("core"), graphql: tokens.remaining("graphql") },
        lastSuccess: isoOf(this.lastSuccessMs),
        lastFailure: isoOf(this.lastFailureMs),
      },
    };
  }
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

async function answers(kv: Deno.Kv): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), STORE_TIMEOUT_MS);
  try {
    return await Promise.race([kv.get(["health"]).then(() => true), late.promise]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
