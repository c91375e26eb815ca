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
  const values = [measured].flat();
  const met = median(values) <= most;
  return { what, wanted: `at most ${number(most)}`, measured: spread(values), met };
}

/** The goal that a number, or the median of several, is at least so much. */
export function atLeast(what: string, least: number, measured: number | readonly number[]): Goal {
  const values = [measured].flat();
  const met = median(values) >= least;
  return { what, wanted: `at least ${number(least)}`, measured: spread(values), met };
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

/**
 * Runs a bench and prints its report; `--write` puts that in place of the section's last one in RESULTS.md. `conditions`
 * are lines on how it was measured, beside those on the machine. The process fails where a goal is missed.
 */
export async function runBench(
  { title, section }: { title: string; section: string },
  measure: (cleanup: AsyncDisposableStack) => Promise<
    Record<"conditions" | "parts", readonly string[]> & { readonly goals: readonly Goal[] }
  >,
): Promise<void> {
  const machine = await describeMachine();
  await withProcesses(async (cleanup) => {
    const { conditions, goals, parts } = await measure(cleanup);
    const list = [...machine, ...conditions].map((line) => `- ${line}`).join("\n");
    const rows = goals.map((
      { what, wanted, measured, met },
    ) => [what, wanted, measured, met ? "yes" : "**no**"]);
    const summary = table(["goal", "wanted", "measured", "met"], rows);
    const markdown = [`## ${title}`, list, summary, ...parts].join("\n\n");
    console.log(markdown);
    const results = join(import.meta.dirname!, "RESULTS.md");
    if (Deno.args.includes("--write")) await writeSection(results, section, markdown);
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

/** What stands between the two marks of a section. */
export function marked(section: string): RegExp {
  return new RegExp(`(?<=<!-- ${section} -->).*(?=<!-- end of ${section} -->)`, "s");
}

/** Puts Markdown between the marks of a section, which a new one gets at the file's end. */
export async function writeSection(file: string, section: string, markdown: string): Promise<void> {
  const old = await Deno.readTextFile(file);
  const isThere = marked(section).test(old);
  const text = isThere ? old : `${old}\n<!-- ${section} --><!-- end of ${section} -->\n`;
  await Deno.writeTextFile(file, text.replace(marked(section), () => `\n\n${markdown}\n\n`));
}
