// From the start of the process to its first answer, with the modules in Deno's cache.

import { assertEquals } from "@std/assert";
import { pause } from "./processes.ts";
import { RawClient } from "./raw_client.ts";
import { type Goal, number, table } from "./report.ts";
import { launchService } from "./service_process.ts";
import { type Spread, spreadOf } from "./statistics.ts";

const GOAL_MS = 400;
const TRY_EVERY_MS = 1;

const FIRST_REQUESTS = [
  { title: "/api/health", path: "/api/health" },
  {
    title: "a list of ./examples",
    path: "/api/list-collection-items?owner=local&repo=blog&collection=posts",
  },
];

/** Starts the service `count` times for each kind of first request, and once before that to fill the cache. */
export async function measureStart(count: number): Promise<{ markdown: string; goals: Goal[] }> {
  await timeToAnswer(FIRST_REQUESTS[1]!.path);
  const times = FIRST_REQUESTS.map(() => [] as number[]);
  for (let round = 0; round < count; round++) {
    for (const [index, { path }] of FIRST_REQUESTS.entries()) {
      times[index]!.push(await timeToAnswer(path));
    }
  }
  const spreads = times.map((values): Spread => spreadOf(values));
  return {
    goals: FIRST_REQUESTS.map(({ title }, index) => ({
      what: `process start to first answer (${title})`,
      wanted: `under ${GOAL_MS} ms`,
      measured: `${number(spreads[index]!.median)} ms`,
      met: spreads[index]!.median < GOAL_MS,
    })),
    markdown: table(
      ["first request", "ms (median)", "(min–max)"],
      spreads.map(({ median, min, max }, index) => [
        FIRST_REQUESTS[index]!.title,
        number(median),
        `${number(min)}–${number(max)}`,
      ]),
    ),
  };
}

async function timeToAnswer(path: string): Promise<number> {
  const startMs = performance.now();
  await using service = await launchService();
  let ended = false;
  service.process.ended.then(() => ended = true);
  while (!ended) {
    try {
      using client = await RawClient.connect(service.origin);
      const { status } = await client.get(path);
      assertEquals(status, 200, path);
      return performance.now() - startMs;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await pause(TRY_EVERY_MS);
    }
  }
  throw new Error(`Cannot start "${service.origin}": it ended before its first answer`);
}
