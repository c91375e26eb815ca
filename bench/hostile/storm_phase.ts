// The second phase: clients of different addresses attack one service with rows
// at random, all at once, while other clients request lists of repositories
// that nobody has read before.

import { pause } from "../processes.ts";
import { atMost, type Goal, number, p99, table } from "../report.ts";
import { Attacker, newTally, type Tally } from "./attacker.ts";
import { MOST_MS, type Polls } from "./health.ts";
import type { AttackedService, Lab } from "./lab.ts";
import { BYSTANDER_POSTS } from "./ordinary_repository.ts";
import { QUIET_OWNER } from "./quiet_source.ts";
import type { Row } from "./row.ts";
import { endOf, shownAnswers } from "./rows_phase.ts";

const CLIENTS = 10;
/**
 * How often another client begins a list of its kind; it stays below what the
 * default limits allow. The p99 of fewer than a hundred is their maximum.
 */
const EVERY_MS = 2_000;
/** How long a client tries to get one list. */
const GIVE_UP_MS = 30_000;
const WATCH_EVERY_MS = 500;
/** A service that has not answered for so long is killed. */
const STOPPED_AFTER_MS = 30_000;
/** The addresses of the other clients. */
const QUIET_NETWORKS = { list: "10.4.0", sorted: "10.4.1" };
const GOALS_MS = { list: 1_000, sorted: 3_000 };
/** What the service may have in memory: 512 MiB beside its cache of 64 MiB. */
const MAX_MB = 576;

type KindOfList = keyof typeof GOALS_MS;

/** What the phase came to. */
export interface StormResult {
  readonly polls: Polls;
  readonly peakMb: number;
  /** What happened to each process that ended or did not answer. */
  readonly ends: readonly string[];
  readonly byRow: Readonly<Record<string, Tally>>;
  /** How long the other clients waited for their lists, in ms. */
  readonly times: Readonly<Record<KindOfList, readonly number[]>>;
  readonly quiet: Tally;
}

/** Whether a row can attack at any time and with the settings of others. */
const canJoin = ({ env, hasUnreadLog, waitMs = 0 }: Row) =>
  env === undefined && !hasUnreadLog && waitMs < 10_000;

/** Attacks with all rows that can take part. */
export async function storm(
  lab: Lab,
  rows: readonly Row[],
  { seconds, seed }: { readonly seconds: number; readonly seed: number },
): Promise<StormResult> {
  const names = rows.filter(canJoin).map(({ name }) => name);
  const kinds = Object.keys(GOALS_MS).length;
  const bystanders = kinds * (Math.ceil(seconds * 1000 / EVERY_MS) + 1);
  await lab.prepare({ rows: names, bystanders });
  const ends: string[] = [];
  let peakMb = 0;
  let attacked: AttackedService | null = await lab.startService();
  const { port } = attacked;
  await lab.poller.start(port);
  const endMs = performance.now() + seconds * 1000;
  const [attack, quiet] = [
    lab.call("storm", { rows: names, port, clients: CLIENTS, seconds, seed }),
    requestQuietly(port, endMs),
  ];
  while (performance.now() < endMs) {
    await pause(WATCH_EVERY_MS);
    peakMb = Math.max(peakMb, attacked?.peakMb ?? 0);
    const isStopped = await lab.poller.waitingMs() > STOPPED_AFTER_MS;
    if (attacked !== null && attacked.end === null && !isStopped) continue;
    if (attacked !== null) {
      ends.push(
        attacked.end ??
          `the process stopped for over ${STOPPED_AFTER_MS / 1000} s`,
      );
    }
    await attacked?.[Symbol.asyncDispose]();
    attacked = await lab.startService({ port }).catch(() => null);
  }
  const byRow = await attack;
  const { times, tally } = await quiet;
  const polls = await lab.poller.stop(STOPPED_AFTER_MS);
  const last = attacked === null
    ? "the process did not start again"
    : await endOf(attacked);
  if (last !== null) ends.push(last);
  await attacked?.[Symbol.asyncDispose]();
  return {
    polls,
    peakMb: Math.max(peakMb, attacked?.peakMb ?? 0),
    ends,
    byRow,
    times,
    quiet: tally,
  };
}

