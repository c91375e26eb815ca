// The service behind a real cache: nginx or Varnish with the configurations in
// deploy/, a double of GitHub, and the machine's own clock.

import { assert } from "@std/assert";
import { createHandler } from "../../lib/http/app.ts";
import { LineLog } from "../../lib/log.ts";
import { openServices } from "../../lib/services.ts";
import { parseSettings } from "../../lib/settings.ts";
import type { CachedSource } from "../../lib/source/cached_source.ts";
import { systemClock } from "../../lib/work/clock.ts";
import { app } from "../../main.ts";
import { serveRepository } from "../github/served_repository.ts";
import { listPath } from "../service.ts";
import { WatchedCompute } from "../thread/watched_compute.ts";
import { cacheCommand, type CacheKind } from "./caches.ts";

export const pause = (ms: number) =>
  new Promise<void>((resume) => setTimeout(resume, ms));

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Starts a cache in front of a port. */
async function startCache(kind: CacheKind, service: number, cache: number) {
  const folder = await Deno.makeTempDir();
  const [program = "", ...args] = await cacheCommand(
    kind,
    { cache, service },
    folder,
  );
  const child = new Deno.Command(program, {
    args,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const errors = child.stderr.text();
  let isOver = false;
  child.status.then(() => isOver = true);
  return {
    /** @throws {Error} with its error output if the cache has ended. */
    async check() {
      if (!isOver) return;
      throw new Error(`Cannot run "${kind.name}": ${await errors}`);
    },
    async [Symbol.asyncDispose]() {
      if (!isOver) child.kill("SIGTERM");
      await child.status;
      await errors;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/**
 * Starts all; `env` has settings of the service, and `{cache}` in them is the
 * address of the cache.
 */
export async function startEdge(
  kind: CacheKind,
  env: Readonly<Record<string, string>> = {},
) {
  await using parts = new AsyncDisposableStack();
  const files = { "posts/a.md": `# A\n${"text ".repeat(500)}` };
  const { gh, repository } = parts.use(await serveRepository(files));
  gh.addToken("t1");
  const [cachePort, port] = [freePort(), freePort()];
  const origin = `http://127.0.0.1:${cachePort}`;
  const all: Record<string, string> = {
    LOCAL_REPOS_DIR: "none",
    GITHUB_API_URL: gh.apiUrl,
    GITHUB_GIT_URL: "none",
    GITHUB_TOKEN: "t1",
    ALLOWED_REPOS: "octo/*",
    LOG_LEVEL: "silent",
    ...env,
  };
  const config = parseSettings((name) => all[name]?.replace("{cache}", origin));
  const services = await openServices(config, {
    log: new LineLog(() => {}, { level: "silent", clock: systemClock }),
    kv: await Deno.openKv(":memory:"),
    compute: new WatchedCompute(),
  });
  parts.defer(() => services.close());
  const handler = createHandler(app, services);
  const requests: string[] = [];
  const listen = () =>
    Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, (req, info) => {
      const { pathname } = new URL(req.url);
      if (pathname !== "/api/health") requests.push(pathname);
      return handler(req, info);
    });
  let server: Deno.HttpServer | null = listen();
  parts.defer(() => server?.shutdown());
  const refreshing = setInterval(() => services.everySecond(), 1_000);
  parts.defer(() => clearInterval(refreshing));
  const cache = parts.use(await startCache(kind, port, cachePort));
  const get = async (path = listPath(), init: RequestInit = {}) => {
    const response = await fetch(origin + path, { cache: "no-store", ...init });
    const { status, headers } = response;
    const text = await response.text();
    const cacheStatus = headers.get("cache-status") ?? "";
    return { status, headers, text, cacheStatus };
  };
  const untilOk = async () => {
    for (let tries = 0;; tries++) {
      const response = await get("/api/health").catch(() => null);
      if (response?.status === 200) return;
      await cache.check();
      assert(tries < 200, `${kind.name} does not answer`);
      await pause(50);
    }
  };
  await untilOk();
  requests.length = 0;
  const opened = parts.move();
  return {
    /** Sends a request to the cache, and reads all of the answer. */
    get,
    gh,
    origin,
    repository,
    requests,
    /** What a delivery of the webhook causes. */
    recheck: () =>
      (services.sourceOf("octo") as CachedSource).refs.recheck(
        "octo/site",
        "main",
      ),
    async down() {
      await server?.shutdown();
      server = null;
    },
    async up() {
      server = listen();
      await untilOk();
    },
    /** Waits until a commit shows; gives the time that took, in ms. */
    async untilShown(commit: string, withinMs: number) {
      const startedAtMs = performance.now();
      while (!(await get()).text.includes(commit)) {
        const ms = performance.now() - startedAtMs;
        assert(ms < withinMs, `not shown after ${ms} ms`);
        await pause(100);
      }
      return Math.round(performance.now() - startedAtMs);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
