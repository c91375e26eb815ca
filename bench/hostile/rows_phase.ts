// The first phase: one row after the other, each against a service of its own,
// so that no row is measured with what another one left behind. A row that ends
// the process or stops it does not stop the bench.

import { pause } from "../processes.ts";
import { atMost, type Goal, number, table } from "../report.ts";
import { newTally, type Tally } from "./attacker.ts";
import { MOST_MS, type Polls } from "./health.ts";
import type { AttackedService, Lab } from "./lab.ts";
import type { Row } from "./row.ts";

/** What one row came to. */
export interface RowResult {
  readonly row: Row;
  readonly polls: Polls;
  readonly peakMb: number;
  readonly sourceRequests: number;
  readonly tally: Tally;
  /** What happened to the process, or null where it still answers. */
  readonly end: string | null;
  /** The longest waits of tries before this one, in ms. */
  readonly earlierMs: readonly number[];
}

const [BEFORE_MS, WITHIN_MS] = [500, 30_000];
/** How long the answer to the last poll may still take. */
const GRACE_MS = 30_000;
/** How long a service has to show that it still answers. */
const ANSWER_WITHIN_MS = 5_000;
const SHOWN_ANSWERS = 4;

/**
 * How a phase measures: `afterMs` is how long work behind the answers is waited
 * for.
 */
export interface RowOptions {
  readonly afterMs: number;
  /**
   * A row with a long wait is measured so many times at most, since the machine
   * may have caused the wait.
   */
  readonly tries: number;
}

/**
 * Measures rows. The try with the least wait counts; what else went wrong
 * counts of every try.
 */
export async function measureRows(
  lab: Lab,
  rows: readonly Row[],
  { afterMs, tries }: RowOptions,
): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for (const row of rows) {
    let best: RowResult | null = null;
    for (let count = 0; count < tries && !(best && isQuick(best)); count++) {
      const result = await measureRow(lab, row, afterMs).catch((error) =>
        failedRow(row, error)
      );
      console.error(progressOf(result));
      best = best === null ? result : betterOf(best, result);
    }
    if (best !== null) results.push(best);
  }
  return results;
}

const isQuick = ({ polls }: RowResult) => polls.longestMs <= MOST_MS;

/**
 * The try of two whose wait is the least, with whatever else went wrong in
 * both.
 */
export function betterOf(first: RowResult, second: RowResult): RowResult {
  const [best, other] = second.polls.longestMs < first.polls.longestMs
    ? [second, first]
    : [first, second];
  const both = (
    kind: "wrong" | "failures",
  ) => [...new Set([...first.tally[kind], ...second.tally[kind]])];
  const tally = {
    ...best.tally,
    wrong: both("wrong"),
    failures: both("failures"),
  };
  const earlierMs = [
    ...first.earlierMs,
    ...second.earlierMs,
    other.polls.longestMs,
  ];
  const peakMb = Math.max(first.peakMb, second.peakMb);
  return { ...best, tally, peakMb, end: first.end ?? second.end, earlierMs };
}

async function measureRow(
  lab: Lab,
  row: Row,
  afterMs: number,
): Promise<RowResult> {
  await lab.prepare({ rows: [row.name], bystanders: 0 });
  await using attacked = await lab.startService(row);
  const { port } = attacked;
  const first = await lab.call("first", { row: row.name, port });
  await pause(row.waitMs ?? BEFORE_MS);
  await lab.poller.start(port);
  const withinMs = row.withinMs ?? WITHIN_MS;
  const { sourceRequests, ...tally } = await lab.call("attack", {
    row: row.name,
    port,
    withinMs,
  });
  await pause(afterMs);
  const polls = await lab.poller.stop(GRACE_MS);
  const end = await endOf(attacked);
  const wrong =
    row.check?.({ sourceRequests, storeMb: await attacked.storeMb() }) ?? null;
  if (wrong !== null) tally.failures.push(wrong);
  tally.wrong.push(...first.wrong);
  return {
    row,
    polls,
    peakMb: attacked.peakMb,
    sourceRequests,
    tally,
    end,
    earlierMs: [],
  };
}

