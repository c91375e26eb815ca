/**
 * The client of a collections service: one file without imports, for browsers,
 * Deno and Node.
 *
 * @example
 * ```ts
 * const client = new CollectionsClient("http://localhost:8000");
 * const posts = client.collection({ owner: "local", repo: "blog", collection: "posts" });
 * for await (const item of posts.items({ kind: "markdown" })) {
 *   console.log(item.slug);
 * }
 * ```
 *
 * @module
 */

/** An account and a repository, and which state of it. */
interface RepositoryParameters {
  /**
   * The account that owns the repository; `local` for folders of the
   * deployment.
   */
  owner: string;
  repo: string;
  /**
   * A branch, else a tag, else a full commit id; `HEAD` is the default branch.
   * Default: `main`.
   */
  branch?: string | undefined;
}

/** A number or boolean is sent as its text. */
type FilterText = string | number | boolean;

/**
 * A value that an item's must equal, or with `!` in front must not; several
 * that it all must; or comparisons with it.
 */
export type FilterValue = FilterText | readonly FilterText[] | {
  readonly lt?: FilterText;
  readonly lte?: FilterText;
  readonly gt?: FilterText;
  readonly gte?: FilterText;
  readonly exists?: boolean;
  /** Without case or diacritics; for `name` and `path`, too. */
  readonly contains?: FilterText;
};

/** What the name of a file says that it is. */
export type Kind = "markdown" | "text" | "data" | "image" | "other";

/** The selection of items and their order. */
interface SelectionParameters {
  /**
   * `path`, `name`, `size`, `lastChanged.date`, `frontMatter.<key>` or
   * `data.<key>`, with `-` in front for descending.
   */
  sort?: string | undefined;
  /** Whether files in sub-folders are items too. Default: true. */
  recursive?: boolean | undefined;
  /**
   * By `name`, `path`, `frontMatter.<key>` or `data.<key>`, as in `{
   * "frontMatter.draft": "!true" }`; an item must satisfy all.
   */
  filter?: Readonly<Record<string, FilterValue>> | undefined;
  /** Only files of these kinds are items. */
  kind?: Kind | readonly Kind[] | undefined;
}

/** What Markdown is given as HTML for. */
interface HtmlParameters {
  /** Whether Markdown items carry `html`, `headings`, `excerpt` and `words`. */
  includeHtml?: boolean | undefined;
  /** Where links between items lead in `html`, with `{slug}` once. */
  linkTemplate?: string | undefined;
}

/** What is said about the commits that changed a file. */
interface HistoryParameters {
  /**
   * Whether items carry `lastChanged`, and a single one `created`; needs a
   * token at the service.
   */
  includeHistory?: boolean | undefined;
}

/** Parameters of {@linkcode CollectionsClient.listItems}. */
export interface ListParameters
  extends
    RepositoryParameters,
    SelectionParameters,
    HtmlParameters,
    HistoryParameters {
  /**
   * A name, a folder path or the path of a data file; `/` is the repository's
   * root.
   */
  collection: string;
  /** From 1. */
  page?: number | undefined;
  /** 1 to 1000, at most 100 with content, HTML or history. Default: 50. */
  limit?: number | undefined;
  /** Whether each item carries its content. */
  includeContent?: boolean | undefined;
  /** Whether each text item carries its front matter. */
  includeFrontMatter?: boolean | undefined;
  /**
   * Words that the text of an item has; best first unless `sort` is given. The
   * last one may be the beginning of a word.
   */
  search?: string | undefined;
  /**
   * What the cells of CSV are: texts, or with `infer` also numbers, booleans
   * and null.
   */
  types?: "text" | "infer" | undefined;
  /**
   * Keys of an item, such as `slug` and `frontMatter.title`, in a list or
   * separated by commas: an item has only these.
   */
  fields?: string | readonly string[] | undefined;
  /**
   * At most 5 keys, such as `frontMatter.tags`, in a list or separated by
   * commas, whose values are counted.
   */
  facets?: string | readonly string[] | undefined;
}

/** Parameters of {@linkcode CollectionsClient.listCollections}. */
export interface CollectionsParameters extends RepositoryParameters {
  /**
   * The folder whose sub-folders are listed; the repository's root where
   * absent.
   */
  path?: string | undefined;
  /** Whether each collection carries the JSON Schema of its front matter. */
  includeSchema?: boolean | undefined;
}

/**
 * What {@linkcode CollectionsClient.getItem} and {@linkcode
 * CollectionsClient.getItemBySlug} both take.
 */
interface CommonItemParameters
  extends
    RepositoryParameters,
    SelectionParameters,
    HtmlParameters,
    HistoryParameters {
  /**
   * Whether the item carries `previous` and `next` in the order of `sort` among
   * what `filter` leaves; needs a collection.
   */
  includeNeighbors?: boolean | undefined;
}

/** Parameters of {@linkcode CollectionsClient.getItem}. */
export interface ItemParameters extends CommonItemParameters {
  /** From the repository's root. */
  path: string;
  /** The collection that the path lies in. */
  collection?: string | undefined;
}

/** Parameters of {@linkcode CollectionsClient.getItemBySlug}. */
export interface SlugParameters extends CommonItemParameters {
  collection: string;
  /** The path inside the collection, without its extension. */
  slug: string;
}

/** Which state of which repository an answer shows. */
export interface Repository {
  owner: string;
  repo: string;
  branch: string;
  commit: string;
}

/** Front matter without a type of its own. */
export type FrontMatter = Record<string, unknown>;

/** Why front matter does not parse; the line is counted in the file. */
export interface FrontMatterError {
  message: string;
  line: number;
}

/** Why an item of a page has no content. */
export interface ItemError {
  code:
    | "item-not-found"
    | "item-too-large"
    | "page-too-large"
    | "source-failed"
    | "source-timeout"
    | "source-rate-limited";
  detail: string;
}

/** A heading of the HTML. */
export interface Heading {
  depth: number;
  /** As it is in the HTML. */
  id: string;
  text: string;
}

/** A commit that changed a file. */
export interface Change {
  /** When it was committed, in ISO 8601. */
  date: string;
  commit: string;
  author: { name: string };
  /** The first line of the message, 500 characters at most. */
  message: string;
}

