// Derives the front matter of files. The content thread keeps it.

import { type Pace, TimeLimitError } from "../thread/compute.ts";
import { keepDerived, keepFailure } from "./derived.ts";
import { textOf } from "./file_text.ts";
import { type FrontMatter, readFrontMatter } from "./front_matter.ts";
import type { DataFormat } from "./parse_data.ts";
import { select, type SelectInput, type Selection } from "./select.ts";

export interface FilesInput {
  repository: string;
  files: readonly {
    /** What `derivedKey` returns. */
    readonly id: string;
    readonly bytes: Uint8Array;
  }[];
  /** Whether the files took too long before. */
  areSlow?: boolean;
  /** {@linkcode derive} runs it in the same turn if it derives all files. */
  query?: Omit<SelectInput, "repository"> | undefined;
}

/**
 * Short files share a limit of their time, which takes some 0.1 ms to set. Each
 * still has nearly all of it, and what is kept afterwards is little.
 */
const PIECE = { ms: 5, bytes: 32 << 10 };

/** The results of the first files. There are as many as one turn allows. */
export interface Batch<T> {
  readonly results: T[];
  /** Whether the next file exceeds the time limit. */
  readonly isSlow: boolean;
  /** What the input's query selects, if it lacks no other files. */
  readonly selected?: Selection;
}

/**
 * Works on files in order until the turn ends or a file takes too long. `keep`
 * runs without a limit. Several short files are one piece of work.
 */
export function inBatch<T>(
  files: FilesInput["files"],
  pace: Pace,
  work: (file: FilesInput["files"][number]) => T,
  keep: (result: T, file: FilesInput["files"][number]) => void = () => {},
): Batch<T> {
  const results: T[] = [];
  while (results.length < files.length) {
    if (results.length > 0 && pace.isOver()) break;
    const rest = files.slice(results.length);
    const piece: T[] = [];
    let begun = 0;
    let isOut = false;
    try {
      pace.within(() => {
        const endsAtMs = performance.now() + PIECE.ms;
        let bytes = 0;
        do {
          const file = rest[begun++]!;
          piece.push(work(file));
          bytes += file.bytes.length;
        } while (
          begun < rest.length && bytes < PIECE.bytes &&
          performance.now() < endsAtMs
        );
      });
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      isOut = true;
    }
    piece.forEach((result, index) => keep(result, rest[index]!));
    results.push(...piece);
    // The time may also end right after a result, which blames no file.
    const isSlow = begun > piece.length || results.length === 0;
    if (isOut) return { results, isSlow };
  }
  return { results, isSlow: false };
}

/**
 * Derives and keeps front matter. Slow files get an error that is kept for five
 * minutes.
 */
export function derive(
  { repository, files, areSlow, query }: FilesInput,
  pace: Pace,
): Batch<void> {
  const { results, isSlow } = inBatch(
    files,
    pace,
    ({ id, bytes }) => areSlow ? null : frontMatterText(textOf(bytes), id),
    (text, { id }) => {
      if (text !== null) return keepDerived(repository, id, text);
      const message = "The text takes too long to parse";
      const slow: FrontMatter = { frontMatterError: { message, line: 1 } };
      keepFailure(repository, id, JSON.stringify(slow));
    },
  );
  const batch = { results: results.map(() => {}), isSlow };
  const isWhole = !areSlow && results.length === files.length;
  if (query === undefined || !isWhole) return batch;
  try {
    const own = { ...query, repository };
    // Long work on a query must not be taken for long work on a file.
    const selected = pace.within(() => select(own, { ...pace, isLast: false }));
    return "missing" in selected ? batch : { ...batch, selected };
  } catch {
    // It runs again in a turn of its own, with its own limit.
    return batch;
  }
}

/**
 * Returns the front matter or data of a file's text as JSON. `key` is that of
 * `derivedKey`.
 */
export function frontMatterText(text: string | null, key: string): string {
  const [, format] = key.split(" ");
  const dataFormat = format === "mdx" ? undefined : format as DataFormat;
  return JSON.stringify(text === null ? {} : readFrontMatter(text, dataFormat));
}
