// Tables and goals as Markdown.

/** One "done when" of a bench: what is wanted, what came out. */
export interface Goal {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean;
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

/** A table of goals. */
export function goalTable(goals: readonly Goal[]): string {
  return table(
    ["goal", "wanted", "measured", "met"],
    goals.map((
      { what, wanted, measured, met },
    ) => [what, wanted, measured, met ? "yes" : "**no**"]),
  );
}

/** A number to three digits or so, with commas in thousands. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
