/// <reference lib="dom" />
// The reference: this deployment's OpenAPI document as a page.

import { Component, html, render } from "./preact.js";
import { Code, Copy, type Problem } from "./requests.ts";
import { followReading } from "./spy.ts";
import { codeView } from "./view.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Parameter {
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Example {
  /** Undefined where only the request is shown. */
  readonly value?: unknown;
  /** The path of the request that it answers. */
  readonly "x-request"?: string;
}

type Examples = Readonly<Record<string, Example>>;

interface Header {
  readonly $ref?: string;
  readonly description?: string;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<
    Record<string, {
      readonly description: string;
      readonly headers?: Readonly<Record<string, Header>>;
      readonly content?: Readonly<
        Record<string, { schema: Schema; examples?: Examples }>
      >;
    }>
  >;
}

interface Document {
  readonly info: { readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
  };
}

const root = document.getElementById("reference")!;
/** Local repositories that this service serves. */
const served = (root.dataset["local"] ?? "").split(" ");
const BLOG = "owner=local&repo=blog";

/**
 * What is added to a request that lists the posts of the example, or reads one
 * of them, and what it does.
 */
const EXAMPLES: Readonly<
  Record<string, readonly (readonly [query: string, does: string])[]>
> = {
  owner: [["owner=withastro", "an account at GitHub"]],
  repo: [["repo=docs", "one of its repositories"]],
  collection: [["collection=src/content/docs", "a folder, by its path"]],
  branch: [["branch=v1.2.0", "the state of a tag"]],
  page: [["limit=5&page=2", "the items 6 to 10"]],
  limit: [["limit=5", "five items a page"]],
  path: [["path=posts/2026/apple-days.md", "this file"]],
  slug: [["collection=posts&slug=2026/apple-days", "the post of this page"]],
  includeContent: [["includeContent=true", "with the text of each file"]],
  includeFrontMatter: [[
    "includeFrontMatter=true",
    "with title, date and tags",
  ]],
  includeHtml: [["includeHtml=true", "with HTML to put into a page"]],
  includeHistory: [["includeHistory=true", "with the commit that changed it"]],
  includeNeighbors: [[
    "collection=posts&slug=2026/apple-days&includeNeighbors=true&sort=-frontMatter.date",
    "with the newer and the older post",
  ]],
  linkTemplate: [[
    "includeHtml=true&linkTemplate=/blog/{slug}",
    "links lead to the pages of a site",
  ]],
  sort: [["sort=-frontMatter.date", "the newest first"]],
  recursive: [["recursive=false", "without the files of sub-folders"]],
  filter: [
    ["filter[frontMatter.tags]=news", "the value, or one of a list"],
    ["filter[frontMatter.draft]=!true", "another value, or none"],
    [
      "filter[frontMatter.date][gte]=2026-01-01",
      "this day or later; also gt, lt, lte",
    ],
    [
      "filter[frontMatter.title][contains]=apple",
      "a part of a text, without case",
    ],
    ["filter[frontMatter.weather][exists]=true", "the key is there"],
    ["filter[name]=*.md", "a name by its pattern"],
    ["filter[path]=2026/**", "a path inside the collection"],
    [
      "filter[frontMatter.tags]=code&filter[frontMatter.author]=tom",
      "all filters at once",
    ],
  ],
  kind: [["kind=markdown,data", "without the pictures beside posts"]],
  search: [["search=sourdough", "the posts with this word, best first"]],
  types: [["types=infer", "numbers and booleans in the cells of CSV"]],
  fields: [["fields=slug,frontMatter.title", "what a menu needs"]],
  facets: [["facets=frontMatter.tags", "how often each tag is used"]],
  format: [[
    "format=atom&linkTemplate=https://example.com/{slug}",
    "the list as a feed",
  ]],
  feedTitle: [[
    "format=atom&linkTemplate=https://example.com/{slug}&feedTitle=Our blog",
    "the title of the feed",
  ]],
  includeSchema: [["includeSchema=true", "with the types of front matter"]],
  since: [[
    "since=7b1f0dd0ff4f2a4a9d0b1c2e3f405162738495a6",
    "the commit of the last answer",
  ]],
};

/**
 * What of a request other than the posts' or a post's own a parameter belongs
 * to.
 */
const PLACES: Readonly<Record<string, string>> = {
  listCollectionItems: `${BLOG}&collection=posts`,
  getItemContent: BLOG,
  listCollections: BLOG,
};

