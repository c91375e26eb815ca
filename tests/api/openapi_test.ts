// The OpenAPI document: valid by its own standard, and with examples that the
// service still answers with. tests/contract_check.ts compares every response
// with it, parameters_test.ts its bounds, tests/docs_test.ts its parameters.

import { assert, assertEquals } from "@std/assert";
import { Validator } from "@seriousme/openapi-schema-validator";
import { openApiText } from "../../lib/api/openapi.ts";
import { startService } from "../service.ts";
import { buildDocument } from "./openapi_document.ts";
import { realExamples } from "./real_examples.ts";

const document = JSON.parse(openApiText("http://localhost:8000"));

Deno.test("openApiText() is valid OpenAPI 3.1", async () => {
  const { valid, errors } = await new Validator().validate(
    structuredClone(document),
  );
  assert(valid, JSON.stringify(errors));
});

Deno.test("openApiText() is what `deno task examples` writes now", async () => {
  assertEquals(
    document,
    JSON.parse(JSON.stringify(buildDocument(await realExamples()))),
  );
});

Deno.test("GET /api/openapi.json names the deployment or PUBLIC_URL", async () => {
  const host = "http://[::1]:1234";
  for (const publicUrl of ["", "https://api.test/$&/x"]) {
    await using service = await startService({
      env: { PUBLIC_URL: publicUrl },
    });
    const response = await service.get(`${host}/api/openapi.json`);
    assertEquals(response.headers.get("content-type"), "application/json");
    const text = await response.text();
    assertEquals(JSON.parse(text).servers, [{ url: publicUrl || host }]);
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
