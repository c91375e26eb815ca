// The OpenAPI document of a deployment. openapi.json is made of the schemas in this folder and of responses of the service:
// `deno task examples` writes it, and a test compares it with them.

import document from "./openapi.json" with { type: "json" };

const GENERATED_ORIGIN = "http://localhost:8000";
const text = JSON.stringify(document);

/** The document's JSON for a deployment at `baseUrl`. */
export function openApiText(baseUrl: string): string {
  return text.replaceAll(GENERATED_ORIGIN, () => JSON.stringify(baseUrl).slice(1, -1));
}
