// What the double knows: repositories by name and by id, old names that
// redirect, tokens with what each may see, and quotas. Names compare without
// case; a renamed repository has the same id as before.

import type { GitRepository } from "./git_repository.ts";
import { GithubApp } from "./github_app.ts";
import { GithubLfs } from "./github_lfs.ts";

/** A repository at the double. */
export interface HostedRepository {
  id: number;
  owner: string;
  name: string;
  /** Null for one that has no commit yet. */
  git: GitRepository | null;
  visibility: "public" | "private" | "internal";
  defaultBranch: string;
  /**
   * The status with which GitHub blocks it: for legal reasons (451) or by its
   * terms (403).
   */
  blocked: 451 | 403 | null;
}

/** Where an old name leads: `target` where the double knows it. */
interface Redirect {
  readonly target: HostedRepository | null;
  /**
   * The `Location`; left out where it is empty. `{api}` or `{git}` stands for
   * the host's base, `{rest}` for the path behind the old name with its query,
   * `{id}` and `{name}` for those of `target`.
   */
  readonly location: string;
}

/**
 * The sender of a request: the index of its token, or the id of an App's
 * installation, or null without a token.
 */
export type Account = number | null;

/**
 * GitHub's largest quota; benches have a larger one, and are not held to a
 * pace.
 */
const MAX_QUOTA = 15_000;
const POINTS_PER_MINUTE = 900;

type QuotaResource = "core" | "graphql";
/**
 * `spent` counts the points that were taken since {@linkcode
 * GithubState.resetCounts}.
 */
type Quota = Record<"limit" | "remaining" | "resetAtMs" | "spent", number>;

const HOUR_MS = 3_600_000;

/** Repositories and accounts; `now` is the clock, in ms since the epoch. */
export class GithubState {
  private readonly byName = new Map<string, HostedRepository>();
  private readonly redirects = new Map<string, Redirect>();
  private lastId = 1000;
  private readonly tokens = new Map<string, number>();
  private readonly revoked = new Set<string>();
  private readonly quotas = new Map<string, Quota>();
  /** When the requests of the last minute came, by their sender. */
  private readonly recent = new Map<string, number[]>();

  /** A GitHub App that a test may install. */
  readonly app: GithubApp;
  readonly lfs = new GithubLfs();

  constructor(protected readonly now: () => number = Date.now) {
    this.app = new GithubApp(now);
  }

  /**
   * Whether an account may see a repository: with a token all of them, as with
   * GitHub's `repo` scope, with that of an installation those of its owner.
   */
  sees(account: Account, { visibility, owner }: HostedRepository): boolean {
    return visibility === "public" ||
      account !== null && this.app.isOf(account, owner);
  }

  /** Serves a repository as `owner/name`, in place of what was there. */
  add(
    fullName: string,
    git: GitRepository | null,
    options: Partial<
      Pick<HostedRepository, "visibility" | "defaultBranch" | "blocked">
    > = {},
  ): void {
    const usual = {
      visibility: "public",
      defaultBranch: "main",
      blocked: null,
    } as const;
    this.put(fullName, {
      ...usual,
      ...options,
      git,
      id: ++this.lastId,
      owner: "",
      name: "",
    });
  }

  /** The repository of that very name, or of that id, or null. */
  find(key: string | number): HostedRepository | null {
    if (typeof key === "string") {
      return this.byName.get(key.toLowerCase()) ?? null;
    }
    return this.byName.values().find(({ id }) => id === key) ?? null;
  }

  /** Where an old name leads, or null if it never was a name. */
  redirectOf(fullName: string): Redirect | null {
    return this.redirects.get(fullName.toLowerCase()) ?? null;
  }

  /** {@linkcode find}, following the redirects of old names. */
  follow(fullName: string): HostedRepository | null {
    return this.find(fullName) ??
      this.find(this.redirectOf(fullName)?.target?.id ?? 0);
  }

  /**
   * {@linkcode find}, for changing its fields. @throws {Error} if there is
   * none.
   */
  get(fullName: string): HostedRepository {
    const repository = this.find(fullName);
    if (repository !== null) return repository;
    throw new Error(
      `Cannot find "${fullName}": the double has no such repository`,
    );
  }

