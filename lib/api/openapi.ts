// The OpenAPI document of a deployment. `deno task examples` writes
// openapi.json from the schemas in this folder and from responses of the
// service. A test compares it with them.

import document from "./openapi.json" with { type: "json" };

const GENERATED_ORIGIN = "http://localhost:8000";
const text = JSON.stringify(document);

/** Returns the JSON of the document for a deployment at `baseUrl`. */
export function openApiText(baseUrl: string): string {
  return text.replaceAll(
    GENERATED_ORIGIN,
    () => JSON.stringify(baseUrl).slice(1, -1),
  );
}
