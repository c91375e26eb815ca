/// <reference lib="dom" />
// Requests to the service: sending one, repeating one that is not ready, a
// request as code, and problems with links to what can be done.

import { Component, html } from "./preact.js";
import {
  inNames,
  opened,
  operationUrl,
  type Pairs,
  type State,
  stateUrl,
} from "./state.ts";

/** A problem as the service sends it, or one of this page's own. */
export interface Problem {
  readonly title: string;
  readonly detail: string;
  readonly status?: number;
  readonly code?: string;
  readonly type?: string;
  readonly requestId?: string;
  readonly errors?: readonly { parameter: string; message: string }[];
  readonly suggestions?: readonly string[];
  readonly paths?: readonly string[];
  readonly retryAfterSeconds?: number;
  readonly htmlUrl?: string;
}

/** The response. Exactly one of `body` and `problem` is not null. */
export interface Answer<T> {
  /** As it was sent; empty where there was none. */
  readonly text: string;
  readonly body: T | null;
  readonly problem: Problem | null;
  readonly status: number | null;
  readonly ms: number;
  readonly bytes: number;
  readonly headers: Headers;
}

const PATIENT: readonly string[] = [
  "collection-not-ready",
  "too-many-requests",
  "service-busy",
  "source-rate-limited",
];
/** A problem that lasts longer is shown, so that the reader can decide. */
const MAX_RETRY_AFTER_SECONDS = 60;
const MAX_TRIES = 30;

/**
 * One panel's request: the newest replaces the others, and one that is not
 * ready is repeated. `onChange` repaints.
 */
