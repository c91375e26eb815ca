// Rounds of load, interleaved: in every round each scenario puts each of its servers under load for a short while, in
// an order that changes from round to round, so that what else the machine does falls on all of them.

import type { LoadGenerator, LoadResult } from "./load.ts";
import { pause } from "./processes.ts";
import { RawClient } from "./raw_client.ts";
import type { Scenario, Server } from "./scenarios.ts";
import { checkDuring } from "./side_check.ts";
import type { Target } from "./targets.ts";

/** How much is measured. */
export interface RoundOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly generator: LoadGenerator;
  /** The log of the service at `info`. */
  readonly logFile: string;
}

/** Results by scenario and server, one a round in the order of the rounds. */
export class Measurements {
  /** Answers that were compared with what they should be. */
  checks = 0;
  private readonly results = new Map<string, LoadResult[]>();

  /** Adds what one run gave. */
  add(scenario: Scenario, server: Server, result: LoadResult): void {
    const key = `${scenario.name} ${server}`;
    this.results.set(key, [...this.of(scenario.name, server), result]);
  }

  /** The results of one server in one scenario; none where it was not measured. */
  of(scenario: string, server: Server): readonly LoadResult[] {
    return this.results.get(`${scenario} ${server}`) ?? [];
  }
}

/** Longest time for which the service holds log lines back, and some more. */
const LOG_DELAY_MS = 250;

/** Runs all rounds. @throws {Error} where an answer, a status or the log is not as it should be. */
export async function runRounds(
  scenarios: readonly Scenario[],
  targets: ReadonlyMap<string, readonly Target[]>,
  options: RoundOptions,
): Promise<Measurements> {
  const measurements = new Measurements();
  // The first round only warms up: each server's code is compiled as it is used.
  for (let round = -1; round < options.rounds; round++) {
    for (const scenario of scenarios) {
      const own = targets.get(scenario.name)!;
      for (const index of own.keys()) {
        const target = own[(index + round + own.length) % own.length]!;
        const { result, checks } = await runOnce(scenario, target, options);
        measurements.checks += checks;
        if (round >= 0) measurements.add(scenario, target.server, result);
      }
    }
    console.error(round < 0 ? "warmed up" : `round ${round + 1} of ${options.rounds}`);
  }
  return measurements;
}

async function runOnce(
  scenario: Scenario,
  target: Target,
  { seconds, connections, generator, logFile }: RoundOptions,
): Promise<{ result: LoadResult; checks: number }> {
  // Nobody asked for this branch while the others were measured; this request has it checked.
  using client = await RawClient.connect(target.origin);
  await client.get(target.paths[0]!, target.headers);
  const logged = target.server === "service, info";
  if (logged) {
    await pause(LOG_DELAY_MS);
    await Deno.truncate(logFile);
  }
  const { origin, paths, headers } = target;
  const { result, checks } = await checkDuring(
    target,
    generator.run({ origin, paths, headers, seconds, connections }),
  );
  const wrongStatus = scenario.status >= 400
    ? result.requests - result.statusErrors
    : result.statusErrors;
  if (wrongStatus > 0 || result.otherErrors > 0) {
    throw new Error(
      `Cannot trust "${target.server}": ${wrongStatus} wrong statuses and ${result.otherErrors} ` +
        `failed requests in "${scenario.name}"`,
    );
  }
  if (logged) {
    await pause(LOG_DELAY_MS);
    const lines = await countLines(logFile);
    const most = result.requests + connections + checks;
    if (lines < result.requests || lines > most) {
      throw new Error(
        `Cannot trust the log: ${lines} lines for ${result.requests} to ${most} requests`,
      );
    }
  }
  return { result, checks };
}

async function countLines(path: string): Promise<number> {
  const file = await Deno.open(path);
  let lines = 0;
  for await (const chunk of file.readable) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  }
  return lines;
}
