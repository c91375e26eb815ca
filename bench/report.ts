// What benches print: goals and tables as Markdown, statistics, the machine;
// and samples.

import { join } from "@std/path";
import { outputOf, withProcesses } from "./processes.ts";

/** One goal of a bench, as a row of the table of goals. */
export type Goal = readonly [
  what: string,
  wanted: string,
  measured: string,
  met: string,
];

/** The goal that a number, or the median of several, is at most so much. */
export function atMost(
  what: string,
  most: number,
  measured: number | readonly number[],
): Goal {
  const values = [measured].flat();
  return [
    what,
    `at most ${number(most)}`,
    spread(values),
    met(median(values) <= most),
  ];
}

/** The goal that a number, or the median of several, is at least so much. */
export function atLeast(
  what: string,
  least: number,
  measured: number | readonly number[],
): Goal {
  const values = [measured].flat();
  return [
    what,
    `at least ${number(least)}`,
    spread(values),
    met(median(values) >= least),
  ];
}

/**
 * Whether a goal is met, as a table shows it; where it is not, the process
 * fails.
 */
export function met(isMet: boolean): string {
  if (!isMet) Deno.exitCode = 1;
  return isMet ? "yes" : "**no**";
}

/** A Markdown table; the first column is text, the others are numbers. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, index) => index === 0 ? "---" : "--:");
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/**
 * A number to about three digits, a whole one without a fraction, with commas
 * in thousands.
 */
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const isWhole = Number.isInteger(value) || value >= 100;
  const digits = isWhole ? 0 : value >= 10 ? 1 : 2;
  const options = {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  };
  return value.toLocaleString("en-US", options);
}

/** The middle value, the mean of both where there are two; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? sorted[middle]!
    : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The least value that 99 % of all values do not exceed; NaN of none. */
export function p99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? NaN;
}

/**
 * Measures each case once a round. The first round only fills caches, and does
 * not count.
 */
export async function sample<Case>(
  rounds: number,
  cases: readonly Case[],
  timeOf: (one: Case, round: number) => Promise<number>,
): Promise<(Case & { readonly times: number[] })[]> {
  const rows = cases.map((one) => ({ ...one, times: [] as number[] }));
  for (let round = 0; round <= rounds; round++) {
    for (const row of rows) {
      const time = await timeOf(row, round);
      if (round > 0) row.times.push(time);
    }
  }
  return rows;
}

/** The median with least and greatest, as text; one number alone. */
export function spread(values: readonly number[]): string {
  if (values.length < 2) return number(values[0] ?? NaN);
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  return `${number(median(values))} (${number(least)}–${number(greatest)})`;
}

/** What a flag of the bench gives, as in `--seconds 20`. */
export function flag(name: string, otherwise: string): string {
  const index = Deno.args.indexOf(`--${name}`);
  return index < 0 ? otherwise : Deno.args[index + 1] ?? otherwise;
}

/**
 * Runs a bench and prints its report; `--write` puts that in place of the
 * section's last one in RESULTS.md. `conditions` are lines on how it was
 * measured, beside those on the machine.
 */
export async function runBench(
  { title, section }: { title: string; section: string },
  measure: (cleanup: AsyncDisposableStack) => Promise<
    Record<"conditions" | "parts", readonly string[]> & {
      readonly goals: readonly Goal[];
    }
  >,
): Promise<void> {
  const info = await outputOf(["cat", "/proc/cpuinfo"]);
  const processor = info.match(/^model name\s*:\s*(.+)$/m)?.[1] ??
    Deno.build.arch;
  const gib = (Deno.systemMemoryInfo().total / 2 ** 30).toFixed(0);
  const commit = await outputOf(["git", "rev-parse", "--short", "HEAD"]);
  const date = new Date().toISOString().slice(0, 16).replace("T", " ");
  const machine = [
    `Date: ${date} UTC, commit ${commit.trim()}`,
    `Machine: ${processor}, ${navigator.hardwareConcurrency} cores, ${gib} GiB, ${Deno.build.os}; ` +
    `load average at the start ${Deno.loadavg()[0]!.toFixed(1)}`,
    `Deno ${Deno.version.deno}, V8 ${Deno.version.v8}`,
  ];
  await withProcesses(async (cleanup) => {
    const { conditions, goals, parts } = await measure(cleanup);
    const list = [...machine, ...conditions].map((line) => `- ${line}`).join(
      "\n",
    );
    const summary = table(["goal", "wanted", "measured", "met"], goals);
    const markdown = [`## ${title}`, list, summary, ...parts].join("\n\n");
    console.log(markdown);
    const results = join(import.meta.dirname!, "RESULTS.md");
    if (Deno.args.includes("--write")) {
      await writeSection(results, section, markdown);
    }
  });
}

/** What stands between the two marks of a section. */
export const marked = (section: string) =>
  new RegExp(`(?<=<!-- ${section} -->).*(?=<!-- end of ${section} -->)`, "s");

/**
 * Puts Markdown between the marks of a section. @throws {Error} where the file
 * has none.
 */
export async function writeSection(
  file: string,
  section: string,
  markdown: string,
): Promise<void> {
  const old = await Deno.readTextFile(file);
  if (!marked(section).test(old)) {
    throw new Error(`Cannot write "${section}": no marks in ${file}`);
  }
  await Deno.writeTextFile(
    file,
    old.replace(marked(section), () => `\n\n${markdown}\n\n`),
  );
}
