// Runs for every request that reaches Fresh.

import { problems } from "../lib/http/middleware.ts";
import { unknownAddressPages } from "../lib/http/problem_page.ts";

export const handler = [problems, unknownAddressPages];