interface File<Data> {
  name: string;
  /** From the repository's root. */
  path: string;
  /** Git's blob id. */
  sha: string;
  /** In bytes; of the file itself, where `lfs` is there. */
  size: number;
  /** What a Git LFS pointer names; a list that reads no files may lack it. */
  lfs?: { oid: string; size: number } | undefined;
  contentType: string;
  /** Absent for a name that cannot be requested. */
  contentUrl?: string | undefined;
  /** Absent for a source without web pages. */
  htmlUrl?: string | undefined;
  /** The newest commit of the branch that changed the file. */
  lastChanged?: Change | undefined;
  /**
   * Of a single item: the oldest commit of the branch that changed this path.
   */
  created?: Change | undefined;
  frontMatter?: Data | undefined;
  frontMatterError?: FrontMatterError | undefined;
  /** The value of a JSON, YAML or TOML file, or the row of a data file. */
  data?: unknown;
  /** What follows the front matter; absent where there is none. */
  body?: string | undefined;
  html?: string | undefined;
  headings?: Heading[] | undefined;
  excerpt?: string | undefined;
  words?: number | undefined;
  /**
   * The names of the components that MDX uses; in `html` an element with
   * `data-component` stands for each use.
   */
  mdxComponents?: string[] | undefined;
  htmlError?: { message: string } | undefined;
}

/** One item of a list; content and HTML only where they were requested. */
export interface Item<Data = FrontMatter> extends File<Data> {
  /** The path inside the collection, without its extension. */
  slug: string;
  encoding?: "utf-8" | "base64" | undefined;
  content?: string | undefined;
  match?: Match | undefined;
  /**
   * Of a row of a data file, which has only `index`, `key`, `data` and `match`.
   */
  index?: number | undefined;
  /** Of an entry of a mapping in a data file. */
  key?: string | undefined;
  error?: ItemError | undefined;
}

/** Why `search` found an item. */
export interface Match {
  /** Greater is better; comparable within one list. */
  score: number;
  /** HTML: escaped text with the hits in `<mark>`. */
  snippet: string;
}

/** A value of front matter, and how many items have it. */
export interface FacetValue {
  value: string | number | boolean;
  count: number;
}

/** One page of a collection's items. */
export interface ItemPage<Data = FrontMatter, One = Item<Data>> {
  repository: Repository;
  /**
   * `source` is the configuration file that declares the collection, where that
   * is how it was found.
   */
  collection: { name: string; path: string; source?: string | undefined };
  items: One[];
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
  /** By key, such as `frontMatter.tags`. */
  facets?: Record<string, FacetValue[]> | undefined;
  /** What was left out, skipped or ignored, and why. */
  warnings?: string[] | undefined;
}

/** A field of front matter that a CMS configuration declares. */
export interface CollectionField {
  name: string;
  label?: string | undefined;
  /** As the CMS names it; that of one value, where `list` is true. */
  type: string;
  required: boolean;
  /** Whether the field has a list of such values. */
  list?: boolean | undefined;
  /** The values to choose from. */
  options?: (string | number | boolean)[] | undefined;
  /** The fields of an object. */
  fields?: CollectionField[] | undefined;
}

/** A collection, and how many files of which kind it has. */
export interface Collection {
  /** What requests take as `collection`. */
  name: string;
  label?: string | undefined;
  path: string;
  /**
   * The configuration file that declares it; absent for a folder that was found
   * to hold content.
   */
  source?: string | undefined;
  fields?: CollectionField[] | undefined;
  items: number;
  kinds: {
    markdown?: number | undefined;
    text?: number | undefined;
    data?: number | undefined;
    image?: number | undefined;
    other?: number | undefined;
  };
  /**
   * JSON Schema 2020-12 of the front matter; absent where there is too much to
   * read.
   */
  schema?: Record<string, unknown> | undefined;
}

/** A folder, and how many files are below it. */
export interface Folder {
  name: string;
  path: string;
  files: number;
}

/** The collections of a repository. */
export interface CollectionList {
  repository: Repository;
  /** First those that a CMS configuration declares. */
  collections: Collection[];
  /** Directly in `path`. */
  folders: Folder[];
  /** What was left out or skipped, and why. */
  warnings?: string[] | undefined;
}

/** Parameters of {@linkcode CollectionsClient.listChanges}. */
export interface ChangesParameters extends RepositoryParameters {
  /** A name or a folder path; `/` is the repository's root. */
  collection: string;
  /**
   * The commit to compare with: `repository.commit` of a list or of earlier
   * changes.
   */
  since: string;
}

/** A file that was added, changed or removed. */
export interface ChangedFile {
  /** From the repository's root. */
  path: string;
  /** Git's blob id; of a removed file the last one. */
  sha: string;
  /** In bytes. */
  size: number;
}

/** A file with the content of a file that was removed. */
export interface RenamedFile extends ChangedFile {
  /** The path of the removed file. */
  from: string;
}

/** What changed in a collection between two commits, each by path. */
export interface CollectionChanges {
  /** `commit` is the new commit. */
  repository: Repository;
  since: string;
  added: ChangedFile[];
  changed: ChangedFile[];
  removed: ChangedFile[];
  renamed: RenamedFile[];
  /** Unknown parameters, which are ignored. */
  warnings?: string[] | undefined;
}

/** What {@linkcode CollectionsClient.changes} yields. */
export interface CollectionUpdate
  extends Omit<CollectionChanges, "since" | "warnings"> {
  /**
   * Whether `added` are all files of the collection: whatever else was known is
   * gone.
   */
  isWhole: boolean;
}

/**
 * Parameters of {@linkcode CollectionsClient.changes} and {@linkcode
 * CollectionsClient.watch}.
 */
export type FollowParameters = Omit<ChangesParameters, "since"> & {
  /**
   * Changes since this commit are wanted. Without it all files come first.
   */
  since?: string | undefined;
};

/** The item before or after another. */
export interface Neighbor<Data = FrontMatter> {
  name: string;
  path: string;
  slug: string;
  contentUrl?: string | undefined;
  frontMatter?: Data | undefined;
}

/** One file with its content. */
export interface ItemContent<Data = FrontMatter> extends File<Data> {
  repository: Repository;
  encoding: "utf-8" | "base64";
  content: string;
  /** Unknown parameters, which are ignored. */
  warnings?: string[] | undefined;
  previous?: Neighbor<Data> | null | undefined;
  next?: Neighbor<Data> | null | undefined;
}

/**
 * The service's codes, and `not-a-service-answer` where something between
 * answered.
 */
export type ProblemCode =
  | "invalid-parameters"
  | "repository-not-allowed"
  | "repository-not-found"
  | "branch-not-found"
  | "collection-not-found"
  | "item-not-found"
  | "signature-invalid"
  | "route-not-found"
  | "method-not-allowed"
  | "repository-empty"
  | "slug-ambiguous"
  | "since-unknown"
  | "body-too-large"
  | "item-too-large"
  | "collection-too-large"
  | "query-too-expensive"
  | "history-unavailable"
  | "too-many-requests"
  | "repository-blocked"
  | "internal-error"
  | "source-failed"
  | "source-rate-limited"
  | "service-busy"
  | "collection-not-ready"
  | "source-timeout"
  | "not-a-service-answer";