/**
 * The other clients, one for each kind of list. Each list is of a repository of
 * its own.
 */
async function requestQuietly(port: number, endMs: number) {
  const tally = newTally();
  const times: Record<KindOfList, number[]> = { list: [], sorted: [] };
  let repository = 0;
  const request = async (kind: KindOfList) => {
    const more = kind === "list" ? "" : "&sort=-frontMatter.date";
    const query =
      `owner=${QUIET_OWNER}&repo=site${repository++}&collection=posts${more}`;
    const signal = AbortSignal.timeout(GIVE_UP_MS);
    const client = new Attacker({
      port,
      network: QUIET_NETWORKS[kind],
      signal,
      tally,
    });
    const startedMs = performance.now();
    while (!signal.aborted) {
      const answer = await client.send(`/api/list-collection-items?${query}`);
      if (answer?.status === 200) break;
      await client.wait(
        Math.max(500, 1000 * Number(answer?.headers.get("retry-after") ?? 0)),
      );
    }
    times[kind].push(performance.now() - startedMs);
  };
  await Promise.all((["list", "sorted"] as const).map(async (kind) => {
    // One at a time, and the next one when it is due.
    for (
      let dueMs = performance.now();
      dueMs < endMs;
      dueMs += EVERY_MS
    ) {
      await pause(Math.max(0, dueMs - performance.now()));
      if (performance.now() < endMs) await request(kind);
    }
  }));
  return { times, tally };
}

/** The goals of the phase. */
export function goalsOfStorm(
  { polls, peakMb, ends, byRow, times, quiet }: StormResult,
): Goal[] {
  const wrong = [...Object.values(byRow), quiet].reduce(
    (sum, { wrong }) => sum + wrong.length,
    0,
  );
  const unanswered =
    Object.values(times).flat().filter((ms) => ms >= GIVE_UP_MS).length;
  return [
    atMost("all at once: longest wait of health, ms", MOST_MS, polls.longestMs),
    atMost(
      "p99 of another client's cold list, ms",
      GOALS_MS.list,
      p99(times.list),
    ),
    atMost(
      `p99 of another client's sorted list of ${
        number(BYSTANDER_POSTS)
      } posts, ms`,
      GOALS_MS.sorted,
      p99(times.sorted),
    ),
    atMost("lists of other clients that never came", 0, unanswered),
    atMost("resident memory at any time, MiB", MAX_MB, peakMb),
    atMost("processes that ended or did not answer", 0, ends.length),
    atMost("answers that are not the contract's", 0, wrong),
  ];
}

/** The tables of the phase. */
export function partsOfStorm(
  { polls, ends, byRow, times, quiet }: StormResult,
): string[] {
  const rows = Object.entries(byRow).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, tally]) => [`\`${name}\``, shownAnswers(tally)]);
  const [cold, sorted] = [times.list.length, times.sorted.length].map(number);
  const [slow, all] = [polls.slow, polls.count].map(number);
  const waits = `${slow} of ${all} polls waited for over ${MOST_MS} ms`;
  const wrong = [
    ...Object.entries(byRow),
    ["the other clients", quiet] as const,
  ]
    .flatMap(([name, tally]) =>
      tally.wrong.map((text) => `- ${name}: ${text.replaceAll(/[`|]/g, "·")}`)
    );
  return [
    "### All at once",
    [
      `- ${CLIENTS} clients of different addresses; ${waits}; the poll's own delay was at most ` +
      `${number(polls.lateMs)} ms`,
      `- The other clients: ${cold} cold lists, ${sorted} sorted lists; answers: ${
        shownAnswers(quiet)
      }`,
      ...ends.map((end) => `- What happened: ${end}`),
      ...wrong.slice(0, 20),
    ].join("\n"),
    table(["row", "answers"], rows),
  ];
}
