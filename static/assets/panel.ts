/// <reference lib="dom" />
// A request and its answer: the address as code, a control for every parameter,
// and the answer's JSON.

import { Component, html } from "./preact.js";
import {
  type Answer,
  Code,
  Copy,
  freshWords,
  type Loader,
  ProblemPanel,
  Progress,
  sizeWords,
} from "./requests.ts";
import { DATA_FILE, hasFile, type Pairs, type State } from "./state.ts";

const KINDS = ["markdown", "data", "image", "text", "other"];
/** Of a value of an answer, however long it is: the rest is in the copy. */
const MAX_TEXT_CHARACTERS = 300;
const MAX_MEMBERS = 100;
const MAX_HINT_CHARACTERS = 60;

interface JsonProps {
  readonly name: string;
  readonly value: unknown;
  readonly depth: number;
  readonly isOpen: boolean;
  readonly isLast: boolean;
}

/**
 * A value of an answer. What is closed has no elements, so that a long answer
 * costs no more than what is open of it.
 */
class Json extends Component<JsonProps, { isOpen: boolean; shown: number }> {
  override state = { isOpen: this.props.isOpen, shown: MAX_MEMBERS };

  override render() {
    const { name, value, depth, isLast } = this.props;
    const { isOpen, shown } = this.state;
    const key = name !== "" && [
      html`<span class="hljs-attr">${JSON.stringify(shortened(name))}</span>`,
      ": ",
    ];
    const comma = isLast ? "" : ",";
    if (typeof value !== "object" || value === null) {
      const kind = value === null ? "null" : typeof value;
      const more = typeof value === "string"
        ? value.length - MAX_TEXT_CHARACTERS
        : 0;
      return html`
        <div
          class="leaf">${key}<span class=${`v-${kind}`}>${JSON.stringify(
            shortened(value),
          )}</span>${comma}${more > 0 && cutNote(more)}</div>
      `;
    }
    const [before, after] = Array.isArray(value) ? "[]" : "{}";
    const size = Array.isArray(value)
      ? value.length
      : Object.keys(value).length;
    if (size === 0) {
      return html`<div class="leaf">${key}${before}${after}${comma}</div>`;
    }
    const toggle = (event: Event) =>
      this.setState({ isOpen: (event.target as HTMLDetailsElement).open });
    return html`<details open=${isOpen} onToggle=${toggle}>
      <summary tabindex=${depth === 0 ? 0 : -1}>${key}${before}${
      !isOpen && [hint(value, size), after, comma]
    }</summary>
      ${
      isOpen && html`
        ${firstOf(value, shown).map(([member, part], at) =>
          html`
            <${Json} key=${member} name=${Array.isArray(value) ? "" : member}
              value=${part} depth=${depth + 1} isLast=${at === size - 1}
              isOpen=${opensAtFirst(member, depth + 1)} />
          `
        )}
        ${size > shown &&
          html`
            <button type="button" class="quiet"
              onClick=${() =>
                this.setState({ shown: shown + MAX_MEMBERS })}>${(size - shown)
                .toLocaleString("en")} more</button>
          `}
        <div class="end">${after}${comma}</div>
      `
    }</details>`;
  }
}

/** The answer itself, its items and the first of these are open. */
function opensAtFirst(name: string, depth: number): boolean {
  return depth === 1 ? name === "items" : depth === 2 && name === "0";
}

function shortened(value: unknown): unknown {
  return typeof value === "string"
    ? value.slice(0, MAX_TEXT_CHARACTERS)
    : value;
}

/** The first members of a list or a mapping, with their names. */
function firstOf(value: object, count: number): [string, unknown][] {
  const names = Array.isArray(value)
    ? [...value.slice(0, count).keys()]
    : Object.keys(value).slice(0, count);
  return names.map((name) => [
    String(name),
    (value as Record<string, unknown>)[name],
  ]);
}

function cutNote(characters: number) {
  const text = ` ${characters.toLocaleString("en")} more characters`;
  return html`<span class="soft">${text}</span>`;
}

function hint(value: object, size: number) {
  return html`<span class="soft">${` ${hintOf(value, size)} `}</span>`;
}

/**
 * What is in something that is closed: its first text, or how much there is.
 */
