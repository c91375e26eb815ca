// What `deno serve --parallel` could run: the service as one of several isolates, which share nothing but the file of
// the key-value store. For bench/cores.ts; main.ts listens by itself and is one isolate.

import { appConfig, readSettings } from "../fresh.config.ts";
import { createHandler, type Handler } from "../lib/http/handler.ts";
import { openServices } from "../lib/services.ts";

const REFRESH_EVERY_MS = 1_000;

const services = await openServices(readSettings());
const handler: Handler = await createHandler(services, {
  routesUrl: new URL("../routes/", import.meta.url),
  appConfig,
});
setInterval(() => services.refreshDue(), REFRESH_EVERY_MS);

/** Answers every request. */
export default { fetch: handler } satisfies Deno.ServeDefaultExport;
