// The OpenAPI document: valid by its own standard, equal to the contract's
// tables, and with examples that the service still answers with.
// tests/contract_check.ts compares every response with it.

import { assert, assertEquals } from "@std/assert";
import { Validator } from "@seriousme/openapi-schema-validator";
import { openApiText } from "../../lib/api/openapi.ts";
import { ERRORS } from "../../lib/errors.ts";
import { COMMON_HEADERS } from "../../lib/http/responses.ts";
import { startService } from "../service.ts";
import { buildDocument } from "./openapi_document.ts";
import { realExamples } from "./real_examples.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly style?: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

const LIST = "/api/list-collection-items";
const ITEM = "/api/get-item-content";
const document = JSON.parse(openApiText("http://localhost:8000"));
const paths: Record<string, { get: { parameters: Parameter[] } }> =
  document.paths;

/**
 * The contract's tables: name (with a bang where it is required), type,
 * default, minimum and maximum (of a text: its length).
 */
const TABLE: Record<string, string[]> = {
  [LIST]: [
    "owner! string - 1 39",
    "repo! string - 1 100",
    "collection! string - 1 1024",
    "branch string main 1 255",
    "page integer 1 1 999999999",
    "limit integer 50 1 1000",
    "includeContent boolean false",
    "includeFrontMatter boolean false",
    "includeHtml boolean false",
    "includeHistory boolean false",
    "linkTemplate string - 1 200",
    "sort string path",
    "recursive boolean true",
    "filter object",
    "kind string",
    "search string - 1 1000",
    "types string text",
    "fields string",
    "facets string",
    "format string json",
    "feedTitle string - 1 200",
  ],
  "/api/list-collections": [
    "owner! string - 1 39",
    "repo! string - 1 100",
    "branch string main 1 255",
    "path string - 1 1024",
    "includeSchema boolean false",
  ],
  "/api/collection-types.ts": [
    "owner! string - 1 39",
    "repo! string - 1 100",
    "branch string main 1 255",
  ],
  "/api/list-collection-changes": [
    "owner! string - 1 39",
    "repo! string - 1 100",
    "collection! string - 1 1024",
    "branch string main 1 255",
    "since! string - 40 40",
  ],
  [ITEM]: [
    "owner! string - 1 39",
    "repo! string - 1 100",
    "branch string main 1 255",
    "path string - 1 4096",
    "collection string - 1 1024",
    "slug string - 1 4096",
    "includeHtml boolean false",
    "includeHistory boolean false",
    "linkTemplate string - 1 200",
    "includeNeighbors boolean false",
    "sort string path",
    "recursive boolean true",
    "filter object",
    "kind string",
    "format string json",
  ],
};

Deno.test("openApiText() is valid OpenAPI 3.1", async () => {
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as never,
  );

  assert(valid, JSON.stringify(errors));
  const broken = { ...structuredClone(document), paths: { "no-slash": {} } };
  assertEquals((await new Validator().validate(broken as never)).valid, false);
});

Deno.test("openApiText() has the parameters of the contract's tables", () => {
  for (const [path, table] of Object.entries(TABLE)) {
    const { parameters } = paths[path]!.get;
    const rows = parameters.map(({ name, required, schema }) => {
      const {
        type,
        default: byDefault = "-",
        minimum,
        maximum,
        minLength,
        maxLength,
      } = schema;
      const row = [
        required ? `${name}!` : name,
        type,
        byDefault,
        minimum ?? minLength,
      ];
      return [...row, maximum ?? maxLength].join(" ").replace(/( -)? *$/, "");
    });
    assertEquals(rows, table);
    assertEquals(
      new Set(parameters.map((parameter) => parameter.in)),
      new Set(["query"]),
    );
    // `filter[name]=*.md`; other parameters have the default style.
    const styles = parameters.filter(({ style }) => style).map((
      { name, style },
    ) => [name, style]);
    assertEquals(
      styles,
      table.includes("filter object") ? [["filter", "deepObject"]] : [],
    );
  }
});

Deno.test("openApiText() has every problem where it can be met", () => {
  const shown = JSON.stringify(paths);
  const missing = Object.keys(ERRORS).filter((code) =>
    !shown.includes(`\`${code}\`:`)
  );
  assertEquals(missing, ["signature-invalid", "body-too-large"]);
  assert(!JSON.stringify(paths[LIST]).includes("item-too-large`:"));
  assert(!JSON.stringify(paths[LIST]).includes("slug-ambiguous`:"));
});

Deno.test("openApiText() has every header that pages may read", () => {
  const documented = Object.keys(document.components.headers);
  const exposed = COMMON_HEADERS["access-control-expose-headers"]!.split(", ");
  const plain = ["Content-Encoding", "Date", "Location", "X-TypeScript-Types"];
  assertEquals(exposed.filter((name) => !documented.includes(name)), plain);
});

Deno.test("openApiText() is what `deno task examples` writes now", async () => {
  assertEquals(
    document,
    JSON.parse(JSON.stringify(buildDocument(await realExamples()))),
  );
});

Deno.test("GET /api/openapi.json names the deployment or PUBLIC_URL", async () => {
  for (const publicUrl of [undefined, "https://api.test/$&/x"]) {
    await using service = await startService({
      env: publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl },
    });
    const response = await service.get("http://[::1]:1234/api/openapi.json");
    assertEquals(response.headers.get("content-type"), "application/json");
    const text = await response.text();
    assertEquals(JSON.parse(text).servers, [{
      url: publicUrl ?? "http://[::1]:1234",
    }]);
    assert(!text.includes("localhost"));
  }
});

Deno.test("GET /api/openapi.json is compressed, and revalidated", async () => {
  await using service = await startService();
  const path = "/api/openapi.json";
  const get = (headers: HeadersInit) => service.get(path, { headers });
  const { headers } = await get({ "accept-encoding": "gzip" });
  assertEquals(headers.get("content-encoding"), "gzip");
  const again = await get({ "if-none-match": headers.get("etag")! });
  assertEquals(again.status, 304);
});
