// What the page shows, as the address bar says it: the parameters of both operations under their own names, and `view`.
// Values stay text as they were given, since the service is what judges them.

/**
 * @typedef {object} State
 * @property {string} owner
 * @property {string} repo
 * @property {string} collection
 * @property {string} branch Empty: not given.
 * @property {string} page
 * @property {string} limit
 * @property {boolean} includeContent
 * @property {string} path The file that is shown; empty: none.
 * @property {"preview" | "raw"} view
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
  const has = [...query.keys()].some((name) => name in EMPTY);
  if (!has) return FIRST;
  const text = (/** @type {string} */ name) => query.get(name) ?? "";
  return {
    owner: text("owner"),
    repo: text("repo"),
    collection: text("collection"),
    branch: text("branch"),
    page: text("page"),
    limit: text("limit"),
    includeContent: ["true", "1"].includes(text("includeContent")),
    path: text("path"),
    view: text("view") === "raw" ? "raw" : "preview",
  };
}

/**
 * The address of a state, relative to the page.
 * @param {State} state
 */
export function stateUrl(state) {
  return `?${
    encode({
      ...state,
      includeContent: state.includeContent ? "true" : "",
      view: state.view === "raw" ? "raw" : "",
    })
  }`;
}

/**
 * Parameters of the list request that the state means.
 * @param {State} state
 */
export function listParameters({ owner, repo, collection, branch, page, limit, includeContent }) {
  const content = includeContent ? "true" : "";
  return given({ owner, repo, collection, branch, page, limit, includeContent: content });
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
 * @param {Record<string, string>} parameters
 * @param {string} baseUrl Of the page.
 */
export function operationUrl(operation, parameters, baseUrl) {
  return new URL(`api/${operation}?${encode(parameters)}`, baseUrl).href;
}

/** @param {Record<string, string>} fields */
function given(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));
}

/**
 * Strict, so that an address can stand in quotes of any kind without being escaped there.
 * @param {Record<string, string>} fields
 */
function encode(fields) {
  return Object.entries(given(fields))
    .map(([name, value]) => `${name}=${encodeText(value)}`)
    .join("&");
}

/** @param {string} value */
function encodeText(value) {
  return encodeURIComponent(value.toWellFormed()).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