/** What happened to a service, or null where it still answers. */
export async function endOf(
  { end, service }: AttackedService,
): Promise<string | null> {
  if (end !== null) return end;
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const response = await fetch(`${service.origin}/api/health`, { signal })
    .catch(() => null);
  await response?.body?.cancel();
  return response?.status === 200 ? null : "the process did not answer for 5 s";
}

function failedRow(row: Row, error: unknown): RowResult {
  const polls = {
    count: 0,
    longestMs: Infinity,
    slow: 0,
    lateMs: NaN,
    failures: 0,
  };
  const tally = newTally();
  tally.failures.push(`the row could not be measured: ${error}`);
  return {
    row,
    polls,
    peakMb: NaN,
    sourceRequests: NaN,
    tally,
    end: null,
    earlierMs: [],
  };
}

function progressOf({ row, polls, peakMb, tally, end }: RowResult): string {
  const remarks = [
    end,
    ...tally.wrong.slice(0, 3),
    ...tally.failures,
    ...tally.notes,
  ];
  const told = remarks.filter((remark) => remark !== null).join("; ");
  const waits = `${number(polls.longestMs)} ms (own ${
    number(polls.lateMs)
  } ms)`;
  return `${row.name}: ${waits}, ${peakMb} MiB, ${shownAnswers(tally)}${
    told && `; ${told}`
  }`;
}

/** The most frequent answers, in words. */
export function shownAnswers({ answers }: Tally): string {
  const ordered = Object.entries(answers).sort(([, a], [, b]) => b - a);
  const shown = ordered.slice(0, SHOWN_ANSWERS).map(([name, count]) =>
    `${count} × ${name}`
  );
  const rest = ordered.slice(SHOWN_ANSWERS).reduce(
    (sum, [, count]) => sum + count,
    0,
  );
  return [...shown, ...rest > 0 ? [`${rest} others`] : []].join(", ");
}

/** The goals of the phase. */
export function goalsOfRows(results: readonly RowResult[]): Goal[] {
  const sum = (count: (result: RowResult) => number) =>
    results.reduce((sum, result) => sum + count(result), 0);
  return [
    atMost(
      `rows, of ${results.length}, with a wait of over ${MOST_MS} ms for health`,
      0,
      sum((result) => isQuick(result) ? 0 : 1),
    ),
    atMost(
      "rows after which the service was gone",
      0,
      sum(({ end }) => end === null ? 0 : 1),
    ),
    atMost(
      "answers that are not the contract's",
      0,
      sum(({ tally }) => tally.wrong.length),
    ),
    atMost(
      "what other clients did not get, or a row used too much",
      0,
      sum(({ tally }) => tally.failures.length),
    ),
  ];
}

/** The tables of the phase. */
export function partsOfRows(results: readonly RowResult[]): string[] {
  const head = [
    "row",
    "by",
    "longest wait of health, ms",
    "the poll's own delay, ms",
    "peak MiB",
  ];
  const shown = (ms: number) => ms > MOST_MS ? `**${number(ms)}**` : number(ms);
  const rows = results.map((
    { row, polls, peakMb, sourceRequests, tally, end, earlierMs },
  ) => [
    `\`${row.name}\``,
    row.attacker,
    shown(polls.longestMs) +
    (earlierMs.length > 0 ? ` (${earlierMs.map(number).join(", ")})` : ""),
    number(polls.lateMs),
    number(peakMb),
    number(sourceRequests),
    end === null ? shownAnswers(tally) : `**${end}**, ${shownAnswers(tally)}`,
  ]);
  const remarks = results.flatMap(({ row, tally }) => [
    ...tally.failures.map((text) => `- \`${row.name}\`: ${text}`),
    ...tally.wrong.map((text) =>
      `- \`${row.name}\`: ${text.replaceAll(/[`|]/g, "·")}`
    ),
    ...tally.notes.map((text) => `- \`${row.name}\`: ${text}`),
  ]);
  return [
    "### Row by row",
    table([...head, "requests to the source", "answers"], rows),
    ...remarks.length > 0 ? [remarks.join("\n")] : [],
  ];
}
