// Composes settings -> services -> app, and listens until it is told to stop.

import { appConfig, readSettings } from "./fresh.config.ts";
import { createHandler } from "./lib/http/handler.ts";
import { openServices } from "./lib/services.ts";
import { type Config, SettingsError } from "./lib/settings.ts";

const REFRESH_EVERY_MS = 1_000;

if (import.meta.main) await start();

/**
 * Serves until SIGINT or SIGTERM, then exits with 0. `fixed` are settings that the environment cannot change. What
 * cannot be used ends the process with one line that says what to change.
 */
export async function start(fixed: Readonly<Record<string, string>> = {}): Promise<void> {
  try {
    await serve(readSettings(fixed));
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
  const server = listen(config, {
    handler,
    onListen: ({ hostname, port }) => services.log.info("listening", { host: hostname, port }),
  });
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

function listen(
  { host: hostname, port }: Config,
  { handler, onListen }: { handler: Deno.ServeHandler; onListen: (at: Deno.NetAddr) => void },
): Deno.HttpServer {
  try {
    return Deno.serve({ hostname, port, onListen }, handler);
  } catch (error) {
    const state = error instanceof Deno.errors.AddrInUse
      ? "it is in use, set PORT to a free one"
      : `${error instanceof Error ? error.message : error}, check HOST and PORT`;
    throw new SettingsError(`Cannot listen on "${hostname}:${port}": ${state}`);
  }
}
