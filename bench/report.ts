// What benches print: goals and tables as Markdown, statistics, the machine, and the file that `--write` puts a report
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

/** A {@linkcode Goal}. */
export function goal(what: string, wanted: string, measured: string, met: boolean): Goal {
  return { what, wanted, measured, met };
}

/** The goal that something never happens. */
export function never(what: string, count: number): Goal {
  return goal(what, "0", `${count}`, count === 0);
}

/** A Markdown table; the first column is text, the others are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, index) => index === 0 ? "---" : "--:");
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** A table of goals. */
export function goalTable(goals: readonly Goal[]): string {
  const rows = goals.map((
    { what, wanted, measured, met },
  ) => [what, wanted, measured, met ? "yes" : "**no**"]);
  return table(["goal", "wanted", "measured", "met"], rows);
}

/** A number to about three digits, with commas in thousands. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString("en-US", options);
}

/** A whole number with commas in thousands. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
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

/** The median with least and greatest, as text. */
export function spread(values: readonly number[]): string {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  return `${number(median(values))} (${number(least)}–${number(greatest)})`;
}

/** A line each on the date, the machine and the programs. `others` are programs beside Deno, with their versions. */
export async function describeMachine(...others: string[]): Promise<string[]> {
  const info = await outputOf("cat", ["/proc/cpuinfo"]).catch(() => "");
  const processor = info.match(/^model name\s*:\s*(.+)$/m)?.[1] ?? Deno.build.arch;
  const cores = navigator.hardwareConcurrency;
  const gib = (Deno.systemMemoryInfo().total / 2 ** 30).toFixed(0);
  const commit = await outputOf("git", ["rev-parse", "--short", "HEAD"]).catch(() => "unknown");
  const date = new Date().toISOString().slice(0, 16).replace("T", " ");
  const load = Deno.loadavg()[0]!.toFixed(1);
  return [
    `Date: ${date} UTC, commit ${commit.trim()}`,
    `Machine: ${processor}, ${cores} cores, ${gib} GiB, ${Deno.build.os}; load average at the start ${load}`,
    [`Deno ${Deno.version.deno}`, `V8 ${Deno.version.v8}`, ...others].join(", "),
  ];
}

/**
 * Prints a report: a title, the conditions as a list, the goals, and other parts. `writeAs` names its section of
 * RESULTS.md and is null where it is only printed. The process fails where a goal is missed.
 */
export async function publish(
  { title, conditions, goals, parts, writeAs }: {
    readonly title: string;
    readonly conditions: readonly string[];
    readonly goals: readonly Goal[];
    readonly parts: readonly string[];
    readonly writeAs: string | null;
  },
): Promise<void> {
  const list = conditions.map((line) => `- ${line}`).join("\n");
  const markdown = [`## ${title}`, list, goalTable(goals), ...parts].join("\n\n");
  console.log(markdown);
  if (writeAs !== null) await writeSection(writeAs, markdown);
  if (goals.some(({ met }) => !met)) Deno.exitCode = 1;
}

async function writeSection(section: string, markdown: string): Promise<void> {
  const file = join(import.meta.dirname!, "RESULTS.md");
  const old = await Deno.readTextFile(file);
  const [start, end] = [`<!-- ${section} -->`, `<!-- end of ${section} -->`];
  const part = `${start}\n\n${markdown.trim()}\n\n${end}\n`;
  const [from, to] = [old.indexOf(start), old.indexOf(end)];
  const isNew = from < 0 || to < from;
  await Deno.writeTextFile(
    file,
    isNew
      ? `${old.trimEnd()}\n\n${part}`
      : old.slice(0, from) + part + old.slice(to + end.length + 1),
  );
}
