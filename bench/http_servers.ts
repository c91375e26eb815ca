// The servers of `bench:http`: the service, and common alternatives, each started for one round and stopped after it, on
// the core of servers.

import { join } from "@std/path";
import { configFlag } from "../tests/run_task.ts";
import { type RawAnswer, SERVER_CORE } from "./clients.ts";
import type { PreparedAnswer } from "./peer_server.ts";
import { freePort, pause, processorMs, type RunningProcess } from "./processes.ts";
import { startProcess, startService } from "./processes.ts";

/** A server that runs. */
export interface StartedServer extends AsyncDisposable {
  /** Where a scenario is requested. */
  originOf(scenario: string): string;
  /** Its processor time so far, in ms. */
  processorMs(): Promise<number>;
}

/** Settings of the service, a folder for configurations and logs, and the service's answers, which peers send, by scenario. */
export interface ServerOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly answers: Readonly<Record<string, RawAnswer>>;
}

const ON_CORE = { core: SERVER_CORE };
const STARTS = {
  ...{ bare: startPeer, skeleton: startPeer, service: startOurs, "service, info": startOurs },
  ...{ hono: startPeer, nginx: startNginx, varnish: startVarnish },
};

/** A kind of server. */
export type Server = keyof typeof STARTS;

/** All kinds of servers. */
export const SERVERS = Object.keys(STARTS) as Server[];

/** Starts one server. */
export function startServer(server: Server, options: ServerOptions): Promise<StartedServer> {
  return STARTS[server](options, server);
}

/** The server, which may be several processes, as soon as its ports take connections. */
async function started(
  processes: readonly RunningProcess[],
  ports: Readonly<Record<string, number>>,
): Promise<StartedServer> {
  const isListening = (port: number) =>
    Deno.connect({ hostname: "127.0.0.1", port }).then((one) => (one.close(), true), () => false);
  for (const port of Object.values(ports)) {
    for (let tries = 0; !await isListening(port); tries++) {
      if (tries === 250) throw new Error(`Cannot reach port "${port}": it does not listen`);
      await pause(20);
    }
  }
  return {
    originOf: (scenario) => `http://127.0.0.1:${ports[scenario] ?? ports["any"]}`,
    async processorMs() {
      const times = await Promise.all(processes.map(({ pid }) => processorMs(pid)));
      return times.reduce((sum, ms) => sum + ms);
    },
    async [Symbol.asyncDispose]() {
      for (const process of processes) await process[Symbol.asyncDispose]();
    },
  };
}

async function startOurs({ env, folder }: ServerOptions, server: string): Promise<StartedServer> {
  const level = server === "service" ? "warn" : "info";
  const logFile = join(folder, `${level}.log`);
  const service = await startService({ env: { ...env, LOG_LEVEL: level }, logFile, ...ON_CORE });
  return await started([service], { any: Number(new URL(service.origin).port) });
}

/** The answers, each with a port of its own. Headers that every server of HTTP makes itself are left out. */
function prepare({ answers }: ServerOptions) {
  const own = ["date", "connection", "keep-alive"];
  const prepared = Object.entries(answers).map(([name, { status, ...answer }]): PreparedAnswer => {
    const headers = Object.fromEntries([...answer.headers].filter(([name]) => !own.includes(name)));
    const body = status === 304 ? null : answer.body.toBase64();
    return { name, port: freePort(), status, headers, body };
  });
  return { prepared, ports: Object.fromEntries(prepared.map(({ name, port }) => [name, port])) };
}

async function startPeer(options: ServerOptions, peer: string): Promise<StartedServer> {
  const { prepared, ports } = prepare(options);
  const file = join(options.folder, "answers.json");
  await Deno.writeTextFile(file, JSON.stringify(prepared));
  const flags = [await configFlag(), "--allow-net=127.0.0.1", `--allow-read=${file}`];
  const command = [Deno.execPath(), "run", ...flags, "bench/peer_server.ts", peer, file] as const;
  return await started([startProcess(command, ON_CORE)], ports);
}

/** One process; the body is a file, the headers are the service's. */
async function startNginx(options: ServerOptions): Promise<StartedServer> {
  const dir = join(options.folder, "nginx");
  await Deno.mkdir(dir, { recursive: true });
  const { prepared, ports } = prepare(options);
  const servers: string[] = [];
  for (const { name, port, status, headers, body } of prepared) {
    const type = headers["content-type"] ?? "application/json";
    const own = Object.entries(headers)
      .filter(([header]) => !["content-type", "content-length"].includes(header))
      .map(([header, value]) => `add_header ${header} '${value.replaceAll("'", "")}' always;`);
    await Deno.writeFile(join(dir, name), Uint8Array.fromBase64(body ?? ""));
    const action = status === 200 ? `root ${dir}; try_files /${name} =500;` : `return ${status};`;
    servers.push(`server {
      listen 127.0.0.1:${port}; etag off; if_modified_since off; default_type '${type}'; types {}
      ${own.join("\n      ")}
      location / { ${action} }
    }`);
  }
  const config = join(dir, "nginx.conf");
  await Deno.writeTextFile(
    config,
    `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
    events { worker_connections 512; }
    http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
      open_file_cache max=64; client_body_temp_path ${dir}; proxy_temp_path ${dir};
      fastcgi_temp_path ${dir}; uwsgi_temp_path ${dir}; scgi_temp_path ${dir};
      ${servers.join("\n")} }`,
  );
  const nginx = startProcess(["nginx", "-c", config, "-p", dir], ON_CORE);
  return await started([nginx], ports);
}

/** In front of the service; its processor time is that of both. */
async function startVarnish({ env, folder }: ServerOptions): Promise<StartedServer> {
  const service = await startService({ env, ...ON_CORE });
  const port = freePort();
  const varnish = startProcess([
    ...["sh", "-c", 'PATH="$PATH:/usr/sbin" exec varnishd "$@" 2>/dev/null', "sh", "-F"] as const,
    ...["-a", `127.0.0.1:${port}`, "-b", new URL(service.origin).host],
    ...["-n", join(folder, "varnish"), "-s", "malloc,64m"],
  ], ON_CORE);
  return await started([varnish, service], { any: port });
}
