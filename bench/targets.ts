// The servers of a run and what each is asked: two services, and the servers that send what the first of them sends.

import { join } from "@std/path";
import { configFlag } from "../tests/run_task.ts";
import { projectRoot, startProcess } from "./processes.ts";
import { type Ports, type PreparedAnswer, writeAnswers } from "./prepared_answers.ts";
import { type RawAnswer, RawClient } from "./raw_client.ts";
import type { Scenario, Server } from "./scenarios.ts";
import {
  differenceOf,
  headerDifference,
  sameBytes,
  type ServiceAnswers,
  takeAnswers,
} from "./service_answers.ts";
import type { RunningService } from "./service_process.ts";

/** One server in one scenario. */
export interface Target {
  readonly server: Server;
  readonly origin: string;
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** What is wrong with an answer; null where it is right. */
  readonly differenceOf: (path: string, answer: RawAnswer) => string | null;
}

/** The two services of a run. */
export type Services = Readonly<Record<"service" | "service, info", RunningService>>;

/** Made anew by every server of HTTP, or by Deno. */
const NOT_PREPARED = new Set(["date", "connection", "keep-alive"]);

/** The targets of each scenario, by its name. Starts the servers that the services are compared with. */
export async function prepareTargets(
  scenarios: readonly Scenario[],
  { services, cleanup }: { services: Services; cleanup: AsyncDisposableStack },
): Promise<Map<string, Target[]>> {
  const answers = new Map<string, Record<keyof Services, ServiceAnswers>>();
  for (const scenario of scenarios) {
    answers.set(scenario.name, {
      "service": await takeAnswers(services.service.origin, scenario),
      "service, info": await takeAnswers(services["service, info"].origin, scenario),
    });
  }
  const lists = Object.fromEntries(scenarios.map((scenario) => [
    scenario.name,
    preparedAnswers(answers.get(scenario.name)!.service),
  ]));
  // Hono answers a conditional request itself, and needs the body for that.
  const bodies = Object.fromEntries(scenarios.map((scenario) => [
    scenario.name,
    scenario.conditional
      ? preparedAnswers(answers.get("list")?.service ?? answers.get(scenario.name)!.service)
      : lists[scenario.name]!,
  ]));
  const ports = {
    bare: await startPeer("bare_server.ts", { args: [], lists, cleanup }),
    skeleton: await startPeer("bare_server.ts", { args: ["skeleton"], lists, cleanup }),
    hono: await startPeer("hono_server.ts", { args: [], lists: bodies, cleanup }),
  };
  const targets = new Map<string, Target[]>();
  for (const scenario of scenarios) {
    const own = answers.get(scenario.name)!;
    targets.set(
      scenario.name,
      await Promise.all(
        scenario.servers.map((server) =>
          server === "service" || server === "service, info"
            ? serviceTarget(scenario, {
              server,
              origin: services[server].origin,
              answers: own[server],
            })
            : peerTarget(scenario, {
              server,
              origin: `http://127.0.0.1:${ports[server][scenario.name]}`,
              answers: own.service,
            })
        ),
      ),
    );
  }
  return targets;
}

function preparedAnswers({ byPath }: ServiceAnswers): PreparedAnswer[] {
  return [...byPath].map(([path, { status, headers, body }]) => ({
    path,
    status,
    headers: Object.fromEntries([...headers].filter(([name]) => !NOT_PREPARED.has(name))),
    body: status === 304 ? null : body,
  }));
}

async function startPeer(
  file: string,
  { args, lists, cleanup }: {
    args: readonly string[];
    lists: Record<string, readonly PreparedAnswer[]>;
    cleanup: AsyncDisposableStack;
  },
): Promise<Ports> {
  const entry = join(projectRoot, "bench", file);
  const flags = [await configFlag(), "--allow-net=127.0.0.1"];
  const command = [Deno.execPath(), "run", ...flags, entry, ...args] as const;
  const peer = cleanup.use(startProcess([...command], { stdin: writeAnswers(lists) }));
  const line = await peer.firstLine;
  if (line === null) throw new Error(`Cannot start "${file}": it ended with no ports`);
  return JSON.parse(line);
}

function serviceTarget(
  scenario: Scenario,
  { server, origin, answers }: { server: Server; origin: string; answers: ServiceAnswers },
): Target {
  return {
    server,
    origin,
    paths: scenario.paths,
    headers: answers.headers,
    differenceOf: (path, answer) => differenceOf(scenario, answers.byPath.get(path)!, answer),
  };
}

/** A peer sends what it was given; with many answers it sends them in turn, so any of them is right. */
async function peerTarget(
  { paths, headers, status, conditional }: Scenario,
  { server, origin, answers }: { server: Server; origin: string; answers: ServiceAnswers },
): Promise<Target> {
  const byLength = Map.groupBy(answers.byPath.values(), ({ body }) => body.length);
  const etag = server === "hono" && conditional ? await etagOf(origin, paths[0]!) : null;
  return {
    server,
    origin,
    paths,
    headers: etag === null ? answers.headers : { ...headers, "if-none-match": etag },
    differenceOf: (_, answer) => {
      if (answer.status !== status) return `status ${answer.status}`;
      const right = byLength.get(answer.body.length)
        ?.find(({ body }) => sameBytes(body, answer.body));
      if (right === undefined) return "another body";
      // What Hono says in its headers is its own.
      return server === "hono" ? null : headerDifference(right, answer);
    },
  };
}

async function etagOf(origin: string, path: string): Promise<string> {
  using client = await RawClient.connect(origin);
  return (await client.get(path)).headers.get("etag") ?? "";
}