function hintOf(value: object, size: number): string {
  if (Array.isArray(value)) {
    return `${size.toLocaleString("en")} element${size === 1 ? "" : "s"}`;
  }
  const text = firstOf(value, 3).find(([, part]) => typeof part === "string");
  if (text === undefined) return "…";
  const [name, part] = text as [string, string];
  return `${name.slice(0, MAX_HINT_CHARACTERS)}: ${
    part.slice(0, MAX_HINT_CHARACTERS)
  }${size > 1 ? " …" : ""}`;
}

/**
 * JSON that opens and closes: one stop of the Tab key, inside which the arrows
 * go from line to line.
 */
export function jsonView(value: unknown, key: string) {
  return html`
    <div key=${key} class="json" role="group" aria-label="JSON"
      onKeyDown=${moveInJson}>
      <${Json} name="" value=${value} depth=${0}
        isOpen=${true} isLast=${true} />
    </div>
  `;
}

function moveInJson(event: KeyboardEvent) {
  const at = document.activeElement;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const opens = { ArrowRight: true, ArrowLeft: false }[event.key];
  if (at?.localName !== "summary") return;
  if (step !== undefined) {
    const all = [
      ...(event.currentTarget as HTMLElement).querySelectorAll("summary"),
    ];
    all[all.indexOf(at as HTMLElement) + step]?.focus();
  } else if (opens !== undefined) {
    (at.parentElement as HTMLDetailsElement).open = opens;
  } else return;
  event.preventDefault();
}

interface FieldProps {
  readonly name: string;
  readonly value: string;
  readonly set: (value: string) => void;
  /** What completes the value. */
  readonly offers?: readonly string[];
  /**
   * Of a list, whose elements are chosen from the offers: how many it may have.
   */
  readonly maxElements?: number;
  readonly hint?: string;
  readonly type?: string;
  readonly isWide?: boolean;
}

/**
 * A parameter that is a text. What is typed is sent with Enter, or when the
 * field is left.
 */
class Field extends Component<FieldProps, { draft: string | null }> {
  override state: { draft: string | null } = { draft: null };

  #type = (event: Event) =>
    this.setState({ draft: (event.target as HTMLInputElement).value });

  #commit = (event: Event) => {
    const { value, set } = this.props;
    const text = (event.target as HTMLInputElement).value.trim();
    this.setState({ draft: null });
    if (text !== value) set(text);
  };

  override render() {
    const { name, value, set, offers = [], maxElements, isWide, hint, type } =
      this.props;
    const isList = maxElements !== undefined;
    const id = `parameter-${name}`;
    return html`<div class=${isWide ? "field wide" : "field"}>
      <label for=${id}>${name}</label>
      <input id=${id} name=${name} value=${this.state.draft ?? value}
        placeholder=${hint} type=${type ?? "text"}
        min=${type === "number" ? 1 : null} autocomplete="off"
        spellcheck="false"
        list=${offers.length > 0 && !isList ? `offers-${name}` : null}
        onInput=${this.#type} onChange=${this.#commit} />
      ${
      offers.length > 0 && (isList
        ? elementMenu(name, value, { offers, maxElements, set })
        : html`<datalist id=${`offers-${name}`}>${
          offers.map((offer) => html`<option value=${offer} />`)
        }</datalist>`)
    }</div>`;
  }
}

/** The elements of a list, each with a box. */
function elementMenu(
  name: string,
  value: string,
  { offers, maxElements, set }: Required<
    Pick<FieldProps, "offers" | "maxElements" | "set">
  >,
) {
  const chosen = value.split(",").filter((element) => element !== "");
  const toggle = (element: string) =>
    set(
      (chosen.includes(element)
        ? chosen.filter((one) => one !== element)
        : [...chosen, element]).join(","),
    );
  return html`
    <details class="menu">
      <summary aria-label=${`Choose ${name}`}>
        <svg viewBox="0 0 16 16" width="12"
          height="12" aria-hidden="true">
          <path d="M3 6l5 5 5-5" />
        </svg>
      </summary>
      <div class="popup elements" role="group"
        aria-label=${name}>${offers.map(
          (offer) =>
            html`
              <label class="check"><input type="checkbox"
                checked=${chosen.includes(offer)}
                disabled=${!chosen.includes(offer) &&
                  chosen.length >= maxElements}
                onChange=${() => toggle(offer)} /> ${offer}</label>
            `,
        )}</div>
    </details>
  `;
}

