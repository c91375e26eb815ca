// Composes settings -> services -> app, and listens until it is told to stop.

import { appConfig, readSettings } from "./fresh.config.ts";
import { createHandler } from "./lib/http/handler.ts";
import { Listening } from "./lib/http/listening.ts";
import { localRepositories } from "./lib/local_repositories.ts";
import { openServices } from "./lib/services.ts";
import { previewSettings } from "./lib/preview_settings.ts";
import { type Config, SettingsError } from "./lib/settings.ts";

const REFRESH_EVERY_MS = 1_000;
/** Of a preview's repositories, how many its first line names. */
const MAX_NAMED = 20;

if (import.meta.main) await start(Deno.args);

/**
 * Serves until SIGINT or SIGTERM, then exits with 0; after `preview`, a local folder alone. What cannot be used ends the
 * process with one line that says what to change.
 */
async function start([mode, ...args]: readonly string[]): Promise<void> {
  const isPreview = mode === "preview";
  try {
    await serve(readSettings(isPreview ? await previewSettings(args) : {}), { isPreview });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}

async function serve(config: Config, { isPreview }: { isPreview: boolean }): Promise<void> {
  const services = await openServices(config);
  const names = isPreview ? await localRepositories(config) : null;
  const handler = await createHandler(services, {
    routesUrl: new URL("./routes/", import.meta.url),
    appConfig,
  });
  let { port } = config;
  const listening = new Listening(() =>
    listen({ hostname: config.host, port }, {
      handler,
      onListen(at) {
        port = at.port;
        services.log.info("listening", { host: at.hostname, port });
        if (names === null) return;
        services.log.info("preview", {
          url: `http://${at.hostname}:${port}/`,
          repositories: names.length,
          names: names.slice(0, MAX_NAMED).join(", "),
        });
      },
    }), services);
  const refreshing = setInterval(() => services.refreshDue(), REFRESH_EVERY_MS);

  let stopping = false;
  const stop = async () => {
    // `deno task` forwards a signal that the process group already had.
    if (stopping) return;
    stopping = true;
    clearInterval(refreshing);
    await listening.stop();
    await services.close();
    Deno.exit(0);
  };
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
}

function listen(
  { hostname, port }: { hostname: string; port: number },
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
