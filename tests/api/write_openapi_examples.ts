// Writes lib/api/openapi_examples.json again: `deno task examples`, after a change to responses.

import { realExamples } from "./real_examples.ts";

const file = new URL("../../lib/api/openapi_examples.json", import.meta.url);
await Deno.writeTextFile(file, JSON.stringify(await realExamples(), null, 2) + "\n");
