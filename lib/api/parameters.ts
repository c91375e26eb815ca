// The parameters of the operations and the URLs that contain them. The schemas
// that check a request are also in the OpenAPI document. Values are never
// coerced, so "1e2", " 5" and "0x1F" are not integers. An omitted parameter
// stays undefined because links omit it too. `DEFAULTS` then applies.

import { Buffer, isUtf8 } from "node:buffer";
import { z } from "zod";
import {
  needsOf,
  parseFacets,
  parseFields,
  parseKinds,
} from "../content/fields.ts";
import { isFilterParameter, parseFilters } from "../content/filter.ts";
import { termsOf } from "../content/search_terms.ts";
import { parseSort } from "../content/sort.ts";
import { invalidParameters } from "../errors.ts";
import type { ListBody } from "./contract.ts";
import { FEED_TYPES } from "./feed_formats.ts";
import {
  branchProblem,
  collectionProblem,
  feedTitleProblem,
  isAbsoluteTemplate,
  itemPathProblem,
  linkTemplateProblem,
  trimSlashes,
} from "./names.ts";

/** Values of omitted parameters. */
export const DEFAULTS = {
  page: 1,
  limit: 50,
  branch: "main",
  sort: "path",
  recursive: true,
  format: "json",
  path: "",
};

/**
 * Includes empty and unknown parameters. Requests with more are refused before
 * decoding.
 */
const MAX_PARAMETERS = 100;
/** Names of unknown parameters in `warnings`, and characters of each. */
const MAX_IGNORED = 10;
const MAX_IGNORED_CHARS = 64;
/** Parameters that `fields` and feeds override. */
const INCLUDES = [
  "includeContent",
  "includeFrontMatter",
  "includeHtml",
  "includeHistory",
] as const;
const REQUIRED = "is required";
/** Maximum `limit` without and with content, HTML or history. */
const MAX_LIMIT = 1000;
const MAX_CONTENT_LIMIT = 100;
const MAX_FEED_LIMIT = 50;

/**
 * Options for a check of several parameters. The check runs even if another
 * parameter is bad so that all errors are reported.
 */
function late(parameter: string, message = "") {
  return { path: [parameter], message, when: () => true };
}

/** Whether a format of a list is a feed or a sitemap. */
function isFeed(format = ""): boolean {
  return Object.hasOwn(FEED_TYPES, format);
}

/** Text that `rule` checks. The OpenAPI document shows `maxLength`. */
function text(rule: (value: string) => string | null, maxLength: number) {
  return z.string().superRefine((value, context) => {
    const message = rule(value);
    if (message !== null) context.addIssue({ code: "custom", message });
  }).meta({ minLength: 1, maxLength });
}

/** Text that `parse` accepts. It throws a SyntaxError for bad text. */
function parsed<T>(parse: (value: string) => T) {
  return z.string().transform((value, context) => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      context.addIssue({ code: "custom", message: error.message });
      return z.NEVER;
    }
  });
}

function integer(
  description: string,
  options: { default: number; maximum: number },
) {
  const { maximum } = options;
  return z.string()
    .regex(
      /^[1-9][0-9]{0,8}$/,
      "must be a whole number of 1 or more, in plain digits",
    )
    .transform(Number)
    .pipe(z.number().max(maximum, `must be at most ${maximum}`))
    .optional()
    .meta({ description, type: "integer", minimum: 1, ...options });
}

function flag(description: string, byDefault = false) {
  return z.enum(["true", "false", "1", "0"], "must be true, false, 1 or 0")
    .transform((value) => value === "true" || value === "1")
    .optional()
    .meta({ description, type: "boolean", default: byDefault });
}

const owner = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/,
  "must be the name of a GitHub account: letters, digits and hyphens, " +
    "at most 39",
).meta({
  description:
    "The account that owns the repository; `local` for folders of this " +
    "deployment.",
  examples: ["local"],
  minLength: 1,
  maxLength: 39,
});

