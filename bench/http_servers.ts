// The servers of `bench:http`: the service, and common alternatives, each started for one round and stopped after it, on
// the core of servers.

import { join } from "@std/path";
import { configFlag } from "../tests/run_task.ts";
import { type RawAnswer, SERVER_CORE } from "./clients.ts";
import type { PreparedAnswer } from "./peer_server.ts";
import { freePort, outputOf, pause, processorMs, projectRoot, startProcess } from "./processes.ts";
import { startService } from "./service.ts";

const SERVERS = [
  "bare",
  "skeleton",
  "service",
  "service, info",
  "hono",
  "nginx",
  "varnish",
] as const;

/** A kind of server. */
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
  /** The service's answers, by scenario and path; peers send them. */
  readonly answers: Readonly<Record<string, ReadonlyMap<string, RawAnswer>>>;
}

/** The servers that are installed on this machine. */
export async function availableServers(): Promise<Server[]> {
  const programs: { [server in Server]?: string } = { nginx: "nginx", varnish: "varnishd" };
  const found = await Promise.all(
    SERVERS.map((server) =>
      outputOf("sh", ["-c", `command -v ${programs[server] ?? "deno"}`]).then(
        () => true,
        () => false,
      )
    ),
  );
  return SERVERS.filter((_, index) => found[index]);
}

/** Starts one server. */
export async function startServer(server: Server, options: ServerOptions): Promise<StartedServer> {
  if (server === "nginx") return await startNginx(options);
  if (server === "varnish") return await startVarnish(options);
  if (!server.startsWith("service")) return await startPeer(server, options);
  const level = server === "service" ? "warn" : "info";
  const service = await startService({
    env: { ...options.env, LOG_LEVEL: level },
    logFile: join(options.folder, `${level}.log`),
    core: SERVER_CORE,
  });
  return started(service, () => service.origin);
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
    { stdin: JSON.stringify(prepare(answers)), core: SERVER_CORE },
  );
  const ports = JSON.parse(await peer.firstLine ?? "{}");
  return started(peer, (scenario) => `http://127.0.0.1:${ports[scenario]}`);
}

/** Headers that every server of HTTP makes itself are left out. */
function prepare(answers: ServerOptions["answers"]): Record<string, PreparedAnswer[]> {
  const own = ["date", "connection", "keep-alive"];
  const lists = Object.entries(answers).map(([name, byPath]) => [
    name,
    Array.from(byPath, ([path, { status, headers, body }]): PreparedAnswer => ({
      path,
      status,
      headers: Object.fromEntries([...headers].filter(([name]) => !own.includes(name))),
      body: status === 304 ? null : body.toBase64(),
    })),
  ]);
  return Object.fromEntries(lists);
}

/** One process and one port a scenario; the body is a file, the headers are the service's. */
async function startNginx({ answers, folder }: ServerOptions): Promise<StartedServer> {
  const dir = join(folder, "nginx");
  await Deno.mkdir(dir, { recursive: true });
  const ports: Record<string, number> = {};
  const servers: string[] = [];
  for (const [name, [answer]] of Object.entries(prepare(answers))) {
    const port = ports[name] = freePort();
    const { status, headers, body } = answer!;
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
  const output = { core: SERVER_CORE, stdoutFile: "/dev/null" };
  const nginx = startProcess(["nginx", "-c", config, "-p", dir], output);
  await untilListening(Object.values(ports));
  return started(nginx, (scenario) => `http://127.0.0.1:${ports[scenario]}`);
}

/** In front of the service; its processor time is that of both. */
async function startVarnish(options: ServerOptions): Promise<StartedServer> {
  const service = await startServer("service", options);
  const port = freePort();
  const varnish = startProcess([
    ...["sh", "-c", 'PATH="$PATH:/usr/sbin" exec varnishd "$@" 2>/dev/null', "sh", "-F"] as const,
    ...["-a", `127.0.0.1:${port}`, "-b", new URL(service.originOf("")).host],
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
    const isListening = () =>
      Deno.connect({ hostname: "127.0.0.1", port }).then((one) => (one.close(), true), () => false);
    for (let tries = 0; !await isListening(); tries++) {
      if (tries === 250) throw new Error(`Cannot reach port "${port}": it does not listen`);
      await pause(20);
    }
  }
}
