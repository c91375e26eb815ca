// What a row of the corpus is: a repository whose content is slow for one
// thing, and the requests that use it.

import type {
  GitContent,
  GitRepository,
} from "../../tests/github/git_repository.ts";
import type { LoggedRequest } from "../../tests/github/github_log.ts";
import type { Attacker } from "./attacker.ts";
import type { Env } from "../processes.ts";
import { COLD_REPOSITORIES } from "./source_names.ts";

/**
 * Who can do this: whoever can send a request, an author of a repository, or a
 * host that answers in GitHub's place.
 */
export type Kind = "anybody" | "author" | "broken source";

/** Files by path from the repository's root. */
export type Files = Iterable<
  readonly [path: string, content: string | Uint8Array]
>;

/** Parameters of a request. */
export type Parameters =
  | Readonly<Record<string, string | number | boolean>>
  | readonly (readonly [name: string, value: string])[];

/**
 * The addresses of a row's repository. `posts` is the collection where none is
 * named.
 */
export interface Site {
  /** The address of a list. */
  list(parameters?: Parameters): string;
  /** The address of an item. */
  item(parameters?: Parameters): string;
  /** The address of the list of collections. */
  collections(parameters?: Parameters): string;
}

/** What the process that serves had used when a row was over. */
export interface Used {
  /** Requests that reached the source during the attack. */
  readonly sourceRequests: number;
  /** The key-value store on disk, in MiB. */
  readonly storeMb: number;
}

/** One attack. */
export interface Row {
  readonly name: string;
  readonly attacker: Kind;
  /**
   * The files of a local folder. A row has this, or `repository`, or uses the
   * ordinary repository of every run.
   */
  readonly folder?: () => Files;
  /** The repository that the GitHub double serves. */
  readonly repository?: () => GitRepository | Promise<GitRepository>;
  /**
   * What the source answers in GitHub's place for this repository; null leaves
   * it to the double.
   */
  readonly answer?: (
    kind: LoggedRequest["kind"],
    path: string,
  ) => Response | null | Promise<Response | null>;
  /**
   * What a Git host answers to `ls-refs`; its address is in `env` as `{git}`.
   */
  readonly lsRefs?: () => Response;
  /**
   * Settings beside those of every run. A row that has some takes no part in
   * the phase "all at once".
   */
  readonly env?: Env;
  /**
   * Whether nobody reads what the service logs. Such a row takes no part in the
   * phase "all at once".
   */
  readonly hasUnreadLog?: boolean;
  /**
   * Requests that come first, so that the reading of the files is not what is
   * measured.
   */
  readonly first?: (site: Site) => readonly string[];
  /** How long to wait after those. */
  readonly waitMs?: number;
  /** The attack. It ends when the attacker's signal aborts. */
  readonly attack: (attacker: Attacker, site: Site) => Promise<void>;
  /** How long the attack may take. */
  readonly withinMs?: number;
  /** What is wrong with what the row used, or null. */
  readonly check?: (used: Used) => string | null;
}

/** No attack: the repository that nobody made to be slow. */
export const ORDINARY: Row = {
  name: "ordinary",
  attacker: "anybody",
  attack: async () => {},
};

/** The owner and the name of a row's repository. */
export function repositoryOf({ name, folder, repository, answer }: Row) {
  if (folder !== undefined) return { owner: "local", repo: name };
  return { owner: "octo", repo: repository || answer ? name : "ordinary" };
}

/** The addresses of a row's repository. */
export function siteOf(row: Row): Site {
  const address =
    (endpoint: string, first: Readonly<Record<string, string>>) =>
    (
      parameters: Parameters = {},
    ) => {
      const given = Symbol.iterator in parameters
        ? parameters
        : Object.entries(parameters);
      const pairs = given.map(([name, value]) => [name, `${value}`]);
      const missing = Object.entries(first).filter(([name]) =>
        !pairs.some(([own]) => own === name)
      );
      return `/api/${endpoint}?${new URLSearchParams([...missing, ...pairs])}`;
    };
  const repository = repositoryOf(row);
  return {
    list: address("list-collection-items", {
      ...repository,
      collection: "posts",
    }),
    item: address("get-item-content", repository),
    collections: address("list-collections", repository),
  };
}

let coldSites = 0;

/**
 * The address of a list that no client has requested before, as a client that
 * does no harm would.
 */
export function coldList(
  parameters: Readonly<Record<string, string>> = {},
): string {
  const repo = `site${coldSites++ % COLD_REPOSITORIES}`;
  return siteOf(ORDINARY).list({ owner: "cold", repo, ...parameters });
}

/** An attack that sends these requests, all at once. */
export function requests(
  ...make: readonly ((site: Site) => string)[]
): Row["attack"] {
  return (attacker, site) => attacker.all(make.map((one) => one(site)));
}

/**
 * An attack that sends one request of a kind again and again; `n` counts from
 * 0.
 */
export function flood(
  { times, atOnce }: { readonly times: number; readonly atOnce: number },
  path: (n: number, site: Site) => string,
): Row["attack"] {
  return (attacker, site) =>
    attacker.flood({ times, atOnce }, (n) => path(n, site));
}

/** So many values. */
export function many<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

/** So many values put together. */
export const repeat = (count: number, make: (n: number) => string) =>
  many(count, make).join("");

/** Files in `posts`, one a text. */
export function posts(
  texts: readonly (string | Uint8Array)[],
  extension = "md",
): Files {
  return texts.map((text, n) => [`posts/${n}.${extension}`, text] as const);
}

/** Files in a Git repository, as the GitHub double takes them. */
export const gitFiles = (files: Files) =>
  files as Iterable<readonly [string, GitContent]>;
