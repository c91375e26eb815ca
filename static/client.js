// The client of a collections service: one file without imports, for browsers, Deno and Node.
// Types are in client.d.ts beside it.
// @ts-check

/**
 * @import * as types from "./client.d.ts"
 */

const MAX_KEPT = 100;

/**
 * A problem that the service answered with.
 * @implements {types.ProblemError}
 */
export class ProblemError extends Error {
  /** @param {types.Problem} problem */
  constructor(problem) {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
  }
}

/**
 * Asks one service.
 * @implements {types.CollectionsClient}
 */
export class CollectionsClient {
  /** @type {string} */
  #baseUrl;
  /** @type {typeof fetch} */
  #fetch;
  /** Answers by address, the one used last at the end; null where none are kept. @type {Map<string, { etag: string, body: unknown }> | null} */
  #kept;

  /**
   * @param {string | URL} [baseUrl]
   * @param {types.ClientOptions} [options]
   */
  constructor(baseUrl = new URL(".", import.meta.url), options = {}) {
    this.#baseUrl = String(baseUrl).replace(/\/+$/, "");
    if (/^(?!https?:)[a-z][a-z0-9+.-]*:/i.test(this.#baseUrl)) {
      throw new TypeError(
        `Cannot ask "${baseUrl}": give the service's address, such as "http://localhost:8000"`,
      );
    }
    // A browser's fetch wants to be called on its window.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#kept = options.reuse ? new Map() : null;
  }

  /**
   * @param {types.ListParameters} parameters
   * @param {types.RequestOptions} [options]
   * @returns {Promise<types.ItemPage>}
   */
  async listItems(parameters, options) {
    return /** @type {types.ItemPage} */ (
      await this.#ask("list-collection-items", parameters, options)
    );
  }

  /**
   * @param {types.ListParameters} parameters
   * @param {types.RequestOptions} [options]
   * @returns {AsyncGenerator<types.Item, void, undefined>}
   */
  async *items(parameters, options) {
    let page = parameters.page ?? 1;
    while (true) {
      const { items, pagination } = await this.listItems({ ...parameters, page }, options);
      yield* items;
      if (!pagination.hasNext) return;
      page++;
    }
  }

  /**
   * @param {types.ItemParameters} parameters
   * @param {types.RequestOptions} [options]
   * @returns {Promise<types.ItemContent>}
   */
  async getItem(parameters, options) {
    return /** @type {types.ItemContent} */ (
      await this.#ask("get-item-content", parameters, options)
    );
  }

  /**
   * @param {string} operation
   * @param {object} parameters
   * @param {types.RequestOptions} [options]
   * @returns {Promise<unknown>}
   */
  async #ask(operation, parameters, { signal } = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (name === "filter") {
        for (const [key, texts] of Object.entries(value ?? {})) {
          for (const text of [texts].flat()) query.append(`filter[${key}]`, text);
        }
      } else if (value !== undefined) query.set(name, String(value));
    }
    // One address for one question, however its parameters were put together.
    query.sort();
    const url = `${this.#baseUrl}/api/${operation}?${query}`;
    const kept = this.#kept?.get(url);
    const response = await this.#fetch(url, {
      headers: kept === undefined ? {} : { "if-none-match": kept.etag },
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.status === 304 && kept !== undefined) {
      await response.body?.cancel();
      this.#keep(url, kept);
      return structuredClone(kept.body);
    }
    const body = await readJson(response);
    if (!response.ok) throw new ProblemError(asProblem(body, response));
    if (typeof body !== "object" || body === null) {
      throw new ProblemError(asProblem(body, { status: 502, statusText: "No JSON in the answer" }));
    }
    const etag = response.headers.get("etag");
    if (etag !== null && this.#kept !== null) {
      this.#keep(url, { etag, body: structuredClone(body) });
    }
    return body;
  }

  /**
   * @param {string} url
   * @param {{ etag: string, body: unknown }} answer
   */
  #keep(url, answer) {
    const kept = this.#kept;
    if (kept === null) return;
    kept.delete(url);
    kept.set(url, answer);
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
    }
  }
}

/**
 * The body, or undefined where it is no JSON.
 * @param {Response} response
 * @returns {Promise<unknown>}
 */
async function readJson(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The problem that was answered; one that says as much as the status does where something between answered instead.
 * @param {unknown} body
 * @param {{ status: number, statusText: string }} response
 * @returns {types.Problem}
 */
function asProblem(body, { status, statusText }) {
  if (typeof body === "object" && body !== null && "code" in body && "detail" in body) {
    return /** @type {types.Problem} */ (body);
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
