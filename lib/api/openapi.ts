// The OpenAPI 3.1 document, derived from the schemas that requests are checked by and answers are typed by. Written here
// are only titles and what belongs to HTTP; the examples are answers that the service once gave.

import { contentBody, listBody, problemBody } from "./contract.ts";
import examples from "./openapi_examples.json" with { type: "json" };
import { HEADERS, headersOf } from "./openapi_headers.ts";
import { bodySchemas, operationParameters } from "./openapi_schemas.ts";
import { itemParameters, listParameters } from "./parameters.ts";

/** Any JSON object of the document. */
type DocumentPart = Readonly<Record<string, unknown>>;

/** Status and title by code. */
type Problems = Readonly<Record<string, { readonly status: number; readonly title: string }>>;

/** Where the examples were asked for; it stands for where the deployment is. */
const EXAMPLES_ORIGIN = "http://localhost:8000";

const LIST_HEADERS = ["Link"];
const ITEM_HEADERS = ["Content-Disposition", "Content-Security-Policy"];
/** Problems that the other operation alone can meet. */
const NOT_FOR_LIST = ["item-not-found", "item-too-large"];
const NOT_FOR_ITEM = ["collection-not-found", "collection-too-large", "collection-not-ready"];

/** Its names are the caller's, so no schema of the contract has it. */
const FILTER = {
  name: "filter",
  in: "query",
  required: false,
  style: "deepObject",
  explode: true,
  description:
    "Which items are wanted, as `filter[name]=*.md`, `filter[path]=2026/**` or `filter[frontMatter.<key>]=text`. `!` in " +
    "front of the value negates; all filters must hold. `*` and `?` stay within a path segment, `**` crosses.",
  schema: { type: "object", additionalProperties: { type: "string", maxLength: 1024 } },
  example: { "frontMatter.draft": "!true" },
};

/** Gives the document's JSON by where the deployment is. All else is put together once, since that takes a while. */
export function openApiTexts(problems: Problems): (baseUrl: string) => string {
  const text = JSON.stringify(documentOf(problems));
  // The host of a request may have quotes in it.
  return (baseUrl) => text.replaceAll(EXAMPLES_ORIGIN, () => JSON.stringify(baseUrl).slice(1, -1));
}

function documentOf(problems: Problems): DocumentPart {
  const list = {
    operationId: "listCollectionItems",
    summary: "List the items of a collection",
    description:
      "One page of the files under a folder, sub-folders included, ordered by path unless asked otherwise.",
    parameters: [...operationParameters(listParameters), FILTER],
    responses: {
      200: {
        description: "A page of items.",
        headers: headersOf("data", ...LIST_HEADERS),
        content: { "application/json": json(listBody, exampleMap(examples.list)) },
      },
      ...notModified(LIST_HEADERS),
      ...problemResponses(problems, NOT_FOR_LIST),
    },
  };
  const item = {
    operationId: "getItemContent",
    summary: "Read one file",
    description: "A file with its content and front matter as JSON, or its bytes as they are.",
    parameters: operationParameters(itemParameters),
    responses: {
      200: {
        description: "The file. With `format=raw` its bytes, under its own content type.",
        headers: headersOf("data", ...ITEM_HEADERS),
        content: {
          "application/json": json(contentBody, exampleMap(examples.item)),
          "*/*": { schema: { description: "The file's bytes, with `format=raw`." } },
        },
      },
      ...notModified(ITEM_HEADERS),
      ...problemResponses(problems, NOT_FOR_ITEM),
    },
  };
  return {
    openapi: "3.1.0",
    info: {
      title: "Repo Collections",
      version: "1.0.0",
      description:
        "Reads the files of a Git repository as a collection. Both operations answer GET, HEAD and OPTIONS, to pages of " +
        "every origin, and no answer is more than 60 seconds behind the repository while its source answers. " +
        `Try them in the [playground](${EXAMPLES_ORIGIN}/).`,
    },
    servers: [{ url: EXAMPLES_ORIGIN }],
    security: [],
    tags: [{ name: "Collections" }],
    paths: {
      "/api/list-collection-items": { get: { tags: ["Collections"], ...list } },
      "/api/get-item-content": { get: { tags: ["Collections"], ...item } },
    },
    components: { schemas: bodySchemas(), headers: HEADERS },
  };
}

/** 304 carries the headers of the answer that it stands for. */
function notModified(headers: readonly string[]): DocumentPart {
  return {
    304: {
      description: "The caller has this answer already: `If-None-Match` named its tag.",
      headers: headersOf("data", ...headers),
    },
  };
}

/** The problems, those of one status together. */
function problemResponses(
  problems: Problems,
  without: readonly string[],
): DocumentPart {
  const codes = Object.keys(problems).filter((code) => !without.includes(code));
  const statuses = Map.groupBy(codes, (code) => problems[code]!.status);
  const responses = [...statuses].map(([status, codes]) => [status, {
    description: codes.map((code) => `\`${code}\`: ${problems[code]!.title}.`).join(" "),
    headers: headersOf("problem", ...problemHeaders(status)),
    content: {
      "application/problem+json": json(
        problemBody,
        exampleMap(
          Object.fromEntries(
            Object.entries(examples.problems).filter(([code]) => codes.includes(code)),
          ),
        ),
      ),
    },
  }]);
  return Object.fromEntries(responses);
}

function problemHeaders(status: number): string[] {
  if (status === 405) return ["Allow"];
  if (status === 503) return ["Retry-After"];
  return status === 429 ? ["Retry-After", "RateLimit", "RateLimit-Policy"] : [];
}

function json(schema: { meta(): { id?: string | undefined } | undefined }, examples: DocumentPart) {
  return {
    schema: { $ref: `#/components/schemas/${schema.meta()?.id}` },
    ...Object.keys(examples).length > 0 ? { examples } : {},
  };
}

function exampleMap(values: DocumentPart): DocumentPart {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}
