// What is said of several measurements of one thing.

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

/** Median, least and greatest. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** {@linkcode Spread} of values; NaN of none. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { median: NaN, min: NaN, max: NaN };
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** `value / base` of each pair, in order. */
export function ratios(values: readonly number[], bases: readonly number[]): number[] {
  return values.slice(0, bases.length).map((value, index) => value / bases[index]!);
}
