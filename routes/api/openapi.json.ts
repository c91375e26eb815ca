import { openApiText } from "../../lib/api/openapi.ts";
import {
  addGzip,
  type ReadyBody,
  readyBody,
} from "../../lib/http/responses.ts";
import { define } from "../../lib/http/state.ts";

/** The document for the address that was last requested. */
let last: { readonly baseUrl: string; readonly body: ReadyBody } | null = null;

/** `GET /api/openapi.json`: the OpenAPI document of this deployment. */
export const handler = define.handlers({
  async GET({ state: { context } }) {
    const { baseUrl } = context;
    const document = last?.baseUrl === baseUrl ? last : {
      baseUrl,
      body: await bodyFor(baseUrl),
    };
    last = document;
    return context.respond(document.body, { "cache-control": "no-cache" });
  },
});

async function bodyFor(baseUrl: string): Promise<ReadyBody> {
  const bytes = new TextEncoder().encode(openApiText(baseUrl));
  const body = await readyBody({ bytes, contentType: "application/json" });
  await addGzip(body);
  return body;
}
