// What the content thread keeps of files: their front matter, as JSON text, by repository and blob id. Its size is that
// of the text, so it is known and not estimated.

import { LRUCache } from "lru-cache";
import { type Pace, TimeLimitError } from "../thread/compute.ts";
import { textOf } from "./file_text.ts";
import { readFrontMatter } from "./front_matter.ts";

/** In characters of JSON. */
const MAX_CHARS = 48 << 20;
const ENTRY_CHARS = 200;
/** A busy machine may be the cause of a failure, so it is remembered for a short time only. */
export const FAILURE_TTL_MS = 5 * 60_000;

// One for each thread, which is what the tasks of a thread share.
const texts = new LRUCache<string, string>({
  maxSize: MAX_CHARS,
  sizeCalculation: (text, key) => text.length + key.length + ENTRY_CHARS,
});

const keyOf = (repository: string, id: string) => `${repository}\n${id}`;

/** A `FrontMatter` as JSON; undefined where it has to be derived again. */
export function derivedText(repository: string, id: string): string | undefined {
  return texts.get(keyOf(repository, id));
}

/** Which files have to be derived. */
export function lacking(
  { repository, ids }: { readonly repository: string; readonly ids: readonly string[] },
): string[] {
  return ids.filter((id) => !texts.has(keyOf(repository, id)));
}

export interface DeriveInput {
  readonly repository: string;
  readonly files: readonly { readonly id: string; readonly bytes: Uint8Array }[];
  /** Whether the first file took too long before, so that it has no front matter for some minutes. */
  readonly isFailed?: boolean;
}

export interface DeriveOutput {
  /** How many of the files are derived. */
  readonly done: number;
  /** Whether the next file takes longer than it may. */
  readonly isSlow: boolean;
}

/** Derives the front matter of files, as many as one turn allows. */
export function derive(
  { repository, files, isFailed = false }: DeriveInput,
  pace: Pace,
): DeriveOutput {
  for (const [done, { id, bytes }] of files.entries()) {
    if (done > 0 && pace.isOver()) return { done, isSlow: false };
    const key = keyOf(repository, id);
    if (isFailed && done === 0) {
      texts.set(key, JSON.stringify(tooSlow), { ttl: FAILURE_TTL_MS });
      continue;
    }
    try {
      texts.set(key, pace.within(() => frontMatterText(textOf(bytes))));
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      return { done, isSlow: true };
    }
  }
  return { done: files.length, isSlow: false };
}

const tooSlow = { frontMatterError: { message: "The text takes too long to parse", line: 1 } };

/** The front matter of a file's text as JSON. */
export function frontMatterText(text: string | null): string {
  const { body: _, ...frontMatter } = text === null ? {} : readFrontMatter(text) ?? {};
  return JSON.stringify(frontMatter);
}
