/** An account and a repository, and which state of it. */
interface RepositoryParameters {
  /** The account that owns the repository; `local` for folders of the deployment. */
  owner: string;
  repo: string;
  /** A branch, else a tag, else a full commit id; `HEAD` is the default branch. `main` where absent. */
  branch?: string | undefined;
}

/** Parameters of {@linkcode CollectionsClient.listItems}. */
export interface ListParameters extends RepositoryParameters {
  /** A name or a folder path; `/` is the repository's root. */
  collection: string;
  /** From 1. */
  page?: number | undefined;
  /** 1 to 1000, 50 where absent; at most 100 with content. */
  limit?: number | undefined;
  /** Whether each item carries its content. */
  includeContent?: boolean | undefined;
  /** Whether each text item carries its front matter, without its content. */
  includeFrontMatter?: boolean | undefined;
  /** `path`, `name`, `size` or `frontMatter.<key>`, with `-` in front for descending. */
  sort?: string | undefined;
  /** Whether files in sub-folders are items too; true where absent. */
  recursive?: boolean | undefined;
  /** By `name`, `path` or `frontMatter.<key>`, as in `{ "frontMatter.draft": "!true" }`; all of them must hold. */
  filter?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/** Parameters of {@linkcode CollectionsClient.getItem}. */
export interface ItemParameters extends RepositoryParameters {
  /** From the repository's root. */
  path: string;
}

/** Which state of which repository an answer shows. */
export interface Repository {
  owner: string;
  repo: string;
  branch: string;
  commit: string;
}

/** Why front matter does not parse; the line is counted in the file. */
export interface FrontMatterError {
  message: string;
  line: number;
}

/** Why an item of a page has no content. */
export interface ItemError {
  code:
    | "item-too-large"
    | "page-too-large"
    | "source-failed"
    | "source-timeout"
    | "source-rate-limited";
  detail: string;
}

interface File {
  name: string;
  /** From the repository's root. */
  path: string;
  /** Git's blob id. */
  sha: string;
  /** In bytes. */
  size: number;
  contentType: string;
  contentUrl: string;
  /** Absent for a source without web pages. */
  htmlUrl?: string | undefined;
  frontMatter?: Record<string, unknown> | undefined;
  frontMatterError?: FrontMatterError | undefined;
}

/** One item of a list; `content` and `encoding` only where content was asked for. */
export interface Item extends File {
  /** The path inside the collection, without its extension. */
  slug: string;
  encoding?: "utf-8" | "base64" | undefined;
  content?: string | undefined;
  error?: ItemError | undefined;
}

/** One page of a collection's items. */
export interface ItemPage {
  repository: Repository;
  /** `source` is the configuration file that declares the collection, where that is how it was found. */
  collection: { name: string; path: string; source?: string | undefined };
  items: Item[];
  pagination: {
    page: number;
    limit: number;
    totalItems: number;
    totalPages: number;
    hasNext: boolean;
    hasPrevious: boolean;
  };
  links: {
    self: string;
    first: string;
    previous: string | null;
    next: string | null;
    last: string;
  };
  /** Configuration files of the repository that were skipped, and why. */
  warnings?: string[] | undefined;
}

/** One file with its content. */
export interface ItemContent extends File {
  repository: Repository;
  encoding: "utf-8" | "base64";
  content: string;
  /** What follows the front matter. */
  body?: string | undefined;
}

/** Problem details (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  /** A sentence that a person can act on. */
  detail: string;
  code: string;
  requestId: string;
  errors?: { parameter: string; message: string }[] | undefined;
  suggestions?: string[] | undefined;
  size?: number | undefined;
  maxBytes?: number | undefined;
  htmlUrl?: string | undefined;
  retryAfterSeconds?: number | undefined;
}

/** Thrown for every answer that is no success. A network failure is fetch's own TypeError. */
export class ProblemError extends Error {
  constructor(problem: Problem);
  readonly problem: Problem;
  /** One of the service's codes, or `not-a-service-answer` where something between answered. */
  readonly code: string;
  readonly status: number;
}

/** Options of a {@linkcode CollectionsClient}. */
export interface ClientOptions {
  /** In place of the global fetch. */
  fetch?: typeof fetch;
  /**
   * Whether the last 100 answers are kept and asked for again by their ETag. For Deno and Node; a browser's own cache does
   * this already, and the header costs a preflight from another site.
   */
  reuse?: boolean;
}

/** Options of one request. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
}

/**
 * Asks one service.
 *
 * @example
 * ```js
 * const client = new CollectionsClient("http://localhost:8000");
 * for await (const item of client.items({ owner: "local", repo: "blog", collection: "posts" })) {
 *   console.log(item.slug);
 * }
 * ```
 */
export class CollectionsClient {
  /**
   * Without an address: the service that this file was loaded from. A file that was saved elsewhere needs one.
   * @throws {TypeError} where the address is none of `http:` or `https:`, such as that of a saved file.
   */
  constructor(baseUrl?: string | URL, options?: ClientOptions);

  /** One page of a collection. @throws {ProblemError} */
  listItems(parameters: ListParameters, options?: RequestOptions): Promise<ItemPage>;

  /**
   * The items of a collection from `page` on, page after page, each asked for when it is needed. A commit between two
   * pages can move an item from one to the other. @throws {ProblemError}
   */
  items(
    parameters: ListParameters,
    options?: RequestOptions,
  ): AsyncGenerator<Item, void, undefined>;

  /** One file with its content. @throws {ProblemError} */
  getItem(parameters: ItemParameters, options?: RequestOptions): Promise<ItemContent>;
}