/** Problem details (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  /** A sentence on what to do. */
  detail: string;
  code: ProblemCode;
  requestId: string;
  errors?: { parameter: string; message: string }[] | undefined;
  suggestions?: string[] | undefined;
  paths?: string[] | undefined;
  size?: number | undefined;
  maxBytes?: number | undefined;
  htmlUrl?: string | undefined;
  retryAfterSeconds?: number | undefined;
}

/** The part of a Standard Schema (zod, valibot, arktype) that is used here. */
export interface Schema<Output> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?:
      | { readonly input: unknown; readonly output: Output }
      | undefined;
  };
}

/** The result of a schema for a value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A fault that a schema finds. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?:
    | readonly (PropertyKey | { readonly key: PropertyKey })[]
    | undefined;
}

/** Options of one request. */
export interface RequestOptions<Data = FrontMatter> {
  signal?: AbortSignal | undefined;
  /**
   * Checks the front matter of every item that has one; items carry what the
   * schema gives.
   */
  schema?: Schema<Data> | undefined;
}

/**
 * Bytes in a buffer of their own, which TypeScript before 5.7 cannot tell from
 * others.
 */
export type Bytes = ReturnType<Uint8ArrayConstructor["of"]>;

/** Options of a {@linkcode CollectionsClient}. */
export interface ClientOptions {
  /** In place of the global fetch. */
  fetch?: typeof fetch;
  /**
   * Sent with every request, such as a key that a proxy in front of the service
   * requires.
   */
  headers?: ConstructorParameters<typeof Headers>[0];
  /**
   * How long one call may wait in all while the service says with `Retry-After`
   * that it is not ready, in ms. A longer wait is thrown at once. 0 turns
   * waiting off. Default: 30,000.
   */
  maxWaitMs?: number;
  /**
   * How long one request may take, its answer included, until it fails with a
   * `TimeoutError`, in ms. 0 means no limit. Default: 60,000.
   */
  timeoutMs?: number;
  /**
   * Whether the last 100 responses are cached and revalidated by their ETag.
   * For Deno and Node; a browser's own cache does this already, and the header
   * costs a preflight from another site.
   */
  reuse?: boolean;
  /** In place of a timer, for tests. */
  wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/**
 * Thrown for every answer that is not a success. A network failure is fetch's
 * own TypeError.
 */
export class ProblemError extends Error {
  readonly problem: Problem;
  readonly code: ProblemCode;
  readonly status: number;
  /** The address that was requested. */
  readonly url: string;

  constructor(problem: Problem, url = "") {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.url = url;
  }
}

/**
 * Thrown where the front matter of an item does not fit the schema of a
 * request.
 */
export class SchemaError extends Error {
  /**
   * The file, from the repository's root; with `fields` without `path` its
   * slug, if anything.
   */
  readonly path: string;
  readonly issues: readonly SchemaIssue[];

