// Runs for every request that reaches Fresh.

import { problems } from "../lib/http/middleware.ts";

export const handler = problems;
