// The service as main.ts composes it, with a second port that tells what memory it takes. For bench/soak.ts: main.ts has
// no such port, and what a garbage collection leaves can only be measured inside the process.

import { appConfig, readSettings } from "../fresh.config.ts";
import { createHandler } from "../lib/http/handler.ts";
import { Listening } from "../lib/http/listening.ts";
import { openServices } from "../lib/services.ts";

const REFRESH_EVERY_MS = 1_000;

/** Memory of the service's process, in bytes. */
export interface Memory {
  readonly heapUsed: number;
  readonly rss: number;
}

if (import.meta.main) await serve(Number(Deno.args[0]));

async function serve(memoryPort: number): Promise<void> {
  const config = readSettings();
  const services = await openServices(config);
  const handler = await createHandler(services, {
    routesUrl: new URL("../routes/", import.meta.url),
    appConfig,
  });
  const { host: hostname, port } = config;
  new Listening(() => Deno.serve({ hostname, port, onListen() {} }, handler), services);
  setInterval(() => services.refreshDue(), REFRESH_EVERY_MS);
  Deno.serve({ hostname, port: memoryPort, onListen() {} }, (request) => {
    if (new URL(request.url).pathname === "/collected") collectGarbage();
    const { heapUsed, rss } = Deno.memoryUsage();
    return Response.json({ heapUsed, rss } satisfies Memory);
  });
}

function collectGarbage(): void {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) {
    throw new Error('Cannot collect "garbage": --v8-flags=--expose-gc is not set');
  }
  gc();
}