/** Guides, by their headings in the documents. */
const GUIDES = [
  "A first page",
  "A blog",
  "A docs site",
  "Pictures",
  "Pages of a list",
  "Drafts",
  "Several languages",
  "A private repository",
  "Search",
  "Feeds",
  "Deploying",
];

let components: Document["components"] = { schemas: {}, headers: {} };

/** Text with code in backquotes and links in Markdown. */
function prose(text: string | undefined) {
  return (text ?? "").split(/(`[^`]*`|\[[^\]]*\]\([^)]*\))/).map((part) => {
    if (part.startsWith("`")) return html`<code>${part.slice(1, -1)}</code>`;
    const [, label, href = ""] = part.match(/^\[(.*)\]\((.*)\)$/) ?? [];
    return label === undefined || !/^https?:/.test(href)
      ? part
      : html`<a href=${href}>${label}</a>`;
  });
}

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined
    ? schema
    : { ...components.schemas[name], ...schema, $ref: "" };
}

function typeWords(schema: Schema): string {
  const { type, anyOf, enum: values, items } = resolved(schema);
  if (values !== undefined) {
    return values.map((value) => JSON.stringify(value)).join(" | ");
  }
  if (anyOf !== undefined) return anyOf.map(typeWords).join(" | ");
  if (type === "array" && items !== undefined) {
    return `list of ${typeWords(items)}`;
  }
  return [type ?? "any"].flat().join(" | ");
}

function limitWords(
  { minimum, maximum, minLength, maxLength, maxItems }: Schema,
): string {
  const range = (from: number | undefined, to: number | undefined) =>
    from !== undefined && to !== undefined
      ? `${from} to ${to.toLocaleString("en")}`
      : to !== undefined
      ? `at most ${to.toLocaleString("en")}`
      : from === undefined
      ? ""
      : `${from} or more`;
  const length = range(minLength, maxLength);
  const count = range(undefined, maxItems);
  return [
    range(minimum, maximum === 999_999_999 ? undefined : maximum),
    length && `${length} characters`,
    count && `${count} elements`,
  ].filter((text) => text).join(", ");
}

/**
 * The playground with a request; null where it cannot show one, or does not
 * serve the repository.
 */
function tryUrl(operationId: string, query: URLSearchParams): string | null {
  const isServed = query.get("owner") !== "local" ||
    served.includes(query.get("repo") ?? "");
  const isShown = ["listCollectionItems", "getItemContent"]
    .includes(operationId) && !query.has("format");
  if (!isServed || !isShown) return null;
  const state = new URLSearchParams(query);
  // What the playground asks for by itself is not wanted.
  const own = operationId === "getItemContent"
    ? "includeHtml"
    : "includeFrontMatter";
  if (!state.has(own) && !state.has("fields")) state.set(own, "false");
  state.set("view", "request");
  return `./?${state}`;
}

function exampleLine(operationId: string, query: string) {
  const place = PLACES[operationId];
  const names = [...new URLSearchParams(query).keys()];
  const isWhole = names.some((name) =>
    ["owner", "repo", "branch"].includes(name)
  );
  const needsPath = operationId === "getItemContent" &&
    !names.includes("path") && !names.includes("slug");
  const parameters = new URLSearchParams(place);
  if (needsPath) parameters.set("path", "posts/2026/apple-days.md");
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === "collection") parameters.set(name, value);
    else parameters.append(name, value);
  }
  const href = place === undefined || isWhole ||
      names[0] === "collection" && !names.includes("slug")
    ? null
    : tryUrl(operationId, parameters);
  const code = html`<code>${
    query.split(/(?=&)/).map((part) => html`<wbr />${part}`)
  }</code>`;
  return href === null ? code : html`<a href=${href}>${code}</a>`;
}

function exampleList(operationId: string, name: string) {
  const examples = EXAMPLES[name] ?? [];
  if (examples.length < 2) {
    return examples.map(([query, does]) =>
      html`<p class="example">${exampleLine(operationId, query)}<span
        class="soft">${does}</span></p>`
    );
  }
  return html`
    <table class="examples-table">
      <thead>
        <tr>
          <th scope="col">Example</th>
          <th scope="col">Items with</th>
        </tr>
      </thead>
      <tbody>${examples.map(([query, does]) =>
        html`
          <tr>
            <td>${exampleLine(operationId, query)}</td>
            <td>${does}</td>
          </tr>
        `
      )}</tbody>
    </table>
  `;
}