const OPERATORS: readonly (readonly [sign: string, words: string])[] = [
  ["", "is"],
  ["!", "is not"],
  ["[contains]", "contains"],
  ["[gte]", "≥"],
  ["[gt]", ">"],
  ["[lte]", "≤"],
  ["[lt]", "<"],
  ["[exists]", "exists"],
];

/** The parts of a filter: what it is about, how it compares, and with what. */
export function filterParts(
  [name, value]: readonly [string, string],
): { readonly subject: string; readonly sign: string; readonly text: string } {
  const [, subject = "", sign = ""] =
    name.match(/^filter\[(.*?)\](\[.*\])?$/s) ?? [];
  return sign === "" && value.startsWith("!")
    ? { subject, sign: "!", text: value.slice(1) }
    : { subject, sign, text: value };
}

/** The filter of these parts. */
export function filterOf(
  { subject, sign, text }: ReturnType<typeof filterParts>,
): readonly [string, string] {
  if (sign === "[exists]" && text !== "false") {
    return [`filter[${subject}][exists]`, "true"];
  }
  return sign === "!"
    ? [`filter[${subject}]`, `!${text}`]
    : [`filter[${subject}]${sign}`, text];
}

interface FiltersProps {
  readonly filters: Pairs;
  readonly subjects: readonly string[];
  readonly set: (filters: Pairs) => void;
}

/** The filters, one in a row, and a row for another. */
class Filters extends Component<FiltersProps> {
  #row(filter: readonly [string, string] | null, at: number) {
    const { filters, subjects } = this.props;
    const parts = filter === null
      ? { subject: "", sign: "", text: "" }
      : filterParts(filter);
    const change = (event: Event) => {
      const { elements } = (event.target as HTMLInputElement).form!;
      const valueOf = (name: string) =>
        (elements.namedItem(`${name}-${at}`) as HTMLInputElement).value.trim();
      const changed = {
        subject: valueOf("subject"),
        sign: valueOf("sign"),
        text: valueOf("text"),
      };
      const isWhole = changed.subject !== "" &&
        (changed.text !== "" || changed.sign === "[exists]");
      if (!isWhole) return;
      this.props.set(filters.toSpliced(at, 1, filterOf(changed)));
    };
    const number = at + 1;
    return html`
      <div class="filter-row" key=${at}
        onChange=${change}>
            <input name=${`subject-${at}`} aria-label=${`What filter ${number} is about`}
              list="offers-subject" defaultValue=${parts.subject}
              placeholder=${subjects.find((name) => name.includes(".")) ??
                subjects[0]} autocomplete="off" spellcheck="false" />
            <select name=${`sign-${at}`} aria-label=${`How filter ${number} compares`}>${OPERATORS
              .map(([sign, words]) =>
                html`<option value=${sign} selected=${
                  sign === parts.sign
                }>${words}</option>`
              )}</select>
            <input name=${`text-${at}`} aria-label=${`The value of filter ${number}`}
              defaultValue=${parts
                .text} autocomplete="off" spellcheck="false" />
            ${filter !== null && html`
              <button type="button" class="quiet"
                aria-label=${`Remove filter ${number}`} onClick=${() =>
                  this.props.set(filters.toSpliced(at, 1))}>×</button>
            `}</div>
    `;
  }

  override render() {
    const { filters, subjects } = this.props;
    return html`<div class="field filters" role="group" aria-label="filter">
      <span>filter</span><div>
        <datalist id="offers-subject">${
      subjects.map((name) => html`<option value=${name} />`)
    }</datalist>
        ${filters.map((filter, at) => this.#row(filter, at))}
        ${this.#row(null, filters.length)}
      </div></div>`;
  }
}

interface PanelProps {
  readonly state: State;
  readonly loader: Loader<unknown>;
  /** Shows another state; the focus stays in the control. */
  readonly set: (state: State) => void;
  readonly retry: () => void;
  /** Keys of the items that are listed, such as `frontMatter.title`. */
  readonly keys: readonly string[];
  /** Whether the controls are open at first. */
  readonly isOpen: boolean;
}