const repo = z.string().regex(
  /^(?!\.{1,2}$|.*\.git$)[A-Za-z0-9._-]{1,100}$/i,
  "must be the name of a GitHub repository: letters, digits, `.`, `_` " +
    "and `-`, at most 100, without `.git`",
).meta({
  description: "The repository's name.",
  examples: ["blog"],
  minLength: 1,
  maxLength: 100,
});

const branch = text(branchProblem, 255).optional().meta({
  description:
    "A branch, else a tag, else a full commit id; `HEAD` is the default " +
    "branch. Git's rules for names hold.",
  examples: ["main"],
  default: DEFAULTS.branch,
});

const collection = text(collectionProblem, 1024).transform(trimSlashes).meta({
  description:
    "A name, a folder path or the path of a data file; outer slashes " +
    "are dropped, `/` alone is the repository's root.",
  examples: ["posts"],
  type: "string",
});

const sort = parsed((value) => parseSort(value) && value).optional().meta({
  description:
    "`path`, `name`, `size`, `lastChanged.date`, `frontMatter.<key>` or " +
    "`data.<key>` (dots go deeper), with `-` in front for descending. " +
    "`lastChanged.date` needs a token.",
  examples: ["-frontMatter.date"],
  default: DEFAULTS.sort,
});

const recursive = flag(
  "Whether files in sub-folders are items too.",
  DEFAULTS.recursive,
);

const includeHtml = flag(
  "Whether Markdown carries `html`, sanitized, with `headings`, " +
    "`excerpt` and `words`.",
);

const includeHistory = flag(
  "Whether items carry `lastChanged`, and a single one `created`: the " +
    "commits that last and first changed the file. Needs a token.",
);

const linkTemplate = text(linkTemplateProblem, 200).optional().meta({
  description:
    "Where links between items of the collection lead in `html`: an " +
    "address with `{slug}` once.",
  examples: ["/blog/{slug}"],
});

/** All `filter[…]` parameters as names and values in the order given. */
const filter = z.array(z.tuple([z.string(), z.string()]))
  .superRefine((given, context) => {
    for (const { parameter, message } of parseFilters(given).errors) {
      context.addIssue({ code: "custom", message, path: [parameter] });
    }
  })
  .optional()
  .meta({
    description: "Which items are wanted, as `filter[name]=*.md`, " +
      "`filter[path]=2026/**`, `filter[frontMatter.<key>]=text` or " +
      "`filter[data.<key>]=text`. `!` in front of the value negates; all " +
      "filters must hold. `*` and `?` stay within a path segment, `**` " +
      "crosses. Also `filter[frontMatter.<key>][lt|lte|gt|gte]=value`, in " +
      "the order of `sort`, `filter[frontMatter.<key>][exists]=true`, both " +
      "with `data.<key>` too, and `filter[…][contains]=text` for all of " +
      "these, without case or diacritics. " +
      "At most 20, of 4,096 characters together.",
    type: "object",
    additionalProperties: {
      type: ["string", "object"],
      maxLength: 4096,
      additionalProperties: { type: "string", maxLength: 4096 },
    },
    examples: [{ "frontMatter.draft": "!true" }],
  });

const kind = parsed(parseKinds).optional().meta({
  description:
    "Comma-separated `markdown`, `text`, `data`, `image`, `other`: only " +
    "files of these kinds are items.",
  examples: ["markdown,data"],
  type: "string",
});

/**
 * Parameters of `GET /api/list-collection-items` in the order of the contract's
 * table.
 */
