// The servers of `bench:http`: the service, and common alternatives, each started for one round and stopped after it, on
// the core of servers.

import { join } from "@std/path";
import { configFlag } from "../tests/run_task.ts";
import { SERVER_CORE } from "./load.ts";
import type { PreparedAnswer } from "./peer_server.ts";
import {
  freePort,
  hasProgram,
  pause,
  processorMs,
  projectRoot,
  startProcess,
} from "./processes.ts";
import { startService } from "./service_process.ts";

/** The kinds of servers. nginx and Varnish are left out where they are not installed. */
const SERVERS = [
  "bare",
  "skeleton",
  "service",
  "service, info",
  "hono",
  "nginx",
  "varnish",
] as const;

/** One of {@linkcode SERVERS}. */
export type Server = typeof SERVERS[number];

/** A server that runs. */
export interface StartedServer extends AsyncDisposable {
  /** Where a scenario is requested. */
  originOf(scenario: string): string;
  /** Its processor time so far, in ms. */
  processorMs(): Promise<number>;
}

/** What the servers are started with. */
export interface ServerOptions {
  /** Settings of the service. */
  readonly env: Readonly<Record<string, string>>;
  /** A folder for configurations and logs. */
  readonly folder: string;
  /** The service's responses, by scenario; peers send them. */
  readonly answers: Readonly<Record<string, readonly PreparedAnswer[]>>;
}

/** The servers that are installed on this machine. */
export async function availableServers(): Promise<Server[]> {
  const [nginx, varnish] = await Promise.all([hasProgram("nginx"), hasProgram("varnishd")]);
  return SERVERS.filter((server) =>
    (server !== "nginx" || nginx) && (server !== "varnish" || varnish)
  );
}

/** Starts one server. */
export async function startServer(server: Server, options: ServerOptions): Promise<StartedServer> {
  switch (server) {
    case "service":
    case "service, info": {
      const level = server === "service" ? "warn" : "info";
      const service = await startService({
        env: { ...options.env, LOG_LEVEL: level },
        logFile: join(options.folder, `${level}.log`),
        core: SERVER_CORE,
      });
      return started(service, () => service.origin);
    }
    case "nginx":
      return await startNginx(options);
    case "varnish":
      return await startVarnish(options);
    default:
      return await startPeer(server, options);
  }
}

function started(
  process: { readonly pid: number } & AsyncDisposable,
  originOf: (scenario: string) => string,
): StartedServer {
  return {
    originOf,
    processorMs: () => processorMs(process.pid),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

async function startPeer(server: Server, { answers }: ServerOptions): Promise<StartedServer> {
  const entry = join(projectRoot, "bench", "peer_server.ts");
  const peer = startProcess(
    [Deno.execPath(), "run", await configFlag(), "--allow-net=127.0.0.1", entry, server],
    { stdin: JSON.stringify(answers), core: SERVER_CORE },
  );
  const line = await peer.firstLine;
  if (line === null) throw new Error(`Cannot start "${server}": it ended without ports`);
  const ports = JSON.parse(line);
  return started(peer, (scenario) => `http://127.0.0.1:${ports[scenario]}`);
}

/** One process and one port a scenario; the body is a file, the headers are the service's. */
async function startNginx({ answers, folder }: ServerOptions): Promise<StartedServer> {
  const dir = join(folder, "nginx");
  await Deno.mkdir(dir, { recursive: true });
  const ports: Record<string, number> = {};
  const servers: string[] = [];
  for (const [name, [answer]] of Object.entries(answers)) {
    const port = ports[name] = freePort();
    const { status, headers, body } = answer!;
    const type = headers["content-type"] ?? "application/json";
    const own = Object.entries(headers)
      .filter(([header]) => !["content-type", "content-length"].includes(header))
      .map(([header, value]) => `add_header ${header} '${value.replaceAll("'", "")}' always;`);
    await Deno.writeFile(join(dir, name), Uint8Array.fromBase64(body ?? ""));
    servers.push(`server {
      listen 127.0.0.1:${port}; etag off; if_modified_since off; default_type '${type}'; types {}
      ${own.join("\n      ")}
      location / { ${
      status === 200 ? `root ${dir}; try_files /${name} =500;` : `return ${status};`
    } }
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
  const nginx = startProcess(["nginx", "-c", config, "-p", dir], {
    core: SERVER_CORE,
    stdoutFile: "/dev/null",
  });
  const originOf = (scenario: string) => `http://127.0.0.1:${ports[scenario]}`;
  await untilListening(Object.values(ports));
  return started(nginx, originOf);
}

/** In front of the service; its processor time is that of both. */
async function startVarnish(options: ServerOptions): Promise<StartedServer> {
  const service = await startServer("service", options);
  const [backend, port] = [new URL(service.originOf("")).host, freePort()];
  const varnish = startProcess([
    ...["sh", "-c", 'PATH="$PATH:/usr/sbin" exec varnishd "$@" 2>/dev/null', "sh"] as const,
    ...["-F", "-a", `127.0.0.1:${port}`, "-b", backend],
    ...["-n", join(options.folder, "varnish"), "-s", "malloc,64m"],
  ], { core: SERVER_CORE, stdoutFile: "/dev/null" });
  await untilListening([port]);
  return {
    originOf: () => `http://127.0.0.1:${port}`,
    processorMs: async () => await processorMs(varnish.pid) + await service.processorMs(),
    async [Symbol.asyncDispose]() {
      await varnish[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

async function untilListening(ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    for (let tries = 0;; tries++) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => null);
      if (connection !== null) {
        connection.close();
        break;
      }
      if (tries === 250) throw new Error(`Cannot reach port "${port}": it does not listen`);
      await pause(20);
    }
  }
}
