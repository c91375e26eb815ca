// The service behind a real cache: nginx or Varnish with the configurations in deploy/, a double of GitHub, and the
// machine's own clock.

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

/** A cache that tests may run. */
export interface CacheKind {
  readonly name: string;
  readonly program: string;
  /** The file in deploy/, and what replaces its addresses. */
  readonly file: string;
  readonly vary: (
    ports: Readonly<{ cache: number; service: number }>,
    folder: string,
  ) => readonly (readonly [text: string, other: string])[];
  readonly args: (folder: string, port: number) => readonly string[];
}

const NGINX_MAIN = (folder: string) =>
  `user root; worker_processes 1; daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  include ${folder}/site;
}`;

export const NGINX: CacheKind = {
  name: "nginx",
  program: "/usr/sbin/nginx",
  file: "nginx.conf",
  vary: ({ cache, service }, folder) => [
    ["127.0.0.1:8000", `127.0.0.1:${service}`],
    ["listen 80;", `listen 127.0.0.1:${cache};`],
    ["/var/cache/nginx/collections", `${folder}/cache`],
  ],
  args: (folder) => ["-c", `${folder}/main`, "-e", `${folder}/error.log`],
};

export const VARNISH: CacheKind = {
  name: "Varnish",
  program: "/usr/sbin/varnishd",
  file: "varnish.vcl",
  vary: ({ service }) => [['.port = "8000"', `.port = "${service}"`]],
  args: (folder, port) => [
    ...["-F", "-j", "none", "-n", `${folder}/work`, "-T", "none"],
    ...["-a", `127.0.0.1:${port}`, "-s", "malloc,64m", "-f", `${folder}/site`],
  ],
};

/** Whether a program is there; says so in one line where it is not. */
export function isThere({ name, program }: CacheKind): boolean {
  try {
    Deno.statSync(program);
    return true;
  } catch {
    console.log(
      `Skips the tests behind ${name}: no ${program}; apt-get install nginx varnish varnish-modules`,
    );
    return false;
  }
}

export const pause = (ms: number) =>
  new Promise<void>((resume) => setTimeout(resume, ms));

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Starts a cache in front of a port. */
async function startCache(kind: CacheKind, service: number, cache: number) {
  const folder = await Deno.makeTempDir();
  const url = new URL(`../../deploy/${kind.file}`, import.meta.url);
  let text = await Deno.readTextFile(url);
  for (
    const [before, after] of kind.vary({ cache, service }, folder)
  ) {
    assert(text.includes(before), `no ${before}`);
    text = text.replaceAll(before, after);
  }
  await Deno.writeTextFile(`${folder}/site`, text);
  await Deno.writeTextFile(`${folder}/main`, NGINX_MAIN(folder));
  const child = new Deno.Command(kind.program, {
    args: [...kind.args(folder, cache)],
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Starts all; `env` has settings of the service, and `{cache}` in them is the address of the cache. */
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
  const refreshing = setInterval(() => services.refreshDue(), 1_000);
  parts.defer(() => clearInterval(refreshing));
  parts.use(await startCache(kind, port, cachePort));
  const get = (path = listPath(), init: RequestInit = {}) =>
    fetch(origin + path, { cache: "no-store", ...init });
  const untilOk = async () => {
    for (let tries = 0;; tries++) {
      const response = await get("/api/health").catch(() => null);
      await response?.body?.cancel();
      if (response?.ok) return;
      assert(tries < 200, `${kind.name} does not answer`);
      await pause(50);
    }
  };
  await untilOk();
  requests.length = 0;
  const opened = parts.move();
  return {
    ...{ get, gh, origin, repository, requests },
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
      while (!(await (await get()).text()).includes(commit)) {
        const ms = performance.now() - startedAtMs;
        assert(ms < withinMs, `not shown after ${ms} ms`);
        await pause(100);
      }
      return Math.round(performance.now() - startedAtMs);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