export class Loader<T> {
  operation = "";
  url = "";
  /** Null before the first request and while a response is awaited. */
  answer: Answer<T> | null = null;
  isWaiting = false;
  startedAtMs = 0;
  /** The problem that is waited out, and when the request is repeated. */
  retry: { readonly problem: Problem; readonly atMs: number } | null = null;
  #abort = new AbortController();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /**
   * Sends the request, unless this very request was sent already: only `again`
   * repeats one, after a problem too.
   */
  async load(
    operation: string,
    parameters: Pairs,
    { again = false } = {},
  ): Promise<void> {
    const url = operationUrl(operation, parameters, document.baseURI);
    if (url === this.url && !again) return;
    this.clear();
    Object.assign(this, { operation, url, isWaiting: true });
    this.startedAtMs = performance.now();
    const { signal } = this.#abort;
    const ticking = setInterval(() => this.#onChange(), 1000);
    signal.addEventListener("abort", () => clearInterval(ticking));
    this.#onChange();
    for (let tries = 1;; tries++) {
      const answer = await fetchAnswer<T>(url, signal);
      if (signal.aborted) return;
      const { problem } = answer;
      const seconds = Math.max(1, problem?.retryAfterSeconds ?? Infinity);
      const isPatient = PATIENT.includes(problem?.code ?? "") &&
        tries < MAX_TRIES;
      if (problem === null || !isPatient || seconds > MAX_RETRY_AFTER_SECONDS) {
        clearInterval(ticking);
        Object.assign(this, { answer, isWaiting: false, retry: null });
        return this.#onChange();
      }
      this.retry = { problem, atMs: performance.now() + seconds * 1000 };
      this.#onChange();
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      if (signal.aborted) return;
    }
  }

  /** Drops the request, an unanswered one too. */
  clear(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    Object.assign(this, {
      url: "",
      answer: null,
      isWaiting: false,
      retry: null,
    });
  }
}

/**
 * A problem that says until when to wait, if that is long: "at 15:40" in place
 * of "in 1800 seconds".
 */
export function withTime(problem: Problem, nowMs: number): Problem {
  const { detail = "", retryAfterSeconds: seconds = 0 } = problem;
  if (seconds <= MAX_RETRY_AFTER_SECONDS) return problem;
  // A time without seconds must not be too early.
  const at = new Date(nowMs + (seconds + 59) * 1000)
    .toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return {
    ...problem,
    detail: detail.replace(`in ${seconds} seconds`, `at ${at}`),
  };
}

async function fetchAnswer<T>(
  url: string,
  signal: AbortSignal,
): Promise<Answer<T>> {
  const startedAtMs = performance.now();
  const result = (part: Partial<Answer<T>>): Answer<T> => ({
    text: "",
    body: null,
    problem: null,
    status: null,
    ms: performance.now() - startedAtMs,
    bytes: 0,
    headers: new Headers(),
    ...part,
  });
  try {
    const response = await fetch(url, { signal });
    const { status, headers } = response;
    const content = await response.arrayBuffer();
    const text = new TextDecoder().decode(content);
    const common = { text, status, headers, bytes: content.byteLength };
    const json = JSON.parse(text);
    return result(
      response.ok
        ? { ...common, body: json }
        : { ...common, problem: withTime(json, Date.now()) },
    );
  } catch (error) {
    const detail = error instanceof SyntaxError
      ? "The answer is not JSON: something between this page and the service gave it."
      : "Check that the service is running and that this device is online.";
    return result({ problem: { title: "The service did not answer", detail } });
  }
}

/** A size in words, by 1024. */
export function sizeWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  let unit = "";
  for (unit of ["KB", "MB", "GB"]) {
    value /= 1024;
    if (value < 1023.5) break;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** A time in words. */
export function durationWords(seconds: number): string {
  if (seconds < 100) return `${seconds} s`;
  return seconds < 6000
    ? `${Math.round(seconds / 60)} min`
    : `${Math.round(seconds / 3600)} h`;
}

/**
 * How fresh an answer is, by `Age`, `Cache-Control` and `Cache-Status` (RFC
 * 9211).
 */
export function freshWords(headers: Headers): string {
  const age = Number(headers.get("age") ?? NaN);
  const maxAge = Number(
    headers.get("cache-control")?.match(/max-age=(\d+)/)?.[1] ?? NaN,
  );
  if (/stale-if-error/.test(headers.get("cache-status") ?? "")) {
    return `${durationWords(age)} old, the source does not answer`;
  }
  if (Number.isNaN(maxAge)) return "as it is now";
  return `fresh ${
    durationWords(Math.max(0, maxAge - (Number.isNaN(age) ? 0 : age)))
  }`;
}

const METHODS: Readonly<Record<string, readonly [string, string]>> = {
  "list-collection-items": ["listItems", "items"],
  "get-item-content": ["getItem", "frontMatter, body, content"],
  "list-collections": ["listCollections", "collections, folders"],
  "list-collection-changes": ["listChanges", "added, changed, removed"],
};

/** Code for a request, and the name of its tab. */
export interface Snippet {
  readonly name: string;
  readonly text: string;
}

/**
 * Working code for a request. Addresses are encoded strictly, so they can stand
 * in any quotes.
 */
export function snippetsFor(url: string): Snippet[] {
  const { pathname, searchParams, origin } = new URL(url);
  const at = pathname.lastIndexOf("/api/");
  const [method, result] = METHODS[pathname.slice(at + "/api/".length)] ?? [];
  const isJson = method !== undefined && searchParams.get("format") !== "raw";
  const snippets = [
    { name: "Address", text: url },
    { name: "curl", text: `curl --compressed "${url}"` },
    {
      name: "fetch",
      text: `const response = await fetch("${url}");\n` +
        (isJson
          ? `const answer = await response.json();\n` +
            `if (!response.ok) throw new Error(answer.detail);\nconst { ${result} } = answer;\n`
          : `if (!response.ok) throw new Error(response.statusText);\n` +
            `const bytes = await response.bytes();\n`),
    },
  ];
  const options = isJson ? clientOptions(searchParams) : null;
  if (options !== null) {
    const name = searchParams.has("slug") ? "getItemBySlug" : method;
    snippets.push({
      name: "Client",
      text:
        `import { CollectionsClient } from "${origin}${
          pathname.slice(0, at)
        }/client.js";\n\nconst client = new CollectionsClient();\n` +
        `const { ${result} } = await client.${name}(${literal(options)});\n`,
    });
  }
  const read = isJson
    ? `    answer = json.load(response)\n`
    : `    answer = response.read()\n`;
  snippets.push({
    name: "Python",
    text:
      `${isJson ? "import json\n" : ""}from urllib.request import urlopen\n\n` +
      `with urlopen("${url}") as response:\n${read}`,
  });
  return snippets;
}

/**
 * What the client takes for a query; null for filters that it has no way to
 * write.
 */
function clientOptions(query: URLSearchParams): Record<string, unknown> | null {
  const options: Record<string, unknown> = {};
  const filters = new Map<string, { equal: string[]; compared: Data }>();
  for (const [name, value] of query) {
    const [, key, comparison] = name.match(/^filter\[(.*?)\](?:\[(.*)\])?$/s) ??
      [];
    if (key === undefined) {
      options[name] = ["page", "limit"].includes(name)
        ? Number(value)
        : /^(include|recursive)/.test(name)
        ? value === "true"
        : value;
      continue;
    }
    const filter = filters.get(key) ?? { equal: [], compared: {} };
    filters.set(key, filter);
    if (comparison === undefined) filter.equal.push(value);
    else if (Object.hasOwn(filter.compared, comparison)) return null;
    else {
      filter.compared[comparison] = comparison === "exists"
        ? value === "true"
        : value;
    }
  }
  if (filters.size === 0) return options;
  const filter: Record<string, unknown> = {};
  for (const [key, { equal, compared }] of filters) {
    const isCompared = Object.keys(compared).length > 0;
    if (isCompared && equal.length > 0) return null;
    filter[key] = isCompared ? compared : equal.length > 1 ? equal : equal[0];
  }
  return { ...options, filter };
}

type Data = Record<string, unknown>;

/** A value in JavaScript, with a line for each key. */
function literal(value: unknown, indent = ""): string {
  if (Array.isArray(value)) {
    return `[${value.map((part) => literal(part)).join(", ")}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const lines = Object.entries(value).map(([key, part]) =>
    `${indent}  ${/^[a-z]\w*$/i.test(key) ? key : JSON.stringify(key)}: ${
      literal(part, `${indent}  `)
    },\n`
  );
  return `{\n${lines.join("")}${indent}}`;
}

const TOKENS =
  /("(?:[^"\\]|\\.)*")|\b(const|await|import|from|if|throw|new|with|as|true|false)\b/g;

/** Code with colors for its strings and keywords. */
function colored(text: string) {
  const parts: unknown[] = [];
  let end = 0;
  for (const { 0: token, 1: string, index } of text.matchAll(TOKENS)) {
    parts.push(text.slice(end, index));
    const name = string === undefined ? "hljs-keyword" : "v-string";
    parts.push(html`<span class=${name}>${token}</span>`);
    end = index + token.length;
  }
  return [...parts, text.slice(end)];
}

/** Characters that stand for themselves where nothing is quoted. */
const PLAIN = /%(?:21|24|27|28|29|2A|2C|2F|3A|40|5B|5D|7B|7D)/gi;

/**
 * An address whose parameters can be read and told from each other; the one
 * that is copied is encoded strictly.
 */
function coloredAddress(url: string) {
  const [place = "", query = ""] = url.split("?", 2);
  const at = place.lastIndexOf("/api/");
  const parameters = query.split("&").map((pair, index) => {
    const [name = "", value = ""] = pair.replaceAll(PLAIN, decodeURIComponent)
      .split("=", 2);
    return html`<span class="pair">${index === 0 ? "?" : "&"}<span
      class="hljs-attr">${name}</span>=<span class="v-string">${value}</span></span>`;
  });
  return html`
    <span class="method">GET</span> <a href=${url} target="_blank"
      rel="noopener"><span class="soft">${place.slice(0, at)}</span>${place
        .slice(at)}${query !== "" && parameters}</a>
  `;
}

/** A request as code, in one language at a time. */
export class Code
  extends Component<{ url: string; skip?: string }, { name: string }> {
  override state = { name: "" };

  override render() {
    const snippets = snippetsFor(this.props.url)
      .filter(({ name }) => name !== this.props.skip);
    const shown = snippets.find(({ name }) => name === this.state.name) ??
      snippets[0]!;
    return html`
      <div class="code-box">
        <div class="code-head">
          <div class="views" role="group" aria-label="Language">${snippets.map((
            { name },
          ) =>
            html`
              <button type="button" key=${name} aria-pressed=${name ===
                shown.name}
                onClick=${() => this.setState({ name })}>${name}</button>
            `
          )}</div>
          <${Copy} key=${shown.name} what=${shown.name} text=${shown.text} />
        </div>
        <pre class="code" tabindex="0" aria-label="Request">${shown.name ===
            "Address"
          ? coloredAddress(shown.text)
          : colored(shown.text)}</pre>
      </div>
    `;
  }
}

/** A button that copies a text. */
export class Copy
  extends Component<{ what: string; text: string }, { told: string }> {
  override state = { told: "" };

  #copy = async () => {
    const { what, text } = this.props;
    const told = await copy(text) ? "Copied" : "Cannot copy";
    announce(`${told}: ${what}`);
    this.setState({ told });
    setTimeout(() => this.setState({ told: "" }), 2000);
  };

  override render() {
    return html`
      <button type="button" class="quiet copy" title=${`Copy: ${this.props.what}`}
        onClick=${this.#copy}>${this.state.told || "Copy"}</button>
    `;
  }
}

/** Puts a text on the clipboard; false where a browser refuses. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** On plain http beyond this machine there is no `navigator.clipboard`. */
function copySelected(text: string): boolean {
  const focused = document.activeElement as HTMLElement | null;
  const area = document.createElement("textarea");
  area.className = "hidden";
  area.value = text;
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } finally {
    area.remove();
    focused?.focus();
  }
}

/** Announces a text to a screen reader. */
export function announce(text: string): void {
  const announcer = document.getElementById("announcer");
  if (announcer !== null) announcer.textContent = text;
}

/** Announces a slow request, or its repetition. */
export function Progress({ loader }: { loader: Loader<unknown> }) {
  if (!loader.isWaiting) return null;
  const now = performance.now();
  const { retry } = loader;
  const seconds = Math.floor((now - loader.startedAtMs) / 1000);
  if (retry === null && seconds < 1) return null;
  const left = retry === null
    ? 0
    : Math.max(0, Math.ceil((retry.atMs - now) / 1000));
  const text = retry === null
    ? `Still asking the source: ${seconds} s`
    : `${retry.problem.title}. ${
      left > 0 ? `Trying again in ${left} s` : "Trying again"
    }`;
  return html`<p class="progress-line" role="status">${text}</p>`;
}

interface ProblemPanelProps {
  readonly problem: Problem;
  readonly state: State;
  readonly onRetry: () => void;
}

/**
 * A problem for the reader: what is wrong, and a link for each thing that may
 * be done.
 */
export function ProblemPanel({ problem, state, onRetry }: ProblemPanelProps) {
  const { title, detail, errors = [], status, code, type, requestId } = problem;
  const ways = waysOut(problem, state);
  const mayRetry = status === undefined || status >= 500 || status === 429;
  return html`<div class="problem" role="alert">
    <h2>${title}</h2>
    <p>${
    withCode(
      // The list names them.
      errors.length > 0 ? `${detail.split(":", 1)[0]}:` : detail,
    )
  }</p>
    ${
    errors.length > 0 &&
    html`<ul class="errors">${
      errors.map(({ parameter, message }) =>
        html`<li><strong>${parameter}</strong> ${withCode(message)}</li>`
      )
    }</ul>`
  }
    ${
    ways.length > 0 &&
    html`<p class="ways">Perhaps: ${
      ways.map(({ label, to }) =>
        html`<a class="pill" href=${stateUrl(to)}>${label}</a>`
      )
    }</p>`
  }
    <p class="actions">
      ${
    mayRetry &&
    html`<button type="button" onClick=${onRetry}>Try again</button>`
  }
      ${
    problem.htmlUrl &&
    html`<a href=${problem.htmlUrl} target="_blank" rel="noopener">View on GitHub</a>`
  }
      ${
    code && type &&
    html`<a href=${type} target="_blank" rel="noopener">About ${code}</a>`
  }
      ${
    requestId &&
    html`<span class="soft">Request <code>${requestId}</code></span>`
  }
    </p>
  </div>`;
}

/** Text in which backquotes set code. */
function withCode(text: string) {
  return text.split("`").map((part, at) =>
    at % 2 === 1 ? html`<code>${part}</code>` : part
  );
}

/** States with similar names, for a problem's suggestions. */
function waysOut(
  { code, suggestions = [], paths = [] }: Problem,
  state: State,
) {
  const start: State = {
    ...state,
    page: "",
    path: "",
    slug: "",
    view: "preview",
    search: "",
    filters: [],
    sort: "",
  };
  const ways = [
    ...code === "item-not-found" ? [] : suggestions.map((collection) => ({
      label: collection,
      to: { ...start, collection },
    })),
    ...(code === "item-not-found" ? suggestions : paths)
      .map((name) => ({
        label: name,
        to: code === "item-not-found" && state.slug !== ""
          ? { ...state, slug: name }
          : opened(state, name),
      })),
  ];
  if (code === "collection-too-large" && state.search !== "") {
    const { filters, search } = state;
    const title = ["filter[frontMatter.title][contains]", search] as const;
    ways.push(
      {
        label: "in titles only",
        to: { ...state, search: "", page: "", filters: [...filters, title] },
      },
      { label: "in names only", to: { ...state, ...inNames(state) } },
    );
  }
  if (code === "collection-not-found" && state.collection !== "/") {
    ways.push({
      label: "the whole repository",
      to: { ...start, collection: "/" },
    });
  }
  if (code === "branch-not-found") {
    ways.push({
      label: "the default branch",
      to: { ...start, branch: "HEAD" },
    });
  }
  if (code === "item-not-found" && state.path !== "") {
    ways.push({
      label: "list it as a folder",
      to: { ...start, collection: state.path },
    });
  }
  return ways;
}