  /** Changes the visibility of a repository. */
  setVisibility(
    fullName: string,
    visibility: HostedRepository["visibility"],
  ): void {
    this.get(fullName).visibility = visibility;
  }

  /**
   * Renames or moves a repository; the old name answers 301, at GitHub to the
   * address by id.
   */
  rename(
    from: string,
    to: string,
    location = "{api}/repositories/{id}{rest}",
  ): void {
    const target = this.get(from);
    this.byName.delete(from.toLowerCase());
    this.put(to, target);
    this.redirects.set(from.toLowerCase(), { target, location });
  }

  /** Lets a name redirect to any address, a loop included. */
  redirect(fullName: string, location: string): void {
    this.redirects.set(fullName.toLowerCase(), { target: null, location });
  }

  /** Deletes a repository: 404 from then on. */
  remove(fullName: string): void {
    this.byName.delete(fullName.toLowerCase());
  }

  /** Makes a token valid; its index is its place in the order of adding. */
  addToken(token: string): void {
    this.tokens.set(token, this.tokens.size);
  }

  /** Makes a token invalid: 401 from then on. */
  revokeToken(token: string): void {
    this.revoked.add(token);
  }

  /**
   * The sender with this `Authorization` header; undefined for a token that is
   * unknown or revoked.
   */
  accountOf(authorization: string | null): Account | undefined {
    if (authorization === null) return null;
    const [, bearer, basic] =
      /^(?:Bearer (.+)|Basic (.+))$/i.exec(authorization) ?? [];
    const token = bearer ??
      /^x-access-token:(.+)$/.exec(atob(basic ?? ""))?.[1] ?? "";
    if (this.revoked.has(token)) return undefined;
    return this.tokens.get(token) ?? this.app.installationOf(token);
  }

  /**
   * The quota of a token, or of clients without one (null), to look at or to
   * change.
   */
  quota(token: string | null, resource: QuotaResource = "core"): Quota {
    const account = token === null ? null : this.tokens.get(token);
    if (account !== undefined) return this.quotaOf(account, resource);
    throw new Error(`Cannot find "${token}": the double has no such token`);
  }

  /**
   * An account's quota: 60 requests an hour without a token, 5,000 with one,
   * GraphQL points apart. It is full again once its hour is over.
   * https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
   */
  protected quotaOf(account: Account, resource: QuotaResource): Quota {
    const limit = account === null ? 60 : 5000;
    const full = { limit, remaining: limit, resetAtMs: 0, spent: 0 };
    const quota = this.quotas.getOrInsert(`${account} ${resource}`, full);
    if (this.now() >= quota.resetAtMs) {
      Object.assign(quota, {
        remaining: quota.limit,
        resetAtMs: this.now() + HOUR_MS,
      });
    }
    return quota;
  }

  /**
   * Counts a request of a token; whether that is over the secondary limit of
   * 900 points a minute.
   */
  protected isOverPace(account: number): boolean {
    const isLarge = this.quotaOf(account, "core").limit > MAX_QUOTA;
    return this.isOver(
      `token ${account}`,
      isLarge ? Infinity : POINTS_PER_MINUTE,
    );
  }

  /** Counts a request; whether there were that many in the last minute. */
  protected isOver(sender: string, perMinute: number): boolean {
    const nowMs = this.now();
    const recent = (this.recent.get(sender) ?? []).filter((atMs) =>
      atMs > nowMs - 60_000
    );
    this.recent.set(sender, [...recent, nowMs]);
    return recent.length >= perMinute;
  }

  /** Starts the counting of points anew; the quotas stay as they are. */
  resetCounts(): void {
    for (const quota of this.quotas.values()) quota.spent = 0;
  }

  private put(fullName: string, repository: HostedRepository): void {
    const [owner, name] = fullName.split("/");
    Object.assign(repository, { owner, name });
    this.byName.set(fullName.toLowerCase(), repository);
    this.redirects.delete(fullName.toLowerCase());
  }
}
