/// <reference lib="dom" />
// The reference: this deployment's OpenAPI document as a page.

import { Component, html, render } from "./preact.js";
import { type Problem, snippetsFor } from "./requests.ts";
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
  readonly value: unknown;
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

function parameterRow(operation: Operation, parameter: Parameter) {
  const { name, required, description, schema, example } = parameter;
  const limits = limitWords(schema);
  const isTold = typeof example === "string" && example !== schema.default;
  const id = `${operation.operationId}-${name}`;
  return html`
    <div class="parameter" id=${id}>
      <dt><a href=${`#${id}`}><code>${name}</code></a>
        <span class="soft">${typeWords(schema)}</span>
        ${required && html`<span class="tag must">required</span>`}</dt>
      <dd>${prose(description)}
        ${(schema.default !== undefined || limits !== "" || isTold) &&
          html`<p class="limits">
          ${
            schema.default !== undefined &&
            html`<span>Default <code>${String(schema.default)}</code></span>`
          }
          ${limits && html`<span>${limits}</span>`}
          ${
            isTold && html`<span>For example <code>${example}</code></span>`
          }</p>`}</dd>
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

/** Requests and their real answers, one at a time. */
class Samples extends Component<{ examples: Examples }, { at: number }> {
  override state = { at: 0 };

  override render() {
    const entries = Object.entries(this.props.examples);
    const [name, example] = entries[this.state.at] ?? ["", { value: null }];
    const { value, "x-request": path } = example;
    const url = path === undefined
      ? null
      : new URL(path.slice(1), document.baseURI);
    const repo = url?.searchParams.get("repo") ?? "";
    return html`
      <div class="samples">
        ${url !== null && html`
          <div class="sample">
            <p class="sample-head"><span>Request</span>
              ${served.includes(repo)
                ? html`<a class="try" href=${`./${url.search}`}>Try it</a>`
                : html`<span class="soft">local/${repo} is not served here</span>`}</p>
            <div key=${url.href}>${codeView(
              snippetsFor(url.href)[1]!.text,
              "bash",
            )}</div>
          </div>
        `}
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
            `}</p>
          <div key=${name}>${codeView(
            JSON.stringify(value, null, 2),
            "json",
          )}</div>
        </div>
      </div>
    `;
  }
}

function operationSection(path: string, operation: Operation) {
  const { operationId, summary, description, parameters = [], responses } =
    operation;
  const answer = responses["200"]?.content?.["application/json"];
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
      ${answer?.examples && html`<${Samples} examples=${answer.examples} />`}
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
      <a href="api/openapi.json">OpenAPI document</a>
    </nav>
    <main>
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