  constructor(path: string, issues: readonly SchemaIssue[]) {
    const texts = issues.map(({ message, path = [] }) => {
      const keys = path.map((part) =>
        String(typeof part === "object" ? part.key : part)
      );
      return keys.length > 0 ? `${keys.join(".")}: ${message}` : message;
    });
    super(`The front matter of "${path}" does not fit: ${texts.join("; ")}`);
    this.name = "SchemaError";
    this.path = path;
    this.issues = issues;
  }
}

const MAX_CACHED = 100;
const DEFAULT_MAX_WAIT_MS = 30_000;
const DEFAULT_TIMEOUT_MS = 60_000;
/** The largest pages that the service gives. */
const MAX_LIMIT = 1000;
const MAX_LIMIT_WITH_CONTENT = 100;
/** Between two polls where `Cache-Control` has no `max-age`. */
const POLL_SECONDS = 5;
const MAX_POLL_SECONDS = 3600;
/** Between two polls of a service that fails. */
const MAX_BACK_OFF_MS = 60_000;
const CONTENT_FIELDS =
  /(^|,)\s*(content|encoding|body|html|headings|excerpt|words|mdxComponents|htmlError|lastChanged)\s*(,|$)/;

/** A collection of a repository, at a branch. */
export interface CollectionAddress<Name extends string = string>
  extends RepositoryParameters {
  /**
   * A name, a folder path or the path of a data file; `/` is the repository's
   * root.
   */
  collection: Name;
}

type Named = "owner" | "repo" | "branch" | "collection";

/** A key of a mapping; a dot goes one mapping deeper. */
type KeyOf<Data> = {
  [K in keyof Data & string]-?: NonNullable<Data[K]> extends
    FilterText | readonly unknown[] ? K : K | `${K}.${string}`;
}[keyof Data & string];

/** A key of front matter of the type `Data`, or of a data file. */
export type ItemKey<Data = FrontMatter> =
  | `frontMatter.${KeyOf<Data>}`
  | `data.${string}`;

/** What `sort` takes for front matter of the type `Data`. */
export type SortKey<Data = FrontMatter> =
  | "path"
  | "name"
  | "size"
  | ItemKey<Data>;

/** What `fields` takes for front matter of the type `Data`. */
export type FieldKey<Data = FrontMatter> =
  | Exclude<keyof Item, "created">
  | ItemKey<Data>;

/** The selection of items, with the keys of their front matter. */
interface TypedSelection<Data> {
  /** As in {@linkcode ListParameters}. */
  sort?: SortKey<Data> | `-${SortKey<Data>}` | undefined;
  /** As in {@linkcode ListParameters}. */
  filter?:
    | { readonly [K in "name" | "path" | ItemKey<Data>]?: FilterValue }
    | undefined;
}

type Flag = boolean | undefined;

/** Parameters of a list of a {@linkcode CollectionHandle}. */
export interface TypedListParameters<
  Data,
  Fields,
  Content,
  Meta,
  Html,
  History,
> extends
  Omit<
    ListParameters,
    | Named
    | "sort"
    | "filter"
    | "fields"
    | "facets"
    | "includeContent"
    | "includeFrontMatter"
    | "includeHtml"
    | "includeHistory"
  >,
  TypedSelection<Data> {
  /** Keys of an item: items have only these. */
  fields?: Fields | undefined;
  /** At most 5 keys whose values are counted. */
  facets?: readonly ItemKey<Data>[] | undefined;
  /** Whether each item carries its content. */
  includeContent?: Content;
  /** Whether each text item carries its front matter. */
  includeFrontMatter?: Meta;
  /** Whether Markdown items carry `html`, `headings`, `excerpt` and `words`. */
  includeHtml?: Html;
  /** Whether items carry `lastChanged`; needs a token at the service. */
  includeHistory?: History;
}

type MetaKey = "frontMatter" | "frontMatterError" | "data";
type ContentKey = "content" | "encoding" | "body" | MetaKey;
type HtmlKey =
  | "html"
  | "headings"
  | "excerpt"
  | "words"
  | "mdxComponents"
  | "htmlError";
type HistoryKey = "lastChanged" | "created";
type If<Given, Key> = Given extends false | undefined ? never : Key;

/** An item with the keys that parameters ask for. */
export type TypedItem<Data, Fields, Content, Meta, Html, History> =
  Fields extends readonly [] ? Omit<
      Item<Data>,
      Exclude<
        ContentKey | HtmlKey | HistoryKey,
        | If<Content, ContentKey>
        | If<Meta, MetaKey>
        | If<Html, HtmlKey>
        | If<History, "lastChanged">
      >
    >
    : Fields extends readonly (infer Field extends string)[]
      ? number extends Fields["length"] ? Partial<Item<Data>>
      : PickedItem<Data, Field>
    : never;

/** Errors stay; a key of front matter leaves the others out. */
type PickedItem<Data, Field extends string> =
  & Pick<
    Item<Data>,
    (Field | "error" | "htmlError" | "frontMatterError") & keyof Item
  >
  & ([Extract<Field, `data.${string}`>] extends [never] ? unknown
    : { data?: unknown })
  & ([MetaField<Field>] extends [never] ? unknown
    : { frontMatter?: Pick<Data, MetaField<Field> & keyof Data> | undefined });

type MetaField<Field> = Field extends `frontMatter.${infer Path}`
  ? Path extends `${infer Key}.${string}` ? Key | Path : Path
  : never;

/** Parameters of a single item of a {@linkcode CollectionHandle}. */
export interface TypedItemParameters<Data, Html, History, Neighbors>
  extends
    Omit<
      CommonItemParameters,
      | Named
      | "sort"
      | "filter"
      | "includeHtml"
      | "includeHistory"
      | "includeNeighbors"
    >,
    TypedSelection<Data> {
  /** Whether Markdown carries `html`, `headings`, `excerpt` and `words`. */
  includeHtml?: Html;
  /**
   * Whether the item carries `lastChanged` and `created`; needs a token at the
   * service.
   */
  includeHistory?: History;
  /**
   * Whether the item carries `previous` and `next` in the order of `sort` among
   * what `filter` leaves.
   */
  includeNeighbors?: Neighbors;
}

/** A single item with the keys that parameters ask for. */
export type TypedContent<Data, Html, History, Neighbors> = Omit<
  ItemContent<Data>,
  Exclude<
    HtmlKey | HistoryKey | "previous" | "next",
    | If<Html, HtmlKey>
    | If<History, HistoryKey>
    | If<Neighbors, "previous" | "next">
  >
>;

/**
 * Options of {@linkcode CollectionHandle.changes} and {@linkcode
 * CollectionHandle.watch}.
 */
export interface FollowOptions {
  /**
   * Changes since this commit are wanted. Without it all files come first.
   */
  since?: string | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * One collection with the type of its front matter. Its methods know the keys
 * of the front matter, and give items with the keys that were asked for.
 */
export interface CollectionHandle<Data = FrontMatter> {
  /** One page, as {@linkcode CollectionsClient.listItems}. */
  list<
    const Fields extends readonly FieldKey<Data>[] = readonly [],
    Content extends Flag = false,
    Meta extends Flag = false,
    Html extends Flag = false,
    History extends Flag = false,
  >(
    parameters?: TypedListParameters<
      Data,
      Fields,
      Content,
      Meta,
      Html,
      History
    >,
    options?: RequestOptions<Data>,
  ): Promise<
    ItemPage<Data, TypedItem<Data, Fields, Content, Meta, Html, History>>
  >;
  /**
   * All items, or the first `limit`, as {@linkcode CollectionsClient.items}.
   */
  items<
    const Fields extends readonly FieldKey<Data>[] = readonly [],
    Content extends Flag = false,
    Meta extends Flag = false,
    Html extends Flag = false,
    History extends Flag = false,
  >(
    parameters?:
      & TypedListParameters<Data, Fields, Content, Meta, Html, History>
      & PageSize,
    options?: RequestOptions<Data>,
  ): AsyncGenerator<
    TypedItem<Data, Fields, Content, Meta, Html, History>,
    void,
    undefined
  >;
  /** The items of {@linkcode CollectionHandle.items} in an array. */
  all<
    const Fields extends readonly FieldKey<Data>[] = readonly [],
    Content extends Flag = false,
    Meta extends Flag = false,
    Html extends Flag = false,
    History extends Flag = false,
  >(
    parameters?:
      & TypedListParameters<Data, Fields, Content, Meta, Html, History>
      & PageSize,
    options?: RequestOptions<Data>,
  ): Promise<TypedItem<Data, Fields, Content, Meta, Html, History>[]>;
  /** The first item, or null. */
  first<
    const Fields extends readonly FieldKey<Data>[] = readonly [],
    Content extends Flag = false,
    Meta extends Flag = false,
    Html extends Flag = false,
    History extends Flag = false,
  >(
    parameters?: TypedListParameters<
      Data,
      Fields,
      Content,
      Meta,
      Html,
      History
    >,
    options?: RequestOptions<Data>,
  ): Promise<TypedItem<Data, Fields, Content, Meta, Html, History> | null>;
  /**
   * One page of the items that have all of these words, best first; the last
   * word may be the beginning of one.
   */
  search<
    const Fields extends readonly FieldKey<Data>[] = readonly [],
    Content extends Flag = false,
    Meta extends Flag = false,
    Html extends Flag = false,
    History extends Flag = false,
  >(
    words: string,
    parameters?: TypedListParameters<
      Data,
      Fields,
      Content,
      Meta,
      Html,
      History
    >,
    options?: RequestOptions<Data>,
  ): Promise<
    ItemPage<
      Data,
      & TypedItem<Data, Fields, Content, Meta, Html, History>
      & (Fields extends readonly [] ? { match: Match } : unknown)
    >
  >;
  /**
   * The file at a path from the repository's root. @throws {ProblemError}
   * `item-not-found` where it is not in the collection.
   */
  get<
    Html extends Flag = false,
    History extends Flag = false,
    Neighbors extends Flag = false,
  >(
    path: string,
    parameters?: TypedItemParameters<Data, Html, History, Neighbors>,
    options?: RequestOptions<Data>,
  ): Promise<TypedContent<Data, Html, History, Neighbors>>;
  /**
   * The item with a slug. @throws {ProblemError} `item-not-found` where there
   * is none.
   */
  bySlug<
    Html extends Flag = false,
    History extends Flag = false,
    Neighbors extends Flag = false,
  >(
    slug: string,
    parameters?: TypedItemParameters<Data, Html, History, Neighbors>,
    options?: RequestOptions<Data>,
  ): Promise<TypedContent<Data, Html, History, Neighbors>>;
  /** As {@linkcode CollectionsClient.changes}. */
  changes(
    options?: FollowOptions,
  ): AsyncGenerator<CollectionUpdate, void, undefined>;
  /** As {@linkcode CollectionsClient.watch}. */
  watch(
    callback: (update: CollectionUpdate) => unknown,
    options?: FollowOptions & {
      onError?: ((error: unknown) => void) | undefined;
    },
  ): () => void;
}

/** The size of the pages that {@linkcode CollectionsClient.items} requests. */
interface PageSize {
  /**
   * 1 to 1000 items a request; at most 100 with content, HTML or history.
   * `limit` is for all requests together.
   */
  pageSize?: number | undefined;
}

/**
 * Sends requests to one service. `Types` has the front matter of each
 * collection by its name, as the service's `/api/collection-types.ts` declares
 * it.
 */
export class CollectionsClient<
  Types extends object = Record<string, FrontMatter>,
> {
  readonly #baseUrl: string;
  readonly #options: ClientOptions;
  /**
   * Answers by address, the one used last at the end; null where none are
   * cached.
   */
  readonly #cached: Map<string, { etag: string; body: unknown }> | null;

  /**
   * `/client.js` of a service needs no address where it is imported from that
   * service.
   * @throws {TypeError} where the address is missing or none of `http:` or
   * `https:`, or has a `?` or `#`.
   */
  constructor(
    baseUrl: string | URL,
    options: ClientOptions = {},
  ) {
    this.#baseUrl = String(baseUrl).replace(/\/+$/, "");
    if (
      /^undefined$|^(?!https?:)[a-z][a-z0-9+.-]*:|[?#]/i.test(this.#baseUrl)
    ) {
      throw new TypeError(
        `Cannot use "${baseUrl}": give the service's address, such as "http://localhost:8000", without "?" and "#"`,
      );
    }
    this.#options = options;
    this.#cached = options.reuse ? new Map() : null;
  }

  /**
   * One collection. Its front matter has its type in `Types`, or the given one,
   * or that of the `schema` of `options`.
   */
  collection<Name extends keyof Types & string>(
    collection: Name,
    repository: RepositoryParameters,
  ): CollectionHandle<Types[Name]>;
  collection<Name extends keyof Types & string>(
    address: CollectionAddress<Name>,
  ): CollectionHandle<Types[Name]>;
  collection<Data = FrontMatter>(
    address: CollectionAddress,
    options?: RequestOptions<Data>,
  ): CollectionHandle<Data>;
  collection(
    of: string | CollectionAddress,
    more: RepositoryParameters | RequestOptions = {},
  ): object {
    const isName = typeof of === "string";
    const address = isName
      ? { ...more as RepositoryParameters, collection: of }
      : of;
    const defaults = isName ? {} : more as RequestOptions;
    const optionsOf = (options?: RequestOptions) => ({
      ...defaults,
      ...options,
    });
    const list = (given?: object, options?: RequestOptions) =>
      this.listItems({ ...given, ...address }, optionsOf(options));
    const items = (given?: object, options?: RequestOptions) =>
      this.items({ ...given, ...address }, optionsOf(options));
    const get = (given: object, options?: RequestOptions) =>
      this.#getItem({ ...given, ...address }, optionsOf(options));
    return {
      list,
      items,
      async all(given?: object, options?: RequestOptions) {
        const all = [];
        for await (const item of items(given, options)) all.push(item);
        return all;
      },
      first: async (given?: object, options?: RequestOptions) =>
        (await list({ ...given, limit: 1 }, options)).items[0] ?? null,
      search: (search: string, given?: object, options?: RequestOptions) =>
        list({ ...given, search }, options),
      get: (path: string, given?: object, options?: RequestOptions) =>
        get({ ...given, path }, options),
      bySlug: (slug: string, given?: object, options?: RequestOptions) =>
        get({ ...given, slug }, options),
      changes: ({ since, signal }: FollowOptions = {}) =>
        this.changes({ ...address, since }, optionsOf({ signal })),
      watch: (
        callback: (update: CollectionUpdate) => unknown,
        { since, ...options }: FollowOptions = {},
      ) =>
        this.watch({ ...address, since }, callback, {
          ...defaults,
          ...options,
        }),
    };
  }

  /**
   * The collections of a repository, and the folders of one of its folders.
   * @throws {ProblemError}
   */
  async listCollections(
    parameters: CollectionsParameters,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<CollectionList> {
    return await this.#request<CollectionList>(
      "list-collections",
      "collections",
      parameters,
      signal,
    );
  }

  /** One page of a collection. @throws {ProblemError | SchemaError} */
  async listItems<Data = FrontMatter>(
    parameters: ListParameters,
    { signal, schema }: RequestOptions<Data> = {},
  ): Promise<ItemPage<Data>> {
    const page = await this.#request<ItemPage<Data>>(
      "list-collection-items",
      "items",
      parameters,
      signal,
    );
    for (const item of page.items) await applySchema(item, schema);
    return page;
  }

  /**
   * The items of a collection from `page` on, `limit` of them at most. Each
   * page is requested when it is needed, and as large as possible without a
   * `pageSize`. All pages are of the commit of the first, and addresses in
   * later pages (`contentUrl`, `htmlUrl`, those in `html`) therefore name that
   * commit as their `branch`: they show that state for good. Where a deployment
   * gives no commits, which are local folders and chosen repositories, a change
   * between two pages can move an item from one to the other.
   * @throws {ProblemError | SchemaError}
   */
  async *items<Data = FrontMatter>(
    { pageSize, limit: most = Infinity, ...parameters }:
      & ListParameters
      & PageSize,
    options: RequestOptions<Data> = {},
  ): AsyncGenerator<Item<Data>, void, undefined> {
    const hasContent = parameters.includeContent || parameters.includeHtml ||
      parameters.includeHistory ||
      CONTENT_FIELDS.test(String(parameters.fields));
    const largest = hasContent ? MAX_LIMIT_WITH_CONTENT : MAX_LIMIT;
    const limit = pageSize ?? Math.min(most, largest);
    let left = most;
    for await (
      const { items } of this.#pages({ ...parameters, limit }, options)
    ) {
      yield* items.slice(0, left);
      left -= items.length;
      if (left <= 0) return;
    }
  }

  async *#pages<Data>(
    parameters: ListParameters,
    options: RequestOptions<Data>,
  ): AsyncGenerator<ItemPage<Data>, void, undefined> {
    const request = { ...parameters, page: parameters.page ?? 1 };
    let mayPin = parameters.owner.toLowerCase() !== "local";
    while (true) {
      let answer: ItemPage<Data>;
      try {
        answer = await this.listItems(request, options);
      } catch (error) {
        const isPinned = request.branch !== parameters.branch;
        if (!isPinned || codeOf(error) !== "branch-not-found") throw error;
        mayPin = false;
        request.branch = parameters.branch;
        continue;
      }
      yield answer;
      if (!answer.pagination.hasNext) return;
      if (mayPin) request.branch = answer.repository.commit;
      request.page++;
    }
  }