/** The request of the list or of the open file, and its answer. */
export function RequestBody(
  { state, loader, set, retry, keys, isOpen }: PanelProps,
) {
  const { url, answer } = loader;
  if (url === "") return null;
  return html`
    <${Code} url=${url} />
    <details class="parameters-box" open=${isOpen}>
      <summary>Parameters</summary>
      <form class="controls" aria-label="Parameters"
        onSubmit=${(event: Event) => event.preventDefault()}>${hasFile(state)
          ? itemControls(state, set, keys)
          : listControls(state, set, keys)}</form>
    </details>
    <section class="answer" aria-label="Answer" aria-busy=${loader.isWaiting}>
      <${AnswerHead} answer=${answer} />
      ${hasFile(state) && html`<${Progress} loader=${loader} />`}
      ${answer?.problem != null && hasFile(state) &&
        html`
          <${ProblemPanel} problem=${answer.problem} state=${state}
            onRetry=${retry} />
        `}
      ${answer !== null && answer.text !== "" &&
        jsonView(answer.body ?? answer.problem, url)}
    </section>
  `;
}

/** The panel of the list's request. */
export function RequestPanel(props: PanelProps) {
  return html`
    <section class="pane api" aria-label="Request and answer">
      <div class="body">
        <p class="lead"><span class="what">Repo Collections gives a folder of a
          repository as JSON to any page. </span>This request reads the list. No
          answer is more than 60 seconds behind the repository while
          ${props.state.owner === "local"
            ? " the service runs"
            : " GitHub answers"}.</p>
        <${RequestBody} ...${props} />
      </div>
    </section>
  `;
}

/** The answer's status, time and freshness; its headers on demand. */
class AnswerHead extends Component<
  { answer: Answer<unknown> | null },
  { isOpen: boolean }
> {
  override state = { isOpen: false };

  override render() {
    const { answer } = this.props;
    const { isOpen } = this.state;
    if (answer === null) return html`<p class="answer-head">Waiting…</p>`;
    const facts = [
      `${Math.round(answer.ms)} ms`,
      answer.bytes > 0 ? sizeWords(answer.bytes) : "",
      answer.problem === null ? freshWords(answer.headers) : "",
    ].filter((text) => text !== "").join(" · ");
    return html`
      <div class="answer-head">
        <p
          class="facts"><strong class=${answer.problem === null
            ? "good"
            : "bad"}>${answer.status ?? "No answer"}</strong> · ${facts}</p>
        <button type="button" class="quiet" aria-expanded=${isOpen}
          aria-controls="headers" onClick=${() =>
            this.setState({ isOpen: !isOpen })}>Headers</button>
        <${Copy} key=${answer.text} what="JSON" text=${answer.text} />
      </div>
      ${isOpen &&
        html`<dl id="headers" class="headers">${
          [...answer.headers].map(([name, value]) =>
            html`
              <div>
                <dt>${name}</dt>
                <dd>${value}</dd>
              </div>
            `
          )
        }</dl>`}
    `;
  }
}

type Set = PanelProps["set"];
type Name = {
  [K in keyof State]: State[K] extends string ? K : never;
}[keyof State];

/**
 * What changes which items a list has, or their order: it begins with its first
 * page.
 */
const SELECTING = ["search", "sort", "limit", "kind", "recursive", "filters"];

/** What every list of files can be sorted by; the last one needs a token. */
const SORTING = ["path", "name", "size", "lastChanged.date"];

