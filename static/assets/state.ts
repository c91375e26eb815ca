// The playground's state in the address bar: the parameters of both operations
// under their own names, and `view`. Values stay text as they were given, since
// the service checks them. This module uses no DOM.

/** Names and values of a query, in their order. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** What is shown; an empty text is a parameter that is not given. */
export interface State {
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
  readonly collection: string;
  readonly page: string;
  readonly limit: string;
  readonly sort: string;
  readonly recursive: boolean;
  readonly search: string;
  readonly kind: string;
  /** Under their whole names, such as `filter[frontMatter.tags]`. */
  readonly filters: Pairs;
  readonly fields: string;
  readonly facets: string;
  readonly types: string;
  readonly linkTemplate: string;
  /**
   * Empty is the page's own choice: rows show front matter, and a file its
   * HTML.
   */
  readonly includeFrontMatter: string;
  readonly includeHtml: string;
  readonly includeContent: string;
  readonly includeHistory: string;
  readonly includeNeighbors: string;
  /** The file that is open; empty: none, or that of `slug`. */
  readonly path: string;
  readonly slug: string;
  /** A list has no source; beside it there is room for its request. */
  readonly view: "preview" | "source" | "request";
}

/** Parameters that are texts in a state. */
const TEXTS = [
  "fields",
  "facets",
  "types",
  "linkTemplate",
  "includeFrontMatter",
  "includeHtml",
  "includeContent",
  "includeHistory",
  "includeNeighbors",
  "path",
  "slug",
] as const;

/** Nothing given. */
export const EMPTY: State = {
  owner: "",
  repo: "",
  branch: "",
  collection: "",
  page: "",
  limit: "",
  sort: "",
  recursive: true,
  search: "",
  kind: "",
  filters: [],
  fields: "",
  facets: "",
  types: "",
  linkTemplate: "",
  includeFrontMatter: "",
  includeHtml: "",
  includeContent: "",
  includeHistory: "",
  includeNeighbors: "",
  path: "",
  slug: "",
  view: "preview",
};

/** Whether a file is open. */
export function hasFile({ path, slug }: State): boolean {
  return path + slug !== "";
}

/** The state without its open file. */
export function closed(state: State): State {
  return { ...state, path: "", slug: "", view: "preview" };
}

/** The state with another file open. */
export function opened(state: State, path: string): State {
  return { ...state, path, slug: "", view: "preview" };
}

/** Names of files that may be collections of rows. */
export const DATA_FILE = /\.(csv|tsv|jsonl|ndjson|json|ya?ml|toml)$/i;

const FILTER = /^filter\[.*\]$/s;

/** The state in a query string; null where it names no repository. */
export function readState(search: string): State | null {
  const query = new URLSearchParams(search);
  const text = (name: string) => query.get(name) ?? "";
  if (text("owner") + text("repo") === "") return null;
  const view = text("view");
  return {
    ...EMPTY,
    ...Object.fromEntries(TEXTS.map((name) => [name, text(name)])),
    owner: text("owner"),
    repo: text("repo"),
    branch: text("branch"),
    collection: text("collection") || "/",
    page: text("page"),
    limit: text("limit"),
    sort: text("sort"),
    recursive: !["false", "0"].includes(text("recursive")),
    search: text("search"),
    kind: text("kind"),
    filters: [...query].filter(([name]) => FILTER.test(name)),
    view: view === "source" || view === "request" ? view : "preview",
  };
}

/** The query of a state. */
export function stateUrl(state: State): string {
  return `?${
    encode([
      ...placePairs(state),
      ...TEXTS.map((name) => [name, state[name]] as const),
      ["view", state.view.replace("preview", "")],
    ])
  }`;
}

function placePairs(state: State): Pairs {
  const {
    owner,
    repo,
    collection,
    branch,
    page,
    limit,
    sort,
    recursive,
    search,
    kind,
    filters,
  } = state;
  return [
    ["owner", owner],
    ["repo", repo],
    ["collection", collection],
    ["branch", branch],
    ["page", page],
    ["limit", limit],
    ["sort", sort],
    ["recursive", recursive ? "" : "false"],
    ["search", search],
    ["kind", kind],
    ...filters,
  ];
}

/** A parameter that is sent where it is wanted. */
function wanted(state: State, name: typeof TEXTS[number]) {
  return [name, state[name] === "true" ? "true" : ""] as const;
}

/**
 * The parameters of the list for a state, with front matter unless that is not
 * wanted, since rows show it.
 */
