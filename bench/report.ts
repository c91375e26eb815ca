// What benches print: tables and goals as Markdown, statistics, the machine, and the file that `--write` puts a report
// into.

import { join } from "@std/path";
import { outputOf } from "./processes.ts";

/** One goal of a bench: the bound and the measurement. */
export interface Goal {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean;
}

/** A Markdown table; the first column is text, the others are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, index) => index === 0 ? "---" : "--:");
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** A table of goals. */
export function goalTable(goals: readonly Goal[]): string {
  return table(
    ["goal", "wanted", "measured", "met"],
    goals.map((goal) => [goal.what, goal.wanted, goal.measured, goal.met ? "yes" : "**no**"]),
  );
}

/** A number to about three digits, with commas in thousands. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** The middle value, the mean of both where there are two; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The least value that `share` (0 to 1) of all values do not exceed; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

/** The median with least and greatest, as text. */
export function spread(values: readonly number[]): string {
  return `${number(median(values))} (${number(Math.min(...values))}–${
    number(Math.max(...values))
  })`;
}

/** A line each on the date, the machine and the programs. `versions` are those of programs beside Deno. */
export async function describeMachine(
  versions: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const processor = await outputOf("cat", ["/proc/cpuinfo"]).then(
    (text) => text.match(/^model name\s*:\s*(.+)$/m)?.[1],
    () => undefined,
  );
  const gib = (Deno.systemMemoryInfo().total / 2 ** 30).toFixed(0);
  const others = Object.entries(versions).map(([name, version]) => `, ${name} ${version}`).join("");
  const commit = await outputOf("git", ["rev-parse", "--short", "HEAD"]).catch(() => "unknown");
  return [
    `Date: ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC, commit ${commit.trim()}`,
    `Machine: ${
      processor ?? Deno.build.arch
    }, ${navigator.hardwareConcurrency} cores, ${gib} GiB, ` +
    `${Deno.build.os}; load average at the start ${Deno.loadavg()[0]!.toFixed(1)}`,
    `Deno ${Deno.version.deno}, V8 ${Deno.version.v8}${others}`,
  ];
}

const RESULTS = join(import.meta.dirname!, "RESULTS.md");

/** Puts a bench's report in place of its last one in RESULTS.md; `section` is a word that names the bench. */
export async function writeResults(section: string, markdown: string): Promise<void> {
  const old = await Deno.readTextFile(RESULTS);
  const [start, end] = [`<!-- ${section} -->`, `<!-- end of ${section} -->`];
  const part = `${start}\n\n${markdown.trim()}\n\n${end}\n`;
  const [from, to] = [old.indexOf(start), old.indexOf(end)];
  const text = from < 0 || to < from
    ? `${old.trimEnd()}\n\n${part}`
    : old.slice(0, from) + part + old.slice(to + end.length + 1);
  await Deno.writeTextFile(RESULTS, text);
}