export const listParameters = z.object({
  owner,
  repo,
  collection,
  branch,
  page: integer("Which page, from 1.", {
    default: DEFAULTS.page,
    maximum: 999_999_999,
  }),
  limit: integer(
    "Items a page; at most 100 when content, HTML or history is included.",
    {
      default: DEFAULTS.limit,
      maximum: MAX_LIMIT,
    },
  ),
  includeContent: flag("Whether each item carries its content."),
  includeFrontMatter: flag(
    "Whether each text item carries its front matter, without its content.",
  ),
  includeHtml,
  includeHistory,
  linkTemplate,
  sort,
  recursive,
  filter,
  kind,
  search: parsed((value) => termsOf(value) && value).optional().meta({
    description: "Words that the text of an item has, all of them, in title, " +
      "headings, other front matter or body; the last one may be " +
      "the beginning of a word. Best first unless `sort` is given. Each " +
      "item carries `match`. At most 32 words.",
    examples: ["hello"],
    type: "string",
    minLength: 1,
    maxLength: 1000,
  }),
  types: z.enum(["text", "infer"], "must be text or infer").optional().meta({
    description:
      "What the cells of a CSV or TSV file are: texts, or with `infer` " +
      "numbers, booleans and null where they look like it.",
    default: "text",
  }),
  fields: parsed(parseFields).optional().meta({
    description: "Comma-separated keys of an item, `frontMatter.<key>` and " +
      "`data.<key>` among them: only these are sent, and only what they " +
      "need is " +
      "read, whatever `include…` says.",
    examples: ["slug,frontMatter.title"],
    type: "string",
  }),
  facets: parsed(parseFacets).optional().meta({
    description:
      "At most 5 comma-separated `frontMatter.<key>` or `data.<key>`, " +
      "whose values are counted over the filtered list.",
    examples: ["frontMatter.tags"],
    type: "string",
  }),
  format: z.enum(
    ["json", "atom", "rss", "jsonfeed", "sitemap"],
    "must be json, atom, rss, jsonfeed or sitemap",
  ).optional().meta({
    description:
      "`json` for a page, `atom`, `rss` or `jsonfeed` for a feed of its " +
      "Markdown items with their `html`, `sitemap` for the addresses of all " +
      "Markdown items, at most 50,000. All but `json` need an absolute " +
      "`linkTemplate`. A feed has at most 50 entries a page, the latest " +
      "first unless `sort` or `search` is given.",
    default: "json",
  }),
  feedTitle: text(feedTitleProblem, 200).optional().meta({
    description: "The title of a feed; the collection's name where absent.",
    examples: ["Our blog"],
  }),
}).refine(
  ({ format, linkTemplate }) =>
    !isFeed(format) ||
    typeof linkTemplate === "string" && isAbsoluteTemplate(linkTemplate),
  late(
    "linkTemplate",
    "must begin with http:// or https:// and a host for a feed or a sitemap",
  ),
).refine(
  ({ format, limit = 0 }) => !isFeed(format) || Number(limit) <= MAX_FEED_LIMIT,
  late("limit", `must be at most ${MAX_FEED_LIMIT} for a feed`),
).refine(
  ({ limit = 0, ...given }) => {
    const { content, html, history } = needsOf(given);
    return !(content || html || history) || Number(limit) <= MAX_CONTENT_LIMIT;
  },
  late(
    "limit",
    `must be at most ${MAX_CONTENT_LIMIT} when content, HTML or history ` +
      "is included",
  ),
);

/**
 * Parameters of `GET /api/get-item-content` in the order of the contract's
 * table.
 */
export const itemParameters = z.object({
  owner,
  repo,
  branch,
  path: text(itemPathProblem, 4096).optional().meta({
    description: "The path of one file, from the repository's root; this, or " +
      "`collection` and `slug`.",
    examples: ["posts/hello.md"],
  }),
  collection: collection.optional(),
  slug: text(itemPathProblem, 4096).optional()
    .meta({ description: "The item of `collection` with this slug." }),
  includeHtml,
  includeHistory,
  linkTemplate,
  includeNeighbors: flag(
    "Whether the item carries `previous` and `next`, in the order of " +
      "`sort` among what `filter` and `recursive` leave; " +
      "needs `collection`.",
  ),
  sort,
  recursive,
  filter,
  kind,
  format: z.enum(["json", "raw"], "must be json or raw").optional().meta({
    description:
      "`json` for the item with its content, `raw` for the bytes alone.",
    default: "json",
  }),
})
  .refine(
    ({ path, slug, collection }) => path ?? slug ?? collection,
    late("path", `${REQUIRED}, or collection and slug`),
  )
  .refine(
    ({ path, slug, collection }) => path ?? slug ?? collection === undefined,
    late("slug"),
  )
  .refine(
    ({ path, slug }) => path === undefined || slug === undefined,
    late("slug", "must not be given with path"),
  )
  .refine(
    ({ slug, includeNeighbors, collection }) =>
      collection !== undefined ||
      (slug === undefined && includeNeighbors !== true),
    late("collection"),
  );

