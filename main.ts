// Composes settings -> services -> app, and listens until it is told to stop.

import { appConfig, readSettings } from "./fresh.config.ts";
import { createHandler } from "./lib/http/handler.ts";
import { openServices } from "./lib/services.ts";
import { type Config, SettingsError } from "./lib/settings.ts";

const REFRESH_EVERY_MS = 1_000;

if (import.meta.main) {
  try {
    await serve(readSettings());
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}

async function serve(config: Config): Promise<void> {
  const services = await openServices(config);
  const handler = await createHandler(services, {
    routesUrl: new URL("./routes/", import.meta.url),
    appConfig,
  });
  const server = Deno.serve({
    port: config.port,
    hostname: config.host,
    onListen: ({ hostname, port }) => services.log.info("listening", { host: hostname, port }),
  }, handler);
  const refreshing = setInterval(() => services.refreshDue(), REFRESH_EVERY_MS);

  let stopping = false;
  const stop = async () => {
    // `deno task` forwards a signal that the process group already had.
    if (stopping) return;
    stopping = true;
    clearInterval(refreshing);
    await server.shutdown();
    await services.close();
    Deno.exit(0);
  };
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
}
