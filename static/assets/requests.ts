/// <reference lib="dom" />
// Requests to the service: sending one, repeating one that is not ready, and what a panel shows of a request: one line,
// opened on demand, and problems with links to what can be done.

import { Component, html } from "./preact.js";
import {
  inNames,
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

/** One panel's request: the newest replaces the others, and one that is not ready is repeated. `onChange` repaints. */
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

  /** Sends the request, unless this very request was sent already: only `again` repeats one, after a problem too. */
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

/** A problem that says until when to wait, if that is long: "at 15:40" in place of "in 1800 seconds". */
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

/** How fresh an answer is, by `Age`, `Cache-Control` and `Cache-Status` (RFC 9211). */
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

/** Working code for a request. Addresses are encoded strictly, so they can stand in any quotes. */
export function snippetsFor(
  url: string,
): { readonly name: string; readonly text: string }[] {
  const isList = url.includes("/list-collection-items?");
  const result = isList ? "items" : "frontMatter, body, content";
  return [
    { name: "Address", text: url },
    { name: "curl", text: `curl --compressed "${url}"` },
    {
      name: "fetch",
      text:
        `const response = await fetch("${url}");\nconst answer = await response.json();\n` +
        `if (!response.ok) throw new Error(answer.detail);\nconst { ${result} } = answer;\n`,
    },
  ];
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
  document.getElementById("announcer")!.textContent = text;
}

const TOLD_HEADERS = [
  "age",
  "cache-control",
  "cache-status",
  "etag",
  "link",
  "content-type",
  "x-request-id",
];

interface RequestLineProps {
  readonly loader: Loader<unknown>;
  /** The text before it on the same line. */
  readonly children?: unknown;
}

/** The request of a panel as one line; opened, its address, headers and JSON. */
export class RequestLine
  extends Component<RequestLineProps, { open: boolean; copied: string }> {
  override state = { open: false, copied: "" };

  async #copy(name: string, text: string) {
    const copied = await copy(text) ? "Copied" : "Cannot copy";
    announce(`${copied}: ${name}`);
    this.setState({ copied: `${name}: ${copied}` });
    setTimeout(() => this.setState({ copied: "" }), 2000);
  }

  #copyButton(name: string, text: string, label = name) {
    const isTold = this.state.copied.startsWith(`${name}:`);
    return html`<button type="button" class="quiet" onClick=${() =>
      this.#copy(name, text)}>
      ${isTold ? this.state.copied.slice(name.length + 2) : label}</button>`;
  }

  override render() {
    const { loader, children } = this.props;
    const { answer, url } = loader;
    if (url === "") return html`<footer class="request"></footer>`;
    const { open } = this.state;
    const id = `request-${loader.operation}`;
    const facts = answer === null ? "Waiting…" : [
      answer.status ?? "No answer",
      `${Math.round(answer.ms)} ms`,
      answer.bytes > 0 ? sizeWords(answer.bytes) : "",
      answer.problem === null ? freshWords(answer.headers) : "",
    ].filter((text) => text !== "").join(" · ");
    return html`<footer class="request">
      ${
      open
        ? html`
          <div class="request-details" id=${id} role="region" aria-label="Request"
            tabindex="0">${this.#details(loader)}</div>
        `
        : null
    }
      <div class="line">
        ${children}
        <button type="button" class=${
      answer === null ? "quiet facts off" : "quiet facts"
    } aria-expanded=${open} aria-controls=${id}
          data-bad=${answer?.problem != null} onClick=${() =>
      this.setState({ open: !open })}>${facts}</button>
        ${this.#copyButton("Address", url, "Copy")}
      </div>
    </footer>`;
  }

  #details({ answer, url }: Loader<unknown>) {
    const headers = TOLD_HEADERS.map((name) =>
      [name, answer?.headers.get(name)] as const
    )
      .filter(([, value]) => value != null);
    return html`
      <p
        class="address"><span>GET</span> <a href=${url} target="_blank" rel="noopener">${url}</a></p>
      <p class="copy">Copy as ${snippetsFor(url).map(({ name, text }) =>
        this.#copyButton(name, text)
      )}</p>
      <dl>${headers.map(([name, value]) =>
        html`
          <div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>
        `
      )}</dl>
      ${answer !== null && answer.text !== "" &&
        html`<${AnswerText} text=${answer.text} />`}
    `;
  }
}

type Views = typeof import("./view.ts");

/** An answer's JSON. What shows it is loaded when it is first needed. */
class AnswerText extends Component<{ text: string }, { views: Views | null }> {
  override state: { views: Views | null } = { views: null };

  override async componentDidMount() {
    this.setState({ views: await import("./view.ts") });
  }

  override render() {
    return this.state.views?.answerView(this.props.text) ?? null;
  }
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

/** A problem for the reader: what is wrong, and a link for each thing that may be done. */
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
      .map((path) => ({ label: path, to: { ...state, path } })),
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
  if (code === "item-not-found") {
    ways.push({
      label: "list it as a folder",
      to: { ...start, collection: state.path },
    });
  }
  return ways;
}
