// The Fresh app, and the start of the service: settings -> services -> handler, which listens until SIGINT or SIGTERM.

import { appConfig, readSettings } from "./fresh.config.ts";
import { createApp, createHandler, type Handler, type RoutedApp } from "./lib/http/app.ts";
import { describeError } from "./lib/log.ts";
import { localRepositoryNames, previewSettings } from "./lib/local_repositories.ts";
import { openServices, type Services } from "./lib/services.ts";
import { SettingsError } from "./lib/settings.ts";

const REFRESH_EVERY_MS = 1_000;
const LISTEN_AGAIN_AFTER_MS = 500;
const OTHERS_CLOSE_WITHIN_MS = 500;
/** How many of a preview's repositories its log line names. */
const MAX_NAMED = 20;

export const app: RoutedApp = await createApp({
  routesUrl: new URL("./routes/", import.meta.url),
  appConfig,
});

const isParallel: boolean = import.meta.main && Deno.args[0] === "parallel";
if (import.meta.main && !isParallel) await orExit(serve(Deno.args));

/**
 * What `deno task start:parallel` calls for each request, in each of its isolates. They share the port and a key-value
 * store in a file, and say how many they are, since each uses an equal share of a token; nothing else. Each checks refs
 * itself, so each shows a push within 60 s. `deno run` warns of a default export that serves, so that there is none
 * without the task's argument.
 */
const served: { fetch: Handler } | undefined = isParallel
  ? { fetch: await orExit(openIsolate()) }
  : undefined;
export default served;

/** An unusable setting ends the process with one line that says what to change. */
async function orExit<T>(started: Promise<T>): Promise<T> {
  try {
    return await started;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}

/** How many isolates this process has, as far as they have told each other. */
function countIsolates(): () => number {
  const channel = new BroadcastChannel("isolates");
  const ids = new Set([crypto.randomUUID()]);
  const [own] = ids;
  channel.onmessage = ({ data }) => {
    if (ids.has(data)) return;
    ids.add(data);
    channel.postMessage(own);
  };
  channel.postMessage(own);
  return () => ids.size;
}

async function openIsolate(): Promise<Handler> {
  const services = await openServices(readSettings(), { isolates: countIsolates() });
  services.log.info("listening", { host: services.config.host, port: services.config.port });
  runUntilStopped(services, async () => {
    await services.close();
    // Deno ends the process with the first isolate that exits.
    await services.clock.sleep(OTHERS_CLOSE_WITHIN_MS);
  });
  return createHandler(app, services);
}

/** Serves until SIGINT or SIGTERM, then exits with 0; with `preview <folder>` local folders alone. */
async function serve([mode, ...args]: readonly string[]): Promise<void> {
  const config = readSettings(mode === "preview" ? await previewSettings(args) : undefined);
  const services = await openServices(config);
  const names = config.isPreview ? await localRepositoryNames(config) : null;
  const handler = createHandler(app, services);
  let { port } = config;
  const onListen = (at: Deno.NetAddr) => {
    port = at.port;
    services.log.info("listening", { host: at.hostname, port });
    if (names === null) return;
    services.log.info("preview", {
      url: `http://${at.hostname}:${port}/`,
      repositories: names.length,
      names: names.slice(0, MAX_NAMED).join(", "),
    });
  };
  const listen = () => {
    const { host: hostname } = config;
    try {
      return Deno.serve({ hostname, port, onListen }, handler);
    } catch (error) {
      const state = error instanceof Deno.errors.AddrInUse
        ? "it is in use, set PORT to a free one"
        : `${error instanceof Error ? error.message : error}, check HOST and PORT`;
      throw new SettingsError(`Cannot listen on "${hostname}:${port}": ${state}`);
    }
  };
  const stopListening = keepListening(listen, services);
  runUntilStopped(services, async () => {
    await stopListening();
    await services.close();
  });
}

/**
 * Listens now, and again after the system closed the listener: running out of file descriptors ends a Deno server with an
 * error, which must not end the service. Returns what stops it, and resolves when all requests have been answered.
 */
function keepListening(
  listen: () => Deno.HttpServer,
  { clock, log }: Services,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let server = listen();
  const listenAgain = async () => {
    for (let ended = server.finished; !signal.aborted;) {
      try {
        await ended;
        if (signal.aborted) return;
        server = listen();
        ended = server.finished;
      } catch (error) {
        if (signal.aborted) return;
        log.error("cannot listen, trying again", describeError(error));
        await clock.sleep(LISTEN_AGAIN_AFTER_MS, signal).catch(() => {});
        ended = Promise.resolve();
      }
    }
  };
  void listenAgain();
  return async () => {
    stopping.abort();
    await server.shutdown();
  };
}

/** Refreshes refs until a signal; then stops the service and exits with 0. */
function runUntilStopped(services: Services, stopService: () => Promise<void>): void {
  // Or the first request would wait for it.
  void services.startThreads();
  const refreshing = setInterval(() => services.refreshDue(), REFRESH_EVERY_MS);
  let isStopping = false;
  const stop = async () => {
    // `deno task` forwards a signal that the process group already had.
    if (isStopping) return;
    isStopping = true;
    clearInterval(refreshing);
    await stopService();
    Deno.exit(0);
  };
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
}
