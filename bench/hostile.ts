// `deno task bench:hostile`: what one hostile client, author or source can do
// to everybody else. It sends every row of the corpus (`--rows a,b` for some,
// `none` for none), then rows at random from ten addresses at once for
// `--seconds` (240, or `--minutes`; 0 for none), then `--requests` generated
// requests (20,000; 0 for none; `--seed` for others). It fails where
// `/api/health` had to wait, another client was kept waiting, the process
// ended, or an answer was not the contract's.

import { sendGenerated } from "./hostile/generated_phase.ts";
import { type Polls } from "./hostile/health.ts";
import { ROWS, rowsNamed } from "./hostile/corpus.ts";
import { Lab } from "./hostile/lab.ts";
import { goalsOfRows, measureRows, partsOfRows } from "./hostile/rows_phase.ts";
import { goalsOfStorm, partsOfStorm, storm } from "./hostile/storm_phase.ts";
import { pause } from "./processes.ts";
import { flag, type Goal, number, runBench } from "./report.ts";

const named = flag("rows", "all");
const rows = named === "all"
  ? ROWS
  : named === "none"
  ? []
  : rowsNamed(named.split(","));
const seconds = Number(flag("minutes", "0")) * 60 ||
  Number(flag("seconds", "240"));
const [total, seed] = [
  Number(flag("requests", "20000")),
  Number(flag("seed", "1")),
];
/** How long polls go on after the last answer of a row. */
const afterMs = 1000 * Number(flag("after", "3"));
const tries = Number(flag("tries", "3"));
const yardstickMs = 1000 * Number(flag("yardstick", "3"));

/**
 * The waits of a service that nobody attacks: alone, and while the attackers
 * keep their two threads busy.
 */
async function measureYardsticks(lab: Lab): Promise<readonly Polls[]> {
  await lab.prepare({ rows: [], bystanders: 0 });
  await using attacked = await lab.startService();
  const polls: Polls[] = [];
  for (
    const work of [
      () => pause(yardstickMs),
      () => lab.call("work", { ms: yardstickMs }),
    ]
  ) {
    await lab.poller.start(attacked.port);
    await work();
    polls.push(await lab.poller.stop());
  }
  return polls;
}

await runBench(
  { title: "Hostile clients", section: "bench:hostile" },
  async (cleanup) => {
    const lab = await Lab.open(cleanup);
    const yardsticks = await measureYardsticks(lab);
    const [quiet, busy] = yardsticks.map(({ longestMs }) =>
      `${number(longestMs)} ms`
    );
    console.error(
      `yardstick: ${quiet} when quiet, ${busy} beside busy threads`,
    );
    const conditions = [
      "Client, source and service on this machine, the client and the source at a lower priority, but for the source " +
      "of the clients that do no harm; a thread of its own " +
      "polls `/api/health` every 5 ms on a kept connection",
      `Yardstick, the longest wait for health that nobody causes: ${quiet} when quiet, ${busy} while two ` +
      "threads of the client work without a pause",
      "Default settings, but for the addresses of the source, `TRUST_PROXY=true`, by which a client has an address, " +
      "`GITHUB_WEBHOOK_SECRET` and `LOG_LEVEL=warn`",
    ];
    const goals: Goal[] = [];
    const parts: string[] = [];
    if (rows.length > 0) {
      conditions.push(
        `A row with a longer wait is measured up to ${tries} times, and the least wait counts (the others ` +
          "in brackets), since a machine that is busy delays everybody",
      );
      const results = await measureRows(lab, rows, { afterMs, tries });
      goals.push(...goalsOfRows(results));
      parts.push(...partsOfRows(results));
    }
    if (seconds > 0) {
      const result = await storm(lab, rows.length > 0 ? rows : ROWS, {
        seconds,
        seed,
      });
      conditions.push(`All at once: ${number(seconds)} s`);
      goals.push(...goalsOfStorm(result));
      parts.push(...partsOfStorm(result));
    }
    if (total > 0) {
      const generated = await sendGenerated(cleanup, { total, seed });
      conditions.push(...generated.conditions);
      goals.push(...generated.goals);
      parts.push(...generated.parts);
    }
    return { conditions, goals, parts };
  },
);