export function listParameters(state: State): Pairs {
  const { fields, facets, types, linkTemplate, includeFrontMatter } = state;
  const included: Pairs = fields !== "" ? [["fields", fields]] : [
    ["includeFrontMatter", includeFrontMatter === "false" ? "" : "true"],
    wanted(state, "includeHtml"),
    wanted(state, "includeContent"),
    wanted(state, "includeHistory"),
  ];
  return [
    ...placePairs(state),
    ["types", types],
    ...included,
    ["linkTemplate", linkTemplate],
    ["facets", facets],
  ];
}

/**
 * The parameters of the list's Atom feed; null without a template of addresses
 * that have a host.
 */
export function feedParameters(state: State): Pairs | null {
  const { linkTemplate } = state;
  if (!/^https?:\/\//.test(linkTemplate)) return null;
  return [
    ...placePairs({ ...state, page: "", limit: "" }),
    ["format", "atom"],
    ["linkTemplate", linkTemplate],
  ];
}

/** What names the open file. */
export function itemParameters(
  { owner, repo, branch, collection, path, slug }: State,
  more: Pairs = [],
): Pairs {
  return [
    ["owner", owner],
    ["repo", repo],
    ["branch", branch],
    ["collection", slug === "" ? "" : collection],
    ["path", path],
    ["slug", slug],
    ...more,
  ];
}

/**
 * All parameters of the open file, with HTML unless that is not wanted, since
 * the preview shows it.
 */
export function openParameters(state: State): Pairs {
  const { collection, slug, sort, recursive, kind, filters } = state;
  const hasNeighbors = state.includeNeighbors === "true";
  return itemParameters(state, [
    ["includeHtml", state.includeHtml === "false" ? "" : "true"],
    wanted(state, "includeHistory"),
    ["linkTemplate", state.linkTemplate],
    ...hasNeighbors
      ? [
        ["collection", slug === "" ? collection : ""],
        ["includeNeighbors", "true"],
        ["sort", sort],
        ["recursive", recursive ? "" : "false"],
        ["kind", kind],
        ...filters,
      ] as const
      : [],
  ]);
}

/** The address of an operation; `baseUrl` is that of the page. */
export function operationUrl(
  operation: string,
  parameters: Pairs,
  baseUrl: string,
): string {
  return new URL(`api/${operation}?${encode(parameters)}`, baseUrl).href;
}

/**
 * Without what is empty. Strict, so that an address can stand in quotes of any
 * kind.
 */
function encode(pairs: Pairs): string {
  const strict = (text: string) =>
    encodeURIComponent(text.toWellFormed()).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  return pairs.filter(([, value]) => value !== "")
    .map(([name, value]) => `${strict(name)}=${strict(value)}`).join("&");
}

/**
 * The parts of a typed or pasted text; `folder` is empty for the whole
 * repository.
 */
export interface Place {
  readonly owner: string;
  readonly repo: string;
  readonly branch: string;
  readonly folder: string;
  /** Empty where the text names no file. */
  readonly file: string;
}

const NAME = /^[\w.-]+$/;
/** Hosts that are not GitHub's, and GitLab's form of addresses. */
const ELSEWHERE =
  /(^|[/@.])(gitlab|bitbucket|codeberg|gitea|sr\.ht)\b.*[:/]|\/-\//i;
const PAGES = ["tree", "blob", "raw", "edit", "blame", "commits"];

/**
 * Reads `owner/repo`, `owner/repo/folder`, and addresses of a repository,
 * folder or file at GitHub (or a host that is laid out like it), at its raw
 * host and at jsDelivr. Null where a text names no repository there. A branch
 * with a slash cannot be told from a folder in an address: its first part is
 * taken.
 */
export function parsePlace(text: string): Place | null {
  const trimmed = text.trim();
  if (ELSEWHERE.test(trimmed)) return null;
  const remote = trimmed.match(/^(?:ssh:\/\/)?git@[^:/]+[:/](.+)$/)?.[1];
  const [, host = "", rest] =
    trimmed.match(/^(?:git\+)?(?:https?:\/\/)?([^/\s]+\.[^/\s]+)\/(.*)$/i) ??
      [];
  const isAddress = /^(?:git\+)?https?:/i.test(trimmed) ||
    /\.(com|net|org|io)$/i.test(host);
  const [path = ""] = (remote ?? (isAddress ? rest : null) ?? trimmed).split(
    /[?#]/,
  );
  const segments = path.split("/").filter((segment) => segment !== "").map(
    decode,
  );
  if (isAddress && /(^|\.)jsdelivr\.net$/i.test(host)) {
    const [owner, repo, branch] = [
      segments[1],
      ...(segments[2] ?? "").split("@"),
    ];
    return segments[0] === "gh"
      ? place(owner, repo, branch, segments.slice(3), "file")
      : null;
  }
  const [owner, repo, word, ...more] = segments;
  if (isAddress && /^raw\./i.test(host)) {
    const isFull = word === "refs" && ["heads", "tags"].includes(more[0] ?? "");
    const [branch, ...file] = isFull ? more.slice(1) : [word ?? "", ...more];
    return place(owner, repo, branch, file, "file");
  }
  if (word !== undefined && PAGES.includes(word) && more.length > 0) {
    const isFolder = ["tree", "commits"].includes(word);
    return place(
      owner,
      repo,
      more[0],
      more.slice(1),
      isFolder ? "folder" : "file",
    );
  }
  // Issues, releases and the like are still the repository that is meant.
  const folder = isAddress || remote !== undefined || word === undefined
    ? []
    : [word, ...more];
  return place(owner, repo, undefined, folder, "folder");
}

function place(
  owner: string | undefined,
  name: string | undefined,
  branch: string | undefined,
  segments: readonly string[],
  kind: "file" | "folder",
): Place | null {
  const repo = name?.replace(/\.git$/i, "") ?? "";
  if (!NAME.test(owner ?? "") || !NAME.test(repo)) return null;
  const isFile = kind === "file" && segments.length > 0;
  return {
    owner: owner!,
    repo,
    // A local folder has one branch, without a name of its own.
    branch: branch || (owner!.toLowerCase() === "local" ? "" : "HEAD"),
    folder: (isFile ? segments.slice(0, -1) : segments).join("/"),
    file: isFile ? segments.join("/") : "",
  };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * The state for an address: of what was shown before it takes over the view's
 * own settings only.
 */
export function stateAt(
  { owner, repo, branch, folder, file }: Place,
  { limit }: State,
): State {
  return {
    ...EMPTY,
    owner,
    repo,
    branch,
    collection: folder || "/",
    path: file,
    limit,
  };
}

const OPERATORS: Readonly<Record<string, string>> = {
  ">=": "gte",
  "<=": "lte",
  ">": "gt",
  "<": "lt",
};

/**
 * A typed filter as a parameter: `#news` is a tag, `draft=true`, `author!=tom`
 * and `date>=2025-01-01` are about front matter, `name=*.md` about the file,
 * and so is a glob. Other text is searched for: `search`. Null for nothing.
 */
export function parseFilter(text: string): readonly [string, string] | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const tag = trimmed.match(/^#(.+)$/)?.[1];
  if (tag !== undefined) return ["filter[frontMatter.tags]", tag.trim()];
  const [, key, operator, value] =
    trimmed.match(/^([^<>=!*?]+?)\s*(!=|>=|<=|=|>|<)\s*(.*)$/s) ??
      [];
  if (key === undefined || operator === undefined || value === undefined) {
    const subject = trimmed.includes("/") ? "filter[path]" : "filter[name]";
    if (trimmed.includes("*")) return [subject, trimmed];
    return trimmed.includes("/") && !/\s/.test(trimmed)
      ? [`${subject}[contains]`, trimmed]
      : ["search", trimmed];
  }
  const subject = /^(name|path|frontMatter\..+)$/.test(key)
    ? key
    : `frontMatter.${key}`;
  const comparison = OPERATORS[operator];
  if (comparison !== undefined) {
    return [`filter[${subject}][${comparison}]`, value];
  }
  return [`filter[${subject}]`, operator === "!=" ? `!${value}` : value];
}

/** What looks for the words of a search in file names, without case. */
export function inNames({ filters, search }: State): Partial<State> {
  return {
    search: "",
    page: "",
    filters: [...filters, ["filter[name][contains]", search]],
  };
}

const SIGNS: ReadonlyMap<string, string> = new Map([
  ["gte", "≥"],
  ["lte", "≤"],
  ["gt", ">"],
  ["lt", "<"],
  ["contains", "has"],
]);

/** A filter in words, such as `tags: news` or `date ≥ 2025-01-01`. */
export function filterWords([name, value]: readonly [string, string]): string {
  if (name === "search") return `“${value}”`;
  const [, subject = name, comparison] =
    name.match(/^filter\[(.*?)\](?:\[(.*)\])?$/s) ?? [];
  const key = subject.replace(/^frontMatter\./, "");
  if (comparison === "exists") {
    return value === "false" ? `no ${key}` : `has ${key}`;
  }
  if (comparison !== undefined) {
    return `${key} ${SIGNS.get(comparison) ?? comparison} ${value}`;
  }
  return value.startsWith("!")
    ? `${key}: not ${value.slice(1)}`
    : `${key}: ${value}`;
}