type Ignored = {
  /** The first unknown parameters by name, for `warnings`. */
  ignored?: readonly string[] | undefined;
};
/**
 * Parameters of `GET /api/list-collections` in the order of the contract's
 * table.
 */
export const collectionsParameters = z.object({
  owner,
  repo,
  branch,
  path: text(collectionProblem, 1024).transform(trimSlashes).optional().meta({
    description:
      "The folder whose sub-folders are listed; the repository's root " +
      "where omitted.",
    examples: ["posts"],
    type: "string",
  }),
  includeSchema: flag(
    "Whether each collection carries the JSON Schema of its front matter.",
  ),
});

/** Parameters of `GET /api/collection-types.ts`. */
export const typesParameters = z.object({ owner, repo, branch });

/**
 * Parameters of `GET /api/list-collection-changes` in the order of the
 * contract's table.
 */
export const changesParameters = z.object({
  owner,
  repo,
  collection,
  branch,
  since: z.string().regex(
    /^[0-9a-f]{40}$/i,
    "must be a full commit id, such as repository.commit of a list",
  ).transform((id) => id.toLowerCase()).meta({
    description: "The commit to compare with: `repository.commit` of a list.",
    examples: ["7b1f0dd0ff4f2a4a9d0b1c2e3f405162738495a6"],
    type: "string",
    minLength: 40,
    maxLength: 40,
  }),
});

/** A checked request for changes. */
export type ChangesParameters = z.infer<typeof changesParameters> & Ignored;

/** A checked request for collections or for their types. */
export type CollectionsParameters =
  & z.infer<typeof collectionsParameters>
  & Ignored;

/** A checked list request. */
export type ListParameters =
  & z.infer<typeof listParameters>
  & { page: number }
  & Ignored;

/** A checked item request. */
export type ItemParameters = z.infer<typeof itemParameters> & Ignored;

/**
 * Returns the parameters of a list request. `search` is a query string without
 * its `?`. Parameters without an effect are checked and then omitted. They
 * appear in no link and one response serves all their values. This applies to
 * parameters that `fields` or `format` overrides and to `linkTemplate` without
 * HTML.
 * @throws {CollectionsError} invalid-parameters.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * const search = "owner=octo&repo=site&collection=/posts/&limit=10";
 * const { collection, limit, page } = parseListQuery(search);
 * equal(collection, "posts");
 * equal(limit, 10);
 * equal(page, 1);
 * ```
 */
export function parseListQuery(search: string): ListParameters {
  const { page = DEFAULTS.page, format = "json", feedTitle, ...given } =
    parseQuery(search, listParameters);
  if (format === "json") {
    if (!needsOf(given).html) delete given.linkTemplate;
    if (given.fields !== undefined) {
      INCLUDES.forEach((key) => delete given[key]);
    }
    return { page, ...given };
  }
  INCLUDES.forEach((key) => delete given[key]);
  delete given.fields;
  delete given.facets;
  delete given.ignored;
  if (format !== "sitemap") return { page, ...given, format, feedTitle };
  delete given.limit;
  delete given.sort;
  return { page: DEFAULTS.page, ...given, format };
}

/**
 * Returns the parameters of an item request. `search` is a query string without
 * its `?`. Parameters without an effect are checked and then omitted.
 * @throws {CollectionsError} invalid-parameters.
 */
