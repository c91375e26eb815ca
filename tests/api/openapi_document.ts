// Makes lib/api/openapi.json, the OpenAPI 3.1 document, of the schemas that
// check requests and type responses. This module adds titles and what belongs
// to HTTP; the examples are responses of the service.

import { z } from "zod";
import project from "../../deno.json" with { type: "json" };
import { FEED_TYPES } from "../../lib/api/feed_formats.ts";
import {
  changesParameters,
  collectionsParameters,
  itemParameters,
  listParameters,
  typesParameters,
} from "../../lib/api/parameters.ts";
import { ERRORS, type ProblemCode } from "../../lib/errors.ts";
import {
  changesBody,
  collectionsBody,
  contentBody,
  listBody,
  problemBody,
} from "./body_schemas.ts";
import HEADERS from "./openapi_headers.json" with { type: "json" };
import type { RealExamples } from "./real_examples.ts";

/** Any JSON object of the document. */
type DocumentPart = Readonly<Record<string, unknown>>;

/** The origin of the examples, which the service replaces by its own. */
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
const DATA_HEADERS = [
  "Age",
  "CDN-Cache-Control",
  "Cache-Status",
  "Cache-Tag",
  "ETag",
  "Surrogate-Control",
  "Surrogate-Key",
  "Vary",
  "X-Accel-Expires",
];
const WEBHOOK_CODES: readonly ProblemCode[] = [
  "signature-invalid",
  "body-too-large",
];
/** A list has none of these. */
const ITEM_CODES: readonly ProblemCode[] = [
  "item-not-found",
  "slug-ambiguous",
  "item-too-large",
];
/** Of the problems of one status. */
const PROBLEM_HEADERS: Readonly<Record<number, readonly string[]>> = {
  405: ["Allow"],
  429: ["Retry-After", "RateLimit", "RateLimit-Policy"],
  503: ["Retry-After"],
};

/** The document with these examples. */
export function buildDocument(examples: RealExamples): DocumentPart {
  return {
    openapi: "3.1.0",
    info: {
      title: "Repo Collections",
      version: project.version,
      description:
        "Reads the files of a Git repository as a collection. The operations answer GET, HEAD and OPTIONS, to pages of " +
        "every origin, and no response is more than 60 seconds behind the repository while its source answers. " +
        `Try them in the [playground](${EXAMPLES_ORIGIN}/).`,
    },
    servers: [{ url: EXAMPLES_ORIGIN }],
    security: [],
    tags: [{ name: "Collections" }],
    paths: {
      "/api/list-collection-items": operation("list", examples, {
        operationId: "listCollectionItems",
        summary: "List the items of a collection",
        description:
          "One page of the files under a folder, sub-folders included, ordered by path unless asked otherwise.",
        parameters: operationParameters(listParameters),
      }, {
        description:
          "A page of items. With `format` a feed of them, or a sitemap, which has no `Link`.",
        headers: headersOf(...DATA_HEADERS, "Content-Security-Policy", "Link"),
        content: {
          "application/json": json(listBody, examples.list),
          ...Object.fromEntries(
            Object.entries(FEED_TYPES).map(([format, type]) => [type, {
              schema: { description: `With \`format=${format}\`.` },
            }]),
          ),
        },
      }),
      "/api/get-item-content": operation("item", examples, {
        operationId: "getItemContent",
        summary: "Read one file",
        description:
          "A file with its content and front matter as JSON, or its bytes as they are.",
        parameters: operationParameters(itemParameters),
      }, {
        description:
          "The file. With `format=raw` its bytes, under its own content type.",
        headers: headersOf(
          ...DATA_HEADERS,
          "Content-Disposition",
          "Content-Security-Policy",
        ),
        content: {
          "application/json": json(contentBody, examples.item),
          "*/*": {
            schema: { description: "The file's bytes, with `format=raw`." },
          },
        },
      }),
      "/api/list-collections": operation("list", examples, {
        operationId: "listCollections",
        summary: "List the collections",
        description:
          "The collections that the repository's CMS configuration declares, the folders that hold content, and the folders of `path`.",
        parameters: operationParameters(collectionsParameters),
      }, {
        description: "The collections and folders.",
        headers: headersOf(...DATA_HEADERS),
        content: {
          "application/json": json(collectionsBody, examples.collections),
        },
      }),
      "/api/collection-types.ts": operation("list", examples, {
        operationId: "collectionTypes",
        summary: "Get TypeScript types of front matter",
        description:
          "One interface a collection, and the interface `Collections`, which has each by the collection's name.",
        parameters: operationParameters(typesParameters),
      }, {
        description: "TypeScript declarations.",
        headers: headersOf(
          ...DATA_HEADERS,
          "Content-Disposition",
          "Content-Security-Policy",
        ),
        content: {
          "text/plain; charset=utf-8": { schema: { type: "string" } },
        },
      }),
      "/api/list-collection-changes": operation("changes", examples, {
        operationId: "listCollectionChanges",
        summary: "List what changed since a commit",
        description:
          "The files that were added, changed, removed or renamed between two commits, by path. No file is read.",
        parameters: operationParameters(changesParameters),
      }, {
        description: "The changes.",
        headers: headersOf(...DATA_HEADERS),
        content: { "application/json": json(changesBody, examples.changes) },
      }),
    },
    components: { schemas: bodySchemas(), headers: HEADERS },
  };
}

