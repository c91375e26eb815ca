/// <reference lib="dom" />
// The list of a collection: its rows with the columns that their front matter
// gives, filters as chips, and the pager.

import { Component, html } from "./preact.js";
import { Loader, ProblemPanel, Progress, sizeWords } from "./requests.ts";
import {
  closed,
  EMPTY,
  feedParameters,
  filterWords,
  inNames,
  listParameters,
  opened,
  operationUrl,
  parseFilter,
  type State,
  stateUrl,
} from "./state.ts";

/** Front matter, or a part of it. */
export type Data = Readonly<Record<string, unknown>>;

/** The commit that last changed a file, or the first one that did. */
export interface Change {
  readonly date: string;
  readonly commit: string;
  readonly author: { readonly name: string };
  readonly message: string;
}

/** What is shown of an item. With `fields` it has only what these name. */
export interface Item {
  readonly name?: string;
  readonly path?: string;
  readonly slug?: string;
  readonly size?: number;
  readonly lastChanged?: Change;
  readonly frontMatter?: Data;
  /** Of a row of a data file, which has no name, path or size. */
  readonly data?: unknown;
  readonly index?: number;
  readonly key?: string;
  /** `snippet` is escaped text with `<mark>`. */
  readonly match?: { readonly snippet: string };
  readonly frontMatterError?: {
    readonly message: string;
    readonly line: number;
  };
}

/** A page of a list. */
export interface ListBody {
  readonly collection: { readonly name: string; readonly path: string };
  readonly items: readonly Item[];
  readonly pagination: {
    readonly page: number;
    readonly limit: number;
    readonly totalItems: number;
    readonly totalPages: number;
    readonly hasNext: boolean;
    readonly hasPrevious: boolean;
  };
  readonly warnings?: readonly string[];
  readonly facets?: Readonly<
    Record<string, readonly { value: unknown; count: number }[]>
  >;
}

/** A column made from a key of the front matter. */
interface Column {
  readonly key: string;
  readonly kind: "date" | "list" | "text";
}

const MAX_COLUMNS = 3;
const MAX_FACETS = 5;
const TITLES = ["title", "name", "label"];
const DESCRIPTIONS = ["description", "summary", "excerpt"];
/** The offered sizes of a page; empty: the service's own. */
const LIMITS = ["", "25", "50", "100", "250", "1000"];
const MAX_KEY_CHARACTERS = 256;
/** What is shown of one item, however much its author wrote. */
const MAX_KEYS = 100;
const MAX_TAGS = 10;
const MAX_SHOWN_CHARACTERS = 120;

/** The beginning of a text that is too long. */
function shortText(text: string): string {
  return text.length <= MAX_SHOWN_CHARACTERS
    ? text
    : `${text.slice(0, MAX_SHOWN_CHARACTERS)}…`;
}

/**
 * Whether a parameter can name a key: a dot leads into a mapping, a comma ends
 * a facet, "][" a filter's key.
 */
function isAddressable(key: string): boolean {
  return /^[^.,]+$/.test(key) && !key.includes("][") &&
    `frontMatter.${key}`.length <= MAX_KEY_CHARACTERS;
}

/** The values that front matter has, by its first keys. */
function valuesByKey(items: readonly Item[]): Map<string, unknown[]> {
  const entries = items.flatMap(({ frontMatter = {} }) =>
    Object.entries(frontMatter).slice(0, MAX_KEYS)
  );
  const byKey = Map.groupBy(entries, ([key]) => key);
  return new Map(
    [...byKey].map(([key, all]) => [key, all.map(([, value]) => value)]),
  );
}

/**
 * The columns for some items: a date, a list such as tags, then what most items
 * have. Titles have their own column.
 */