export function parseItemQuery(search: string): ItemParameters {
  const given = parseQuery(search, itemParameters);
  if (given.format === "raw") {
    delete given.includeHtml;
    delete given.includeHistory;
    delete given.includeNeighbors;
    delete given.ignored;
  }
  if (!given.includeHtml) delete given.linkTemplate;
  if (!given.includeNeighbors) {
    delete given.sort;
    delete given.recursive;
    delete given.filter;
    delete given.kind;
  }
  if (given.filter !== undefined) {
    // Neither their order nor repeated ones have an effect.
    const filters = new Map(
      given.filter.map((filter) => [filter.join("="), filter] as const),
    );
    given.filter = [...filters.keys()].sort().map((key) => filters.get(key)!);
  }
  return given;
}

/** Returns the warning about unknown parameters or none. */
export const warningsOf = ({ ignored }: Ignored): string[] =>
  ignored === undefined
    ? []
    : [`Ignored unknown parameters: ${ignored.map(quote).join(", ")}`];

const quote = (name: string) => JSON.stringify(name);

/**
 * Returns the parameters of a request for collections. `search` is a query
 * string without its `?`.
 * @throws {CollectionsError} invalid-parameters.
 */
export const parseCollectionsQuery = (search: string): CollectionsParameters =>
  parseQuery(search, collectionsParameters);

/**
 * Returns the parameters of a request for types. `search` is a query string
 * without its `?`.
 * @throws {CollectionsError} invalid-parameters.
 */
export function parseTypesQuery(search: string): CollectionsParameters {
  const { ignored: _, ...given } = parseQuery(search, typesParameters);
  return given;
}

/**
 * Returns the parameters of a request for changes. `search` is a query string
 * without its `?`.
 * @throws {CollectionsError} invalid-parameters.
 */
export const parseChangesQuery = (search: string): ChangesParameters =>
  parseQuery(search, changesParameters);

/**
 * Returns the same text for checked requests with equal responses. Only the
 * links of a list show whether a parameter with its default was given.
 */
export function responseKey(parameters: object): string {
  const defaults: Readonly<Record<string, unknown>> = DEFAULTS;
  const isList = "page" in parameters;
  return JSON.stringify(
    Object.entries(parameters).filter(([name, value]) =>
      isList || value !== (defaults[name] ?? false)
    ),
  );
}

/**
 * Decodes application/x-www-form-urlencoded (WHATWG URL) without repair. What a
 * browser would replace or drop is an error. Unknown parameters are named in
 * `ignored` and empty optional parameters are omitted. A bad parameter gets one
 * message.
 * @throws {CollectionsError} invalid-parameters if there are too many
 * parameters or some are bad. It names every bad one.
 */
function parseQuery<T extends z.ZodObject>(
  search: string,
  schema: T,
): z.infer<T> & { ignored?: readonly string[] } {
  const filters: [string, string][] = [];
  const values = new Map<string, string | [string, string][]>([[
    "filter",
    filters,
  ]]);
  const errors = new Map<string, string>();
  const unknown = new Set<string>();
  const fields = search.split("&", MAX_PARAMETERS + 1);
  if (fields.length > MAX_PARAMETERS) {
    const message =
      `must have at most ${MAX_PARAMETERS} parameters, separated by &`;
    throw invalidParameters([{ parameter: "query", message }]);
  }
  for (const field of fields) {
    const [, before = "", after = ""] = /^([^=]*)=?(.*)$/s.exec(field) ?? [];
    const name = decode(before);
    if (name === null) continue;
    const isFilter = isFilterParameter(name);
    if (!isFilter && !Object.hasOwn(schema.shape, name)) {
      if (name !== "") {
        unknown.add(name.slice(0, MAX_IGNORED_CHARS).toWellFormed());
      }
      continue;
    }
    const value = decode(after);
    if (value === null) errors.set(name, "has an escape that is no UTF-8 text");
    else if (!isFilter) {
      if (values.has(name)) errors.set(name, "must be given once");
      values.set(name, value);
    } else if (value !== "") filters.push([name, value]);
  }
  const result = schema.safeParse(
    Object.fromEntries([...values].filter(([, value]) => value.length > 0)),
  );
  for (const { path, message } of result.error?.issues ?? []) {
    // The path of a filter error ends in the name of the filter.
    const parameter = String(path.at(-1));
    if (errors.has(parameter)) continue;
    const missing = values.has(parameter)
      ? "must not be empty"
      : message.startsWith(REQUIRED)
      ? message
      : REQUIRED;
    errors.set(parameter, values.get(String(path[0])) ? message : missing);
  }
  if (errors.size === 0 && result.success) {
    const ignored = [...unknown].sort().slice(0, MAX_IGNORED);
    return { ...result.data, ...ignored.length > 0 && { ignored } };
  }
  throw invalidParameters(
    [...errors].map(([parameter, message]) => ({ parameter, message })),
  );
}

