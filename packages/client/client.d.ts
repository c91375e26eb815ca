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
export interface ListParameters extends RepositoryParameters, SelectionParameters, HtmlParameters, HistoryParameters {
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
interface CommonItemParameters extends RepositoryParameters, SelectionParameters, HtmlParameters, HistoryParameters {
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
    code: "item-not-found" | "item-too-large" | "page-too-large" | "source-failed" | "source-timeout" | "source-rate-limited";
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
    author: {
        name: string;
    };
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
    lfs?: {
        oid: string;
        size: number;
    } | undefined;
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
    htmlError?: {
        message: string;
    } | undefined;
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
    collection: {
        name: string;
        path: string;
        source?: string | undefined;
    };
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
export interface CollectionUpdate extends Omit<CollectionChanges, "since" | "warnings"> {
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
export type ProblemCode = "invalid-parameters" | "repository-not-allowed" | "repository-not-found" | "branch-not-found" | "collection-not-found" | "item-not-found" | "signature-invalid" | "route-not-found" | "method-not-allowed" | "repository-empty" | "slug-ambiguous" | "since-unknown" | "body-too-large" | "item-too-large" | "collection-too-large" | "query-too-expensive" | "history-unavailable" | "too-many-requests" | "repository-blocked" | "internal-error" | "source-failed" | "source-rate-limited" | "service-busy" | "collection-not-ready" | "source-timeout" | "not-a-service-answer";
/** Problem details (RFC 9457). */
export interface Problem {
    type: string;
    title: string;
    status: number;
    /** A sentence on what to do. */
    detail: string;
    code: ProblemCode;
    requestId: string;
    errors?: {
        parameter: string;
        message: string;
    }[] | undefined;
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
        readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
        readonly types?: {
            readonly input: unknown;
            readonly output: Output;
        } | undefined;
    };
}
/** The result of a schema for a value. */
export type SchemaResult<Output> = {
    readonly value: Output;
    readonly issues?: undefined;
} | {
    readonly issues: readonly SchemaIssue[];
};
/** A fault that a schema finds. */
export interface SchemaIssue {
    readonly message: string;
    readonly path?: readonly (PropertyKey | {
        readonly key: PropertyKey;
    })[] | undefined;
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
export declare class ProblemError extends Error {
    readonly problem: Problem;
    readonly code: ProblemCode;
    readonly status: number;
    /** The address that was requested. */
    readonly url: string;
    constructor(problem: Problem, url?: string);
}
/**
 * Thrown where the front matter of an item does not fit the schema of a
 * request.
 */
export declare class SchemaError extends Error {
    /**
     * The file, from the repository's root; with `fields` without `path` its
     * slug, if anything.
     */
    readonly path: string;
    readonly issues: readonly SchemaIssue[];
    constructor(path: string, issues: readonly SchemaIssue[]);
}
/** A collection of a repository, at a branch. */
export interface CollectionAddress<Name extends string = string> extends RepositoryParameters {
    /**
     * A name, a folder path or the path of a data file; `/` is the repository's
     * root.
     */
    collection: Name;
}
type Named = "owner" | "repo" | "branch" | "collection";
/** A key of a mapping; a dot goes one mapping deeper. */
type KeyOf<Data> = {
    [K in keyof Data & string]-?: NonNullable<Data[K]> extends FilterText | readonly unknown[] ? K : K | `${K}.${string}`;
}[keyof Data & string];
/** A key of front matter of the type `Data`, or of a data file. */
export type ItemKey<Data = FrontMatter> = `frontMatter.${KeyOf<Data>}` | `data.${string}`;
/** What `sort` takes for front matter of the type `Data`. */
export type SortKey<Data = FrontMatter> = "path" | "name" | "size" | ItemKey<Data>;
/** What `fields` takes for front matter of the type `Data`. */
export type FieldKey<Data = FrontMatter> = Exclude<keyof Item, "created"> | ItemKey<Data>;
/** The selection of items, with the keys of their front matter. */
interface TypedSelection<Data> {
    /** As in {@linkcode ListParameters}. */
    sort?: SortKey<Data> | `-${SortKey<Data>}` | undefined;
    /** As in {@linkcode ListParameters}. */
    filter?: {
        readonly [K in "name" | "path" | ItemKey<Data>]?: FilterValue;
    } | undefined;
}
type Flag = boolean | undefined;
/** Parameters of a list of a {@linkcode CollectionHandle}. */
export interface TypedListParameters<Data, Fields, Content, Meta, Html, History> extends Omit<ListParameters, Named | "sort" | "filter" | "fields" | "facets" | "includeContent" | "includeFrontMatter" | "includeHtml" | "includeHistory">, TypedSelection<Data> {
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
type HtmlKey = "html" | "headings" | "excerpt" | "words" | "mdxComponents" | "htmlError";
type HistoryKey = "lastChanged" | "created";
type If<Given, Key> = Given extends false | undefined ? never : Key;
/** An item with the keys that parameters ask for. */
export type TypedItem<Data, Fields, Content, Meta, Html, History> = Fields extends readonly [] ? Omit<Item<Data>, Exclude<ContentKey | HtmlKey | HistoryKey, If<Content, ContentKey> | If<Meta, MetaKey> | If<Html, HtmlKey> | If<History, "lastChanged">>> : Fields extends readonly (infer Field extends string)[] ? number extends Fields["length"] ? Partial<Item<Data>> : PickedItem<Data, Field> : never;
/** Errors stay; a key of front matter leaves the others out. */
type PickedItem<Data, Field extends string> = Pick<Item<Data>, (Field | "error" | "htmlError" | "frontMatterError") & keyof Item> & ([Extract<Field, `data.${string}`>] extends [never] ? unknown : {
    data?: unknown;
}) & ([MetaField<Field>] extends [never] ? unknown : {
    frontMatter?: Pick<Data, MetaField<Field> & keyof Data> | undefined;
});
type MetaField<Field> = Field extends `frontMatter.${infer Path}` ? Path extends `${infer Key}.${string}` ? Key | Path : Path : never;
/** Parameters of a single item of a {@linkcode CollectionHandle}. */
export interface TypedItemParameters<Data, Html, History, Neighbors> extends Omit<CommonItemParameters, Named | "sort" | "filter" | "includeHtml" | "includeHistory" | "includeNeighbors">, TypedSelection<Data> {
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
export type TypedContent<Data, Html, History, Neighbors> = Omit<ItemContent<Data>, Exclude<HtmlKey | HistoryKey | "previous" | "next", If<Html, HtmlKey> | If<History, HistoryKey> | If<Neighbors, "previous" | "next">>>;
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
    list<const Fields extends readonly FieldKey<Data>[] = readonly [], Content extends Flag = false, Meta extends Flag = false, Html extends Flag = false, History extends Flag = false>(parameters?: TypedListParameters<Data, Fields, Content, Meta, Html, History>, options?: RequestOptions<Data>): Promise<ItemPage<Data, TypedItem<Data, Fields, Content, Meta, Html, History>>>;
    /**
     * All items, or the first `limit`, as {@linkcode CollectionsClient.items}.
     */
    items<const Fields extends readonly FieldKey<Data>[] = readonly [], Content extends Flag = false, Meta extends Flag = false, Html extends Flag = false, History extends Flag = false>(parameters?: TypedListParameters<Data, Fields, Content, Meta, Html, History> & PageSize, options?: RequestOptions<Data>): AsyncGenerator<TypedItem<Data, Fields, Content, Meta, Html, History>, void, undefined>;
    /** The items of {@linkcode CollectionHandle.items} in an array. */
    all<const Fields extends readonly FieldKey<Data>[] = readonly [], Content extends Flag = false, Meta extends Flag = false, Html extends Flag = false, History extends Flag = false>(parameters?: TypedListParameters<Data, Fields, Content, Meta, Html, History> & PageSize, options?: RequestOptions<Data>): Promise<TypedItem<Data, Fields, Content, Meta, Html, History>[]>;
    /** The first item, or null. */
    first<const Fields extends readonly FieldKey<Data>[] = readonly [], Content extends Flag = false, Meta extends Flag = false, Html extends Flag = false, History extends Flag = false>(parameters?: TypedListParameters<Data, Fields, Content, Meta, Html, History>, options?: RequestOptions<Data>): Promise<TypedItem<Data, Fields, Content, Meta, Html, History> | null>;
    /**
     * One page of the items that have all of these words, best first; the last
     * word may be the beginning of one.
     */
    search<const Fields extends readonly FieldKey<Data>[] = readonly [], Content extends Flag = false, Meta extends Flag = false, Html extends Flag = false, History extends Flag = false>(words: string, parameters?: TypedListParameters<Data, Fields, Content, Meta, Html, History>, options?: RequestOptions<Data>): Promise<ItemPage<Data, TypedItem<Data, Fields, Content, Meta, Html, History> & (Fields extends readonly [] ? {
        match: Match;
    } : unknown)>>;
    /**
     * The file at a path from the repository's root. @throws {ProblemError}
     * `item-not-found` where it is not in the collection.
     */
    get<Html extends Flag = false, History extends Flag = false, Neighbors extends Flag = false>(path: string, parameters?: TypedItemParameters<Data, Html, History, Neighbors>, options?: RequestOptions<Data>): Promise<TypedContent<Data, Html, History, Neighbors>>;
    /**
     * The item with a slug. @throws {ProblemError} `item-not-found` where there
     * is none.
     */
    bySlug<Html extends Flag = false, History extends Flag = false, Neighbors extends Flag = false>(slug: string, parameters?: TypedItemParameters<Data, Html, History, Neighbors>, options?: RequestOptions<Data>): Promise<TypedContent<Data, Html, History, Neighbors>>;
    /** As {@linkcode CollectionsClient.changes}. */
    changes(options?: FollowOptions): AsyncGenerator<CollectionUpdate, void, undefined>;
    /** As {@linkcode CollectionsClient.watch}. */
    watch(callback: (update: CollectionUpdate) => unknown, options?: FollowOptions & {
        onError?: ((error: unknown) => void) | undefined;
    }): () => void;
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
export declare class CollectionsClient<Types extends object = Record<string, FrontMatter>> {
    #private;
    /**
     * `/client.js` of a service needs no address where it is imported from that
     * service.
     * @throws {TypeError} where the address is missing or none of `http:` or
     * `https:`, or has a `?` or `#`.
     */
    constructor(baseUrl: string | URL, options?: ClientOptions);
    /**
     * One collection. Its front matter has its type in `Types`, or the given one,
     * or that of the `schema` of `options`.
     */
    collection<Name extends keyof Types & string>(collection: Name, repository: RepositoryParameters): CollectionHandle<Types[Name]>;
    collection<Name extends keyof Types & string>(address: CollectionAddress<Name>): CollectionHandle<Types[Name]>;
    collection<Data = FrontMatter>(address: CollectionAddress, options?: RequestOptions<Data>): CollectionHandle<Data>;
    /**
     * The collections of a repository, and the folders of one of its folders.
     * @throws {ProblemError}
     */
    listCollections(parameters: CollectionsParameters, { signal }?: {
        signal?: AbortSignal | undefined;
    }): Promise<CollectionList>;
    /** One page of a collection. @throws {ProblemError | SchemaError} */
    listItems<Data = FrontMatter>(parameters: ListParameters, { signal, schema }?: RequestOptions<Data>): Promise<ItemPage<Data>>;
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
    items<Data = FrontMatter>({ pageSize, limit: most, ...parameters }: ListParameters & PageSize, options?: RequestOptions<Data>): AsyncGenerator<Item<Data>, void, undefined>;
    /** What changed in a collection since a commit. @throws {ProblemError} */
    listChanges(parameters: ChangesParameters, { signal }?: {
        signal?: AbortSignal | undefined;
    }): Promise<CollectionChanges>;
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
    changes({ since, ...parameters }: FollowParameters, { signal }?: {
        signal?: AbortSignal | undefined;
    }): AsyncGenerator<CollectionUpdate, void, undefined>;
    /**
     * Calls back with each update of {@linkcode CollectionsClient.changes}, one
     * after the other. Returns a function that stops it, as `signal` does. What
     * ends it otherwise is given to `onError`, and is an unhandled rejection
     * without it.
     */
    watch(parameters: FollowParameters, callback: (update: CollectionUpdate) => unknown, { signal, onError }?: {
        signal?: AbortSignal | undefined;
        onError?: ((error: unknown) => void) | undefined;
    }): () => void;
    /** One file with its content. @throws {ProblemError | SchemaError} */
    getItem<Data = FrontMatter>(parameters: ItemParameters, options?: RequestOptions<Data>): Promise<ItemContent<Data>>;
    /**
     * The item of a collection with a slug. @throws {ProblemError | SchemaError}
     */
    getItemBySlug<Data = FrontMatter>(parameters: SlugParameters, options?: RequestOptions<Data>): Promise<ItemContent<Data>>;
    /**
     * The bytes of an item: out of its content where it has that with its
     * encoding, else from the service.
     * @throws {ProblemError}
     * @throws {TypeError} where an item has neither content with its encoding nor
     * an address.
     */
    bytes(item: Pick<File<unknown>, "contentUrl"> & {
        content?: string | undefined;
        encoding?: string | undefined;
    }, { signal }?: {
        signal?: AbortSignal | undefined;
    }): Promise<Bytes>;
}
/**
 * The address of a file that an item names, in its front matter for example:
 * `../img/a.png` from the folder of the item, `/img/a.png` from the
 * repository's root. Addresses of other sites stay as they are.
 * @throws {TypeError} where the item has no `contentUrl`.
 */
export declare function assetUrl({ contentUrl }: {
    contentUrl?: string | undefined;
}, reference: string): string;
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
export declare function savePictures(client: Pick<CollectionsClient, "bytes">, save: (picture: Picture) => string | void | Promise<string | void>): (html: string | undefined) => Promise<string>;
export {};