export function columnsOf(items: readonly Item[]): Column[] {
  const columns = [...valuesByKey(items)].flatMap(([key, values]) => {
    const all = values.filter((value) => value !== null);
    const kind = kindOf(all);
    if (TITLES.includes(key) || DESCRIPTIONS.includes(key)) return [];
    if (all.length === 0 || kind === null) return [];
    if (items.length > 1 && tellsLittle(all, items.length)) return [];
    const preferred = ["date", "tags"].includes(key)
      ? 100
      : kind === "text"
      ? 0
      : 10;
    return [{ key, kind, rank: preferred + all.length / items.length }];
  });
  const byRank = columns.sort((a, b) => b.rank - a.rank);
  const first = (kind: string) =>
    byRank.filter((column) => column.kind === kind).slice(0, 1);
  const chosen = [
    ...first("date"),
    ...first("list"),
    ...byRank.filter(({ kind }) => kind === "text"),
  ];
  return chosen.slice(0, MAX_COLUMNS).map(({ key, kind }) => ({ key, kind }));
}

/** Whether a column would be the same in all rows, or empty in nearly all. */
function tellsLittle(values: readonly unknown[], rows: number): boolean {
  const isConstant = values.length === rows &&
    new Set(values.map((value) => JSON.stringify(value))).size === 1;
  return isConstant || values.length < rows / 10;
}

/** The text that describes an item in its second line; empty: none. */
function descriptionOf(item: Pick<Item, "frontMatter">): string {
  const texts = DESCRIPTIONS.map((key) => valueOf(item, key));
  const text = texts.find((value) => typeof value === "string");
  return typeof text === "string" ? shortText(text.trim()) : "";
}

function kindOf(values: readonly unknown[]): Column["kind"] | null {
  const all = (test: (value: unknown) => boolean) => values.every(test);
  if (
    all((value) => typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value))
  ) return "date";
  if (all((value) => Array.isArray(value) && value.every(isShort))) {
    return "list";
  }
  return all(isShort) ? "text" : null;
}

function isShort(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean" ||
    typeof value === "string" && value.length <= 40;
}

/**
 * The keys worth counting: lists first, then short texts that occur more than
 * once.
 */
export function facetKeysOf(items: readonly Item[]): string[] {
  const byKey = [...valuesByKey(items)].filter(([key]) => isAddressable(key));
  const kinds = byKey.map(([key, values]) => ({
    key,
    kind: kindOf(values),
    repeats: new Set(values).size < values.length,
  }));
  return [
    ...kinds.filter(({ kind }) => kind === "list"),
    ...kinds.filter(({ kind, repeats }) => kind === "text" && repeats),
  ].map(({ key }) => key).slice(0, MAX_FACETS);
}

/**
 * The value of a key of an item's own front matter; a key of other items may be
 * one that every object inherits.
 */
export function valueOf(
  { frontMatter = {} }: Pick<Item, "frontMatter">,
  key: string,
): unknown {
  return Object.hasOwn(frontMatter, key) ? frontMatter[key] : undefined;
}

/** The key of the front matter that titles an item. */
function titleKeyOf(item: Pick<Item, "frontMatter">): string | undefined {
  return TITLES.find((key) => {
    const value = valueOf(item, key);
    return typeof value === "string" && value.trim() !== "" ||
      typeof value === "number";
  });
}

/** The name of an item's file, or what else it is told by. */
function nameOf({ name, path, slug }: Item): string {
  return name ?? path?.split("/").at(-1) ?? slug ?? "";
}

/** The text of a row. */
export function titleOf(item: Item): string {
  const key = titleKeyOf(item);
  const text = key === undefined ? nameOf(item) : String(valueOf(item, key));
  return shortText(text || "Without a name");
}

/** The keys of some items that parameters can name. */
export function keysOf(items: readonly Item[]): string[] {
  const data = items.map(({ data }) => ({ frontMatter: cellsOf({ data }) }));
  const named = (of: readonly Item[], prefix: string) =>
    [...valuesByKey(of).keys()].filter((key) =>
      key !== "" && isAddressable(key)
    )
      .map((key) => prefix + key);
  return [
    ...named(items, "frontMatter."),
    ...items.some(({ data }) => data !== undefined) ? named(data, "data.") : [],
  ].slice(0, MAX_KEYS);
}

/**
 * The state with a filter more; a new search replaces another, and has an order
 * of its own.
 */
function added(state: State, filter: readonly [string, string]): State {
  return filter[0] === "search"
    ? { ...state, search: filter[1], sort: "" }
    : { ...state, filters: [...state.filters, filter] };
}

