// Checks one response against the OpenAPI document: the document must describe its status, each of its headers and its
// body. The test service calls it for each response.

import { assert, assertEquals } from "@std/assert";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { openApiText } from "../lib/api/openapi.ts";

interface Described {
  readonly headers?: Readonly<Record<string, { $ref: string }>>;
  readonly content?: Readonly<Record<string, { schema: Record<string, unknown> }>>;
}

interface Described31 {
  readonly paths: Readonly<
    Record<string, { get: { responses: Readonly<Record<string, Described>> } }>
  >;
  readonly components: {
    readonly headers: Readonly<Record<string, { schema: { type?: string } }>>;
  };
}

const document = JSON.parse(openApiText("http://localhost:8000"));
const described: Described31 = document;
const ajv = new Ajv2020({ strict: false, allErrors: true });
(addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
const compiled = new Map<object, ValidateFunction>();

/** Headers of plain HTTP, which the document need not name. */
const PLAIN = new Set(["content-type", "content-length", "content-encoding"]);

/** Checks a response to a GET of an operation; others pass. @throws {AssertionError} naming what the document lacks. */
export async function checkDocument(request: Request, response: Response): Promise<void> {
  const { pathname } = new URL(request.url);
  const operation = described.paths[pathname]?.get;
  if (operation === undefined || request.method !== "GET") return;
  const answer = operation.responses[response.status];
  assert(answer !== undefined, `the document has no ${response.status} for ${pathname}`);
  checkHeaders(answer, response.headers);
  if (response.body === null || response.headers.has("content-disposition")) return;
  const type = response.headers.get("content-type") ?? "";
  const place = `${response.status} ${type} of ${pathname}`;
  const content = answer.content?.[type];
  assert(content !== undefined, `the document has no ${place}`);
  checkValue(content.schema, { value: await decoded(response).json(), place });
}

function checkHeaders({ headers = {} }: Described, given: Headers): void {
  const names = new Map(Object.keys(headers).map((name) => [name.toLowerCase(), name]));
  for (const [name, value] of given) {
    if (PLAIN.has(name)) continue;
    const header = names.get(name);
    assert(header !== undefined, `the document does not name the header "${name}"`);
    const { schema } = described.components.headers[header]!;
    checkValue(schema, {
      value: schema.type === "integer" ? Number(value) : value,
      place: header,
    });
  }
}

function checkValue(schema: object, { value, place }: { value: unknown; place: string }): void {
  const known = compiled.get(schema);
  // References in it are to the document's components.
  const validate = known ?? ajv.compile({ ...schema, components: document["components"] });
  if (known === undefined) compiled.set(schema, validate);
  validate(value);
  assertEquals(validate.errors ?? null, null, place);
}

function decoded(response: Response): Response {
  const { body } = response.clone();
  if (response.headers.get("content-encoding") !== "gzip") return new Response(body);
  return new Response(body!.pipeThrough(new DecompressionStream("gzip")));
}
