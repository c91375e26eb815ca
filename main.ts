// The entry point of the service. It creates the Fresh app, opens the services
// and listens until SIGINT or SIGTERM.

import { appConfig, readSettings } from "./fresh.config.ts";
import {
  createApp,
  createHandler,
  type Handler,
  type RoutedApp,
} from "./lib/http/app.ts";
import { describeError } from "./lib/log.ts";
import {
  localRepositoryNames,
  previewSettings,
} from "./lib/local_repositories.ts";
import { openServices, type Services } from "./lib/services.ts";
import { SettingsError } from "./lib/settings.ts";

const START_THREADS_AFTER_MS = 100;
const LISTEN_AGAIN_AFTER_MS = 500;
const OTHERS_CLOSE_WITHIN_MS = 500;
/** Maximum number of repositories in the log line of a preview. */
const MAX_NAMED = 20;

export const app: RoutedApp = await createApp({
  routesUrl: new URL("./routes/", import.meta.url),
  appConfig,
});

const isParallel: boolean = import.meta.main && Deno.args[0] === "parallel";
if (import.meta.main && !isParallel) await orExit(serve(Deno.args));

/**
 * The handler that `deno task start:parallel` calls in each of its isolates.
 * Isolates share only the port and a key-value store in a file. They also count
 * each other because each uses an equal share of a token. Each isolate checks
 * refs itself and shows a push within 60 s. `deno run` warns about a default
 * export that serves, so it is undefined without the argument of the task.
 */
const served: { fetch: Handler; onListen: typeof printAddress } | undefined =
  isParallel
    ? { fetch: await orExit(openIsolate()), onListen: printAddress }
    : undefined;
export default served;

/** Ends the process with one line about an unusable setting. */
async function orExit<T>(started: Promise<T>): Promise<T> {
  try {
    return await started;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}

/**
 * Returns a function that counts the isolates that have announced themselves.
 */
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
  const services = await openServices(readSettings(), {
    isolates: countIsolates(),
  });
  const { host, port } = services.config;
  services.logStart({ host, port, url: urlOf(host, port) });
  runUntilStopped(services, async () => {
    await services.close();
    // Deno ends the process when the first isolate exits.
    await services.clock.sleep(OTHERS_CLOSE_WITHIN_MS);
  });
  return createHandler(app, services);
}

/** Returns the address of the service for a browser on this machine. */
function urlOf(host: string, port: number): string {
  const isAny = host === "0.0.0.0" || host === "::";
  const name = host.includes(":") ? `[${host}]` : host;
  return `http://${isAny ? "localhost" : name}:${port}/`;
}

/**
 * Prints the address in a terminal, where the log hides it. Deno calls this in
 * one isolate.
 */
function printAddress({ hostname, port }: Deno.NetAddr): void {
  if (!Deno.stderr.isTerminal()) return;
  // The console would put the name of the isolate in front.
  const line = `Open ${urlOf(hostname, port)}\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(line));
}

/**
 * Serves until SIGINT or SIGTERM and then exits with 0. With `preview <folder>`
 * it serves only local folders.
 */
async function serve([mode, ...args]: readonly string[]): Promise<void> {
  const config = readSettings(
    mode === "preview" ? await previewSettings(args) : undefined,
  );
  const services = await openServices(config);
  const names = config.isPreview ? await localRepositoryNames(config) : null;
  const handler = createHandler(app, services);
  let { port } = config;
  const onListen = (at: Deno.NetAddr) => {
    port = at.port;
    const url = urlOf(at.hostname, port);
    services.logStart({ host: at.hostname, port, url });
    printAddress(at);
    if (names === null) return;
    services.log.info("preview", {
      url,
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
        : `${
          error instanceof Error ? error.message : error
        }, check HOST and PORT`;
      throw new SettingsError(
        `Cannot listen on "${hostname}:${port}": ${state}`,
      );
    }
  };
  const stopListening = keepListening(listen, services);
  runUntilStopped(services, async () => {
    await stopListening();
    await services.close();
  });
}

/**
 * Listens now and again after the system closed the listener. A Deno server
 * ends with an error if file descriptors run out. This must not end the
 * service. Returns a function that stops listening. It resolves when all
 * requests are finished.
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

/**
 * Does the service's work of every second until a signal arrives. Then stops
 * the service and exits with 0.
 */
function runUntilStopped(
  services: Services,
  stopService: () => Promise<void>,
): void {
  // Otherwise the first request that computes would wait for the threads. They
  // also get their files before clients can take all. Starting them blocks the
  // serving thread, so the first answers go first.
  const cancelStart = services.clock.setTimer(
    START_THREADS_AFTER_MS,
    () => void services.startThreads(),
  );
  const timer = setInterval(() => services.everySecond(), 1_000);
  const stop = async () => {
    // `deno task` forwards a signal that the process group already received.
    if (services.isStopping) return;
    cancelStart();
    clearInterval(timer);
    services.stop();
    await services.clock.sleep(services.config.shutdownDelayMs);
    await stopService();
    Deno.exit(0);
  };
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT"]
    : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
}