  /** What changed in a collection since a commit. @throws {ProblemError} */
  async listChanges(
    parameters: ChangesParameters,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<CollectionChanges> {
    return await this.#request<CollectionChanges>(
      "list-collection-changes",
      "added",
      parameters,
      signal,
    );
  }

  /**
   * Follows a collection for as long as it is iterated: yields each set of
   * changes, and polls as often as `Cache-Control` allows, in a page only while
   * that is visible. Without `since`, and where the service has forgotten the
   * commit or too much has changed, all files are listed: see `isWhole`. While
   * the service fails it tries again, after up to a minute.
   * @throws {ProblemError} where trying again does not help, such as
   * `branch-not-found`.
   * @throws the signal's reason.
   */
  async *changes(
    { since, ...parameters }: FollowParameters,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<CollectionUpdate, void, undefined> {
    const { wait = waitMs } = this.#options;
    let etag: string | undefined;
    for (let failures = 0;;) {
      await untilVisible(signal);
      let update: CollectionUpdate | null = null;
      let pauseMs = 0;
      try {
        if (since === undefined) {
          update = await this.#listWhole(parameters, signal);
        } else {
          const polled = await this.#poll({ ...parameters, since }, {
            signal,
            etag,
          });
          ({ update, etag, pauseMs } = polled);
          failures = 0;
        }
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        const code = codeOf(error);
        const isForgotten = since !== undefined &&
          (code === "since-unknown" || code === "collection-too-large");
        if (isForgotten) since = undefined;
        else if (!isOutage(error)) throw error;
        const { retryAfterSeconds = 0 } = error instanceof ProblemError
          ? error.problem
          : {};
        const backOffMs = Math.min(1000 * 2 ** failures++, MAX_BACK_OFF_MS);
        pauseMs = Math.max(1000 * retryAfterSeconds, backOffMs);
      }
      if (update !== null) {
        const { repository, isWhole, added, changed, removed, renamed } =
          update;
        if (since !== repository.commit) etag = undefined;
        since = repository.commit;
        const count = [added, changed, removed, renamed].flat().length;
        if (isWhole || count > 0) yield update;
      }
      if (pauseMs > 0) await wait(pauseMs, signal);
    }
  }

