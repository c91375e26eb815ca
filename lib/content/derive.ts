// Derives the front matter of files. The content thread keeps it.

import { type Pace, TimeLimitError } from "../thread/compute.ts";
import { keepDerived, keepFailure } from "./derived.ts";
import { textOf } from "./file_text.ts";
import { type FrontMatter, readFrontMatter } from "./front_matter.ts";
import type { DataFormat } from "./parse_data.ts";

export interface FilesInput {
  repository: string;
  files: readonly {
    /** What `derivedKey` returns. */
    readonly id: string;
    readonly bytes: Uint8Array;
  }[];
  /** Whether the files took too long before. */
  areSlow?: boolean;
}

/** The results of the first files. There are as many as one turn allows. */
export interface Batch<T> {
  readonly results: T[];
  /** Whether the next file exceeds the time limit. */
  readonly isSlow: boolean;
}

/**
 * Works on files one by one until the turn ends or a file takes too long.
 * `keep` runs after each without a limit.
 */
export function inBatch<T>(
  files: FilesInput["files"],
  pace: Pace,
  work: (file: FilesInput["files"][number]) => T,
  keep: (result: T, file: FilesInput["files"][number]) => void = () => {},
): Batch<T> {
  const results: T[] = [];
  for (const file of files) {
    if (results.length > 0 && pace.isOver()) break;
    try {
      const result = pace.within(() => work(file));
      keep(result, file);
      results.push(result);
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      return { results, isSlow: true };
    }
  }
  return { results, isSlow: false };
}

/**
 * Derives and keeps front matter. Slow files get an error that is kept for five
 * minutes.
 */
export function derive(
  { repository, files, areSlow }: FilesInput,
  pace: Pace,
): Batch<void> {
  return inBatch(files, pace, ({ id, bytes }) => {
    if (!areSlow) {
      return keepDerived(repository, id, frontMatterText(textOf(bytes), id));
    }
    const message = "The text takes too long to parse";
    const slow: FrontMatter = { frontMatterError: { message, line: 1 } };
    keepFailure(repository, id, JSON.stringify(slow));
  });
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