interface ListProps {
  readonly state: State;
  readonly loader: Loader<ListBody>;
  readonly go: (state: State) => void;
  readonly retry: () => void;
}

/** The panel of the list. */
export class ListPanel extends Component<ListProps, { facetsOpen: boolean }> {
  override state = { facetsOpen: false };
  #facets = new Loader<ListBody>(() => this.forceUpdate());
  #keys: readonly string[] = [];

  override componentDidUpdate() {
    if (this.state.facetsOpen) this.#loadFacets();
  }

  #toggleFacets = () => {
    // To open the panel again is to try again.
    if (this.#facets.answer?.problem != null) this.#facets.clear();
    this.setState({ facetsOpen: !this.state.facetsOpen });
  };

  #loadFacets() {
    // The keys are those of the list that is shown.
    if (this.#keys.length === 0 || this.props.loader.answer?.body == null) {
      return;
    }
    const state: State = {
      ...this.props.state,
      page: "",
      limit: "1",
      sort: "",
    };
    const facets = this.#keys.map((key) => `frontMatter.${key}`).join(",");
    void this.#facets.load("list-collection-items", [
      ...listParameters(state).filter(([name]) =>
        name !== "includeFrontMatter"
      ),
      ["fields", "path"],
      ["facets", facets],
    ]);
  }

  #submit = (event: SubmitEvent) => {
    event.preventDefault();
    const input = (event.target as HTMLFormElement).elements.namedItem(
      "filter",
    ) as HTMLInputElement;
    const filter = parseFilter(input.value);
    if (filter === null) return;
    input.value = "";
    const { state, go } = this.props;
    go({ ...added(state, filter), page: "" });
  };

  /** Arrows go from row to row. */
  #move = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [
      ...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(
        "a[data-path]",
      ),
    ];
    const at = links.indexOf(document.activeElement as HTMLElement);
    const next = links[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    next.focus();
  };

  override render() {
    const { state, loader, retry } = this.props;
    const { answer, isWaiting } = loader;
    const body = answer?.body ?? null;
    if (body !== null && body.items.length > 0) {
      this.#keys = facetKeysOf(body.items);
    }
    return html`<section class="pane list" aria-label="Items" aria-busy=${isWaiting}>
      <header class="head">
        <form class="filter" role="search" onSubmit=${this.#submit}>
          <label class="hidden" for="filter">Search or filter</label>
          <input id="filter" name="filter" type="search" autocomplete="off" spellcheck="false"
            placeholder="Search, or #tag, draft=true, date>=2025-01-01" aria-keyshortcuts="/" />
          <kbd aria-hidden="true">/</kbd>
        </form>
        <button type="button" class=${
      this.#keys.length > 0 ? "quiet" : "quiet off"
    } aria-expanded=${this.state.facetsOpen}
          aria-controls="facets" onClick=${this.#toggleFacets}>Facets</button>
        ${this.#options()}
      </header>
      ${
      this.state.facetsOpen &&
      html`<div id="facets" class="facets">${this.#facetList()}</div>`
    }
      ${
      (state.filters.length > 0 || state.search !== "") &&
      html`<p class="chips" aria-label="Filters">${
        state.search !== "" &&
        chip(["search", state.search], { ...state, search: "", page: "" })
      }${
        state.filters.map((filter, at) =>
          chip(filter, {
            ...state,
            filters: state.filters.filter((_, index) => index !== at),
            page: "",
          })
        )
      }</p>`
    }
      <div class="body" onKeyDown=${this.#move}>
        <${Progress} loader=${loader} />
        ${isWaiting ? skeleton() : null}
        ${
      answer?.problem != null &&
      html`<${ProblemPanel} problem=${answer.problem} state=${state} onRetry=${retry} />`
    }
        ${body !== null && this.#rows(body)}
      </div>
      <footer class="request"><div class="line">${
      body !== null && pager(body, state)
    }${feedLink(state)}</div></footer>
    </section>`;
  }

  #options() {
    const { state, go } = this.props;
    const set = (part: Partial<State>) => go({ ...state, ...part, page: "" });
    return html`
      <details class="menu">
        <summary aria-label="Options">
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path
              d="M2 4h7M13 4h1M2 12h1M7 12h7M11 2v4M5 10v4" />
          </svg>
        </summary>
        <div class="popup">
          <label>Rows a page <select onChange=${(event: Event) =>
            set({ limit: (event.target as HTMLSelectElement).value })}>
                ${[...new Set([...LIMITS, state.limit])].map((limit) =>
                  html`<option value=${limit} selected=${
                    limit === state.limit
                  }>${limit || "Default"}</option>`
                )}
              </select></label>
          <label><input type="checkbox" checked=${state.recursive} onChange=${(
            event: Event,
          ) =>
            set({
              recursive: (event.target as HTMLInputElement).checked,
            })} /> Files of sub-folders too</label>
        </div>
      </details>
    `;
  }

  #facetList() {
    const { state, loader } = this.props;
    const { answer, isWaiting } = this.#facets;
    if (isWaiting || loader.isWaiting) {
      return html`
        <${Progress} loader=${this.#facets} />
        <p class="soft">Counting…</p>
      `;
    }
    const counts = loader.answer?.body == null ? null : answer;
    const counted = counts?.body?.facets ?? {};
    const facets = this.#keys.flatMap((key) => {
      const values = counted[`frontMatter.${key}`] ?? [];
      return values.length > 0 ? [[key, values] as const] : [];
    });
    if (facets.length === 0) {
      return html`<p class="soft">${
        counts?.problem?.detail ?? "There is nothing to count."
      }</p>`;
    }
    return facets.map(([key, values]) =>
      html`
        <dl>
          <dt>${words(key)}</dt>
          <dd>${values.slice(0, 30).map(({ value, count }) =>
            valueLink(
              filteredBy(state, key, value),
              "pill",
              html`${shortText(String(value))} <small>${count}</small>`,
            )
          )}</dd>
        </dl>
      `
    );
  }

  #rows({ items, pagination, warnings = [], collection }: ListBody) {
    const { state } = this.props;
    if (items.length === 0) return emptyList(pagination, state);
    if (items[0]!.index !== undefined) {
      return html`
        ${warnings.map((warning) => html`<p class="notice">${warning}</p>`)}
        ${dataTable(items, captionOf(pagination), state)}
      `;
    }
    const columns = columnsOf(items);
    const hasTitles = items.some((item) => titleKeyOf(item) !== undefined);
    const hasSizes = items.some(({ size }) => size !== undefined);
    const hasHistory = items.some(({ lastChanged }) =>
      lastChanged !== undefined
    );
    const titleKeys = new Set(items.flatMap((item) => titleKeyOf(item) ?? []));
    // Titles under several keys have no order of their own.
    const titleKey = titleKeys.size === 1
      ? `frontMatter.${[...titleKeys][0]}`
      : null;
    const isGrouped = ["path", "-path"].includes(state.sort) ||
      state.sort === "" && state.search === "";
    const root = collection.path === "" ? "" : `${collection.path}/`;
    const groups = isGrouped
      ? Map.groupBy(
        items,
        ({ path = "" }) => folderOf(path.slice(root.length)),
      )
      : new Map([["", items]]);
    const width = columns.length + 1 + Number(hasSizes) + Number(hasHistory);
    return html`
      ${warnings.map((warning) => html`<p class="notice">${warning}</p>`)}
      <table>
        <caption class="hidden">${captionOf(pagination)}</caption>
        <thead><tr>
          ${header(state, {
            label: hasTitles ? "Title" : "Name",
            key: hasTitles ? titleKey : "name",
            kind: "text",
          })}
          ${columns.map(({ key, kind }) =>
            header(state, {
              label: words(key),
              key: isAddressable(key) ? `frontMatter.${key}` : null,
              kind,
            })
          )}
          ${hasHistory &&
            header(state, {
              label: "Changed",
              key: "lastChanged.date",
              kind: "date",
            })}
          ${hasSizes &&
            header(state, { label: "Size", key: "size", kind: "size" })}
        </tr></thead>
        ${[...groups].map(([folder, members]) =>
          html`<tbody key=${folder}>
          ${
            folder !== "" && html`
              <tr class="group">
                <th colspan=${width} scope="rowgroup">
                          <a href=${stateUrl({
                            ...closed(state),
                            collection: root + folder,
                            page: "",
                          })}>${shortText(folder)}</a></th>
              </tr>
            `
          }
          ${
            members.map((item, at) =>
              row(item, {
                state,
                columns,
                hasHistory,
                hasSizes,
                at,
                secondary: isGrouped
                  ? nameOf(item)
                  : item.path?.slice(root.length) ?? nameOf(item),
              })
            )
          }
        </tbody>`
        )}
      </table>
    `;
  }
}

const MAX_DATA_COLUMNS = 20;

/** The mapping in a row; a row that is none has one nameless value. */
function cellsOf({ data }: Pick<Item, "data">): Data {
  return typeof data === "object" && data !== null && !Array.isArray(data)
    ? data as Data
    : { "": data };
}

/** The rows of a data file. */
function dataTable(items: readonly Item[], caption: string, state: State) {
  const keys = new Set(
    items.flatMap((item) =>
      Object.keys(cellsOf(item)).slice(0, MAX_DATA_COLUMNS)
    ),
  );
  const shown = [...keys].slice(0, MAX_DATA_COLUMNS);
  const text = (value: unknown) =>
    value === undefined || value === null ? "" : shortText(
      typeof value === "object" ? JSON.stringify(value) : `${value}`,
    );
  return html`
    ${keys.size > shown.length &&
      html`<p class="notice">Only ${shown.length} columns are shown.</p>`}
    <table class="data">
      <caption class="hidden">${caption}</caption>
      <thead>
        <tr><th scope="col">Row</th>${shown.map((key) =>
          header(state, {
            label: shortText(key) || "Value",
            key: isAddressable(key) ? `data.${key}` : null,
            kind: "text",
          })
        )}</tr>
      </thead>
      <tbody>${items.map((item) => {
        const cells = cellsOf(item);
        return html`<tr key=${item.index}>
          <th scope="row">${shortText(item.key ?? `${item.index! + 1}`)}${
          item.match &&
          html`<span class="second snippet">${
            snippetView(item.match.snippet)
          }</span>`
        }</th>
          ${
          shown.map((key) =>
            html`<td class="k-text">${
              text(Object.hasOwn(cells, key) ? cells[key] : undefined)
            }</td>`
          )
        }
        </tr>`;
      })}</tbody>
    </table>
  `;
}

/** A filter with what is shown without it. */
function chip(filter: readonly [string, string], without: State) {
  const text = shortText(filterWords(filter));
  return html`
    <a class="pill on" href=${stateUrl(without)}
      aria-label=${`Remove the filter ${text}`}>${text} <span
          aria-hidden="true">×</span></a>
  `;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

/**
 * The snippet of a match. Only `<mark>` is markup in it; every other character
 * becomes text.
 */
function snippetView(snippet: string) {
  const plain = (text: string) =>
    text.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity]!);
  return snippet.slice(0, 2_000).split("<mark>").map((part, at) => {
    const end = part.indexOf("</mark>");
    return at === 0 || end < 0 ? plain(part) : [
      html`<mark>${plain(part.slice(0, end))}</mark>`,
      plain(part.slice(end + "</mark>".length)),
    ];
  });
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function words(key: string): string {
  const spaced = key.replaceAll(/[_-]+/g, " ").replaceAll(
    /([a-z])([A-Z])/g,
    "$1 $2",
  ).toLowerCase();
  return shortText(spaced.charAt(0).toUpperCase() + spaced.slice(1));
}

/**
 * The list with only what has a value; null where no filter means it: "!" in
 * front negates, an empty one is none.
 */
function filteredBy(state: State, key: string, value: unknown): string | null {
  const text = String(value);
  if (text === "" || text.startsWith("!") || !isAddressable(key)) return null;
  const name = `filter[frontMatter.${key}]`;
  const others = state.filters.filter((filter) =>
    filter[0] !== name || filter[1] !== text
  );
  return stateUrl({ ...state, filters: [...others, [name, text]], page: "" });
}

/** A value that leads to what has it. */
function valueLink(url: string | null, name: string, content: unknown) {
  return url === null
    ? html`<span class=${name}>${content}</span>`
    : html`<a class=${name} href=${url}>${content}</a>`;
}

interface Header {
  readonly label: string;
  /** What it sorts by, if anything. */
  readonly key: string | null;
  readonly kind: Column["kind"] | "size";
}

/**
 * A header that sorts: a date or size first from the top, a text first from A.
 */
function header(state: State, { label, key, kind }: Header) {
  if (key === null) {
    return html`<th scope="col" class=${`k-${kind}`}>${label}</th>`;
  }
  const isDown = state.sort === `-${key}`;
  const isUp = state.sort === key;
  const first = kind === "date" || kind === "size" ? `-${key}` : key;
  const second = first === key ? `-${key}` : key;
  const sort = state.sort === first
    ? second
    : state.sort === second
    ? ""
    : first;
  return html`<th scope="col" class=${`k-${kind}`} aria-sort=${
    isUp ? "ascending" : isDown ? "descending" : "none"
  }>
    <a href=${
    stateUrl({ ...state, sort, page: "" })
  }>${label}<span class="arrow" aria-hidden="true">${
    isUp ? " ↑" : isDown ? " ↓" : ""
  }</span></a></th>`;
}

interface RowOptions {
  readonly state: State;
  readonly columns: readonly Column[];
  readonly hasHistory: boolean;
  readonly hasSizes: boolean;
  readonly at: number;
  readonly secondary: string;
}

function row(
  item: Item,
  { state, columns, hasHistory, hasSizes, at, secondary }: RowOptions,
) {
  const { path, slug, frontMatterError, match, size, lastChanged } = item;
  const title = titleOf(item);
  const isCurrent = state.slug === ""
    ? path !== undefined && path === state.path
    : slug === state.slug;
  const second = frontMatterError
    ? html`<span class="second bad">Front matter, line ${frontMatterError.line}: ${
      shortText(frontMatterError.message)
    }</span>`
    : match !== undefined
    ? html`<span class="second snippet">${snippetView(match.snippet)}</span>`
    : descriptionOf(item) !== ""
    ? html`<span class="second">${descriptionOf(item)}</span>`
    : title !== secondary && secondary !== "" &&
      html`<span class="second">${shortText(secondary)}</span>`;
  const url = path !== undefined
    ? stateUrl(opened(state, path))
    : slug !== undefined
    ? stateUrl({ ...closed(state), slug })
    : null;
  return html`<tr key=${path ?? slug ?? at} class=${isCurrent ? "current" : ""}>
    <td class="name">${
    url === null ? html`<span class="title">${title}</span>` : html`
      <a
        data-path=${path ?? slug} href=${url}
        aria-current=${isCurrent ? "true" : null}>${title}</a>
    `
  }${second}</td>
    ${
    columns.map(({ key, kind }) =>
      html`<td class=${`k-${kind}`}>${
        cell(valueOf(item, key), key, state)
      }</td>`
    )
  }
    ${
    hasHistory &&
    html`<td class="k-date" title=${
      lastChanged === undefined ? null : shortText(
        `${lastChanged.author.name}: ${lastChanged.message}`,
      )
    }>${lastChanged?.date.slice(0, 10)}</td>`
  }
    ${
    hasSizes &&
    html`<td class="k-size">${size === undefined ? null : sizeWords(size)}</td>`
  }
  </tr>`;
}

function cell(value: unknown, key: string, state: State) {
  if (Array.isArray(value)) {
    const tags = value.slice(0, MAX_TAGS).map((one) =>
      valueLink(filteredBy(state, key, one), "tag", String(one))
    );
    return value.length <= MAX_TAGS
      ? tags
      : [...tags, ` and ${value.length - MAX_TAGS} more`];
  }
  if (value === undefined || value === null) return null;
  const text = String(value);
  return /^\d{4}-\d\d-\d\dT/.test(text) ? text.slice(0, 10) : shortText(text);
}

/** The size of the list, in words. */
export function captionOf(
  { page, limit, totalItems }: ListBody["pagination"],
): string {
  const number = (value: number) => value.toLocaleString("en");
  if (totalItems === 0) return "No items";
  const first = (page - 1) * limit + 1;
  if (first > totalItems) return `${number(totalItems)} items`;
  if (totalItems <= limit) {
    return totalItems === 1 ? "1 item" : `${number(totalItems)} items`;
  }
  return `${number(first)}–${
    number(Math.min(totalItems, first + limit - 1))
  } of ${number(totalItems)}`;
}

function pager({ pagination }: ListBody, state: State) {
  const { page, totalPages, hasNext, hasPrevious } = pagination;
  const link = (label: string, to: number, isOn: boolean) =>
    isOn
      ? html`<a href=${
        stateUrl({ ...state, page: to === 1 ? "" : `${to}` })
      } data-page=${to}>${label}</a>`
      : html`<span class="off">${label}</span>`;
  return html`<nav class="pager" aria-label="Pages">
    ${
    totalPages > 1 &&
    link("Previous", Math.min(page - 1, totalPages), hasPrevious)
  }
    <span class="where">${captionOf(pagination)}</span>
    ${totalPages > 1 && link("Next", page + 1, hasNext)}
  </nav>`;
}

function emptyList(
  { totalItems, totalPages }: ListBody["pagination"],
  state: State,
) {
  const [text, label, to] = totalItems > 0
    ? [
      `There is no such page: the last one is ${totalPages}.`,
      "Show the first page",
      {
        ...state,
        page: "",
      },
    ] as const
    : state.search !== ""
    ? ["No text has these words.", "Look for them in the names of files", {
      ...state,
      ...inNames(state),
    }] as const
    : state.filters.length > 0
    ? ["No item matches the filters.", "Remove them", {
      ...state,
      filters: [],
      page: "",
    }] as const
    : ["There is no file in this folder.", "Show the whole repository", {
      ...state,
      collection: "/",
      page: "",
    }] as const;
  return html`<div class="empty"><p>${text}</p>${
    state.collection === "/" && label.includes("whole")
      ? null
      : html`<p><a href=${stateUrl(to)}>${label}</a></p>`
  }</div>`;
}

function skeleton() {
  return html`<div class="skeleton" aria-hidden="true">${
    Array.from({ length: 14 }, (_, at) => html`<div key=${at}></div>`)
  }</div>`;
}

/**
 * Takes a reader to the first row; without one, back to the field that the new
 * list took the focus from.
 */
export function focusFirstRow(fieldId: string): void {
  document.querySelector(".list .body")?.scrollTo({ top: 0 });
  const first = document.querySelector<HTMLElement>(".list a[data-path]");
  if (first !== null) first.focus({ preventScroll: true });
  else if (document.activeElement === document.body) {
    document.getElementById(fieldId)?.focus();
  }
}

/** The feed of a list, for which it needs the addresses of pages. */
function feedLink(state: State) {
  const parameters = feedParameters(state);
  return parameters !== null && html`
    <a class="feed" target="_blank"
      rel="noopener" type="application/atom+xml" title="This list as an Atom feed"
      href=${operationUrl(
        "list-collection-items",
        parameters,
        document.baseURI,
      )}>Feed</a>
  `;
}

/** What a repository has, and the folders directly in one of its own. */
export interface FoldersBody {
  readonly collections: readonly {
    readonly name: string;
    readonly label?: string;
    readonly path: string;
    readonly items: number;
    readonly source?: string;
  }[];
  readonly folders: readonly {
    readonly name: string;
    readonly path: string;
    readonly files: number;
  }[];
}

const MAX_SHOWN = 500;

interface FoldersProps {
  readonly state: State;
  /** Of the root, and of the collections. */
  readonly loader: Loader<FoldersBody>;
  /** The folder that is listed; empty for the root. */
  readonly path: string;
  readonly isOpen: boolean;
  /** Shown below the folders. */
  readonly children?: unknown;
}

/**
 * The panel of collections and folders. What is in a folder is asked for when
 * it opens.
 */
export class Folders
  extends Component<FoldersProps, { open: ReadonlyMap<string, boolean> }> {
  override state = { open: new Map<string, boolean>() };
  readonly #loaders = new Map<string, Loader<FoldersBody>>();

  override componentDidMount() {
    this.#load();
  }

  override componentDidUpdate() {
    this.#load();
  }

  override componentWillUnmount() {
    for (const loader of this.#loaders.values()) loader.clear();
  }

  /**
   * The folders around the one that is listed are open, unless they were
   * closed.
   */
  #isOpen(path: string): boolean {
    return this.state.open.get(path) ?? this.props.path.startsWith(`${path}/`);
  }

  #load(parent = this.props.loader) {
    for (const { path } of parent.answer?.body?.folders ?? []) {
      if (!this.#isOpen(path)) continue;
      const loader = this.#loaders.get(path) ??
        new Loader<FoldersBody>(() => this.forceUpdate());
      this.#loaders.set(path, loader);
      const { owner, repo, branch } = this.props.state;
      void loader.load("list-collections", [
        ["owner", owner],
        ["repo", repo],
        ["branch", branch],
        ["path", path],
      ]);
      this.#load(loader);
    }
  }

  #toggle(path: string) {
    const open = new Map(this.state.open);
    this.setState({ open: open.set(path, !this.#isOpen(path)) });
  }

  #link(collection: string, label: string, count?: number, isShown = false) {
    const { owner, repo, branch, limit } = this.props.state;
    const to = { ...EMPTY, owner, repo, branch, limit, collection };
    return html`
      <a href=${stateUrl(to)} title=${collection}
        aria-current=${isShown
          ? "true"
          : null}><span>${label}</span>${count !== undefined && html`
          <small>${count.toLocaleString("en")}</small>
        `}</a>
    `;
  }

  #folders(loader: Loader<FoldersBody>): unknown {
    const { folders = [] } = loader.answer?.body ?? {};
    const { path: listed, state, loader: root } = this.props;
    const isCollection = root.answer?.body?.collections
      .some(({ name }) => name === state.collection) ?? false;
    const shown = folders.slice(0, MAX_SHOWN).map(({ name, path, files }) => {
      const isOpen = this.#isOpen(path);
      const inner = this.#loaders.get(path);
      return html`<li key=${path}><div class="node">
        <button type="button" class="quiet" aria-expanded=${isOpen}
          aria-label=${`Folders in ${path}`} onClick=${() =>
        this.#toggle(path)}><svg viewBox="0 0 16 16" width="12" height="12"
          aria-hidden="true"><path d="M6 3l5 5-5 5" /></svg></button>
        ${this.#link(path, name, files, !isCollection && path === listed)}
      </div>${isOpen && inner !== undefined && this.#folders(inner)}</li>`;
    });
    return html`<ul aria-busy=${loader.isWaiting}>${shown}${
      loader.answer !== null && folders.length === 0 &&
      html`<li class="soft">${
        loader.answer.problem?.detail ?? "No folder in here."
      }</li>`
    }${
      folders.length > MAX_SHOWN &&
      html`<li class="soft">Only the first ${MAX_SHOWN} are shown.</li>`
    }</ul>`;
  }

  override render() {
    const { state, loader, isOpen, children } = this.props;
    const { collections = [] } = loader.answer?.body ?? {};
    return html`
      <details class="folders" open=${isOpen}>
        <summary>Collections and folders</summary>
        <nav aria-label="Collections and folders"
          aria-busy=${loader.isWaiting}>
          ${collections.length > 0 && html`
            <h2>Collections</h2>
            <ul>${collections.slice(0, MAX_SHOWN).map(
              ({ name, label, items }) =>
                html`<li key=${name}>${
                  this.#link(
                    name,
                    label || name,
                    items,
                    name === state.collection,
                  )
                }</li>`,
            )}</ul>
          `}
          ${loader.answer !== null && html`
            <h2>Folders</h2>
            <ul>
              <li>${this.#link(
                "/",
                "All files",
                undefined,
                state.collection === "/",
              )}</li>
            </ul>
            ${this.#folders(loader)}
          `}
          ${collections.length > MAX_SHOWN &&
            html`<p class="soft">Only the first ${MAX_SHOWN} are shown.</p>`}
        </nav>
        ${loader.answer !== null && children}
      </details>
    `;
  }
}
