// Runs for every request that reaches Fresh.

import { problems } from "../lib/http/problems.ts";

export const handler = problems;
