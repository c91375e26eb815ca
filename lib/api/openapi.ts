// The OpenAPI 3.1 document, derived from the schemas that check requests and type responses. This module adds titles and
// what belongs to HTTP; the examples are recorded responses of the service.

import { z } from "zod";
import project from "../../deno.json" with { type: "json" };
import { ERRORS, type ProblemCode } from "../errors.ts";
import { contentBody, listBody, problemBody } from "./contract.ts";
import examples from "./openapi_examples.json" with { type: "json" };
import HEADERS from "./openapi_headers.json" with { type: "json" };
import { itemParameters, listParameters } from "./parameters.ts";

/** Any JSON object of the document. */
type DocumentPart = Readonly<Record<string, unknown>>;

/** The origin in the recorded examples; replaced by the origin of this deployment. */
const EXAMPLES_ORIGIN = "http://localhost:8000";
const COMPONENTS = "#/components/schemas/";

const COMMON_HEADERS = [
  "Access-Control-Allow-Origin",
  "Access-Control-Expose-Headers",
  "Cache-Control",
  "Cross-Origin-Resource-Policy",
  "X-Content-Type-Options",
  "X-Request-Id",
];
const LIST_HEADERS = ["Link"];
const ITEM_HEADERS = ["Content-Disposition", "Content-Security-Policy"];

let template: string | undefined;

/** The document's JSON for a deployment at `baseUrl`. The rest is built once, since that is slow. */
export function openApiText(baseUrl: string): string {
  template ??= JSON.stringify(buildDocument());
  return template.replaceAll(EXAMPLES_ORIGIN, () => JSON.stringify(baseUrl).slice(1, -1));
}

function buildDocument(): DocumentPart {
  const list = {
    operationId: "listCollectionItems",
    summary: "List the items of a collection",
    description:
      "One page of the files under a folder, sub-folders included, ordered by path unless asked otherwise.",
    parameters: operationParameters(listParameters),
    responses: {
      200: {
        description: "A page of items.",
        headers: headersOf("data", ...LIST_HEADERS),
        content: { "application/json": json(listBody, exampleMap(examples.list)) },
      },
      ...notModified(LIST_HEADERS),
      ...problemResponses("list"),
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
      ...problemResponses("item"),
    },
  };
  return {
    openapi: "3.1.0",
    info: {
      title: "Repo Collections",
      version: project.version,
      description:
        "Reads the files of a Git repository as a collection. Both operations answer GET, HEAD and OPTIONS, to pages of " +
        "every origin, and no response is more than 60 seconds behind the repository while its source answers. " +
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

/** References to the headers of a response: those of its kind, and `more`. */
function headersOf(kind: "data" | "problem", ...more: string[]): DocumentPart {
  const ofKind = kind === "data" ? ["Age", "Cache-Status", "ETag", "Vary"] : [];
  const names = [...COMMON_HEADERS, ...ofKind, ...more].sort();
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** 304 carries the headers of the 200 that it replaces. */
function notModified(headers: readonly string[]): DocumentPart {
  return {
    304: {
      description: "The client has this response already: `If-None-Match` named its tag.",
      headers: headersOf("data", ...headers),
    },
  };
}

/** The problems of one operation, those of one status together. */
function problemResponses(operation: "list" | "item"): DocumentPart {
  const codes = (Object.keys(ERRORS) as ProblemCode[])
    .filter((code) => (ERRORS[code].only ?? operation) === operation);
  const statuses = Map.groupBy(codes, (code) => ERRORS[code].status);
  return Object.fromEntries([...statuses].map(([status, codes]) => [status, {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(" "),
    headers: headersOf("problem", ...problemHeaders(status)),
    content: {
      "application/problem+json": json(
        problemBody,
        exampleMap(
          Object.fromEntries(
            Object.entries(examples.problems)
              .filter(([code]) => codes.some((one) => one === code)),
          ),
        ),
      ),
    },
  }]));
}

function problemHeaders(status: number): string[] {
  if (status === 405) return ["Allow"];
  if (status === 503) return ["Retry-After"];
  return status === 429 ? ["Retry-After", "RateLimit", "RateLimit-Policy"] : [];
}

function json(schema: z.ZodType, examples: DocumentPart): DocumentPart {
  return {
    schema: { $ref: `${COMPONENTS}${schema.meta()?.["id"]}` },
    ...(Object.keys(examples).length > 0 ? { examples } : {}),
  };
}

function exampleMap(values: DocumentPart): DocumentPart {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));
}

/** Every body schema that has an id. */
function bodySchemas(): DocumentPart {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    uri: (id) => `${COMPONENTS}${id}`,
    // The bounds of safe integers would only clutter the document.
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]),
  );
}

/** The parameters of an operation, in the order of its schema; all of them are in the query. */
function operationParameters(schema: z.ZodObject): DocumentPart[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input" });
  return Object.entries(properties).map(([name, property]) => {
    // zod drops the default of a parameter that is more than text.
    const { description, examples, ...derived } = {
      ...property as DocumentPart,
      ...(schema.shape[name] as z.ZodType).meta(),
    };
    const [example] = Array.isArray(examples) ? examples : [];
    const isText = derived["type"] === "string";
    const isObject = derived["type"] === "object";
    // zod describes a value as text with a pattern; its meaning, bounds and default come from `.meta()`.
    const { pattern, enum: values, items: _, ...rest } = derived;
    return {
      name,
      in: "query",
      required: required.includes(name),
      ...(isObject ? { style: "deepObject", explode: true } : {}),
      description,
      schema: {
        ...rest,
        ...(isText && pattern !== undefined ? { pattern } : {}),
        ...(isText && values !== undefined ? { enum: values } : {}),
      },
      ...(example === undefined ? {} : { example }),
    };
  });
}
