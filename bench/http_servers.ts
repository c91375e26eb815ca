// The servers of `bench:http`: the service, and common alternatives, each
// started for one round and stopped after it, on the core of servers.

import { join } from "@std/path";
import { configFlag } from "../tests/run_task.ts";
import { root } from "../tests/source_files.ts";
import type { PreparedAnswer } from "./peer_server.ts";
import { type Answer, DATA_FOLDER, type Env, freePort } from "./processes.ts";
import { startProcess, startService, untilAnswered } from "./processes.ts";

/**
 * A server that runs, as one process or several, and where each scenario is
 * requested of it.
 */
type StartedServer = Awaited<ReturnType<typeof startPrepared>>;

/** The service's answers, which peers send, by scenario. */
export type Answers = Readonly<Record<string, Answer>>;

/** The core of servers. */
export const core = 0;
const STARTS = {
  ...{
    bare: startPeer,
    skeleton: startPeer,
    service: startOurs,
    "service, info": startOurs,
  },
  ...{ hono: startPeer, nginx: startNginx, varnish: startVarnish },
};

/** A kind of server. */
export type Server = keyof typeof STARTS;

/** All kinds of servers. */
export const SERVERS = Object.keys(STARTS) as Server[];

/** Starts one server; `env` are settings of the service. */
export const startServer = (
  server: Server,
  env: Env,
  answers: Answers,
): Promise<StartedServer> => STARTS[server](env, answers, server);

async function startOurs(
  env: Env,
  _: Answers,
  server: Server,
): Promise<StartedServer> {
  const level = server === "service" ? "warn" : "info";
  const outputFile = `${DATA_FOLDER}/${level}.log`;
  const service = await startService({
    env: { ...env, LOG_LEVEL: level },
    outputFile,
    core,
  });
  return { processes: [service], originOf: () => service.origin };
}

/**
 * The answers, each with a port of its own. Headers that every server of HTTP
 * makes itself are left out.
 */
function prepare(answers: Answers): PreparedAnswer[] {
  const own = ["date", "connection", "keep-alive"];
  return Object.entries(answers).map(([name, { status, headers, body }]) => ({
    ...{ name, port: freePort(), status },
    headers: Object.fromEntries(
      [...headers].filter(([name]) => !own.includes(name)),
    ),
    body: status === 304 ? null : body.toBase64(),
  }));
}

/** Starts a program that sends prepared answers, and waits until it does. */
async function startPrepared(
  prepared: readonly PreparedAnswer[],
  command: readonly string[],
) {
  const ports = new Map(prepared.map(({ name, port }) => [name, port]));
  const originOf = (scenario: string) =>
    `http://127.0.0.1:${ports.get(scenario)}`;
  const process = startProcess(command, { core });
  await untilAnswered(process, `${originOf("list")}/api/health`);
  return { processes: [process], originOf };
}

async function startPeer(
  _: Env,
  answers: Answers,
  peer: Server,
): Promise<StartedServer> {
  const prepared = prepare(answers);
  const flags = [await configFlag(), "--allow-net=127.0.0.1"];
  const args = ["bench/peer_server.ts", peer, JSON.stringify(prepared)];
  return await startPrepared(prepared, [
    Deno.execPath(),
    "run",
    ...flags,
    ...args,
  ]);
}

/** One process; the body is a file, the headers are the service's. */
async function startNginx(_: Env, answers: Answers): Promise<StartedServer> {
  const dir = join(root, DATA_FOLDER, "nginx");
  await Deno.mkdir(dir, { recursive: true });
  const prepared = prepare(answers);
  const servers: string[] = [];
  for (const { name, port, status, headers, body } of prepared) {
    const {
      "content-type": type = "application/json",
      "content-length": _,
      ...own
    } = headers;
    const added = Object.entries(own)
      .map(([header, value]) =>
        `add_header ${header} '${value.replaceAll("'", "")}' always;`
      );
    await Deno.writeFile(join(dir, name), Uint8Array.fromBase64(body ?? ""));
    const action = status === 200
      ? `root ${dir}; try_files /${name} =500;`
      : `return ${status};`;
    servers.push(`server {
      listen 127.0.0.1:${port}; etag off; if_modified_since off; default_type '${type}'; types {}
      ${added.join("\n      ")}
      location / { ${action} }
    }`);
  }
  const config =
    `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
    events { worker_connections 512; }
    http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
      open_file_cache max=64; client_body_temp_path ${dir}; proxy_temp_path ${dir};
      fastcgi_temp_path ${dir}; uwsgi_temp_path ${dir}; scgi_temp_path ${dir};
      ${servers.join("\n")} }`;
  await Deno.writeTextFile(join(dir, "nginx.conf"), config);
  return await startPrepared(prepared, [
    "nginx",
    "-c",
    join(dir, "nginx.conf"),
    "-p",
    dir,
  ]);
}

/** In front of the service; its processor time is that of both. */
async function startVarnish(env: Env): Promise<StartedServer> {
  const service = await startService({ env, core });
  const address = `127.0.0.1:${freePort()}`;
  const varnish = startProcess([
    ...[
      "sh",
      "-c",
      'PATH="$PATH:/usr/sbin" exec varnishd "$@" 2>/dev/null',
      "sh",
      "-F",
    ],
    ...["-a", address, "-b", new URL(service.origin).host],
    ...["-n", join(root, DATA_FOLDER, "varnish"), "-s", "malloc,64m"],
  ], { core });
  await untilAnswered(varnish, `http://${address}/api/health`);
  return { processes: [varnish, service], originOf: () => `http://${address}` };
}