function parameterRow({ operationId }: Operation, parameter: Parameter) {
  const { name, required, description, schema } = parameter;
  const limits = limitWords(schema);
  const id = `${operationId}-${name}`;
  return html`
    <div class="parameter" id=${id}>
      <dt><a href=${`#${id}`}><code>${name}</code></a>
        <span class="soft">${typeWords(schema)}</span>
        ${required && html`<span class="tag must">required</span>`}</dt>
      <dd>${prose(description)}
        ${exampleList(operationId, name)}
        ${(schema.default !== undefined || limits !== "") &&
          html`<p class="limits">
          ${
            schema.default !== undefined &&
            html`<span>Default <code>${String(schema.default)}</code></span>`
          }
          ${limits && html`<span>${limits}</span>`}</p>`}</dd>
    </div>
  `;
}

/** The fields of a body; those of its parts on demand. */
function fieldList(schema: Schema, depth = 0): unknown {
  const { properties = {}, required = [] } = resolved(schema);
  return html`
    <dl class="fields">${Object.entries(properties).map(([name, field]) => {
      const whole = resolved(field);
      const inner = whole.properties !== undefined
        ? whole
        : whole.items ?? whole.anyOf?.[0];
      const hasParts = inner !== undefined &&
        resolved(inner).properties !== undefined && depth < 3;
      return html`
        <div>
          <dt><code>${name}</code> <span class="soft">${typeWords(
            field,
          )}${required.includes(name) ? "" : ", where it applies"}</span></dt>
          <dd>${prose(whole.description)}${hasParts &&
            html`<details><summary>${name}</summary>${
              fieldList(inner, depth + 1)
            }</details>`}</dd>
        </div>
      `;
    })}</dl>
  `;
}

function headerList(headers: Readonly<Record<string, Header>>) {
  return html`
    <dl class="fields">${Object.entries(headers).map(
      ([name, { $ref = name }]) => {
        const { description, example } =
          components.headers[$ref.split("/").at(-1)!] ?? {};
        return html`
          <div>
            <dt><code>${name}</code></dt>
            <dd>${prose(description)}${example !== undefined &&
              html`
                <span class="soft">For example <code>${String(
                  example,
                )}</code></span>
              `}</dd>
          </div>
        `;
      },
    )}</dl>
  `;
}

interface SamplesProps {
  readonly operationId: string;
  readonly examples: Examples;
}

/** Requests and their real answers, one at a time. */
class Samples extends Component<SamplesProps, { at: number }> {
  override state = { at: 0 };

  override render() {
    const { operationId, examples } = this.props;
    const entries = Object.entries(examples);
    const [name, example] = entries[this.state.at] ?? ["", {}];
    const { value, "x-request": path } = example;
    const url = path === undefined
      ? null
      : new URL(path.slice(1), document.baseURI);
    const text = JSON.stringify(value, null, 2);
    return html`
      <div class="samples">
        ${url !== null && html`
          <div class="sample">
            <p class="sample-head"><span>Request</span>${tryLink(
              operationId,
              url,
            )}</p>
            <${Code} key=${url.href} url=${url.href} skip="Address" />
          </div>
        `}
        ${text !== undefined && html`
          <div class="sample">
            <p class="sample-head"><span>Answer</span>
              ${entries.length > 1 && html`
                <select aria-label="Which answer" onChange=${(event: Event) =>
                  this.setState({
                    at: (event.target as HTMLSelectElement).selectedIndex,
                  })}>
                ${entries.map(([name]) =>
                  html`<option key=${name}>${name}</option>`
                )}</select>
              `}
              <${Copy} key=${name} what="the answer" text=${text} /></p>
            <div key=${name}>${codeView(text, "json")}</div>
          </div>
        `}
      </div>
    `;
  }
}

/** Where a request can be tried: in the playground, or by itself. */
function tryLink(operationId: string, url: URL) {
  const repo = url.searchParams.get("repo") ?? "";
  if (!served.includes(repo)) {
    return html`<span class="soft">${
      url.searchParams.get("owner")
    }/${repo} is not served here</span>`;
  }
  const href = tryUrl(operationId, url.searchParams);
  return href === null
    ? html`<a class="try" href=${url.href} target="_blank" rel="noopener">Open it</a>`
    : html`<a class="try" href=${href}>Try it</a>`;
}

function operationSection(path: string, operation: Operation) {
  const { operationId, summary, description, parameters = [], responses } =
    operation;
  const answer = responses["200"]?.content?.["application/json"];
  const examples = answer?.examples ??
    { request: { "x-request": `${path}?${BLOG}` } };
  return html`
    <section id=${operationId} class="operation">
      <div>
        <h2>${summary}</h2>
        <p class="route"><span>GET</span> <code>${path}</code></p>
        <p>${prose(description)}</p>
        <h3>Parameters</h3>
        <dl class="parameters">${parameters.map((parameter) =>
          parameterRow(operation, parameter)
        )}</dl>
        ${answer && html`<h3>Answer</h3>${fieldList(answer.schema)}`}
        <h3>Response headers</h3>
        ${headerList(responses["200"]?.headers ?? {})}
      </div>
      <${Samples} operationId=${operationId} examples=${examples} />
    </section>
  `;
}

function problemSection({ paths }: Document) {
  // A response names its codes as `code`: title; some have an example.
  const problems = new Map<
    string,
    { status: string; title: string; detail: string }
  >();
  for (
    const operation of Object.values(paths).flatMap((methods) =>
      Object.values(methods)
    )
  ) {
    for (
      const [status, { description, content = {} }] of Object.entries(
        operation.responses,
      )
    ) {
      if (Number(status) < 400) continue;
      for (
        const [, code, title] of description.matchAll(/`([a-z-]+)`: ([^`]*)/g)
      ) {
        if (!problems.has(code!)) {
          problems.set(code!, { status, title: title!, detail: "" });
        }
      }
      for (
        const { value } of Object.values(
          content["application/problem+json"]?.examples ?? {},
        )
      ) {
        const { code = "", detail } = value as Problem;
        const known = problems.get(code);
        if (known !== undefined) known.detail = detail;
      }
    }
  }
  const sorted = [...problems].sort(([, a], [, b]) =>
    Number(a.status) - Number(b.status)
  );
  return html`
    <section id="problems">
      <h2>Problems</h2>
      <p>Every error is <code>application/problem+json</code> (RFC 9457). <code>code</code> says what it is, <code>detail</code>${" "}
        is a sentence that a person can act on, <code>type</code> leads to a page about it.</p>
      <div class="data" tabindex="0" role="region" aria-label="Problems">
        <table>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Code</th>
              <th scope="col">Meaning, and an example</th>
            </tr>
          </thead>
          <tbody>${sorted.map(([code, { status, title, detail }]) =>
            html`
              <tr>
                <td>${status}</td>
                <td><a href=${`problems/${code}`}>${code}</a></td>
                <td>${title}${detail &&
                  html`<p class="soft">${prose(detail)}</p>`}</td>
              </tr>
            `
          )}</tbody>
        </table>
      </div>
    </section>
  `;
}

