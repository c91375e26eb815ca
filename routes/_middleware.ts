// Runs for every request that reaches Fresh.

import { unknownAddressPages } from "../lib/http/problem_page.ts";
import { problems } from "../lib/http/problems.ts";

export const handler = [problems, unknownAddressPages];
