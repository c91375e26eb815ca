// What the page shows, as the address bar says it: the parameters of both operations under their own names, and `view`.
// Values stay text as they were given, since the service is what judges them.

import { filterText, parseFilterText } from "./filter_text.js";

/**
 * @typedef {object} State
 * @property {string} owner
 * @property {string} repo
 * @property {string} collection
 * @property {string} branch Empty: not given.
 * @property {string} page
 * @property {string} limit
 * @property {boolean} includeContent
 * @property {boolean} includeFrontMatter
 * @property {string} sort
 * @property {boolean} recursive
 * @property {string} filter As in filter_text.js.
 * @property {string} path The file that is shown; empty: none.
 * @property {"preview" | "raw"} view
 */

const FILTER = /^filter\[.*\]$/s;

/**
 * Parameters of a request; `filter` has its keys and values.
 * @typedef {Record<string, string | string[][]>} Parameters
 */

/**
 * Nothing given.
 * @type {State}
 */
export const EMPTY = {
  owner: "",
  repo: "",
  collection: "",
  branch: "",
  page: "",
  limit: "",
  includeContent: false,
  includeFrontMatter: false,
  sort: "",
  recursive: true,
  filter: "",
  path: "",
  view: "preview",
};

/**
 * What the page opens on: an example, which a deployment may have or not.
 * @type {State}
 */
export const FIRST = { ...EMPTY, owner: "local", repo: "blog", collection: "posts" };

/**
 * The state that a query string says; `FIRST` where it says nothing.
 * @param {string} search
 * @returns {State}
 */
export function readState(search) {
  const query = new URLSearchParams(search);
  const filter = filterText(
    [...query].filter(([name]) => FILTER.test(name)).map(([name, value]) => [
      name.slice("filter[".length, -1),
      value,
    ]),
  );
  const has = filter !== "" || [...query.keys()].some((name) => Object.hasOwn(EMPTY, name));
  if (!has) return FIRST;
  const text = (/** @type {string} */ name) => query.get(name) ?? "";
  const isSet = (/** @type {string} */ name) => ["true", "1"].includes(text(name));
  return {
    owner: text("owner"),
    repo: text("repo"),
    collection: text("collection"),
    branch: text("branch"),
    page: text("page"),
    limit: text("limit"),
    includeContent: isSet("includeContent"),
    includeFrontMatter: isSet("includeFrontMatter"),
    sort: text("sort"),
    recursive: !["false", "0"].includes(text("recursive")),
    filter,
    path: text("path"),
    view: text("view") === "raw" ? "raw" : "preview",
  };
}

/**
 * The address of a state, relative to the page.
 * @param {State} state
 */
export function stateUrl(state) {
  const { path, view } = state;
  return `?${encode({ ...listParameters(state), path, view: view === "raw" ? "raw" : "" })}`;
}

/**
 * Parameters of the list request that the state means.
 * @param {State} state
 */
export function listParameters(state) {
  const { owner, repo, collection, branch, page, limit, sort, filter } = state;
  const flag = (/** @type {boolean} */ isSet, /** @type {string} */ text) => isSet ? text : "";
  return given({
    owner,
    repo,
    collection,
    branch,
    page,
    limit,
    includeContent: flag(state.includeContent, "true"),
    includeFrontMatter: flag(state.includeFrontMatter, "true"),
    sort,
    recursive: flag(!state.recursive, "false"),
    filter: parseFilterText(filter),
  });
}

/**
 * Parameters of the item request that the state means.
 * @param {State} state
 * @param {"raw"} [format]
 */
export function itemParameters({ owner, repo, branch, path }, format) {
  return given({ owner, repo, branch, path, format: format ?? "" });
}

/**
 * The address of an operation of this service.
 * @param {string} operation
 * @param {Parameters} parameters
 * @param {string} baseUrl Of the page.
 */
export function operationUrl(operation, parameters, baseUrl) {
  return new URL(`api/${operation}?${encode(parameters)}`, baseUrl).href;
}

/**
 * @param {Parameters} fields
 * @returns {Parameters}
 */
function given(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value.length > 0));
}

/**
 * Strict, so that an address can stand in quotes of any kind without being escaped there.
 * @param {Parameters} fields
 */
function encode(fields) {
  return Object.entries(given(fields))
    .flatMap(([name, value]) =>
      typeof value === "string"
        ? [[name, value]]
        : value.map(([key, text]) => [`${name}[${key}]`, text])
    )
    .map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`)
    .join("&");
}

/** @param {string} value */
function encodeText(value) {
  return encodeURIComponent(value.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