/**
 * Decodes `+` as a space and `%2B` as a plus. Returns null for a malformed
 * escape or bytes that are not UTF-8. Both are checked before decoding because
 * an exception takes longer than all other steps.
 */
function decode(text: string): string | null {
  if (/%(?![0-9a-f]{2})/i.test(text)) return null;
  // A URL's query is ASCII. Each character of the unescaped text is one byte.
  if (!isUtf8(Buffer.from(unescape(text), "latin1"))) return null;
  return decodeURIComponent(text.replaceAll("+", " "));
}

/**
 * Returns the URL of a page of items. The links of a response repeat every
 * parameter as it was given.
 */
export function listUrl(baseUrl: string, given: ListParameters): string {
  return `${baseUrl}/api/list-collection-items?${
    encode(listParameters, given)
  }`;
}

/**
 * Returns the URL of the content of a file.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * const url = itemUrl("https://api.test", {
 *   owner: "octo",
 *   repo: "site",
 *   path: "a b.md",
 * });
 * const query = "owner=octo&repo=site&path=a%20b.md";
 * equal(url, `https://api.test/api/get-item-content?${query}`);
 * ```
 */
export function itemUrl(baseUrl: string, given: ItemParameters): string {
  return `${baseUrl}/api/get-item-content?${encode(itemParameters, given)}`;
}

type Given = Readonly<Record<string, unknown>> & {
  filter?: [string, string][] | undefined;
};

function encode(schema: z.ZodObject, given: Given): string {
  const valueOf = (name: string) =>
    name === "collection" && given[name] === "" ? "/" : given[name];
  return Object.keys(schema.shape)
    .flatMap((name) =>
      name === "filter" ? given.filter ?? [] : [[name, valueOf(name)] as const]
    )
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`
    )
    .join("&");
}

/**
 * Clients and proxies refuse responses with much longer headers. Node's `fetch`
 * accepts 16 KiB of headers.
 */
const MAX_LINK_CHARS = 12_288;

/**
 * Returns the `Link` header of a page (RFC 8288). Filters of thousands of
 * characters can make it too long. It then contains only `prev` and `next`.
 * Returns null if there are no links or they are still too long.
 *
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 *
 * const links = { first: "/1", previous: null, next: "/2", last: "/9" };
 * const header = linkHeader(links);
 * equal(header, '</1>; rel="first", </2>; rel="next", </9>; rel="last"');
 * ```
 */
export function linkHeader(
  { first, previous: prev, next, last }: Omit<ListBody["links"], "self">,
): string | null {
  const headerOf = (links: Readonly<Record<string, string | null>>) =>
    Object.entries(links)
      .filter(([, url]) => url !== null)
      .map(([rel, url]) => `<${url}>; rel="${rel}"`)
      .join(", ");
  return [headerOf({ first, prev, next, last }), headerOf({ prev, next })]
    .find((header) => header !== "" && header.length <= MAX_LINK_CHARS) ?? null;
}
