// Tokens, what each may see, and quotas: 60 requests an hour without a token, 5,000 with one,
// GraphQL points apart. https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api

import type { HostedRepository } from "./github_registry.ts";

/** The two quotas of an account. */
export type QuotaResource = "core" | "graphql";

/** One quota in its current hour. */
export interface Quota {
  limit: number;
  remaining: number;
  resetAtMs: number;
}

/** Who asks: an account by the index of its token, or nobody in particular. */
export type Caller = { index: number; sees: "all" | string[] } | null;

const hourMs = 3_600_000;

/** The known tokens and everyone's quotas. */
export class GithubAccounts {
  #now: () => number;
  #tokens = new Map<string, NonNullable<Caller>>();
  #revoked = new Set<string>();
  #quotas = new Map<string, Quota>();
  #spent = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Makes a token valid; its index is its place in the order of adding. */
  addToken(token: string, options: { sees?: "all" | string[] } = {}): void {
    this.#tokens.set(token, { index: this.#tokens.size, sees: options.sees ?? [] });
  }

  /** Makes a token invalid from now on. */
  revokeToken(token: string): void {
    this.#revoked.add(token);
  }

  /** Who sends this `Authorization` header; undefined for a token that is unknown or revoked. */
  caller(authorization: string | null): Caller | undefined {
    if (authorization === null) return null;
    const token = /^(?:bearer|token) (.+)$/i.exec(authorization)?.[1] ?? "";
    return this.#revoked.has(token) ? undefined : this.#tokens.get(token);
  }

  /** Whether a caller may see a repository. */
  sees(caller: Caller, repository: HostedRepository): boolean {
    if (repository.visibility === "public" || caller?.sees === "all") return true;
    const name = `${repository.owner}/${repository.name}`.toLowerCase();
    return caller !== null && Array.isArray(caller.sees) &&
      caller.sees.some((seen) => seen.toLowerCase() === name);
  }

  /** A caller's quota; it is full again once its hour is over. */
  quota(caller: Caller, resource: QuotaResource = "core"): Quota {
    const key = `${caller?.index ?? "none"} ${resource}`;
    let quota = this.#quotas.get(key);
    if (!quota) {
      const limit = caller ? 5000 : resource === "core" ? 60 : 0;
      this.#quotas.set(key, quota = { limit, remaining: limit, resetAtMs: this.#now() + hourMs });
    }
    if (this.#now() >= quota.resetAtMs) {
      quota.remaining = quota.limit;
      quota.resetAtMs = this.#now() + hourMs;
    }
    return quota;
  }

  /** Changes a quota; null stands for callers without a token. */
  setQuota(
    token: string | null,
    change: Partial<Quota> & { resource?: QuotaResource },
  ): void {
    const { resource = "core", ...quota } = change;
    Object.assign(this.quota(this.#known(token), resource), quota);
  }

  /** Takes one point. */
  charge(caller: Caller, resource: QuotaResource): void {
    const key = `${caller?.index ?? "none"} ${resource}`;
    this.quota(caller, resource).remaining--;
    this.#spent.set(key, (this.#spent.get(key) ?? 0) + 1);
  }

  /** Points taken since the last {@linkcode resetSpent}. */
  spent(token: string | null, resource: QuotaResource = "core"): number {
    return this.#spent.get(`${this.#known(token)?.index ?? "none"} ${resource}`) ?? 0;
  }

  /** Starts the counting of points anew; the quotas stay as they are. */
  resetSpent(): void {
    this.#spent.clear();
  }

  #known(token: string | null): Caller {
    if (token === null) return null;
    const caller = this.#tokens.get(token);
    if (!caller) throw new Error(`Cannot find "${token}": the double has no such token`);
    return caller;
  }
}
