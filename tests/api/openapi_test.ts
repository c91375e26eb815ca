// The OpenAPI document: valid by its own standard, equal to the contract's tables, and with examples that the service
// still answers with. tests/document_check.ts compares every response with it.

import { assert, assertEquals } from "@std/assert";
import { Validator } from "@seriousme/openapi-schema-validator";
import { openApiText } from "../../lib/api/openapi.ts";
import examples from "../../lib/api/openapi_examples.json" with { type: "json" };
import HEADERS from "../../lib/api/openapi_headers.json" with { type: "json" };
import { ERRORS, type ProblemCode } from "../../lib/errors.ts";
import { COMMON_HEADERS } from "../../lib/http/responses.ts";
import { startService } from "../service.ts";
import { realExamples } from "./real_examples.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
}

interface Operation {
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, { description: string }>>;
}

const LIST = "/api/list-collection-items";
const ITEM = "/api/get-item-content";
const document: Readonly<Record<string, unknown>> = JSON.parse(
  openApiText("http://localhost:8000"),
);
const paths = document["paths"] as Record<string, { get: Operation }>;

/** The contract's tables: name, required, type, default, minimum and maximum (of a text: its length). */
const OWNER_AND_REPO = [["owner", true, "string", undefined, 1, 39], [
  "repo",
  true,
  "string",
  undefined,
  1,
  100,
]];
const BRANCH = ["branch", false, "string", "main", 1, 255];
const HTML = [["includeHtml", false, "boolean", false], [
  "linkTemplate",
  false,
  "string",
  undefined,
  1,
  200,
]];
const ORDER = [
  ["sort", false, "string", "path"],
  ["recursive", false, "boolean", true],
  ["filter", false, "object"],
];
const TABLE: Record<string, readonly (readonly unknown[])[]> = {
  [LIST]: [
    ...OWNER_AND_REPO,
    ["collection", true, "string", undefined, 1, 1024],
    BRANCH,
    ["page", false, "integer", 1, 1, 999_999_999],
    ["limit", false, "integer", 50, 1, 1000],
    ["includeContent", false, "boolean", false],
    ["includeFrontMatter", false, "boolean", false],
    ...[...HTML, ...ORDER],
    ["fields", false, "string"],
    ["facets", false, "string"],
  ],
  [ITEM]: [
    ...[...OWNER_AND_REPO, BRANCH],
    ["path", false, "string", undefined, 1, 4096],
    ["collection", false, "string", undefined, 1, 1024],
    ["slug", false, "string", undefined, 1, 4096],
    ...HTML,
    ["includeNeighbors", false, "boolean", false],
    ...ORDER,
    ["format", false, "string", "json"],
  ],
};

Deno.test("openApiText() is valid OpenAPI 3.1", async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never);

  assert(valid, JSON.stringify(errors));
  const broken = { ...structuredClone(document), paths: { "no-slash": {} } };
  assertEquals((await new Validator().validate(broken as never)).valid, false);
});

for (const [path, rows] of Object.entries(TABLE)) {
  Deno.test(`openApiText() has the parameters of the contract's table for ${path}`, () => {
    const { parameters } = paths[path]!.get;

    const shown = parameters.map(({ name, required, schema }) => [
      name,
      required,
      schema["type"],
      schema["default"],
      schema["minimum"] ?? schema["minLength"],
      schema["maximum"] ?? schema["maxLength"],
    ]);
    assertEquals(shown, rows.map((row) => Array.from({ length: 6 }, (_, at) => row[at])));
    assertEquals(new Set(parameters.map((parameter) => parameter.in)), new Set(["query"]));
  });
}

Deno.test("openApiText() has every problem, and says where each can be met", () => {
  const shown = JSON.stringify(paths);
  for (const code of Object.keys(ERRORS) as ProblemCode[]) {
    const isShown = shown.includes(`\`${code}\`:`);
    assertEquals([code, isShown], [code, ERRORS[code].only !== "webhook"]);
  }
  assert(!JSON.stringify(paths[LIST]).includes("item-too-large`:"));
  assert(!JSON.stringify(paths[LIST]).includes("slug-ambiguous`:"));
});

Deno.test("openApiText() has every header that pages may read", () => {
  const documented = new Set(Object.keys(HEADERS).map((name) => name.toLowerCase()));
  const exposed = COMMON_HEADERS["access-control-expose-headers"]!.toLowerCase().split(/, */);
  const plain = [
    ...["accept-ranges", "content-encoding", "content-range"],
    ...["date", "location", "x-typescript-types"],
  ];
  assertEquals(exposed.filter((name) => !documented.has(name)), plain);
});

Deno.test("the document's examples are what the service answers; `deno task examples` writes them", async () => {
  assertEquals(examples, JSON.parse(JSON.stringify(await realExamples())));
});

Deno.test("GET /api/openapi.json names this deployment everywhere, or PUBLIC_URL where that is set", async () => {
  for (const publicUrl of [undefined, "https://api.test/$&/x"]) {
    await using service = await startService({
      env: publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl },
    });
    const response = await service.get("http://[::1]:1234/api/openapi.json");
    assertEquals(response.headers.get("content-type"), "application/json");
    const text = await response.text();
    assertEquals(JSON.parse(text).servers, [{ url: publicUrl ?? "http://[::1]:1234" }]);
    assert(!text.includes("localhost"));
  }
});
