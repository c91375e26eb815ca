// What the rounds of load say: a table, and the goals that they meet or miss.

import type { Measurements } from "./load_rounds.ts";
import type { LoadResult } from "./load.ts";
import { type Goal, number, table } from "./report.ts";
import type { Scenario, Server } from "./scenarios.ts";
import { median, ratios, type Spread, spreadOf } from "./statistics.ts";

/** Medians of every scenario and server; ratios are medians of the rounds' ratios, with their spread. */
export function loadTable(scenarios: readonly Scenario[], measured: Measurements): string {
  return table(
    [
      "request",
      "server",
      "requests/s",
      "p50 ms",
      "p99 ms",
      "of bare",
      "(min–max)",
      "p99 of bare's",
    ],
    scenarios.flatMap(({ name, title, servers }) =>
      servers.map((server) => {
        const own = measured.of(name, server);
        const rate = ratioTo("bare", { measured, scenario: name, server, pick: perSecond });
        const late = ratioTo("bare", { measured, scenario: name, server, pick: p99 });
        return [
          title,
          server,
          number(median(own.map(perSecond))),
          number(median(own.map(({ p50Ms }) => p50Ms))),
          number(median(own.map(p99))),
          number(rate.median),
          `${number(rate.min)}–${number(rate.max)}`,
          number(late.median),
        ];
      })
    ),
  );
}

/** The goals for requests per second and p99, of those scenarios that were measured. */
export function loadGoals(measured: Measurements): Goal[] {
  const faster = (
    what: string,
    { scenario, server = "service", to = "bare", wanted }: {
      scenario: string;
      server?: Server;
      to?: Server;
      wanted: number;
    },
  ): Goal[] => {
    if (measured.of(scenario, server).length === 0) return [];
    const ratio = ratioTo(to, { measured, scenario, server, pick: perSecond });
    return [
      goal(what, ratio, { wanted: `at least ${number(wanted)}`, met: ratio.median >= wanted }),
    ];
  };
  const late = (scenario: string, what: string): Goal[] => {
    if (measured.of(scenario, "service").length === 0) return [];
    const ratio = ratioTo("bare", { measured, scenario, server: "service", pick: p99 });
    return [goal(what, ratio, { wanted: "at most 2.00", met: ratio.median <= 2 })];
  };
  return [
    ...faster("list hit, of the bare server", { scenario: "list", wanted: 0.7 }),
    ...faster("list hit with LOG_LEVEL=info to a file, of the bare server", {
      scenario: "list",
      server: "service, info",
      wanted: 0.6,
    }),
    ...faster("list hit, of Hono", { scenario: "list", to: "hono", wanted: 1.5 }),
    ...faster("gzip hit, of the bare server", { scenario: "gzip", wanted: 0.7 }),
    ...faster("gzip hit with LOG_LEVEL=info to a file, of the bare server", {
      scenario: "gzip",
      server: "service, info",
      wanted: 0.6,
    }),
    ...faster("304, of a bare 304", { scenario: "304", wanted: 0.65 }),
    ...faster("mix of 1,000 keys, of the bare server", { scenario: "mix", wanted: 0.6 }),
    ...late("list", "p99 of a list hit, of the bare server's"),
    ...late("gzip", "p99 of a gzip hit, of the bare server's"),
    ...late("304", "p99 of a 304, of the bare server's"),
    ...late("content", "p99 of a content hit, of the bare server's"),
  ];
}

const perSecond = (result: LoadResult) => result.perSecond;
const p99 = (result: LoadResult) => result.p99Ms;

function ratioTo(
  base: Server,
  { measured, scenario, server, pick }: {
    measured: Measurements;
    scenario: string;
    server: Server;
    pick: (result: LoadResult) => number;
  },
): Spread {
  return spreadOf(
    ratios(measured.of(scenario, server).map(pick), measured.of(scenario, base).map(pick)),
  );
}

function goal(
  what: string,
  { median, min, max }: Spread,
  { wanted, met }: { wanted: string; met: boolean },
): Goal {
  return { what, wanted, measured: `${number(median)} (${number(min)}–${number(max)})`, met };
}