  /**
   * Calls back with each update of {@linkcode CollectionsClient.changes}, one
   * after the other. Returns a function that stops it, as `signal` does. What
   * ends it otherwise is given to `onError`, and is an unhandled rejection
   * without it.
   */
  watch(
    parameters: FollowParameters,
    callback: (update: CollectionUpdate) => unknown,
    { signal, onError }: {
      signal?: AbortSignal | undefined;
      onError?: ((error: unknown) => void) | undefined;
    } = {},
  ): () => void {
    const stopped = new AbortController();
    const stop = () => {
      signal?.removeEventListener("abort", stop);
      stopped.abort();
    };
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    const follow = async () => {
      try {
        const options = { signal: stopped.signal };
        for await (const update of this.changes(parameters, options)) {
          if (!stopped.signal.aborted) await callback(update);
        }
      } catch (error) {
        if (stopped.signal.aborted) return;
        stop();
        if (onError === undefined) throw error;
        onError(error);
      }
    };
    void follow();
    return stop;
  }

  /** All files of one commit. */
  async #listWhole(
    parameters: Omit<ChangesParameters, "since">,
    signal?: AbortSignal,
  ): Promise<CollectionUpdate> {
    let request: ListParameters = {
      ...parameters,
      fields: "path,sha,size",
      limit: MAX_LIMIT,
    };
    for (;;) {
      let repository: Repository | undefined;
      const added: ChangedFile[] = [];
      let isOneCommit = true;
      for await (const page of this.#pages(request, { signal })) {
        repository ??= page.repository;
        isOneCommit = page.repository.commit === repository.commit;
        if (!isOneCommit) break;
        const [first] = page.items;
        if (first !== undefined && first.path === undefined) {
          // The items of a data file are rows. It is itself an item of its
          // folder.
          const [, folder, name = ""] =
            /^\/*(?:(.*)\/)?(.+?)\/*$/.exec(parameters.collection) ?? [];
          request = {
            ...request,
            collection: folder ?? "/",
            filter: { name },
            recursive: false,
          };
          isOneCommit = false;
          break;
        }
        for (const { path, sha, size } of page.items) {
          added.push({ path, sha, size });
        }
      }
      const none = { changed: [], removed: [], renamed: [] };
      if (repository !== undefined && isOneCommit) {
        return { repository, added, ...none, isWhole: true };
      }
    }
  }

  /** The changes, or null where there is nothing new, and when to ask again. */
  async #poll(
    parameters: ChangesParameters,
    { signal, etag }: {
      signal: AbortSignal | undefined;
      etag: string | undefined;
    },
  ): Promise<
    {
      update: CollectionUpdate | null;
      etag: string | undefined;
      pauseMs: number;
    }
  > {
    const url = this.#url("list-collection-changes", parameters);
    const response = await this.#send(url, signal, etag, 0);
    const { headers } = response;
    const pauseMs = pollMs(headers);
    if (response.status === 304 && etag !== undefined) {
      await response.body?.cancel();
      return { update: null, etag, pauseMs };
    }
    const body = await readBody<CollectionChanges>(response, url, "added");
    const { repository, added, changed, removed, renamed } = body;
    return {
      update: { repository, added, changed, removed, renamed, isWhole: false },
      etag: headers.get("etag") ?? undefined,
      pauseMs,
    };
  }

  /** One file with its content. @throws {ProblemError | SchemaError} */
  async getItem<Data = FrontMatter>(
    parameters: ItemParameters,
    options: RequestOptions<Data> = {},
  ): Promise<ItemContent<Data>> {
    return await this.#getItem(parameters, options);
  }

  /**
   * The item of a collection with a slug. @throws {ProblemError | SchemaError}
   */
  async getItemBySlug<Data = FrontMatter>(
    parameters: SlugParameters,
    options: RequestOptions<Data> = {},
  ): Promise<ItemContent<Data>> {
    return await this.#getItem(parameters, options);
  }

  async #getItem<Data>(
    parameters: object,
    { signal, schema }: RequestOptions<Data>,
  ): Promise<ItemContent<Data>> {
    const item = await this.#request<ItemContent<Data>>(
      "get-item-content",
      "content",
      parameters,
      signal,
    );
    for (const part of [item, item.previous, item.next]) {
      if (part) await applySchema(part, schema);
    }
    return item;
  }

  /**
   * The bytes of an item: out of its content where it has that with its
   * encoding, else from the service.
   * @throws {ProblemError}
   * @throws {TypeError} where an item has neither content with its encoding nor
   * an address.
   */
  async bytes(
    item: Pick<File<unknown>, "contentUrl"> & {
      content?: string | undefined;
      encoding?: string | undefined;
    },
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<Bytes> {
    // With `fields` an item may have content alone, which could be text or
    // base64.
    if (item.content !== undefined && item.encoding !== undefined) {
      if (item.encoding !== "base64") {
        return new TextEncoder().encode(item.content);
      }
      return Uint8Array.from(atob(item.content), (char) => char.charCodeAt(0));
    }
    if (item.contentUrl === undefined) {
      throw new TypeError(
        "Cannot read the bytes of an item: it has no contentUrl, nor content with its encoding",
      );
    }
    // Only the query is taken, so that headers go to no other host.
    const query = item.contentUrl.replace(/^[^?]*|&format=raw$/g, "");
    const url = `${this.#baseUrl}/api/get-item-content${query}&format=raw`;
    const response = await this.#send(url, signal);
    if (!response.ok) {
      throw new ProblemError(
        asProblem(await readJson(response), response),
        url,
      );
    }
    return new Uint8Array(await response.arrayBuffer());
  }

  /** The answer of an operation; `key` is in every such answer. */
  async #request<Body>(
    operation: string,
    key: keyof Body & string,
    parameters: object,
    signal?: AbortSignal,
  ): Promise<Body> {
    const url = this.#url(operation, parameters);
    const cached = this.#cached?.get(url);
    const response = await this.#send(url, signal, cached?.etag);
    if (response.status === 304 && cached !== undefined) {
      await response.body?.cancel();
      this.#cache(url, cached);
      return structuredClone(cached.body) as Body;
    }
    const body = await readBody<Body>(response, url, key);
    const etag = response.headers.get("etag");
    if (etag !== null) this.#cache(url, { etag, body: structuredClone(body) });
    return body;
  }

  #url(operation: string, parameters: object): string {
    return `${this.#baseUrl}/api/${operation}?${queryOf(parameters)}`;
  }

  /**
   * Sends a request, again after each `Retry-After` while there is time for it.
   */
  async #send(
    url: string,
    signal?: AbortSignal,
    etag?: string,
    maxWaitMs: number = this.#options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS,
  ): Promise<Response> {
    const { wait = waitMs, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const headers = new Headers(this.#options.headers);
    if (etag !== undefined) headers.set("if-none-match", etag);
    // A browser's fetch must be called on its window.
    const send = this.#options.fetch ?? ((input, init) => fetch(input, init));
    for (let leftMs = maxWaitMs;;) {
      const within = timeLimit(timeoutMs, signal);
      const response = await send(url, {
        headers,
        ...within ? { signal: within } : {},
      });
      const ms = retryAfterMs(response.headers);
      if (![429, 503].includes(response.status) || !(ms <= leftMs)) {
        return response;
      }
      await response.body?.cancel();
      leftMs -= ms;
      await wait(ms, signal);
    }
  }

  #cache(url: string, answer: { etag: string; body: unknown }): void {
    const cached = this.#cached;
    if (cached === null) return;
    cached.delete(url);
    cached.set(url, answer);
    const [oldest] = cached.keys();
    if (cached.size > MAX_CACHED) cached.delete(oldest!);
  }
}

