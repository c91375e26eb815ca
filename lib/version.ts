// The version of this service, as deno.json states it and nothing else.

import project from "../deno.json" with { type: "json" };

/** A semantic version, such as "1.2.3". */
export const VERSION: string = project.version;
