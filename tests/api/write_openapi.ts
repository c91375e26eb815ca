// Writes lib/api/openapi.json again: `deno task examples`, after a change to
// parameters, responses or the version.

import { buildDocument } from "./openapi_document.ts";
import { realExamples } from "./real_examples.ts";

const file = new URL("../../lib/api/openapi.json", import.meta.url);
const document = buildDocument(await realExamples());
await Deno.writeTextFile(file, JSON.stringify(document, null, 2) + "\n");