/** Makes the controls of a state. */
function controlsOf(state: State, set: Set) {
  const change = (part: Partial<State>) => {
    const isOther = Object.keys(part).some((name) => SELECTING.includes(name));
    set({
      ...state,
      ...isOther && !hasFile(state) ? { page: "" } : {},
      ...part,
    });
  };
  const field = (name: Name, more: Partial<FieldProps> = {}) =>
    html`
      <${Field} key=${name} name=${name} value=${state[name]}
        set=${(value: string) => change({ [name]: value })} ...${more} />
    `;
  /** A value that stands for the page's own choice is not in the address. */
  const check = (name: Name, standard = false, isOff = false) => {
    const isOn = state[name] === "" ? standard : state[name] === "true";
    return html`<label class="check"><input type="checkbox" name=${name}
      checked=${isOn && !isOff} disabled=${isOff} onChange=${(event: Event) => {
      const { checked } = event.target as HTMLInputElement;
      change({ [name]: checked === standard ? "" : String(checked) });
    }} /> ${name}</label>`;
  };
  const recursive = html`<label class="check"><input type="checkbox"
    name="recursive" checked=${state.recursive} onChange=${(event: Event) =>
    change({
      recursive: (event.target as HTMLInputElement).checked,
    })} /> recursive</label>`;
  const chosen = state.kind.split(",").filter((kind) => kind !== "");
  const kinds = html`<div class="field wide" role="group" aria-label="kind">
    <span>kind</span><div class="checks">${
    KINDS.map((kind) =>
      html`<label class="check"><input type="checkbox"
        checked=${chosen.includes(kind)} onChange=${() =>
        change({
          kind: KINDS.filter((one) => chosen.includes(one) !== (one === kind))
            .join(","),
        })} /> ${kind}</label>`
    )
  }<span class="gap"></span>${recursive}</div></div>`;
  return { change, field, check, kinds };
}

function sortOffers(keys: readonly string[]): string[] {
  return keys.flatMap((key) => [key, `-${key}`]);
}

function listControls(state: State, set: Set, keys: readonly string[]) {
  const { change, field, check, kinds } = controlsOf(state, set);
  const isData = DATA_FILE.test(state.collection);
  const hasFields = state.fields !== "";
  const own = [
    "slug",
    "name",
    "path",
    "size",
    "excerpt",
    "html",
    "lastChanged",
  ];
  const sorting = isData ? keys : [...SORTING, ...keys];
  return html`
    ${field("search", { hint: "words of the text", type: "search" })}
    ${field("sort", {
      offers: sortOffers(sorting),
      hint: isData ? "as in the file" : "path",
    })}
    ${field("fields", {
      offers: isData ? ["index", ...keys] : [...own, ...keys],
      maxElements: Infinity,
      hint: "all",
    })}
    ${field("facets", { offers: keys, maxElements: 5, hint: "none" })}
    ${field("limit", { type: "number", hint: "50" })}
    ${field("page", { type: "number", hint: "1" })}
    ${isData
      ? html`<label class="field"><span>types</span><select name="types"
        onChange=${(event: Event) =>
        change({ types: (event.target as HTMLSelectElement).value })}>
          <option value="">text</option><option value="infer"
            selected=${state.types === "infer"}>infer</option></select></label>`
      : html`${
        field("linkTemplate", {
          hint: "https://example.com/blog/{slug}",
          isWide: true,
        })
      }${kinds}`}
    <${Filters} filters=${state.filters} subjects=${isData
      ? keys
      : ["name", "path", ...keys]} set=${(filters: Pairs) =>
      change({ filters })} />
    <div class="checks wide">
      ${!isData && html`
        ${check("includeFrontMatter", true, hasFields)}
        ${check("includeHtml", false, hasFields)}
        ${check("includeContent", false, hasFields)}
        ${check("includeHistory", false, hasFields)}
      `}
    </div>
  `;
}

function itemControls(state: State, set: Set, keys: readonly string[]) {
  const { change, field, check, kinds } = controlsOf(state, set);
  const hasNeighbors = state.includeNeighbors === "true";
  return html`
    <${Field} key="path" name="path" value=${state.path}
      set=${(path: string) => path !== "" && change({ path, slug: "" })} />
    <${Field} key="slug" name="slug" value=${state.slug}
      hint=${`of ${state.collection}`}
      set=${(slug: string) => slug !== "" && change({ slug, path: "" })} />
    ${field("linkTemplate", { hint: "/blog/{slug}" })}
    ${hasNeighbors &&
      field("sort", {
        offers: sortOffers([...SORTING, ...keys]),
        hint: "path",
      })}
    ${hasNeighbors && kinds}
    ${hasNeighbors && html`
      <${Filters} filters=${state.filters}
        subjects=${["name", "path", ...keys]}
        set=${(filters: Pairs) => change({ filters })} />
    `}
    <div class="checks wide">
      ${check("includeHtml", true)}
      ${check("includeHistory")}
      ${check("includeNeighbors")}
    </div>
  `;
}