/**
 * The address of a file that an item names, in its front matter for example:
 * `../img/a.png` from the folder of the item, `/img/a.png` from the
 * repository's root. Addresses of other sites stay as they are.
 * @throws {TypeError} where the item has no `contentUrl`.
 */
export function assetUrl(
  { contentUrl }: { contentUrl?: string | undefined },
  reference: string,
): string {
  if (/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(reference)) return reference;
  if (contentUrl === undefined) {
    throw new TypeError(
      `Cannot find "${reference}": the item has no contentUrl`,
    );
  }
  const [start = "", encoded = ""] = contentUrl.split(/(?<=&path=)/);
  const { pathname } = new URL(
    reference,
    `http://root/${encoded.replaceAll("%2F", "/")}`,
  );
  const path = encodeURIComponent(decode(pathname.slice(1)));
  return `${start}${path}&format=raw`;
}

/** A picture that {@linkcode savePictures} read. */
export interface Picture {
  /**
   * A file name of letters, digits, dots, `-` and `_`, which other bytes do not
   * have.
   */
  name: string;
  bytes: Bytes;
}

/**
 * Returns a function that takes the HTML of an item and gives it with pictures
 * of a site's own. Each picture of the repository is read once and given to
 * `save`, which returns its new address, or nothing where it is to stay.
 * Missing pictures stay as they are, and those of other sites.
 * @throws {ProblemError} from that function, where the service fails.
 *
 * @example
 * ```ts
 * const withPictures = savePictures(client, async ({ name, bytes }) => {
 *   await writeFile(`public/pictures/${name}`, bytes);
 *   return `/pictures/${name}`;
 * });
 * const html = await withPictures(item.html);
 * ```
 */
export function savePictures(
  client: Pick<CollectionsClient, "bytes">,
  save: (picture: Picture) => string | void | Promise<string | void>,
): (html: string | undefined) => Promise<string> {
  const saved = new Map<string, Promise<string | void>>();
  const read = async (contentUrl: string) => {
    const path = decode(contentUrl.replace(/.*&path=|&format=raw$/g, ""));
    // What is no picture could be a page, which the site must not serve as its
    // own.
    if (!/\.(avif|bmp|gif|ico|jpe?g|png|svg|webp)$/i.test(path)) return;
    let bytes: Bytes;
    try {
      bytes = await client.bytes({ contentUrl });
    } catch (error) {
      if (codeOf(error) === "item-not-found") return;
      throw error;
    }
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    let name = "";
    for (const byte of hash.subarray(0, 8)) {
      name += byte.toString(16).padStart(2, "0");
    }
    name += `-${path.slice(path.lastIndexOf("/") + 1)}`;
    return await save({ name: name.replace(/[^\w.-]+/g, "-"), bytes });
  };
  return async (html = "") => {
    let result = "";
    let end = 0;
    for (
      const { 0: text, 1: before = "", 2: address = "", index = 0 } of html
        .matchAll(PICTURE)
    ) {
      const url = address.replaceAll("&amp;", "&");
      if (!saved.has(url)) saved.set(url, read(url));
      const copy = (await saved.get(url)) ?? url;
      const escaped = copy.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
      result += html.slice(end, index) + before + escaped;
      end = index + text.length;
    }
    return result + html.slice(end);
  };
}

