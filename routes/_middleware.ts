// The order in which every request goes: its id and log line, CORS, and last what turns errors into problems, so that
// an error too leaves with CORS headers and an id.

import { cors } from "../lib/http/cors.ts";
import { problems } from "../lib/http/problem.ts";
import { requestLog } from "../lib/http/request_log.ts";

export const handler = [requestLog, cors, problems];
