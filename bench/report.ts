// What benches print: goals and tables as Markdown, statistics, the machine, and the file that `--write` puts a report
// into.

import { join } from "@std/path";
import { parseArgs } from "node:util";
import { outputOf, withProcesses } from "./processes.ts";

/** One goal of a bench: the bound and the measurement. */
export interface Goal {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean;
}

/** The goal that a number, or the median of several, is at most so much. */
export function atMost(what: string, most: number, measured: number | readonly number[]): Goal {
  const met = median([measured].flat()) <= most;
  return { what, wanted: `at most ${number(most)}`, measured: spread([measured].flat()), met };
}

/** The goal that a number, or the median of several, is at least so much. */
export function atLeast(what: string, least: number, measured: number | readonly number[]): Goal {
  const met = median([measured].flat()) >= least;
  return { what, wanted: `at least ${number(least)}`, measured: spread([measured].flat()), met };
}

/** A Markdown table; the first column is text, the others are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, index) => index === 0 ? "---" : "--:");
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** A number to about three digits, a whole one without a fraction, with commas in thousands. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const isWhole = Number.isInteger(value) || value >= 100;
  const digits = isWhole ? 0 : value >= 10 ? 1 : 2;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString("en-US", options);
}

/** The middle value, the mean of both where there are two; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The least value that 99 % of all values do not exceed; NaN of none. */
export function p99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? NaN;
}

/** The median with least and greatest, as text; one number alone. */
export function spread(values: readonly number[]): string {
  if (values.length < 2) return number(values[0] ?? NaN);
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  return `${number(median(values))} (${number(least)}–${number(greatest)})`;
}

/** What a flag of the bench gives, as in `--seconds 20`. */
export function flag(name: string, otherwise: string): string {
  const options = { [name]: { type: "string" as const } };
  return `${parseArgs({ args: Deno.args, options, strict: false }).values[name] ?? otherwise}`;
}

/** What a bench measured; `conditions` are lines on how, beside those on the machine. */
export interface Report {
  readonly conditions: readonly string[];
  readonly goals: readonly Goal[];
  readonly parts: readonly string[];
}

/**
 * Runs a bench and prints its report; `--write` puts that in place of the section's last one in RESULTS.md. The process
 * fails where a goal is missed.
 */
export async function runBench(
  { title, section }: { title: string; section: string },
  measure: (cleanup: AsyncDisposableStack) => Promise<Report>,
): Promise<void> {
  const machine = await describeMachine();
  await withProcesses(async (cleanup) => {
    const { conditions, goals, parts } = await measure(cleanup);
    const list = [...machine, ...conditions].map((line) => `- ${line}`).join("\n");
    const markdown = [`## ${title}`, list, goalTable(goals), ...parts].join("\n\n");
    console.log(markdown);
    if (Deno.args.includes("--write")) await writeSection(section, markdown);
    if (goals.some(({ met }) => !met)) Deno.exitCode = 1;
  });
}

async function describeMachine(): Promise<string[]> {
  const info = await outputOf("cat", ["/proc/cpuinfo"]).catch(() => "");
  const processor = info.match(/^model name\s*:\s*(.+)$/m)?.[1] ?? Deno.build.arch;
  const gib = (Deno.systemMemoryInfo().total / 2 ** 30).toFixed(0);
  const machine =
    `${processor}, ${navigator.hardwareConcurrency} cores, ${gib} GiB, ${Deno.build.os}`;
  const commit = await outputOf("git", ["rev-parse", "--short", "HEAD"]).catch(() => "unknown");
  const date = new Date().toISOString().slice(0, 16).replace("T", " ");
  return [
    `Date: ${date} UTC, commit ${commit.trim()}`,
    `Machine: ${machine}; load average at the start ${Deno.loadavg()[0]!.toFixed(1)}`,
    `Deno ${Deno.version.deno}, V8 ${Deno.version.v8}`,
  ];
}

async function writeSection(section: string, markdown: string): Promise<void> {
  const file = join(import.meta.dirname!, "RESULTS.md");
  const old = await Deno.readTextFile(file);
  const [start, end] = [`<!-- ${section} -->`, `<!-- end of ${section} -->`];
  const part = `${start}\n\n${markdown}\n\n${end}\n`;
  const [from, to] = [old.indexOf(start), old.indexOf(end)];
  const [before, after] = from < 0
    ? [`${old.trimEnd()}\n\n`, ""]
    : [old.slice(0, from), old.slice(to + end.length + 1)];
  await Deno.writeTextFile(file, before + part + after);
}

function goalTable(goals: readonly Goal[]): string {
  const rows = goals.map((
    goal,
  ) => [goal.what, goal.wanted, goal.measured, goal.met ? "yes" : "**no**"]);
  return table(["goal", "wanted", "measured", "met"], rows);
}