/** Up to the end of the address of a picture that the service serves. */
const PICTURE =
  /(<img(?:\s[^\s"=>]+(?:="[^"]*")?)*?\ssrc=")(https?:\/\/[^"?]+\/api\/get-item-content\?[^"#]+&amp;format=raw)(?=["#])/g;

/** The text without percent-encoding, or as it is where that is malformed. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** One address for one request, in whatever order its parameters were given. */
function queryOf(parameters: object): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (name === "filter") {
      for (const [key, filter] of Object.entries(value ?? {})) {
        for (const [name, text] of filterParameters(key, filter)) {
          query.append(name, text);
        }
      }
    } else if (value !== undefined) query.set(name, String(value));
  }
  query.sort();
  return query;
}

/**
 * The names and texts of one filter, whose type code without types may miss.
 * @throws {TypeError} where one would be left out, since that selects items
 * that were not asked for.
 */
function filterParameters(
  key: string,
  filter: unknown,
): [name: string, text: string][] {
  const name = `filter[${key}]`;
  let given: [name: string, value: unknown][] = [[name, filter]];
  if (Array.isArray(filter)) given = filter.map((value) => [name, value]);
  else if (typeof filter === "object" && filter !== null) {
    given = Object.entries(filter).filter(([, value]) => value !== undefined)
      .map(([comparison, value]) => [`${name}[${comparison}]`, value]);
  }
  if (given.length === 0 || !given.every(([, value]) => isFilterText(value))) {
    const accepted =
      "a text, number or boolean, a list of them, or comparisons with them";
    throw new TypeError(`Cannot send the filter "${key}": give it ${accepted}`);
  }
  return given.map(([name, value]) => [name, String(value)]);
}

function isFilterText(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

async function applySchema<Data>(
  // With `fields` it has neither path nor slug for sure.
  item: { path?: string; slug?: string; frontMatter?: Data | undefined },
  schema: Schema<Data> | undefined,
): Promise<void> {
  if (schema === undefined || item.frontMatter === undefined) return;
  const result = await schema["~standard"].validate(item.frontMatter);
  if (result.issues !== undefined) {
    throw new SchemaError(item.path ?? item.slug ?? "", result.issues);
  }
  item.frontMatter = result.value;
}

/**
 * At least a second, or NaN without a `Retry-After`; one that is a date is
 * compared with the service's own clock.
 */
function retryAfterMs(headers: Headers): number {
  const text = headers.get("retry-after") ?? "";
  const now = Date.parse(headers.get("date") ?? "") || Date.now();
  return Math.max(
    1000,
    /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now,
  );
}

/**
 * A signal that aborts when the given one does or time is up; undefined where
 * neither can be.
 */
function timeLimit(ms: number, signal?: AbortSignal): AbortSignal | undefined {
  if (!(ms > 0)) return signal;
  const timeout = AbortSignal.timeout(ms);
  // Browsers before 2024 lack `any`: there a signal of the caller alone counts.
  return signal ? AbortSignal.any?.([signal, timeout]) ?? signal : timeout;
}

/** Resolves after some time, or rejects with the signal's reason. */
function waitMs(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/**
 * In ms from now until the answer is no longer fresh. Caches that are purged,
 * and a service whose source fails, give older ones, which are asked for again
 * at the same pace.
 */
function pollMs(headers: Headers): number {
  const control = headers.get("cache-control") ?? "";
  const maxAge = /\bmax-age=(\d+)/.exec(control)?.[1];
  const age = maxAge === undefined ? 0 : Number(headers.get("age")) || 0;
  const paceSeconds = Number(maxAge ?? POLL_SECONDS);
  const seconds = age > paceSeconds ? paceSeconds : paceSeconds - age;
  return 1000 * Math.min(Math.max(1, seconds), MAX_POLL_SECONDS);
}

/**
 * Resolves once the page is visible, and at once without a page; rejects with
 * the signal's reason.
 */
function untilVisible(signal?: AbortSignal): Promise<void> {
  const { document } = globalThis as {
    document?: EventTarget & { visibilityState?: string };
  };
  return new Promise((resolve, reject) => {
    const check = () => {
      if (document?.visibilityState === "hidden" && !signal?.aborted) return;
      document?.removeEventListener("visibilitychange", check);
      signal?.removeEventListener("abort", check);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    document?.addEventListener("visibilitychange", check);
    signal?.addEventListener("abort", check);
    check();
  });
}

const codeOf = (error: unknown): ProblemCode | null =>
  error instanceof ProblemError ? error.code : null;

/**
 * Whether the same request may succeed later; a failure of the network is a
 * TypeError, and what took too long a TimeoutError.
 */
function isOutage(error: unknown): boolean {
  return error instanceof ProblemError
    ? error.status >= 500 || error.status === 429
    : error instanceof TypeError || (error as Error).name === "TimeoutError";
}

/** The body of an answer that has `key`. @throws {ProblemError} */
async function readBody<Body>(
  response: Response,
  url: string,
  key: keyof Body & string,
): Promise<Body> {
  const body = await readJson(response);
  if (!response.ok) throw new ProblemError(asProblem(body, response), url);
  if (typeof body === "object" && body !== null && key in body) {
    return body as Body;
  }
  const statusText = `No ${key} in the answer`;
  throw new ProblemError(
    asProblem(undefined, { status: 502, statusText }),
    url,
  );
}

/** The body, or undefined where it is no JSON. */
async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The problem in the response; one made from the status where a server in
 * between answered instead.
 */
function asProblem(
  body: unknown,
  { status, statusText }: { status: number; statusText: string },
): Problem {
  if (
    typeof body === "object" && body !== null && "code" in body &&
    "detail" in body
  ) {
    return body as Problem;
  }
  const title = statusText || `Status ${status}`;
  return {
    type: "about:blank",
    title,
    status,
    detail: `The answer is none of the service's: ${title}.`,
    code: "not-a-service-answer",
    requestId: "",
  };
}