/**
 * An operation with its responses: `ok`, 304 with the same headers, and the
 * problems, those of one status together.
 */
function operation(
  kind: "list" | "item" | "changes",
  examples: RealExamples,
  about: DocumentPart,
  ok: DocumentPart,
): DocumentPart {
  const codes = (Object.keys(ERRORS) as ProblemCode[])
    .filter((code) => !WEBHOOK_CODES.includes(code))
    .filter((code) => kind === "item" || !ITEM_CODES.includes(code))
    .filter((code) => kind === "changes" || code !== "since-unknown");
  const problems = Object.entries(
    Object.groupBy(codes, (code) => ERRORS[code].status),
  );
  const responses = Object.fromEntries(problems.map(([status, codes = []]) => {
    const isShown = ([code]: [string, unknown]) =>
      codes.some((one) => one === code);
    const shown = Object.fromEntries(
      Object.entries(examples.problems).filter(isShown)
        .map(([code, value]) => [code, { value }]),
    );
    return [status, {
      description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`)
        .join(" "),
      headers: headersOf(...PROBLEM_HEADERS[Number(status)] ?? []),
      content: { "application/problem+json": json(problemBody, shown) },
    }];
  }));
  const notModified = {
    description:
      "The client has this response already: `If-None-Match` named its tag.",
    headers: ok["headers"],
  };
  const all = { 200: ok, 304: notModified, ...responses };
  return { get: { tags: ["Collections"], ...about, responses: all } };
}

/** References to the headers of every response, and to `more`. */
function headersOf(...more: readonly string[]): DocumentPart {
  const names = [...COMMON_HEADERS, ...more].sort();
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

function json(
  schema: z.ZodType,
  examples: Readonly<Record<string, { readonly value: unknown }>>,
): DocumentPart {
  return {
    schema: { $ref: `${COMPONENTS}${schema.meta()?.["id"]}` },
    ...(Object.keys(examples).length > 0 ? { examples } : {}),
  };
}

/** Every body schema that has an id. */
function bodySchemas(): DocumentPart {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    uri: (id) => `${COMPONENTS}${id}`,
    // The bounds of safe integers would only clutter the document.
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) {
        delete jsonSchema.maximum;
      }
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) {
        delete jsonSchema.minimum;
      }
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map((
      [id, { $schema: _, $id: __, ...schema }],
    ) => [id, schema]),
  );
}

/**
 * The parameters of an operation, in the order of its schema; all of them are
 * in the query.
 */
function operationParameters(schema: z.ZodObject): DocumentPart[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, {
    io: "input",
  });
  return Object.entries(properties).map(([name, property]) => {
    // zod describes a value as text with a pattern; its meaning, bounds and
    // default come from `.meta()`, whose default it drops for a parameter that
    // is more than text.
    const {
      description,
      examples,
      pattern: _,
      enum: values,
      items: __,
      ...rest
    } = {
      ...property as DocumentPart,
      ...(schema.shape[name] as z.ZodType).meta(),
    };
    const isText = rest["type"] === "string";
    return {
      name,
      in: "query",
      required: required.includes(name),
      ...(rest["type"] === "object"
        ? { style: "deepObject", explode: true }
        : {}),
      description,
      schema: isText && values !== undefined ? { ...rest, enum: values } : rest,
      ...(Array.isArray(examples) ? { example: examples[0] } : {}),
    };
  });
}
