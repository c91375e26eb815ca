// Tokens, what each may see, and quotas: 60 requests an hour without a token, 5,000 with one, GraphQL points apart.
// https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api

import type { HostedRepository } from "./github_registry.ts";

/** The two quotas of an account. */
export type QuotaResource = "core" | "graphql";

/** One quota in its current hour. */
export interface Quota {
  limit: number;
  remaining: number;
  resetAtMs: number;
}

/** The sender of a request: an account by the index of its token, or null without a token. */
export type Account = { index: number; sees: "all" | string[] } | null;

const HOUR_MS = 3_600_000;

/** The known tokens and everyone's quotas. */
export class GithubAccounts {
  private readonly tokens = new Map<string, NonNullable<Account>>();
  private readonly revoked = new Set<string>();
  private readonly quotas = new Map<string, Quota>();
  private readonly points = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  /** Makes a token valid; its index is its place in the order of adding. It sees public repositories and those named. */
  addToken(token: string, { sees = [] }: { sees?: "all" | string[] } = {}): void {
    this.tokens.set(token, { index: this.tokens.size, sees });
  }

  /** Makes a token invalid from now on. */
  revokeToken(token: string): void {
    this.revoked.add(token);
  }

  /** The sender with this `Authorization` header; undefined for a token that is unknown or revoked. */
  account(authorization: string | null): Account | undefined {
    if (authorization === null) return null;
    const token = /^(?:bearer|token) (.+)$/i.exec(authorization)?.[1] ?? "";
    return this.revoked.has(token) ? undefined : this.tokens.get(token);
  }

  /** Whether an account may see a repository. */
  sees(account: Account, { visibility, owner, name }: HostedRepository): boolean {
    if (visibility === "public" || account?.sees === "all") return true;
    const fullName = `${owner}/${name}`.toLowerCase();
    return account !== null && account.sees instanceof Array &&
      account.sees.some((seen) => seen.toLowerCase() === fullName);
  }

  /** An account's quota; it is full again once its hour is over. */
  quota(account: Account, resource: QuotaResource = "core"): Quota {
    const limit = account ? 5000 : resource === "core" ? 60 : 0;
    const quota = this.quotas.getOrInsert(keyOf(account, resource), {
      ...{ limit, remaining: limit, resetAtMs: 0 },
    });
    if (this.now() >= quota.resetAtMs) {
      Object.assign(quota, { remaining: quota.limit, resetAtMs: this.now() + HOUR_MS });
    }
    return quota;
  }

  /** Changes a quota; null stands for clients without a token. */
  setQuota(token: string | null, change: Partial<Quota> & { resource?: QuotaResource }): void {
    const { resource = "core", ...quota } = change;
    Object.assign(this.quota(this.known(token), resource), quota);
  }

  /** Takes one point. */
  charge(account: Account, resource: QuotaResource): void {
    const key = keyOf(account, resource);
    this.quota(account, resource).remaining--;
    this.points.set(key, (this.points.get(key) ?? 0) + 1);
  }

  /** Points taken since the last {@linkcode resetSpent}. */
  spent(token: string | null, resource: QuotaResource = "core"): number {
    return this.points.get(keyOf(this.known(token), resource)) ?? 0;
  }

  /** Starts the counting of points anew; the quotas stay as they are. */
  resetSpent(): void {
    this.points.clear();
  }

  private known(token: string | null): Account {
    const account = token === null ? null : this.tokens.get(token);
    if (account !== undefined) return account;
    throw new Error(`Cannot find "${token}": the double has no such token`);
  }
}

function keyOf(account: Account, resource: QuotaResource): string {
  return `${account?.index ?? "none"} ${resource}`;
}
