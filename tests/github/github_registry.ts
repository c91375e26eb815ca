// The repositories that the double serves, by name and by id. Names compare without case; a renamed repository keeps
// its id, and its old name redirects.

import type { GitRepository } from "./git_repository.ts";

/** The visibility of a repository. */
export type Visibility = "public" | "private" | "internal";

/** A repository at the double. `git` is null for an empty or a blocked one. */
export interface HostedRepository {
  id: number;
  owner: string;
  name: string;
  git: GitRepository | null;
  visibility: Visibility;
  defaultBranch: string;
  blocked: { status: 451 | 403; reason: string } | null;
}

/**
 * Form of a redirect's `Location`: by id as at GitHub, by the new name, none at all, on another host, or any text, in
 * which `{rest}` stands for the path behind the name with its query, and `{api}` for the API's base.
 */
export type RedirectForm = "numeric" | "named" | "none" | "other-host" | `${string}/${string}`;

/** What a name leads to. */
export interface Redirect {
  target: HostedRepository | null;
  form: RedirectForm;
}

/** Repositories by name and id, and the redirects of old names. */
export class GithubRegistry {
  private readonly byName = new Map<string, HostedRepository>();
  private readonly byId = new Map<number, HostedRepository>();
  private readonly redirects = new Map<string, Redirect>();
  private lastId = 1000;

  /** Puts a repository under `owner/name`, in place of what was there. */
  add(
    fullName: string,
    options: Partial<Omit<HostedRepository, "id" | "owner" | "name">> = {},
  ): HostedRepository {
    const [owner, name] = split(fullName);
    const repository: HostedRepository = {
      ...{ git: null, visibility: "public", defaultBranch: "main", blocked: null },
      ...options,
      ...{ id: ++this.lastId, owner, name },
    };
    this.byName.set(fullName.toLowerCase(), repository);
    this.byId.set(repository.id, repository);
    this.redirects.delete(fullName.toLowerCase());
    return repository;
  }

  /** The repository of that very name, or null. */
  find(fullName: string): HostedRepository | null {
    return this.byName.get(fullName.toLowerCase()) ?? null;
  }

  /** The repository of that id, or null. */
  findById(id: number): HostedRepository | null {
    return this.byId.get(id) ?? null;
  }

  /** Where an old name leads, or null if it never was a name. */
  redirect(fullName: string): Redirect | null {
    return this.redirects.get(fullName.toLowerCase()) ?? null;
  }

  /** {@linkcode find}, following the redirects of old names. */
  follow(fullName: string): HostedRepository | null {
    return this.find(fullName) ?? this.redirect(fullName)?.target ?? null;
  }

  /** {@linkcode find}. @throws {Error} if there is none. */
  get(fullName: string): HostedRepository {
    const repository = this.find(fullName);
    if (repository !== null) return repository;
    throw new Error(`Cannot find "${fullName}": the double has no such repository`);
  }

  /** Gives a repository a new name and lets the old one redirect. */
  rename(from: string, to: string, form: RedirectForm): void {
    const repository = this.get(from);
    this.byName.delete(from.toLowerCase());
    [repository.owner, repository.name] = split(to);
    this.byName.set(to.toLowerCase(), repository);
    this.redirects.delete(to.toLowerCase());
    this.redirects.set(from.toLowerCase(), { target: repository, form });
  }

  /** Lets a name redirect to any address, a loop included. */
  addRedirect(fullName: string, form: RedirectForm): void {
    this.redirects.set(fullName.toLowerCase(), { target: null, form });
  }

  /** Removes a repository and its old names. */
  remove(fullName: string): void {
    const repository = this.get(fullName);
    this.byName.delete(fullName.toLowerCase());
    this.byId.delete(repository.id);
    for (const [name, { target }] of this.redirects) {
      if (target === repository) this.redirects.delete(name);
    }
  }
}

function split(fullName: string): [owner: string, name: string] {
  const [owner, name, ...rest] = fullName.split("/");
  if (owner && name && rest.length === 0) return [owner, name];
  throw new Error(`Cannot add "${fullName}": not of the form owner/name`);
}