function page(document: Document) {
  components = document.components;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).filter(([method]) => method === "get")
      .map(([, operation]) => [path, operation] as const)
  );
  return html`
    <nav class="contents" aria-label="Contents">
      <a href="#top">About</a>
      ${operations.map(([, { operationId, summary, parameters = [] }]) =>
        html`<a href=${`#${operationId}`}>${summary}</a><ul>${
          parameters.map(({ name }) =>
            html`<li><a href=${`#${operationId}-${name}`}>${name}</a></li>`
          )
        }</ul>`
      )}
      <a href="#problems">Problems</a>
      <a href="guides">Guides</a>
      <ul>${GUIDES.map((title) =>
        html`<li><a href=${`guides#user-content-${
          title.toLowerCase().replaceAll(" ", "-")
        }`}>${title}</a></li>`
      )}</ul>
      <a href="api/openapi.json">OpenAPI document</a>
    </nav>
    <main id="main" tabindex="-1">
      <section id="top">
        <h1>Reference</h1>
        <p class="lead">${prose(document.info.description)}</p>
      </section>
      ${operations.map(([path, operation]) =>
        operationSection(path, operation)
      )}
      ${problemSection(document)}
    </main>
  `;
}

try {
  const response = await fetch("api/openapi.json");
  render(page(await response.json()), root);
  followReading(root.querySelector(".contents")!);
  // The target was not there when the browser looked for it.
  if (location.hash !== "") {
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
} catch {
  render(
    html`
      <main>
        <h1>Reference</h1>
        <p
          role="alert">The service did not answer. <a href="reference">Try again</a></p>
      </main>
    `,
    root,
  );
}
